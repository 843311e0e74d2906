"""What a sensor's tick costs: over one table of many files or dates, and over many tables that did not change.

Run by ``make bench-tick``. Tables are metadata only, their data files do not exist; there is no Spark. Prints figures
and ratios, and ends with 1 where a limit is passed.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
from pyiceberg.catalog import Catalog

from iceberg_assets.orchestration import MaintenanceAttributes, TableAsset, maintenance_definitions, table_definitions
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec import parse_table
from iceberg_assets_tests import on_paper

FILES, FIRST_LOOK_WITHIN = 20_000, 5.0
DEMO_DATES, DEMO_FILES, DEMO_WITHIN = 14, 448, 1.0
TABLES, UNCHANGED_WITHIN = 200, 2.0
DATES = 2_000
_START = date(2010, 1, 1)


class Bench:
    """A project with its own catalog and Dagster instance."""

    def __init__(self, root: Path) -> None:
        (root / "pyproject.toml").touch()
        self.root = root
        self.profile: Profile = load_profile("local", root)
        self.profile.prepare()
        self.catalog: Catalog = self.profile.pyiceberg()

    def table(self, name: str, days: Sequence[date], files: int, commits: int = 1) -> TableAsset:
        """A table with so many small files on each of the days."""
        made = on_paper.make(self.catalog, f"bench.{name}")
        per_commit = max(1, len(days) // commits)
        for begin in range(0, len(days), per_commit):
            on_paper.append(made, days[begin : begin + per_commit], files)
        attributes: dict[str, Any] = {
            "table": f"bench.{name}",
            "source": {"path": f"raw/{name}/%Y-%m-%d/*.parquet"},
            "dates": {"column": "ts", "start": _START.isoformat()},
            "maintenance": {"quiet_for": "0s"},
        }
        return TableAsset(parse_table(attributes, root=self.root, variables={}, where="bench"), self.profile, self.root)


def ticks(tables: Sequence[TableAsset], instance: dg.DagsterInstance) -> Iterator[tuple[float, dg.SensorResult]]:
    """Tick after tick of the compaction's sensor, with its seconds; events are stored, and not counted in."""
    merged = dg.Definitions.merge(
        *(table_definitions(table) for table in tables), maintenance_definitions(tables, MaintenanceAttributes())
    )
    repository = merged.get_repository_def()
    sensor, cursor = repository.get_sensor_def("iceberg_compaction"), None
    while True:
        context = dg.build_sensor_context(instance=instance, cursor=cursor, repository_def=repository)
        begin = time.perf_counter()
        result = sensor.evaluate_tick(context)
        seconds, cursor = time.perf_counter() - begin, result.cursor
        if result.skip_message and "could not be looked at" in result.skip_message:
            sys.exit(f"a tick failed: {result.skip_message}")
        for event in result.asset_events:
            instance.report_runless_asset_event(event)
        yield seconds, result


def days(count: int, every: int = 1) -> list[date]:
    """So many dates from the start on."""
    return [_START + timedelta(days=n * every) for n in range(count)]


def main() -> None:
    """Print the figures; exit with 1 where a limit is passed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--files", type=int, default=FILES, help="data files of the large table")
    arguments.add_argument("--tables", type=int, default=TABLES, help="tables that did not change")
    arguments.add_argument(
        "--dates", type=int, default=DATES, help="partitions, each with compactions in the event log"
    )
    given = arguments.parse_args()
    too_slow = []

    def say(what: str, seconds: float, limit: float | None = None) -> None:
        print(f"  {what:<66}{seconds:8.2f} s{f'   (limit {limit:.0f} s)' if limit else ''}", flush=True)
        if limit and seconds > limit:
            too_slow.append(what)

    with tempfile.TemporaryDirectory() as folder, dg.instance_for_test() as instance:
        bench = Bench(Path(folder))

        print(f"the demo's table: {DEMO_FILES} files on {DEMO_DATES} dates")
        demo = ticks([bench.table("demo", days(DEMO_DATES), DEMO_FILES // DEMO_DATES, 8)], instance)
        say("first tick", next(demo)[0], DEMO_WITHIN)
        say("second tick, nothing changed", next(demo)[0], DEMO_WITHIN)

        print(f"one table of {given.files:,} files on 200 dates")
        large = bench.table("large", days(200), given.files // 200, 20)
        looks = ticks([large], instance)
        first = next(looks)[0]
        say("first look", first, FIRST_LOOK_WITHIN)
        on_paper.append(bench.catalog.load_table("bench.large"), [_START], 1)
        second = next(looks)[0]
        say("second look, after one append of one file", second)
        third = next(looks)[0]
        say("third look, nothing changed", third)
        print(f"  ratios to the first look: {second / first:.3f} and {third / first:.3f}")

        print(f"{given.tables} tables that did not change")
        many = ticks([bench.table(f"t{n}", days(2), 3) for n in range(given.tables)], instance)
        say("first tick", next(many)[0])
        for name in ("second tick", "third tick"):
            say(name, next(many)[0], UNCHANGED_WITHIN)

        print(f"one table of {given.dates:,} partitions that are not neighbours, each with an earlier compaction")
        wide = bench.table("wide", days(given.dates, every=2), 5, 4)
        for day in days(given.dates, every=2):
            key = dg.AssetKey([*wide.key.path, "compacted"])
            instance.report_runless_asset_event(dg.AssetMaterialization(key, partition=day.isoformat()))
        look = ticks([wide], instance)
        seconds, result = next(look)
        say(f"first tick: {len(result.run_requests or [])} runs asked for", seconds, 40.0)
        say("tick with 200 more dates shown", next(look)[0])
        say("the same again", next(look)[0])
    if too_slow:
        sys.exit(f"too slow: {', '.join(too_slow)}")


if __name__ == "__main__":
    main()

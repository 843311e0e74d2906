"""Parity: what health names of a layout is what ``rewrite_data_files`` takes out, and what it puts in is foretold.

Run on demand: ``make test-parity``. The first layouts are a test in CI.
"""

import argparse
import json
import platform
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iceberg_assets.health import DataFile, TableHealth, compaction_unit, health_by_date
from iceberg_assets.maintenance.compact import where_clause
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spark import call, quote, session
from iceberg_assets_tests.parity.branches import FILE, GROUP, branches
from iceberg_assets_tests.parity.layouts import Answer, Layout, partition_name
from iceberg_assets_tests.parity.tables import ParityTable, tables
from iceberg_assets_tests.parity.themes import SEEDS, layout

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What is written anew has other row groups, footers and codecs: by that the bytes put in may differ from those of the
# live rows taken out, and by as much again for each file as a footer takes.
TOLERANCE, FOOTER = 0.25, 4_000


@dataclass(frozen=True)
class Played:
    """What became of a layout.

    Attributes:
        foretold: by health.
        answer: by the engine: what its replace snapshot took out and put in.
        bytes_removed: of the live rows taken out; ``bytes_added``: put in.
        seconds: of the CALL.
    """

    layout: Layout
    foretold: Answer
    answer: Answer
    bytes_removed: float
    bytes_added: int
    seconds: float

    @property
    def fault(self) -> str | None:
        """What was not as foretold."""
        if not self.layout.agree(self.foretold, self.answer):
            return f"foretold {_told(self.foretold)}, done {_told(self.answer)}"
        allowed = self.bytes_removed * TOLERANCE + FOOTER * self.answer.added.total()
        if abs(self.bytes_added - self.bytes_removed) > allowed:
            return f"{self.bytes_removed:.0f} bytes of live rows became {self.bytes_added}"
        return None

    def __str__(self) -> str:
        put_in = f"{len(self.answer.removed)} of {len(self.layout.files)} files became {self.answer.added.total()}"
        where = f"seed {self.layout.seed}: {self.layout.theme}, {self.layout.world}"
        return f"{where}: {put_in}, {self.seconds:.1f} s: {self.fault or 'as foretold'}"


def _told(answer: Answer) -> dict[str, Any]:
    return {"removed": sorted(answer.removed), "added": dict(sorted(answer.added.items()))}


def play(spark: "SparkSession", profile: Profile, layouts: Sequence[Layout]) -> Iterator[Played]:
    """Make the tables, and rewrite each layout once."""
    for table in tables(spark, profile, layouts):
        table.fill()
        before = table.health(table.layouts[0])
        for one in table.layouts:
            assert _read(table, before, one) == _laid_out(one), f"seed {one.seed}: the files are not as laid out"
        seconds = {one.seed: _rewrite(table, before, one) for one in table.layouts}
        after = table.health(table.layouts[0])
        gone, come = _less(before, after), _less(after, before)
        for one in table.layouts:
            yield _played(table, before, one, gone, come, seconds[one.seed])


def _read(table: ParityTable, health: TableHealth, of: Layout) -> set[tuple[object, ...]]:
    """What was read of a layout, as far as the rule looks at it."""
    return {
        _seen(file, table.paths[file.path][1], file.spec_id == health.spec_id)
        for file in health.files
        if table.paths[file.path][0] == of.seed
    }


def _laid_out(of: Layout) -> set[tuple[object, ...]]:
    return {_seen(fact, number, of.files[number].spec == -1) for number, fact in enumerate(of.facts)}


def _seen(file: DataFile, number: int, current: bool) -> tuple[object, ...]:
    return number, file.size, file.rows, current, file.delete_files, file.deleted_rows, file.rows_known, file.first


def _rewrite(table: ParityTable, health: TableHealth, of: Layout) -> float:
    """Rewrite one layout as maintenance does; the seconds that takes."""
    started, spec = time.monotonic(), table.spec(of)
    statement = call(
        table.profile.catalog.name,
        "rewrite_data_files",
        table=quote(*spec.table),
        strategy=spec.maintenance.compact.strategy,
        options=dict(spec.maintenance.compact.options),
        where=where_clause(spec, health, compaction_unit(spec, health, of.day, datetime.now(UTC))),
    )
    table.spark.sql(statement)
    return time.monotonic() - started


def _less(one: TableHealth, other: TableHealth) -> list[DataFile]:
    """The files that the one has and the other has not."""
    known = {file.path for file in other.files}
    return [file for file in one.files if file.path not in known]


def _played(
    table: ParityTable, before: TableHealth, of: Layout, gone: list[DataFile], come: list[DataFile], seconds: float
) -> Played:
    removed = {table.paths[file.path][1] for file in gone if file.within(of.day, of.day)}
    added = [file for file in come if file.within(of.day, of.day)]
    return Played(
        layout=of,
        foretold=_foretold(table, before, of),
        answer=Answer(frozenset(removed), Counter(partition_name(file.partition) for file in added)),
        bytes_removed=sum(of.files[number].live_bytes for number in removed),
        bytes_added=sum(file.size for file in added),
        seconds=seconds,
    )


def _foretold(table: ParityTable, health: TableHealth, of: Layout) -> Answer:
    """What health names of a layout under its own options."""
    dates = health_by_date(
        table.spec(of),
        health.files,
        grain=health.grain,
        spec_id=health.spec_id,
        properties=health.properties,
        now=datetime.now(UTC),
    )
    added: Counter[str] = Counter()
    for group in dates[of.day].groups:
        added[partition_name(group.partition)] += group.outputs
    named = (table.paths[file.path][1] for group in dates[of.day].groups for file in group.files)
    return Answer(frozenset(named), added)


# On demand


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="?", default=f"0:{SEEDS}", help="a:b, from a up to b - 1")
    parser.add_argument("--results", type=Path, help="a JSON file to write; written where all seeds were played")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    root = Path(tempfile.mkdtemp(prefix="iceberg-assets-parity-"))
    (root / "pyproject.toml").touch()
    _say(f"seeds {given.seeds}, in {root}; a table is told of when all of its layouts are rewritten")
    profile = load_profile("local", root=root)
    spark = session(profile)
    spark.sparkContext.setLogLevel("ERROR")
    played = []
    try:
        for one in play(spark, profile, [layout(seed) for seed in range(first, last)]):
            played.append(one)
            _say(str(one))
    finally:
        spark.stop()
    report = summary(played)
    _say(json.dumps({key: value for key, value in report.items() if key != "answers"}, indent=1))
    if given.results and (first, last) == (0, SEEDS):
        given.results.write_text(_json(report))
    if report["faults"]:
        return 1
    shutil.rmtree(root)
    return 0


def summary(played: Sequence[Played]) -> dict[str, Any]:
    """What was tried, and what came of it."""
    met = Counter(name for one in played for name in branches(one.layout))
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("pyspark", "pyiceberg")},
            "packages": list(load_profile("local").maven),
        },
        "layouts": len(played),
        "faults": [str(one) for one in played if one.fault],
        "files": sum(len(one.layout.files) for one in played),
        "files_removed": sum(len(one.answer.removed) for one in played),
        "files_added": sum(one.answer.added.total() for one in played),
        "with_files_taken_and_files_left": sum(0 < len(one.answer.removed) < len(one.layout.files) for one in played),
        "live_bytes_removed": round(sum(one.bytes_removed for one in played)),
        "bytes_added": sum(one.bytes_added for one in played),
        "seconds_of_calls": round(sum(one.seconds for one in played)),
        "layouts_that_meet": {name: met[name] for name in (*FILE, *GROUP)},
        "answers": {str(one.layout.seed): _told(one.answer) for one in sorted(played, key=lambda one: one.layout.seed)},
    }


def _json(report: dict[str, Any]) -> str:
    """Indented, and an answer a line."""
    answers = ",\n".join(f'  "{seed}": {json.dumps(answer)}' for seed, answer in report["answers"].items())
    rest = json.dumps({key: value for key, value in report.items() if key != "answers"}, indent=1)
    return rest.removesuffix("\n}") + f',\n "answers": {{\n{answers}\n }}\n}}\n'


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

"""The whole-catalog job beside a loop of the four CALLs, over tables of which few need work; and its memory.

Each side has a catalog of its own with tables of the same making; both have the same warm session and the same settings
of each operation, and remove orphans of the tables that need work, and of no other. Afterwards live files, rows,
snapshots and orphans have to be equal. Memory is the peak of a process of its own that runs the job over tables with
nothing to do. Run by ``make bench-catalog``; ends with 1 where a limit is passed.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table as Shown

from iceberg_assets import spark
from iceberg_assets.job import Summary, find, read_settings, run
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spark import call, quote
from iceberg_assets.spec.policy import Orphans
from iceberg_assets.tables.unreferenced import search
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.job import lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RATIO_AT_LEAST, MEMORY_WITHIN = 10.0, 1.3
FEW, MANY = 100, 1_000
_COMMITS = 24
_EXPIRE, _ORPHANS = timedelta(days=5), timedelta(days=3)


@dataclass(frozen=True)
class State:
    """What is left of a table: it is all that the two sides are compared by."""

    files: int
    rows: int
    snapshots: int
    orphans: int


class Side:
    """Tables of one side: most have a single file, some many small ones, old snapshots, and an orphan.

    Args:
        name: of their namespace.
    """

    def __init__(self, profile: Profile, name: str, tables: int, dirty: int) -> None:
        self.profile, self.name, catalog = profile, name, profile.pyiceberg()
        step = max(1, tables // max(dirty, 1))
        self.dirty = {f"t{n:04}" for n in range(0, tables, step)} if dirty else set[str]()
        self.tables = [f"t{n:04}" for n in range(tables)]
        for table in self.tables:
            made = lake.table(catalog, f"{name}.{table}", _COMMITS if table in self.dirty else 1)
            if table in self.dirty:
                lake.stray(made)

    def by_the_job(self, running: "SparkSession", root: Path) -> float:
        """Seconds of the job; all that is due has to be done."""
        file = root / "job.conf"
        chosen = "\n".join(f"{self.name}.{table}.remove_orphan_files.enabled: true" for table in sorted(self.dirty))
        file.write_text(
            f"catalog: {self.profile.catalog.name}, databases: [{self.name}], iceberg_assets.orphans: remove\n"
            f"remove_orphan_files.enabled: false\ntable_overrides {{ {chosen} }}\n"
        )
        started = time.monotonic()
        summary = maintained(self.profile, file, lambda: running)
        seconds = time.monotonic() - started
        counts = Counter(done=len(self.dirty), nothing_to_do=len(self.tables) - len(self.dirty))
        assert summary.counts == counts, (summary.counts, list(summary.complaints()))
        return seconds

    def by_calls(self, running: "SparkSession") -> float:
        """Seconds of the CALLs, table by table."""
        started = time.monotonic()
        for table in self.tables:
            for statement in self._calls(table):
                running.sql(statement).collect()
        return time.monotonic() - started

    def _calls(self, table: str) -> Iterator[str]:
        catalog, named, now = self.profile.catalog.name, quote(self.name, table), datetime.now(UTC)
        yield call(catalog, "rewrite_data_files", table=named)
        yield call(catalog, "rewrite_manifests", table=named)
        yield call(catalog, "expire_snapshots", table=named, older_than=now - _EXPIRE, retain_last=1)
        if table in self.dirty:
            yield call(catalog, "remove_orphan_files", table=named, older_than=now - _ORPHANS)

    def states(self) -> dict[str, State]:
        """By table, what is left."""
        return {table: self._state(table) for table in self.tables}

    def _state(self, table: str) -> State:
        catalog, now = self.profile.pyiceberg(), datetime.now(UTC)
        made = catalog.load_table((self.name, table))
        files = [one.file for one in made.scan().plan_files()]
        orphans = search(lambda: catalog.load_table((self.name, table)), Orphans(), now - _ORPHANS).orphans
        rows = sum(file.record_count for file in files)
        return State(len(files), rows, len(made.metadata.snapshots), len(orphans))


def maintained(profile: Profile, file: Path, session: spark.Session) -> Summary:
    """A run of the job, as the command line has it."""
    settings, summary = read_settings(file), Summary()
    for event in run(profile, settings, find(profile, settings).objects, spark=session, stop=threading.Event()):
        summary.add(event)
    return summary


def speed(root: Path, tables: int, dirty: int) -> tuple[float, float]:
    """Seconds of the job and of the CALLs, which have to come to the same."""
    profiles = [_profile(root, name) for name in ("ours", "theirs")]
    ours, theirs = (Side(profile, "measured", tables, dirty) for profile in profiles)
    warm = [Side(profile, "warm", 4, 2) for profile in profiles]
    running = _session(profiles)
    warm[0].by_the_job(running, root)
    warm[1].by_calls(running)
    # Who comes second finds the warmer JVM.
    seconds = ours.by_the_job(running, root), theirs.by_calls(running)
    running.stop()
    assert (one := ours.states()) == (other := theirs.states()), {
        table: (state, other[table]) for table, state in one.items() if state != other[table]
    }
    assert not any(state.orphans for state in one.values())
    assert all(one[table] == State(1, 10 * _COMMITS, 2, 0) for table in ours.dirty), one
    return seconds


def _profile(root: Path, name: str) -> Profile:
    """That of the package, with a catalog of that name."""
    local = load_profile("local", root)
    own = {"name": name, "uri": f"sqlite:///{root / name}.db", "warehouse": str(root / name)}
    profile = local.model_copy(update={"name": name, "catalog": local.catalog.model_copy(update=own)})
    profile.prepare()
    return profile


def _session(profiles: Sequence[Profile]) -> "SparkSession":
    """One session on all of their catalogs."""
    settings = {key: value for profile in profiles for key, value in profile.spark_settings().items()}
    catalogs = {key: value for key, value in settings.items() if key.startswith("spark.sql.catalog.")}
    return spark.session(profiles[0].model_copy(update={"spark": {**profiles[0].spark, **catalogs}}))


def peak(root: Path, tables: int) -> int:
    """Bytes that a process of its own needs at most for a run over so many tables with nothing to do."""
    command = [sys.executable, "-m", "benchmarks.bench_catalog", "--peak-of", str(tables), "--root", str(root)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def _peak_here(root: Path, tables: int) -> int:
    file = root / "memory.conf"
    file.write_text(f"catalog: local, databases: [of_{tables}], iceberg_assets.orphans: off\n")
    summary = maintained(load_profile("local", root), file, _no_spark)
    assert summary.counts == Counter(nothing_to_do=tables), summary.counts
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _no_spark() -> "SparkSession":
    raise AssertionError("no table has work for Spark")


def memory(root: Path, few: int, many: int) -> tuple[int, int]:
    """Peaks over few tables and over many."""
    profile = load_profile("local", root)
    profile.prepare()
    for tables in (few, many):
        for number in range(tables):
            on_paper.append(on_paper.make(profile.pyiceberg(), f"of_{tables}.t{number}"), [date(2024, 1, 10)], 1)
    return peak(root, few), peak(root, many)


def main(arguments: Sequence[str]) -> int:
    """Print both figures; 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--dirty", type=int, default=10)
    parser.add_argument("--many", type=int, default=MANY)
    parser.add_argument("--peak-of", type=int)
    parser.add_argument("--root", type=Path)
    given = parser.parse_args(arguments)
    if given.peak_of:
        print(_peak_here(given.root, given.peak_of))
        return 0
    with tempfile.TemporaryDirectory(prefix="bench_catalog_") as folder:
        for name in ("speed", "memory"):
            Path(folder, name).mkdir()
            Path(folder, name, "pyproject.toml").touch()
        ours, theirs = speed(Path(folder, "speed"), given.tables, given.dirty)
        few, many = memory(Path(folder, "memory"), FEW, given.many)
    shown = Shown("", "the job", "the CALLs", "ratio", "limit")
    what = f"{given.tables} tables, {given.dirty} with work"
    shown.add_row(what, f"{ours:.1f} s", f"{theirs:.1f} s", f"{theirs / ours:.1f}", f"at least {RATIO_AT_LEAST:.0f}")
    Console(highlight=False, width=110).print(shown)
    grown = Shown("", f"{FEW} tables", f"{given.many} tables", "ratio", "limit")
    sizes = (f"{size / 2**20:.0f} MiB" for size in (few, many))
    grown.add_row("peak memory without work", *sizes, f"{many / few:.2f}", f"at most {MEMORY_WITHIN}")
    Console(highlight=False, width=110).print(grown)
    return 0 if theirs / ours >= RATIO_AT_LEAST and many / few <= MEMORY_WITHIN else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What the demo must have come to: a pure function of its figures, so that a test can break each one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

GIB = 1024**3

MOST_MEMORY = 4 * GIB
MOST_SNAPSHOTS = 5
LEAST_WAVES = 8
LEAST_DATES_A_WAVE = 5
LEAST_FILES_A_DATE = 8
MAINTENANCE = ("compacted", "manifests_rewritten", "snapshots_expired", "orphans_removed")


@dataclass(frozen=True)
class TableFigures:
    """One look at the table from outside.

    Attributes:
        rows: rows that a scan returned.
        files: data files of the current snapshot.
        files_by_date: the same, by the date of their partition.
        small_files: those that share a partition with at least four others, which is when Iceberg compacts.
        bytes: bytes of the data files.
        snapshots: snapshots that the metadata lists.
        manifests: manifests of the current snapshot.
        orphans: files in the table's folder that no metadata leads to, by path.
        lost: files that metadata leads to and the folder does not have, by path.
    """

    rows: int
    files: int
    files_by_date: Mapping[date, int]
    small_files: int
    bytes: int
    snapshots: int
    manifests: int
    orphans: frozenset[str]
    lost: frozenset[str]


@dataclass(frozen=True)
class SensorRun:
    """A run that did maintenance, as the instance tells it.

    Attributes:
        sensor: the name of the sensor whose tick launched it; empty where none did.
        operations: seconds of each maintenance asset that it materialized.
    """

    run_id: str
    sensor: str
    operations: Mapping[str, float]


@dataclass(frozen=True)
class Figures:
    """Everything that the demo promises.

    Attributes:
        raw_rows: rows of the raw Parquet.
        dates_by_wave: how many dates each wave touched.
        longest_gap: most seconds between the commits of two waves.
        quiet_for: seconds that a date must rest before it is compacted.
        before: the table after the last wave.
        after: the table after the sensors' runs.
        old_strays: files that nothing refers to, older than the orphan cut-off, by path.
        fresh_stray: the same, too young to be an orphan.
        sensor_runs: the successful runs that did maintenance.
        checks: the results of each asset check, oldest first.
        peak_memory: summed proportional set size of all processes, in bytes.
    """

    raw_rows: int
    dates_by_wave: tuple[int, ...]
    longest_gap: float
    quiet_for: float
    before: TableFigures
    after: TableFigures
    old_strays: frozenset[str]
    fresh_stray: str
    sensor_runs: tuple[SensorRun, ...]
    checks: Mapping[str, tuple[bool, ...]]
    peak_memory: int


def verify(figures: Figures) -> list[str]:
    """Every figure that is not what it must be, as a sentence that names it; empty where all is well."""
    return [*_of_the_input(figures), *_of_the_table(figures), *_of_the_folder(figures), *_of_dagster(figures)]


def _of_the_input(figures: Figures) -> list[str]:
    problems = []
    if len(figures.dates_by_wave) < LEAST_WAVES:
        problems.append(f"waves: {len(figures.dates_by_wave)}, expected at least {LEAST_WAVES}")
    if min(figures.dates_by_wave, default=0) < LEAST_DATES_A_WAVE:
        problems.append(f"dates of a wave: {figures.dates_by_wave}, expected at least {LEAST_DATES_A_WAVE} in each")
    if figures.longest_gap >= figures.quiet_for:
        problems.append(
            f"gap of two waves: {figures.longest_gap:.1f} s, expected less than quiet_for, {figures.quiet_for:.0f} s"
        )
    few = {str(day): files for day, files in figures.before.files_by_date.items() if files < LEAST_FILES_A_DATE}
    if few or not figures.before.files_by_date:
        problems.append(f"data files before compaction: {few or 'none'}, expected at least {LEAST_FILES_A_DATE} a date")
    return problems


def _of_the_table(figures: Figures) -> list[str]:
    before, after = figures.before, figures.after
    problems = [
        f"rows {moment}: {table.rows} in the table, expected the {figures.raw_rows} of the raw files"
        for moment, table in (("before", before), ("after", after))
        if table.rows != figures.raw_rows
    ]
    if not 0 < after.files < before.files:
        problems.append(f"data files: {before.files} before and {after.files} after, expected fewer")
    if after.small_files:
        problems.append(f"small files: {after.small_files}, expected 0")
    if not 0 < after.bytes < before.bytes:
        problems.append(f"bytes: {before.bytes} before and {after.bytes} after, expected fewer")
    if not 0 < after.snapshots <= MOST_SNAPSHOTS:
        problems.append(f"snapshots: {after.snapshots}, expected at most {MOST_SNAPSHOTS}")
    if not 0 < after.manifests < before.manifests:
        problems.append(f"manifests: {before.manifests} before and {after.manifests} after, expected fewer")
    return problems


def _of_the_folder(figures: Figures) -> list[str]:
    """Strays, and files that commits left: the first append stages beside an empty main, and its manifest stays."""
    before, after = figures.before, figures.after
    strays = figures.old_strays | {figures.fresh_stray}
    problems = []
    if _of_data(before.orphans) != strays or len(figures.old_strays) != 3:
        problems.append(
            f"orphan data files before: {_names(_of_data(before.orphans))}, expected the four strays: {_names(strays)}"
        )
    if before.orphans - after.orphans != figures.old_strays:
        problems.append(
            f"orphan files removed: {_names(before.orphans - after.orphans)}, "
            f"expected the three old strays: {_names(figures.old_strays)}"
        )
    if _of_data(after.orphans) != {figures.fresh_stray}:
        problems.append(
            f"orphan data files after: {_names(_of_data(after.orphans))}, "
            f"expected the fresh stray alone: {figures.fresh_stray}"
        )
    if before.lost or after.lost:
        problems.append(f"live files lost: {_names(before.lost | after.lost)}, expected none")
    return problems


def _of_dagster(figures: Figures) -> list[str]:
    problems = []
    launched = {operation for run in figures.sensor_runs if run.sensor for operation in run.operations}
    if missing := [operation for operation in MAINTENANCE if operation not in launched]:
        problems.append(f"runs launched by a sensor: none that did {', '.join(missing)}")
    if unknown := [run.run_id for run in figures.sensor_runs if not run.sensor]:
        problems.append(f"runs launched by a sensor: {', '.join(unknown)} without a sensor's name")
    if red := [name for name, results in figures.checks.items() if not results or not results[-1]]:
        problems.append(f"checks: {', '.join(red)} not green")
    if not any(results[-1] and not all(results) for results in figures.checks.values() if results):
        problems.append("checks: none turned green, expected the small files of the waves to fail one at first")
    if not 0 < figures.peak_memory < MOST_MEMORY:
        problems.append(f"peak memory: {figures.peak_memory / GIB:.2f} GiB, expected less than {MOST_MEMORY / GIB:.0f}")
    return problems


def _of_data(paths: frozenset[str]) -> frozenset[str]:
    return frozenset(path for path in paths if path.endswith(".parquet"))


def _names(paths: frozenset[str]) -> str:
    return ", ".join(sorted(paths)) or "none"

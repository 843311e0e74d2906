"""Each figure of the demo, broken once, is named."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

import pytest

from demo.verify import GIB, MAINTENANCE, Figures, SensorRun, TableFigures, verify

OLD = frozenset({"/t/data/stray-0.parquet", "/t/data/stray-1.parquet", "/t/data/stray-2.parquet"})
FRESH = "/t/data/stray-3.parquet"
LIVE = "/t/data/live.parquet"
LEFT = "/t/metadata/snap-1-of-the-first-append.avro"
OLD_NAMES = ", ".join(sorted(OLD))

BEFORE = TableFigures(
    rows=12_000,
    files=448,
    files_by_date={date(2013, 1, 1) + timedelta(days=n): 32 for n in range(14)},
    small_files=448,
    bytes=2_000_000,
    snapshots=8,
    manifests=8,
    orphans=OLD | {FRESH, LEFT},
    lost=frozenset(),
)
AFTER = replace(
    BEFORE, files=56, small_files=0, bytes=400_000, snapshots=5, manifests=1, orphans=frozenset({FRESH, LEFT})
)
GOOD = Figures(
    raw_rows=12_000,
    dates_by_wave=(14,) * 8,
    longest_gap=6.5,
    quiet_for=20.0,
    before=BEFORE,
    after=AFTER,
    old_strays=OLD,
    fresh_stray=FRESH,
    sensor_runs=(
        SensorRun("a", "iceberg_compaction", {"compacted": 20.0}),
        SensorRun("b", "iceberg_maintenance", dict.fromkeys(MAINTENANCE[1:], 2.0)),
    ),
    checks={"demo/flights small_files": (False, True), "demo/flights snapshots": (True, True)},
    peak_memory=2 * GIB,
)


def test_good_figures_are_good() -> None:
    assert verify(GOOD) == []


def before(**changes: object) -> Callable[[Figures], Figures]:
    return lambda figures: replace(figures, before=replace(figures.before, **changes))


def after(**changes: object) -> Callable[[Figures], Figures]:
    return lambda figures: replace(figures, after=replace(figures.after, **changes))


def figures(**changes: object) -> Callable[[Figures], Figures]:
    return lambda good: replace(good, **changes)


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (figures(dates_by_wave=(14,) * 7), "waves: 7"),
        (figures(dates_by_wave=(14,) * 7 + (4,)), "dates of a wave"),
        (figures(dates_by_wave=()), "waves: 0"),
        (figures(longest_gap=20.0), "gap of two waves: 20.0 s"),
        (before(files_by_date={**BEFORE.files_by_date, date(2013, 1, 3): 7}), "2013-01-03"),
        (before(files_by_date={}), "data files before compaction: none"),
        (figures(raw_rows=12_001), "rows before"),
        (before(rows=12_001), "rows before"),
        (after(rows=11_999), "rows after: 11999 in the table, expected the 12000"),
        (after(files=448), "data files: 448 before and 448 after"),
        (after(files=0), "data files: 448 before and 0 after"),
        (after(small_files=8), "small files: 8"),
        (after(bytes=2_000_000), "bytes"),
        (after(snapshots=6), "snapshots: 6"),
        (after(snapshots=0), "snapshots: 0"),
        (after(manifests=8), "manifests: 8 before and 8 after"),
        (before(orphans=OLD), "orphan data files before"),
        (before(orphans=OLD | {FRESH, LEFT, LIVE}), f"orphan data files before: {LIVE}"),
        (figures(old_strays=OLD - {"/t/data/stray-2.parquet"}), "orphan data files before"),
        (after(orphans=frozenset({FRESH, LEFT, "/t/data/stray-0.parquet"})), "orphan files removed: /t/data/stray-1"),
        (after(orphans=frozenset({FRESH})), f"orphan files removed: {OLD_NAMES}, {LEFT}"),
        (after(orphans=frozenset({LEFT})), "orphan data files after: none"),
        (after(orphans=frozenset({FRESH, LEFT, LIVE})), f"orphan data files after: {LIVE}, {FRESH}"),
        (before(lost=frozenset({LIVE})), f"live files lost: {LIVE}"),
        (after(lost=frozenset({LIVE})), f"live files lost: {LIVE}"),
        (figures(sensor_runs=()), "none that did compacted, manifests_rewritten, snapshots_expired, orphans_removed"),
        (figures(sensor_runs=GOOD.sensor_runs[:1]), "none that did manifests_rewritten"),
        (figures(sensor_runs=(*GOOD.sensor_runs, SensorRun("c", "", {"compacted": 1.0}))), "c without a sensor's name"),
        (figures(checks={**GOOD.checks, "demo/flights snapshots": (True, False)}), "demo/flights snapshots not green"),
        (figures(checks={"demo/flights small_files": (True, True)}), "checks: none turned green"),
        (figures(checks={}), "checks: none turned green"),
        (figures(peak_memory=4 * GIB), "peak memory: 4.00 GiB"),
        (figures(peak_memory=0), "peak memory: 0.00 GiB"),
    ],
)
def test_a_broken_figure_is_named(broken: Callable[[Figures], Figures], named: str) -> None:
    problems = verify(broken(GOOD))
    assert any(named in problem for problem in problems), problems

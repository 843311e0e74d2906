"""Where a branch is said to go is where Iceberg moves it, and what it refuses is refused beforehand. Facts alone."""

from dataclasses import replace
from datetime import datetime, timedelta

from iceberg_assets.health import Snapshot
from iceberg_assets.maintenance.refs import foretell_move
from iceberg_assets_tests.health.examples import NOW, snapshot, table


def said(snapshot: Snapshot, operation: str = "append", **summary: str) -> Snapshot:
    named = {key.replace("_", "-").replace("wap-", "wap."): value for key, value in summary.items()}
    return replace(snapshot, operation=operation, summary=named)


def test_a_rollback_in_time_goes_by_time_where_clocks_differ_and_in_whole_milliseconds() -> None:
    """Iceberg takes the latest ancestor by its own time, which need not be the nearest."""
    ages = (60, 20, 40, 10)
    chain = [snapshot(n, timedelta(seconds=age), parent=n - 1 or None) for n, age in enumerate(ages, 1)]

    def head(moment: datetime) -> int | None:
        return foretell_move("rollback_to_timestamp", table(snapshots=chain), {"timestamp": moment}, NOW)[0].head

    at = {n: one.committed_at for n, one in enumerate(chain, 1)}
    assert head(at[4]) == 2
    assert head(at[2]) == 3
    assert head(at[3] + timedelta(microseconds=900)) == 1
    assert head(at[1] + timedelta(microseconds=900)) is None


def test_what_iceberg_would_not_pick_is_refused_beforehand() -> None:
    base, rolled_back, head = (
        snapshot(1, timedelta(minutes=9)),
        snapshot(2, timedelta(minutes=8), parent=1),
        snapshot(3, timedelta(minutes=7), parent=1),
    )
    head = said(head, wap_id="night")
    other = snapshot(4, timedelta(minutes=6), parent=1)
    for staged, words in (
        (said(other, wap_id="night"), "staged with wap.id 'night' are in main already"),
        (said(other, "overwrite", wap_id="night", replace_partitions="true"), "are in main already"),
        (said(replace(other, parent_id=2), "overwrite", replace_partitions="true"), "it was not made from it"),
        (said(other, "delete"), "only appends and dynamic overwrites"),
        (said(other, wap_id="day"), ""),
        (said(replace(other, parent_id=2)), ""),
        (said(other, "overwrite", replace_partitions="true"), ""),
    ):
        health = replace(table(snapshots=[base, rolled_back, staged, head]), snapshot_id=3)
        move, preview = foretell_move("cherrypick_snapshot", health, {"snapshot_id": 4}, NOW)
        assert bool(words) is bool(move.refusal), (staged, move.refusal)
        assert words in move.refusal
        overwrites = not words and staged.operation == "overwrite"
        assert any("changed a partition" in note for note in preview.notes) is overwrites

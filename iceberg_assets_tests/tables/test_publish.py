"""Exactly once, whatever is killed, retried or run twice at once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from iceberg_assets.errors import ClaimInDoubtError
from iceberg_assets.spark import call, quote
from iceberg_assets.spec import Status
from iceberg_assets.tables import Ledger, append, protected_since, recover
from iceberg_assets.tables.claims import CLAIM_DEADLINE, CLAIM_PROPERTY, Claim
from iceberg_assets.tables.publish import STEPS
from iceberg_assets.tables.staging import move_ref
from iceberg_assets.tables.target import sql_name
from iceberg_assets_tests.tables.helpers import D1, D2, D3, Feed, Killed, kill_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


IN_MAIN = ("picked", "confirmed", "cleared")
"""After these steps the rows are in the table."""


def later(by: timedelta = CLAIM_DEADLINE) -> Callable[[], datetime]:
    """A clock that runs ahead."""
    return lambda: datetime.now(UTC) + by


def killed(spark: "SparkSession", feed: Feed, step: str) -> None:
    with pytest.raises(Killed):
        append(lambda: spark, feed.profile, feed.spec, [D1], on_step=kill_at(step))


def stray(feed: Feed) -> Claim:
    """The claim that a killed append left open."""
    (claim,) = feed.ledger().open
    return claim


def staged(feed: Feed, claim: Claim) -> int:
    return next(
        snapshot.snapshot_id
        for snapshot in feed.table.metadata.snapshots
        if snapshot.summary and snapshot.summary.get(CLAIM_PROPERTY) == claim.id
    )


def pick(spark: "SparkSession", feed: Feed, snapshot_id: int) -> None:
    """What a stalled runner does when it wakes up."""
    spark.sql(
        call(feed.profile.catalog.name, "cherrypick_snapshot", table=quote(*feed.spec.table), snapshot_id=snapshot_id)
    ).collect()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("first", [True, False], ids=["empty table", "table with rows"])
def test_killed_after_any_step_and_run_again(spark: "SparkSession", feed: Feed, step: str, first: bool) -> None:
    feed.land(D1, "a", range(3))
    if not first:
        append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D1, "b", range(10, 13))
    killed(spark, feed, step)
    expected = [*range(3), *range(10, 13)]
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert outcome.status is (Status.NOTHING_TO_DO if step in IN_MAIN else Status.DONE)
    assert feed.ids() == expected
    assert append(lambda: spark, feed.profile, feed.spec, [D1], now=later())[D1].status is Status.NOTHING_TO_DO
    assert feed.ids() == expected
    assert not feed.branches()
    state = feed.ledger()
    assert not state.open
    assert len(state.confirmed) == 2
    assert state.batches == feed.main_snapshots() == (1 if first else 2)


def test_killed_in_the_middle_of_recovery(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    killed(spark, feed, "picked")
    with pytest.raises(Killed):
        recover(feed.profile, feed.spec, on_step=kill_at("confirmed"))
    feed.land(D1, "b", [2])
    killed(spark, feed, "staged")
    with pytest.raises(Killed):
        recover(feed.profile, feed.spec, now=later(), on_step=kill_at("abandoned"))
    assert len(feed.branches()) == 1, "it did not come to clearing away"
    append(lambda: spark, feed.profile, feed.spec, [D1])
    assert feed.ids() == [1, 2]
    assert not feed.branches()


def test_a_live_claim_of_another_runner_is_left_alone(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    killed(spark, feed, "staged")
    claim = stray(feed)
    recover(feed.profile, feed.spec)
    assert feed.ledger().open == (claim,)
    assert feed.branches() == {claim.branch}


def test_a_claim_past_its_deadline_is_abandoned_and_its_late_pick_finds_nothing(
    spark: "SparkSession", feed: Feed
) -> None:
    feed.land(D1, "a", [1])
    killed(spark, feed, "checked")
    snapshot = staged(feed, stray(feed))
    recover(feed.profile, feed.spec, now=later())
    assert not feed.ledger().open
    assert not feed.branches()
    assert not feed.table.metadata.snapshots, "neither the staged snapshot nor the branch's empty first one"
    with pytest.raises(Exception, match="Cannot cherry-pick unknown snapshot"):
        pick(spark, feed, snapshot)
    append(lambda: spark, feed.profile, feed.spec, [D1])
    assert feed.ids() == [1]


def test_a_runner_that_was_taken_for_dead_stops_before_its_pick(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])

    def stall(step: str) -> None:
        if step == "staged":
            recover(feed.profile, feed.spec, now=later())

    outcome = append(lambda: spark, feed.profile, feed.spec, [D1], on_step=stall)[D1]
    assert outcome.status is Status.FAILED
    assert "took the append of 1 files for dead" in outcome.reason
    assert feed.table.metadata.current_snapshot_id is None
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE
    assert feed.ids() == [1]


def test_a_runner_with_too_little_time_left_stops_before_its_pick(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    passed = [timedelta(0)]

    def take_long(step: str) -> None:
        if step == "staged":
            passed[0] = CLAIM_DEADLINE * 0.95

    outcome = append(
        lambda: spark, feed.profile, feed.spec, [D1], on_step=take_long, now=lambda: datetime.now(UTC) + passed[0]
    )[D1]
    assert "append fewer dates at a time" in outcome.reason
    assert not feed.branches()
    assert not feed.ledger().open


def test_a_pick_that_comes_right_after_its_claim_was_abandoned_counts(spark: "SparkSession", feed: Feed) -> None:
    """The runner had passed its last look when it stalled; its rows are in, so the claim is confirmed after all."""
    feed.land(D1, "a", [1])
    killed(spark, feed, "checked")
    claim = stray(feed)
    recovered = recover(feed.profile, feed.spec)
    assert recovered is not None
    recovered.ledger.abandon(claim, datetime.now(UTC))
    pick(spark, feed, staged(feed, claim))
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.NOTHING_TO_DO
    assert feed.ids() == [1]
    assert list(feed.ledger().snapshots) == [claim.id]


def test_two_claims_of_one_token_and_the_second_pick_is_refused(spark: "SparkSession", feed: Feed) -> None:
    """Another runner appends between our last look and our pick: we list again and take the next token."""
    feed.land(D1, "a", [1])
    feed.land(D2, "b", [2])
    rounds: list[str] = []

    def overtake(step: str) -> None:
        if step == "checked" and not rounds:
            rounds.append(step)
            append(lambda: spark, feed.profile, feed.spec, [D1])

    outcomes = append(lambda: spark, feed.profile, feed.spec, [D1, D2], on_step=overtake)
    assert outcomes[D1].status is Status.NOTHING_TO_DO
    assert "another run has appended" in outcomes[D1].reason
    assert (outcomes[D2].status, outcomes[D2].rows) == (Status.DONE, 1)
    assert feed.ids() == [1, 2]
    assert feed.ledger().batches == feed.main_snapshots() == 2
    assert not feed.branches()


def test_the_ledger_moved_between_listing_and_claim(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    done: list[str] = []

    def overtake(step: str) -> None:
        if step == "frozen" and not done:
            done.append(step)
            append(lambda: spark, feed.profile, feed.spec, [D1])

    assert append(lambda: spark, feed.profile, feed.spec, [D1], on_step=overtake)[D1].status is Status.NOTHING_TO_DO
    assert feed.ids() == [1]


@pytest.mark.parametrize("first", [True, False], ids=["empty table", "table with rows"])
def test_appends_raced_over_the_same_files(spark: "SparkSession", feed: Feed, first: bool) -> None:
    feed.land(D1, "a", range(5))
    feed.land(D2, "a", range(5, 10))
    feed.land(D3, "a", range(10, 15))
    if not first:
        append(lambda: spark, feed.profile, feed.spec, [D1])
    outcomes, barrier = [], threading.Barrier(3)

    def run(*days: int) -> None:
        session = spark.newSession()
        barrier.wait()
        outcomes.append(append(lambda: session, feed.profile, feed.spec, [(D1, D2, D3)[day] for day in days]))

    threads = [threading.Thread(target=run, args=days) for days in ((0, 1), (1, 2), (0, 1, 2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 3
    reasons = [outcome.reason for of_run in outcomes for outcome in of_run.values() if outcome.status is Status.FAILED]
    assert not reasons
    assert feed.ids() == list(range(15))
    assert sum(outcome.rows for of_run in outcomes for outcome in of_run.values()) == (15 if first else 10)
    recover(feed.profile, feed.spec, spark=lambda: spark)
    assert not feed.branches()
    assert feed.ledger().batches == feed.main_snapshots()


def test_foreign_appends_in_between_are_kept(spark: "SparkSession", feed: Feed) -> None:
    """A pick on top of somebody else's commit is no fast-forward: the claim is known by its source snapshot."""
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D1, "b", [2])
    for step in ("staged", "checked"):
        killed(spark, feed, step)
        foreign_append(spark, feed)
    killed(spark, feed, "picked")
    append(lambda: spark, feed.profile, feed.spec, [D1], now=later())
    assert feed.ids() == [1, 2, 99, 99]
    assert not feed.branches()


def foreign_append(spark: "SparkSession", feed: Feed) -> None:
    spark.sql(f"INSERT INTO {sql_name(feed.profile, feed.spec)} VALUES (99, TIMESTAMP '2013-01-01 00:00:00Z', 'DL')")


def test_a_table_dropped_and_made_again_starts_anew(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    spark.sql(f"DROP TABLE {sql_name(feed.profile, feed.spec)} PURGE")
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert (outcome.status, outcome.rows) == (Status.DONE, 1)
    assert feed.ids() == [1]
    assert feed.ledger().batches == 1


def test_in_doubt_when_the_snapshots_that_would_tell_are_gone(spark: "SparkSession", feed: Feed) -> None:
    for name in "ab":
        feed.land(D1, name, [ord(name)])
        append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D1, "c", [1])
    killed(spark, feed, "claimed")
    for _ in range(2):
        foreign_append(spark, feed)
    expire_all_but_the_last(feed)
    claim = stray(feed)
    with pytest.raises(ClaimInDoubtError, match=rf"claim {claim.id}[\s\S]*2013-01-01/c.parquet"):
        append(lambda: spark, feed.profile, feed.spec, [D1])
    with pytest.raises(ClaimInDoubtError):
        protected_since(feed.profile, feed.spec)
    Ledger(feed.profile, feed.spec, claim.table_uuid).withdraw(claim, datetime.now(UTC))
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE


def expire_all_but_the_last(feed: Feed) -> None:
    """As a foreign maintainer with PyIceberg does it, which leaves the child without its parent's id."""
    table = feed.table
    head = table.metadata.current_snapshot_id
    ids = [snapshot.snapshot_id for snapshot in table.metadata.snapshots if snapshot.snapshot_id != head]
    table.maintenance.expire_snapshots().by_ids(ids).commit()


def test_expiry_keeps_the_token_of_every_claim_that_may_still_be_picked(spark: "SparkSession", feed: Feed) -> None:
    assert protected_since(feed.profile, feed.spec) is None, "no table yet"
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    assert protected_since(feed.profile, feed.spec) is None, "no claim is open"
    before = moment(feed)
    feed.land(D1, "b", [2])
    killed(spark, feed, "checked")
    assert protected_since(feed.profile, feed.spec) == before, "its token is not in main: kept is the one before"
    append(lambda: spark, feed.profile, feed.spec, [D1])
    won = moment(feed)
    feed.land(D1, "c", [3])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    assert protected_since(feed.profile, feed.spec) == won, "its token is in main, brought by the second run"
    recover(feed.profile, feed.spec, now=later())
    assert not feed.ledger().open
    assert protected_since(feed.profile, feed.spec) == won, "abandoned a moment ago: its runner may be merely slow"


def moment(feed: Feed) -> datetime:
    snapshot = feed.table.current_snapshot()
    assert snapshot is not None
    return datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)


def test_a_crash_leaves_nothing_that_a_second_append_of_other_dates_trips_over(
    spark: "SparkSession", feed: Feed
) -> None:
    feed.land(D1, "a", [1])
    feed.land(D2, "a", [2])
    killed(spark, feed, "branched")
    assert append(lambda: spark, feed.profile, feed.spec, [D2])[D2].status is Status.DONE
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE
    assert feed.ids() == [1, 2]


def test_branches_made_at_once_are_all_made(spark: "SparkSession", feed: Feed) -> None:
    """Iceberg refuses to make one where any other commit comes in between, and does not try again by itself."""
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    name = sql_name(feed.profile, feed.spec)
    statements = [f"ALTER TABLE {name} CREATE BRANCH IF NOT EXISTS b{number}" for number in range(12)]
    with ThreadPoolExecutor(3) as runners:
        list(runners.map(lambda statement: move_ref(spark, statement), statements))
    assert feed.table.metadata.refs.keys() == {"main", *(f"b{number}" for number in range(12))}


def test_what_a_user_tagged_is_not_cleared_away(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    killed(spark, feed, "staged")
    snapshot = staged(feed, stray(feed))
    spark.sql(f"ALTER TABLE {sql_name(feed.profile, feed.spec)} CREATE TAG mine AS OF VERSION {snapshot}")
    recover(feed.profile, feed.spec, now=later())
    assert not feed.branches()
    assert feed.table.metadata.refs["mine"].snapshot_id == snapshot

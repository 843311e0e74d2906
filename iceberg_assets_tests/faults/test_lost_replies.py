"""A commit that the catalog took and whose reply never came, and a table that somebody rolled back."""

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from iceberg_assets.spark import call, quote
from iceberg_assets.spec import Status
from iceberg_assets.tables import append
from iceberg_assets_tests.tables.helpers import D1, D2, Feed, Killed, kill_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class LosingReplies:
    """The session, but the first statement of a kind raises once it is done."""

    def __init__(self, spark: "SparkSession", kind: str) -> None:
        self._spark, self._kind = spark, kind

    def sql(self, statement: str) -> Any:
        done = self._spark.sql(statement)
        if self._kind and self._kind in statement:
            done.collect()
            self._kind = ""
            raise ConnectionError("no reply")
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)


def test_a_pick_whose_reply_is_lost_is_seen_in_main(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1, 2])
    outcome = append(lambda: LosingReplies(spark, "cherrypick_snapshot"), feed.profile, feed.spec, [D1])[D1]  # type: ignore[arg-type]
    assert (outcome.status, outcome.rows) == (Status.DONE, 2)
    assert feed.ids() == [1, 2]
    assert feed.ledger().batches == feed.main_snapshots() == 1


def test_a_new_branch_whose_reply_is_lost_is_cleared_away(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1, 2])
    outcome = append(lambda: LosingReplies(spark, "CREATE BRANCH"), feed.profile, feed.spec, [D1])[D1]  # type: ignore[arg-type]
    assert outcome.status is Status.FAILED
    assert "ConnectionError: no reply. Nothing is lost" in outcome.reason
    assert not feed.branches()
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE
    assert feed.ids() == [1, 2]


@pytest.mark.parametrize("commit", [1, 2], ids=["the claim's", "the confirmation's"])
def test_a_ledger_commit_whose_reply_is_lost(spark: "SparkSession", feed: Feed, commit: int) -> None:
    feed.land(D1, "z", [0])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D1, "a", [1, 2])
    catalog = type(feed.profile.pyiceberg())
    commit_table, seen = catalog.commit_table, [0]

    def lose(self: Any, table: Any, *changes: Any) -> Any:
        answer = commit_table(self, table, *changes)
        seen[0] += "ledger" in table.name()[-1]
        if seen[0] == commit:
            seen[0] += 1
            raise ConnectionError("no reply")
        return answer

    with patch.object(catalog, "commit_table", lose):
        outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert outcome.status is Status.FAILED
    assert "ConnectionError: no reply. Nothing is lost" in outcome.reason
    again = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert again.status is (Status.DONE if commit == 1 else Status.NOTHING_TO_DO)
    assert feed.ids() == [0, 1, 2]


def rollback(spark: "SparkSession", feed: Feed, snapshot_id: int) -> None:
    """As somebody else does it."""
    name = quote(*feed.spec.table)
    catalog = feed.profile.catalog.name
    spark.sql(call(catalog, "rollback_to_snapshot", table=name, snapshot_id=snapshot_id)).collect()


def test_a_rollback_before_the_batch_was_confirmed_brings_its_files_again(spark: "SparkSession", feed: Feed) -> None:
    """The token went with the rollback: the same number is taken once more, by whoever is first."""
    feed.land(D1, "a", [1])
    first = append(lambda: spark, feed.profile, feed.spec, [D1])[D1].snapshot_id
    assert first is not None
    feed.land(D1, "b", [2, 3])
    with pytest.raises(Killed):
        append(lambda: spark, feed.profile, feed.spec, [D1], on_step=kill_at("picked"))
    rollback(spark, feed, first)
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE
    assert feed.ids() == [1, 2, 3]
    assert not feed.ledger().open or len(feed.branches()) == 1


def test_a_rollback_of_a_confirmed_batch_doubles_nothing_after_it(spark: "SparkSession", feed: Feed) -> None:
    """The ledger goes on to say that b is in; that it is not is for the check of the ledger to find."""
    feed.land(D1, "a", [1])
    first = append(lambda: spark, feed.profile, feed.spec, [D1])[D1].snapshot_id
    assert first is not None
    feed.land(D1, "b", [2, 3])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    rollback(spark, feed, first)
    feed.land(D2, "c", [4])
    assert append(lambda: spark, feed.profile, feed.spec, [D1, D2])[D2].status is Status.DONE
    assert feed.ids() == [1, 4]

"""What a person may tell the ledger, what the metadata contradicts, and that nothing is lost or doubled by it."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_assets.errors import ClaimInDoubtError, ConfigurationError, LedgerError
from iceberg_assets.spark import call, quote
from iceberg_assets.spec import Status
from iceberg_assets.tables import append, operator, protected_since
from iceberg_assets.tables.claims import CLAIM_DEADLINE, Claim, Content, Event
from iceberg_assets.tables.footers import read_footers
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.lineage import Lineage
from iceberg_assets.tables.source import RawFile, landed
from iceberg_assets.tables.standing import Standing, completeness, standing
from iceberg_assets.tables.target import sql_name
from iceberg_assets_tests.tables.helpers import D1, D2, D3, Feed, make_feed
from iceberg_assets_tests.tables.test_publish import expire_all_but_the_last, killed, stray

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def roll_back(spark: "SparkSession", feed: Feed, snapshot_id: int) -> None:
    """As somebody else does it."""
    table = quote(*feed.spec.table)
    spark.sql(call(feed.profile.catalog.name, "rollback_to_snapshot", table=table, snapshot_id=snapshot_id)).collect()


def head(feed: Feed) -> int:
    found = feed.table.metadata.current_snapshot_id
    assert found is not None
    return found


def test_after_a_rollback_the_check_is_red_and_forget_brings_the_rows_back(spark: "SparkSession", feed: Feed) -> None:
    heads = []
    for day in (D1, D2, D3):
        feed.land(day, "a", [day.day])
        append(lambda: spark, feed.profile, feed.spec, [day])
        heads.append(head(feed))
    found = completeness(feed.profile, feed.spec)
    assert found is not None
    assert (found.batches, found.rolled_back, found.doubtful) == (3, (), ())
    roll_back(spark, feed, heads[0])
    assert append(lambda: spark, feed.profile, feed.spec, [D2])[D2].status is Status.NOTHING_TO_DO, (
        "the ledger says it is in"
    )
    found = completeness(feed.profile, feed.spec)
    assert found is not None
    assert [entry.file.day for entry in found.rolled_back] == [D2, D3]

    going, untold = operator.forget_rolled_back(feed.profile, feed.spec, do=False)
    assert ([entry.file.day for entry in going], untold) == ([D2, D3], [])
    assert len(feed.ledger().confirmed) == 3, "a dry run"
    operator.forget_rolled_back(feed.profile, feed.spec, do=True)
    found = completeness(feed.profile, feed.spec)
    assert found is not None
    assert not found.rolled_back
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D1, D2, D3])
    assert [one.status for one in outcomes.values()] == [Status.NOTHING_TO_DO, Status.DONE, Status.DONE]
    assert feed.ids() == [1, 2, 3]
    assert operator.forget_rolled_back(feed.profile, feed.spec, do=True)[0] == []


def test_a_replacement_that_is_rolled_back_leaves_what_it_had_replaced(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    before = head(feed)
    feed.land(D1, "a", [2])
    append(lambda: spark, feed.profile, feed.spec, [D1], replaces=True)
    roll_back(spark, feed, before)
    operator.forget_rolled_back(feed.profile, feed.spec, do=True)
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert "was replaced after its rows were appended" in outcome.reason, "row 1 is in again, row 2 would come to it"
    append(lambda: spark, feed.profile, feed.spec, [D1], replaces=True)
    assert feed.ids() == [2]


def test_an_expired_snapshot_is_not_a_rolled_back_one(spark: "SparkSession", feed: Feed) -> None:
    for day in (D1, D2):
        feed.land(day, "a", [day.day])
        append(lambda: spark, feed.profile, feed.spec, [day])
    expire_all_but_the_last(feed)
    found = completeness(feed.profile, feed.spec)
    assert found is not None
    assert not found.rolled_back
    going, untold = operator.forget_rolled_back(feed.profile, feed.spec, do=True)
    assert (going, [entry.file.day for entry in untold]) == ([], [D1])
    with pytest.raises(LedgerError, match=r"a\.parquet \(expired\).*--rows-are-gone"):
        operator.forget(feed.profile, feed.spec, days=[D1], do=True)
    spark.sql(f"DELETE FROM {sql_name(feed.profile, feed.spec)} WHERE id = 1")
    told = operator.forget(feed.profile, feed.spec, days=[D1], rows_are_gone=True, do=True)
    assert [found for _, found in told] == [Standing.EXPIRED]
    append(lambda: spark, feed.profile, feed.spec, [D1, D2])
    assert feed.ids() == [1, 2]


def test_what_is_in_main_is_not_forgotten_on_a_whim(spark: "SparkSession", feed: Feed) -> None:
    path = feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    with pytest.raises(LedgerError, match="in main"):
        operator.forget(feed.profile, feed.spec, files=[str(path)], do=True)
    with pytest.raises(LedgerError, match="the ledger has nothing of 2013-01-02"):
        operator.forget(feed.profile, feed.spec, days=[D2], rows_are_gone=True, do=True)
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.NOTHING_TO_DO


def test_no_file_is_forgotten_while_a_claim_on_it_may_get_in(spark: "SparkSession", feed: Feed) -> None:
    """A runner's pick would bring the rows, and the next append once more."""
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    refused: list[str] = []

    def forget(step: str) -> None:
        if step == "checked":
            with pytest.raises(LedgerError, match="may still get in until") as told:
                operator.forget(feed.profile, feed.spec, days=[D1], rows_are_gone=True, do=True)
            refused.append(str(told.value))

    append(lambda: spark, feed.profile, feed.spec, [D1], replaces=True, on_step=forget)
    assert len(refused) == 1
    assert feed.ids() == [1]


def test_a_table_that_was_loaded_before_is_adopted(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    feed.land(D2, "late", [2], on=D1)
    with pytest.raises(ConfigurationError, match="does not exist"):
        operator.adopt(feed.profile, feed.spec, [D1], do=True)
    append(lambda: spark, feed.profile, make_feed(feed.profile, feed.raw, list(feed.spec.table)).spec, [D1])
    by_hand = make_feed(feed.profile, feed.raw, [feed.spec.table[0], "loaded"], partition_by=[])
    spark.sql(
        f"CREATE TABLE {sql_name(feed.profile, by_hand.spec)} AS SELECT * FROM {sql_name(feed.profile, feed.spec)}"
    )
    spark.sql(f"INSERT INTO {sql_name(feed.profile, by_hand.spec)} VALUES (2, TIMESTAMP '2013-01-01 09:00:00Z', 'AA')")

    assert list(operator.adopt(by_hand.profile, by_hand.spec, [D1, D2, D3], do=False)) == [D1, D2]
    assert not by_hand.ledger().confirmed, "a dry run"
    operator.adopt(by_hand.profile, by_hand.spec, [D1, D2, D3], do=True)
    outcomes = append(lambda: spark, by_hand.profile, by_hand.spec, [D1, D2])
    assert {one.status for one in outcomes.values()} == {Status.NOTHING_TO_DO}
    state = by_hand.ledger()
    assert state.batches == 0, "it takes no token"
    assert {entry.content for entry in state.entries} == {Content(1, frozenset({D1}))}
    assert {entry.end for entry in state.entries} == {Event.ADOPTED}
    with pytest.raises(LedgerError, match="are in the ledger already"):
        operator.adopt(by_hand.profile, by_hand.spec, [D1], do=True)
    by_hand.land(D3, "a", [3])
    append(lambda: spark, by_hand.profile, by_hand.spec, [D3])
    assert by_hand.ids() == [1, 2, 3]
    reason = append(lambda: spark, by_hand.profile, by_hand.spec, [D1], replaces=True)[D1].reason
    assert "Replace 2013-01-01, 2013-01-02 together" in reason, "its footer said so when it was adopted"


def test_a_ledger_that_was_lost_stops_appends_until_it_is_back_or_its_files_are_adopted(
    spark: "SparkSession", feed: Feed
) -> None:
    """Without a word its files would be appended again, as soon as the snapshots with their tokens are expired."""
    for day in (D1, D2):
        feed.land(day, "a", [day.day])
        append(lambda: spark, feed.profile, feed.spec, [day])
    before = head(feed)
    ledger = Ledger(feed.profile, feed.spec, str(feed.table.metadata.table_uuid))
    feed.profile.pyiceberg().drop_table(ledger.name)

    feed.land(D3, "a", [D3.day])
    with pytest.raises(ClaimInDoubtError, match="main holds 2 batches that the ledger"):
        append(lambda: spark, feed.profile, feed.spec, [D3])
    with pytest.raises(ClaimInDoubtError, match="ledger adopt"):
        protected_since(feed.profile, feed.spec)
    found = completeness(feed.profile, feed.spec)
    assert found is not None
    assert "does not know" in found.unaccounted
    assert head(feed) == before

    operator.adopt(feed.profile, feed.spec, [D1, D2], do=True)
    for _ in range(2):
        append(lambda: spark, feed.profile, feed.spec, [D1, D2, D3])
    assert feed.ids() == [1, 2, 3]
    expire_all_but_the_last(feed)
    feed.land(D3, "b", [4])
    append(lambda: spark, feed.profile, feed.spec, [D1, D2, D3])
    assert feed.ids() == [1, 2, 3, 4]


@pytest.mark.parametrize("is_in", [True, False])
def test_a_claim_in_doubt_is_settled_as_a_person_found_it(spark: "SparkSession", feed: Feed, is_in: bool) -> None:
    for name in "ab":
        feed.land(D1, name, [ord(name)])
        append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D1, "c", [1])
    killed(spark, feed, "picked" if is_in else "claimed")
    for id_ in (8, 9):
        spark.sql(
            f"INSERT INTO {sql_name(feed.profile, feed.spec)} VALUES ({id_}, TIMESTAMP '2013-01-09 00:00:00Z', 'AA')"
        )
    if is_in:
        spark.sql(f"ALTER TABLE {sql_name(feed.profile, feed.spec)} DROP BRANCH {quote(stray(feed).branch)}")
    expire_all_but_the_last(feed)
    claim = stray(feed)
    with pytest.raises(ClaimInDoubtError, match=f"ledger resolve {feed.spec.name} {claim.id}"):
        append(lambda: spark, feed.profile, feed.spec, [D1])
    found = completeness(feed.profile, feed.spec)
    assert found is not None
    assert [one.id for one in found.doubtful] == [claim.id]
    shown = operator.evidence(feed.profile, feed.spec, claim.id[:8])
    assert shown.doubtful
    assert "c.parquet" in str(shown)
    end = operator.resolve(feed.profile, feed.spec, claim.id, is_in=is_in)
    assert end is (Event.CONFIRMED if is_in else Event.WITHDRAWN)
    append(lambda: spark, feed.profile, feed.spec, [D1])
    assert feed.ids() == [1, 8, 9, ord("a"), ord("b")]
    found = completeness(feed.profile, feed.spec)
    assert found is not None
    assert (found.rolled_back, found.doubtful) == ((), ())


def test_a_claim_that_is_not_in_doubt_is_left_to_recovery(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    killed(spark, feed, "staged")
    claim = stray(feed)
    with pytest.raises(LedgerError, match="not in doubt"):
        operator.resolve(feed.profile, feed.spec, claim.id, is_in=False)
    with pytest.raises(LedgerError, match=f"0 claims begin with 'x'; open are {claim.id}"):
        operator.evidence(feed.profile, feed.spec, "x")


def test_a_batch_that_came_after_all_that_main_holds_and_is_not_there_was_rolled_back(
    spark: "SparkSession", feed: Feed
) -> None:
    """Its snapshot may be expired meanwhile: then the times tell."""
    for day in (D1, D2, D3):
        feed.land(day, "a", [day.day])
        append(lambda: spark, feed.profile, feed.spec, [day])
    expire_all_but_the_last(feed)
    lineage, now = Lineage(feed.table.metadata), datetime.now(UTC)
    assert not lineage.whole
    gone = 4711
    for age, expected in [(timedelta(hours=1), Standing.EXPIRED), (timedelta(hours=-1), Standing.ROLLED_BACK)]:
        claim = Claim("c", lineage.table_uuid, 2, (), now - age + CLAIM_DEADLINE)
        assert standing(claim, Event.CONFIRMED, gone, lineage) is expected
        assert standing(claim, Event.ADOPTED, gone, lineage) is Standing.EXPIRED


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("ms"), pa.date32()])
def test_footers_tell_the_dates_of_row_groups_that_lie_on_one_each(feed: Feed, kind: pa.DataType) -> None:
    days = pa.array([D1, D2], pa.date32()).cast(pa.timestamp("us")).cast(kind)
    table = pa.table({"id": [1, 2], "ts": days, "carrier": ["AA", "UA"]})
    path = feed.raw / "f.parquet"
    feed.raw.mkdir()

    def told() -> tuple[tuple[date, int], ...] | None:
        ((footer,), _) = read_footers([RawFile(str(path), 1, "1", D1)], dates_of="ts")
        return footer.dates

    pq.write_table(table, path, row_group_size=1)
    assert told() == ((D1, 1), (D2, 1))
    pq.write_table(table, path)
    assert told() is None, "two dates in one row group"
    pq.write_table(table.slice(0, 1), path, write_statistics=False)
    assert told() is None
    pq.write_table(pa.table({"ts": pa.array([days[0].as_py(), None], kind)}), path)
    assert told() is None


def test_show_lists_files_with_their_standing_and_claims(spark: "SparkSession", feed: Feed) -> None:
    assert operator.show(feed.profile, feed.spec) is None, "no table yet"
    for day in (D2, D1):
        feed.land(day, "a", [day.day])
        append(lambda: spark, feed.profile, feed.spec, [day])
    feed.land(D1, "b", [5])
    killed(spark, feed, "staged")
    shown = operator.show(feed.profile, feed.spec)
    assert shown is not None
    assert [(Path(one.file.path).name, one.file.day, found) for one, found in shown.entries] == [
        ("a.parquet", D1, Standing.IN_MAIN),
        ("a.parquet", D2, Standing.IN_MAIN),
    ]
    assert [[file.path for file in claim.files] for claim in shown.open] == [[str(feed.raw / f"{D1}" / "b.parquet")]]
    only = operator.show(feed.profile, feed.spec, [date(2013, 1, 2)])
    assert only is not None
    assert len(only.entries) == 1
    assert len(landed(feed.spec, D1)) == 2

"""Replacing a bad day: its earlier rows go and the new ones come in one commit, or nothing happens and it says why."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo

from iceberg_assets.errors import SourceError
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Status
from iceberg_assets.tables import append, recover
from iceberg_assets.tables.claims import CLAIM_DEADLINE, Claim, Content, Entry, Event, LedgerState
from iceberg_assets.tables.replace import going
from iceberg_assets.tables.source import RawFile
from iceberg_assets.tables.target import sql_name
from iceberg_assets_tests.tables.helpers import D1, D2, D3, Feed, Killed, kill_at, make_feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def entry(name: str, day: date, *dates: date, known: bool = True) -> Entry:
    file = RawFile(f"/raw/{day}/{name}.parquet", 10, "1", day)
    claim = Claim(name, "f00d", 0, (file,), NOON + CLAIM_DEADLINE)
    content = Content(3, frozenset(dates or (day,))) if known else None
    return Entry(file, claim, Event.CONFIRMED, NOON, 1, content)


def test_a_date_goes_whose_files_have_all_its_rows_and_no_other() -> None:
    first, second = entry("a", D1), entry("b", D2)
    assert going(LedgerState(entries=(first, second)), {D1}, {}) == (first,)


def test_dates_that_share_rows_go_together_only() -> None:
    late = entry("late", D2, D1, D2)
    state = LedgerState(entries=(entry("a", D1), late, entry("c", D3)))
    with pytest.raises(SourceError, match=r"late\.parquet: some of its rows fell on 2013-01-01.*2013-01-02 together"):
        going(state, {D2}, {})
    with pytest.raises(SourceError, match=r"landed under 2013-01-02, has rows on 2013-01-01.*2013-01-02 together"):
        going(state, {D1}, {})
    assert len(going(state, {D1, D2}, {})) == 2
    assert len(going(state, {D3}, {})) == 1


def test_what_nobody_has_counted_is_not_taken_for_granted() -> None:
    other = entry("other", D2, known=False)
    state = LedgerState(entries=(entry("a", D1), other))
    with pytest.raises(SourceError, match=r"other\.parquet: which dates its rows fall on is not known"):
        going(state, {D1}, {})
    assert going(state, {D1}, {other.file: Content(1, frozenset({D2}))})


def test_a_day_is_replaced_in_one_step_and_the_others_stay(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", range(3))
    feed.land(D1, "gone", range(3, 5))
    feed.land(D2, "a", [10])
    append(lambda: spark, feed.profile, feed.spec, [D1, D2])
    feed.land(D1, "a", [100, 101])
    (feed.raw / D1.isoformat() / "gone.parquet").unlink()
    assert "--replace" in append(lambda: spark, feed.profile, feed.spec, [D1])[D1].reason
    seen: set[tuple[int, ...]] = set()
    outcome = append(
        lambda: spark, feed.profile, feed.spec, [D1], replaces=True, on_step=lambda _: seen.add((*feed.ids(),))
    )[D1]
    assert (outcome.status, outcome.files, outcome.rows) == (Status.DONE, 1, 2)
    assert "in place of those of 2 files" in outcome.reason
    assert seen == {(0, 1, 2, 3, 4, 10), (10, 100, 101)}, "no reader has seen anything in between"
    assert not feed.branches()
    assert len(feed.ledger().confirmed) == 2
    assert append(lambda: spark, feed.profile, feed.spec, [D1, D2])[D1].status is Status.NOTHING_TO_DO
    assert feed.ids() == [10, 100, 101]
    feed.land(D1, "b", [102])
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].rows == 1
    assert append(lambda: spark, feed.profile, feed.spec, [D1], replaces=True)[D1].rows == 3, "and again"
    assert feed.ids() == [10, 100, 101, 102]


def test_nothing_to_replace_is_an_append(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    assert append(lambda: spark, feed.profile, feed.spec, [D1], replaces=True)[D1].status is Status.DONE
    assert feed.ids() == [1]
    assert not feed.branches()


def insert(spark: "SparkSession", feed: Feed, id_: int, day: date) -> None:
    """What somebody else writes."""
    spark.sql(f"INSERT INTO {sql_name(feed.profile, feed.spec)} VALUES ({id_}, TIMESTAMP '{day} 00:00:00Z', 'AA')")


@pytest.mark.parametrize("step", ["branched", "staged", "checked", "picked", "confirmed"])
def test_killed_while_replacing_and_run_again(spark: "SparkSession", feed: Feed, step: str) -> None:
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D1, "a", [2, 3])
    with pytest.raises(Killed):
        append(lambda: spark, feed.profile, feed.spec, [D1], replaces=True, on_step=kill_at(step))
    assert feed.ids() == ([2, 3] if step in ("picked", "confirmed") else [1])
    assert append(lambda: spark, feed.profile, feed.spec, [D1], replaces=True)[D1].status is Status.DONE
    assert feed.ids() == [2, 3]
    recover(feed.profile, feed.spec, now=lambda: datetime.now(UTC) + CLAIM_DEADLINE)
    assert not feed.branches()
    assert not feed.ledger().open


@pytest.mark.parametrize("times", [1, 2])
def test_main_that_moves_is_looked_at_anew_once(spark: "SparkSession", feed: Feed, times: int) -> None:
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D1, "a", [2])
    left = [times]

    def others(step: str) -> None:
        if step == "checked" and left[0]:
            left[0] -= 1
            insert(spark, feed, 50 + left[0], date(2013, 1, 5))

    outcome = append(lambda: spark, feed.profile, feed.spec, [D1], replaces=True, on_step=others)[D1]
    if times == 1:
        assert outcome.status is Status.DONE
        assert feed.ids() == [2, 50]
    else:
        assert "others committed to main during both tries" in outcome.reason
        assert feed.ids() == [1, 50, 51]
    assert not feed.branches()


def test_another_runners_batch_is_not_overrun(spark: "SparkSession", feed: Feed) -> None:
    """It comes in between with the same token: the replacement begins again and takes its file along."""
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D1, "b", [2])
    done: list[str] = []

    def overtake(step: str) -> None:
        if step == "checked" and not done:
            done.append(step)
            append(lambda: spark, feed.profile, feed.spec, [D1])

    assert (
        append(lambda: spark, feed.profile, feed.spec, [D1], replaces=True, on_step=overtake)[D1].status is Status.DONE
    )
    assert feed.ids() == [1, 2]
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.NOTHING_TO_DO


def test_rows_that_came_by_other_means_are_not_lost(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    insert(spark, feed, 9, D1)
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1], replaces=True)[D1]
    assert "holds 2 rows of it, and the ledger knows of 1" in outcome.reason
    assert feed.ids() == [1, 9]
    assert not feed.branches()
    assert not feed.ledger().open


def test_late_rows_are_replaced_with_their_own_date_or_not_at_all(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    feed.land(D2, "a", [2])
    feed.land(D2, "late", [3], on=D1)
    append(lambda: spark, feed.profile, feed.spec, [D1, D2])
    feed.land(D2, "a", [20])
    outcome = append(lambda: spark, feed.profile, feed.spec, [D2], replaces=True)[D2]
    assert "Replace 2013-01-01, 2013-01-02 together" in outcome.reason
    assert feed.ids() == [1, 2, 3]
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D1, D2], replaces=True)
    assert {one.status for one in outcomes.values()} == {Status.DONE}
    assert feed.ids() == [1, 3, 20]


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.date32()])
@pytest.mark.parametrize("layout", [[], [{"col": "ts", "type": "date", "func": "month"}]], ids=["none", "month"])
def test_whatever_the_layout_and_the_kind_of_time(
    spark: "SparkSession", profile: Profile, tmp_path: Path, namespace: str, kind: pa.DataType, layout: list[object]
) -> None:
    """Where a data file holds several dates, the rows of one go all the same."""
    profile.prepare()
    feed = make_feed(profile, tmp_path / "raw", f"{namespace}.t", partition_by=layout)

    def land(day: date, *ids: int) -> None:
        moments = pa.array([datetime.combine(day, datetime.min.time())] * len(ids), pa.timestamp("us")).cast(kind)
        feed.land_table(
            day, "a", pa.table({"id": pa.array(ids, pa.int64()), "ts": moments, "carrier": ["AA"] * len(ids)})
        )

    land(D1, 1, 2)
    land(D2, 3)
    append(lambda: spark, profile, feed.spec, [D1, D2])
    land(D1, 4)
    assert append(lambda: spark, profile, feed.spec, [D1], replaces=True)[D1].status is Status.DONE
    assert feed.ids() == [3, 4]
    assert feed.table.scan(row_filter=EqualTo("id", 3)).to_arrow().num_rows == 1

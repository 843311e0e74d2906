"""Appending raw files: what is taken, what is refused, and what is said about it."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Status
from iceberg_assets.spec.table import PartitionField
from iceberg_assets.tables import append
from iceberg_assets.tables.staging import partitions, write_options
from iceberg_assets_tests.tables.helpers import D1, D2, D3, Feed, make_feed, no_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_once_then_nothing_then_more_files_of_the_date(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", range(3))
    feed.land(D1, "b", range(3, 5))
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert (outcome.status, outcome.files, outcome.rows, outcome.late) == (Status.DONE, 2, 5, {})
    assert outcome.snapshot_id == feed.table.metadata.current_snapshot_id
    assert feed.ids() == [0, 1, 2, 3, 4]
    before = feed.table.metadata_location
    again = append(no_spark, feed.profile, feed.spec, [D1])[D1]
    assert (again.status, again.rows, again.snapshot_id) == (Status.NOTHING_TO_DO, 0, None)
    assert feed.table.metadata_location == before, "no commit at all"
    feed.land(D1, "c", range(5, 9))
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert (outcome.status, outcome.files, outcome.rows) == (Status.DONE, 1, 4)
    assert feed.ids() == list(range(9))
    assert feed.main_snapshots() == 2
    assert not feed.branches()


def test_a_range_is_one_snapshot_with_an_outcome_for_each_date(spark: "SparkSession", feed: Feed) -> None:
    for number, day in enumerate((D1, D2, D3)):
        feed.land(day, "a", [number])
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D3, D1, D2])
    assert list(outcomes) == [D1, D2, D3]
    assert {outcome.snapshot_id for outcome in outcomes.values()} == {feed.table.metadata.current_snapshot_id}
    assert feed.main_snapshots() == 1
    assert feed.ids() == [0, 1, 2]


def test_a_bad_date_of_a_range_fails_alone(spark: "SparkSession", feed: Feed) -> None:
    """dagster range runs: the others are done and recorded, the bad one is named."""
    feed.land(D1, "a", [1])
    bad = feed.land(D2, "a", [2])
    bad.write_bytes(b"")
    outside = date(2013, 2, 1)
    feed.land(outside, "a", [3])
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D1, D2, D3, outside])
    assert outcomes[D1].status is Status.DONE
    assert {outcomes[day].status for day in (D2, D3, outside)} == {Status.FAILED}
    assert f"{bad} (0 bytes) is not readable Parquet" in outcomes[D2].reason
    assert f"the folder {feed.raw / '2013-01-03'} does not exist" in outcomes[D3].reason
    assert "outside the partitions 2013-01-01 to 2013-01-31" in outcomes[outside].reason
    assert feed.ids() == [1]


def test_a_date_whose_rows_spark_cannot_read_fails_alone(spark: "SparkSession", feed: Feed) -> None:
    """A footer may be whole and a page broken: that shows only when Spark reads it."""
    for day in (D1, D2):
        feed.land(day, "a", range(100))
    broken = feed.raw / D2.isoformat() / "a.parquet"
    content = bytearray(broken.read_bytes())
    content[4:200] = b"\xff" * 196
    broken.write_bytes(content)
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D1, D2])
    assert outcomes[D1].status is Status.DONE
    assert outcomes[D2].status is Status.FAILED
    assert feed.ids() == list(range(100))
    assert not feed.branches()
    assert not feed.ledger().open


def test_nothing_is_made_where_every_date_is_bad(spark: "SparkSession", feed: Feed) -> None:
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.FAILED
    assert not feed.profile.pyiceberg().namespace_exists(feed.spec.table[:-1])


def test_late_rows_are_appended_and_counted_by_their_date(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D2, "a", [1, 2])
    feed.land(D2, "late", [3, 4, 5], on=D1)
    outcome = append(lambda: spark, feed.profile, feed.spec, [D2])[D2]
    assert (outcome.status, outcome.rows, outcome.late) == (Status.DONE, 5, {D1: 3})
    assert feed.ids() == [1, 2, 3, 4, 5]


def test_late_rows_fail_the_date_where_declared_so(spark: "SparkSession", feed: Feed) -> None:
    spec = make_feed(
        feed.profile,
        feed.raw,
        list(feed.spec.table),
        source={"path": f"{feed.raw}/%Y-%m-%d/*.parquet", "late": "fail"},
    ).spec
    late = feed.land(D2, "late", [3, 4], on=D1)
    feed.land(D3, "a", [5])
    outcomes = append(lambda: spark, feed.profile, spec, [D2, D3])
    assert f"{late}: 2 rows with ts on 2013-01-01 landed under 2013-01-02" in outcomes[D2].reason
    assert outcomes[D3].status is Status.DONE
    assert feed.ids() == [5]


@pytest.mark.parametrize("on", [date(2012, 12, 31), date(2013, 2, 1)])
def test_a_row_outside_the_partitions_fails_its_date(spark: "SparkSession", feed: Feed, on: date) -> None:
    bad = feed.land(D1, "bad", [1], on=on)
    feed.land(D2, "a", [2])
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D1, D2])
    assert outcomes[D1].status is Status.FAILED
    assert f"{bad}: 1 rows with ts on {on} lie outside the partitions" in outcomes[D1].reason
    assert feed.ids() == [2]


def test_a_row_of_a_year_that_python_has_not_fails_its_date_and_no_other(spark: "SparkSession", feed: Feed) -> None:
    far = pa.array([2**59], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    bad = feed.land_table(D1, "bad", pa.table({"id": [1], "ts": far, "carrier": ["AA"]}))
    feed.land(D2, "a", [2])
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D1, D2])
    assert f"{bad}: 1 rows with ts on 9999-12-31 lie outside the partitions" in outcomes[D1].reason
    assert feed.ids() == [2]


def test_a_damaged_file_is_named_with_what_spark_says_is_wrong_with_it(spark: "SparkSession", feed: Feed) -> None:
    """Its footer is whole, so that it comes as far as Spark."""
    bad = feed.land(D1, "bad", range(5000))
    content = bytearray(bad.read_bytes())
    content[40 : len(content) // 2] = bytes(len(content) // 2 - 40)
    bad.write_bytes(content)
    feed.land(D2, "a", [2])
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D1, D2])
    assert str(bad) in outcomes[D1].reason
    assert "Exception: " in outcomes[D1].reason.partition(str(bad))[2]
    assert feed.ids() == [2]


def test_the_last_partition_is_today_by_the_clock(spark: "SparkSession", feed: Feed) -> None:
    spec = make_feed(feed.profile, feed.raw, list(feed.spec.table), dates={"column": "ts", "start": "2013-01-01"}).spec
    for day in (D1, D2):
        feed.land(day, "a", [day.day])
    outcomes = append(lambda: spark, feed.profile, spec, [D1, D2], now=lambda: datetime(2013, 1, 1, 23, tzinfo=UTC))
    assert [outcome.status for outcome in outcomes.values()] == [Status.DONE, Status.FAILED]


def test_a_row_without_a_date_fails_its_date(spark: "SparkSession", feed: Feed) -> None:
    bad = feed.land_table(
        D1, "bad", pa.table({"id": [1], "ts": pa.array([None], pa.timestamp("us", tz="UTC")), "carrier": ["AA"]})
    )
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert f"{bad}: 1 rows with ts null" in outcome.reason
    assert not feed.table.metadata.snapshots


def test_files_without_rows_are_done_without_a_snapshot(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "empty", [])
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert (outcome.status, outcome.snapshot_id) == (Status.NOTHING_TO_DO, None)
    assert not feed.table.metadata.snapshots
    assert len(feed.ledger().confirmed) == 1
    feed.land(D1, "a", [1])
    feed.land(D1, "also_empty", [])
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].files == 1
    assert len(feed.ledger().confirmed) == 3
    assert feed.ledger().batches == 1


def test_an_int32_file_beside_an_int64_file(spark: "SparkSession", feed: Feed) -> None:
    """Spark takes one file's types for all and fails on the next."""
    feed.land(D1, "a", [1], n=pa.array([1], pa.int32()))
    feed.land(D1, "b", [2], n=pa.array([2**40], pa.int64()))
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE
    feed.land(D1, "c", [3], n=pa.array([3], pa.int32()))
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE
    assert sorted(feed.table.scan().to_arrow()["n"].to_pylist()) == [1, 3, 2**40]


def test_a_new_column_is_refused_and_a_missing_one_is_null(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1], note=pa.array(["x"]))
    append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D2, "a", [2])
    new = feed.land(D3, "a", [3], not_=pa.array(["x"]))
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D2, D3])
    assert outcomes[D2].status is Status.DONE
    assert f"{new}: column 'not_' is not in the table; did you mean 'note'?" in outcomes[D3].reason
    assert feed.table.scan().to_arrow().sort_by("id")["note"].to_pylist() == ["x", None]


def test_columns_are_matched_by_name_whatever_their_order(spark: "SparkSession", feed: Feed) -> None:
    path = feed.land(D1, "a", [1], city=pa.array(["Rome"]))
    append(lambda: spark, feed.profile, feed.spec, [D1])
    table = pa.parquet.read_table(path)
    feed.land_table(D2, "b", table.select(["city", "carrier", "ts", "id"]))
    outcome = append(lambda: spark, feed.profile, feed.spec, [D2])[D2]
    assert outcome.late == {D1: 1}
    rows = feed.table.scan().to_arrow()
    assert (rows["city"].to_pylist(), rows["carrier"].to_pylist()) == (["Rome"] * 2, ["AA"] * 2)


def test_a_file_replaced_under_its_name_is_named(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    path = feed.land(D1, "a", [1, 2])
    feed.land(D1, "b", [3])
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert outcome.status is Status.FAILED
    assert f"{path} was replaced after its rows were appended" in outcome.reason
    assert feed.ids() == [1]


def test_a_file_that_changes_while_it_is_read_is_named(spark: "SparkSession", feed: Feed) -> None:
    path = feed.land(D1, "a", [1])
    changed: list[Path] = []

    def replace_once_claimed(step: str) -> None:
        if step == "claimed" and not changed:
            changed.append(feed.land(D1, "a", [7, 8]))

    outcome = append(lambda: spark, feed.profile, feed.spec, [D1], on_step=replace_once_claimed)[D1]
    assert outcome.status is Status.FAILED
    assert f"{path} changed while being appended" in outcome.reason
    assert feed.table.metadata.current_snapshot_id is None
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE
    assert feed.ids() == [7, 8]


def test_hidden_files_and_folders_are_not_data(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1])
    feed.land(D1, "_SUCCESS", [2])
    feed.land(D1, ".part", [3])
    (feed.raw / D1.isoformat() / "folder.parquet").mkdir()
    append(lambda: spark, feed.profile, feed.spec, [D1])
    assert feed.ids() == [1]


def test_an_empty_folder_is_named_with_the_pattern(spark: "SparkSession", feed: Feed) -> None:
    folder = feed.raw / D1.isoformat()
    folder.mkdir(parents=True)
    reason = append(lambda: spark, feed.profile, feed.spec, [D1])[D1].reason
    assert f"the folder {folder} has no file that matches {folder}/*.parquet" in reason


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ms", tz="UTC"), pa.date32()])
def test_dates_come_from_each_kind_of_time_column(
    spark: "SparkSession", profile: Profile, tmp_path: Path, namespace: str, kind: pa.DataType
) -> None:
    feed = make_feed(profile, tmp_path / "raw", f"{namespace}.t", partition_by=[])
    values = pa.array([datetime(2013, 1, 2, 23, 59, 59), datetime(2013, 1, 3)], pa.timestamp("us"))  # noqa: DTZ001
    feed.land_table(D2, "a", pa.table({"id": [1, 2], "ts": values.cast(kind, safe=False)}))
    outcome = append(lambda: spark, profile, feed.spec, [D2])[D2]
    assert (outcome.status, outcome.rows, outcome.late) == (Status.DONE, 2, {D3: 1})


def test_the_zone_of_the_session_moves_no_row_to_another_date(spark: "SparkSession", feed: Feed) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    feed.land_table(
        D2,
        "a",
        pa.table({"id": [1], "ts": pa.array([datetime(2013, 1, 2, 0, 1, tzinfo=UTC)]), "carrier": ["AA"]}),
    )
    assert append(lambda: session, feed.profile, feed.spec, [D2])[D2].late == {}


def test_a_table_that_is_dropped_in_the_middle_of_an_append_is_said_to_be(spark: "SparkSession", feed: Feed) -> None:
    def drop(step: str) -> None:
        if step == "claimed":
            feed.profile.pyiceberg().drop_table(feed.spec.table)

    for day in (D1, D2):
        feed.land(day, "a", [day.day])
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D1, D2], on_step=drop)
    assert {outcome.status for outcome in outcomes.values()} == {Status.FAILED}
    assert all("was dropped by somebody in the middle of this run" in one.reason for one in outcomes.values())


def test_no_setting_of_the_session_is_changed(spark: "SparkSession", feed: Feed) -> None:
    before = dict(spark.conf.getAll)
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    assert dict(spark.conf.getAll) == before


def test_the_tables_distribution_mode_outweighs_the_sessions(
    spark: "SparkSession", profile: Profile, tmp_path: Path, namespace: str
) -> None:
    """Unshuffled, two tasks would write a file each; by hash one partition is one file."""
    feed = make_feed(
        profile, tmp_path / "raw", f"{namespace}.t", properties={"write.distribution-mode": "hash"},
        partition_by=[{"col": "ts", "type": "date", "func": "day"}],
    )  # fmt: skip
    session = spark.newSession()
    session.conf.set("spark.sql.iceberg.distribution-mode", "none")
    session.conf.set("spark.sql.files.maxPartitionBytes", "1000")
    for name in "abcd":
        feed.land(D1, name, range(50))
    append(lambda: session, profile, feed.spec, [D1])
    assert len(list(feed.table.scan().plan_files())) == 1


@pytest.mark.parametrize(
    ("said", "days", "options"),
    [
        ({}, 366, {"fanout-enabled": "false"}),
        ({}, 14, {}),
        ({"write.spark.fanout.enabled": "true"}, 366, {"fanout-enabled": "true"}),
        ({"write.distribution-mode": "none"}, 1, {"distribution-mode": "none"}),
    ],
)
def test_a_batch_of_many_partitions_does_not_keep_a_writer_open_for_each(
    said: dict[str, str], days: int, options: dict[str, str]
) -> None:
    """A year of dates by four buckets filled a heap of 1 GB; sorting a batch of few took a quarter longer."""
    fields = (PartitionField(col="at", type="date", func="day"), PartitionField(col="id", type="bucket", size=4))
    assert write_options(said, partitions(fields, days)) == options


def test_a_table_of_format_version_3(spark: "SparkSession", profile: Profile, tmp_path: Path, namespace: str) -> None:
    """PyIceberg cannot write its metadata, so Spark drops the branch."""
    feed = make_feed(profile, tmp_path / "raw", f"{namespace}.t", properties={"format-version": 3})
    for number, name in enumerate("ab"):
        feed.land(D1, name, [number])
        assert append(lambda: spark, profile, feed.spec, [D1])[D1].status is Status.DONE
    assert feed.ids() == [0, 1]
    assert not feed.branches()

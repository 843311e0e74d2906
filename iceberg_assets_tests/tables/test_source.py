"""What lands under a date besides finished files that fit: growing, gone, bad, new columns, thousands."""

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Status
from iceberg_assets.tables import append
from iceberg_assets.tables.claims import LedgerState
from iceberg_assets.tables.intake import arrived
from iceberg_assets.tables.quarantine import quarantined, restore
from iceberg_assets.tables.target import sql_name
from iceberg_assets_tests.tables.helpers import D1, D2, D3, Feed, make_feed, no_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def declared(feed: Feed, **source: Any) -> Feed:
    """The same feed with other keys of ``source``."""
    path = f"{feed.raw}/%Y-%m-%d/*.parquet"
    return make_feed(feed.profile, feed.raw, list(feed.spec.table), source={"path": path, **source})


def aged(path: Path, by: timedelta) -> Path:
    """The file as if it had last been written to so long ago."""
    moment = (datetime.now(UTC) - by).timestamp()
    os.utime(path, (moment, moment))
    return path


def test_a_file_still_being_written_is_left_for_the_next_time(spark: "SparkSession", feed: Feed) -> None:
    feed = declared(feed, still_for="1m")
    growing = feed.land(D1, "growing", [1])
    outcome = append(no_spark, feed.profile, feed.spec, [D1])[D1]
    assert outcome.status is Status.NOTHING_TO_DO
    assert outcome.reason == f"no file to append; 1 files still being written, left for later: {growing}"
    aged(feed.land(D1, "whole", [2]), timedelta(minutes=2))
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert (outcome.status, outcome.files) == (Status.DONE, 1)
    assert "1 files still being written" in outcome.reason
    assert feed.ids() == [2]
    aged(growing, timedelta(minutes=2))
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE
    assert feed.ids() == [1, 2]


def test_a_file_that_went_after_it_was_appended_is_noted(spark: "SparkSession", feed: Feed) -> None:
    path = feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    path.unlink()
    outcome = append(no_spark, feed.profile, feed.spec, [D1])[D1]
    assert outcome.status is Status.NOTHING_TO_DO
    assert f"1 files gone from the raw folder since appended; the rows stay: {path}" in outcome.reason
    feed.land(D1, "b", [2])
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE
    assert feed.ids() == [1, 2]


def test_bad_files_fail_their_date_with_all_of_them_in_one_report(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "first", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    for name in "ab":
        feed.land(D2, name, [2]).write_bytes(b"")
    feed.land(D2, "c", [2], new=pa.array([1]))
    feed.land_table(D2, "d", pa.table({"id": ["x"], "ts": pa.array([1], pa.time64("ns"))}))
    outcome = append(lambda: spark, feed.profile, feed.spec, [D2])[D2]
    assert outcome.status is Status.FAILED
    assert [(Path(problem.file.path).stem, problem.column) for problem in outcome.problems] == [
        ("a", ""),
        ("b", ""),
        ("c", "new"),
        ("d", "id"),
        ("d", "ts"),
    ]
    assert "a.parquet and 1 more files (0 bytes) is not readable Parquet" in outcome.reason
    assert feed.main_snapshots() == 1


def test_bad_files_are_moved_to_quarantine_where_the_table_says_so(spark: "SparkSession", feed: Feed) -> None:
    feed = declared(feed, bad_files="quarantine")
    for name, content in (("empty", b""), ("other", b"no Parquet at all"), ("cut", None)):
        path = feed.land(D1, name, [1])
        path.write_bytes(path.read_bytes()[:-10] if content is None else content)
        aged(path, timedelta(minutes=2))
    alone = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert alone.status is Status.NOTHING_TO_DO
    assert "3 files moved to quarantine" in alone.reason
    assert not feed.profile.pyiceberg().table_exists(feed.spec.table)
    aged(feed.land(D2, "whole", [2]), timedelta(minutes=2))
    aged(feed.land(D2, "bad", [3]), timedelta(minutes=2)).write_bytes(b"")
    being_written = feed.land(D2, "being_written", [4])
    being_written.write_bytes(b"")
    aged(feed.raw / D2.isoformat() / "bad.parquet", timedelta(minutes=2))
    outcome = append(lambda: spark, feed.profile, feed.spec, [D2])[D2]
    assert (outcome.status, outcome.files) == (Status.DONE, 1)
    assert being_written.exists(), "quarantine takes nothing that may still be written"
    assert [path.name for path in quarantined(feed.spec)] == [
        "cut.parquet",
        "empty.parquet",
        "other.parquet",
        "bad.parquet",
    ]
    mended = restore(feed.spec, quarantined(feed.spec)[-1])
    aged(feed.land(D2, mended.stem, [3]), timedelta(minutes=2))
    assert append(lambda: spark, feed.profile, feed.spec, [D2])[D2].files == 1
    assert feed.ids() == [2, 3]


def test_a_symbolic_link_is_the_file_that_it_leads_to(spark: "SparkSession", feed: Feed, tmp_path: Path) -> None:
    """It was passed over without a word."""
    kept = feed.land(D1, "a", [1]).rename(tmp_path / "kept.parquet")
    link = feed.raw / D1.isoformat() / "a.parquet"
    link.symlink_to(kept)
    assert append(lambda: spark, feed.profile, feed.spec, [D1])[D1].status is Status.DONE
    aged(kept, timedelta(minutes=2))
    assert "was replaced after its rows were appended" in append(no_spark, feed.profile, feed.spec, [D1])[D1].reason
    (link.parent / "nowhere.parquet").symlink_to(tmp_path / "gone.parquet")
    link.unlink()
    outcome = append(no_spark, feed.profile, feed.spec, [D1])[D1]
    assert f"{link.parent}/nowhere.parquet (0 bytes) cannot be read" in outcome.reason
    assert feed.ids() == [1]


def test_new_columns_are_ignored_and_said_where_the_table_says_so(spark: "SparkSession", feed: Feed) -> None:
    feed = declared(feed, new_columns="ignore")
    feed.land(D1, "a", [1], s=pa.array([{"a": 1}]))
    append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D2, "a", [2], s=pa.array([{"b": "x", "a": 2}]), more=pa.array([b"x"]))
    outcome = append(lambda: spark, feed.profile, feed.spec, [D2])[D2]
    assert outcome.status is Status.DONE
    assert outcome.notes == (
        "column 's.b' of 1 files ignored (new_columns: ignore)",
        "column 'more' of 1 files ignored (new_columns: ignore)",
    )
    assert feed.table.scan().to_arrow().sort_by("id")["s"].to_pylist() == [{"a": 1}, {"a": 2}]


def test_columns_evolve_where_the_table_says_so(spark: "SparkSession", feed: Feed) -> None:
    feed = declared(feed, new_columns="evolve")
    feed.land(D1, "a", [1], n=pa.array([1], pa.int32()), s=pa.array([{"a": 1}]))
    append(lambda: spark, feed.profile, feed.spec, [D1])
    feed.land(D2, "a", [2], n=pa.array([2**40]), s=pa.array([{"b": "x", "a": 2}]), more=pa.array([1.5]))
    feed.land(D3, "bad", [3], n=pa.array(["x"]), unwanted=pa.array([1]))
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D2, D3])
    assert (outcomes[D2].status, outcomes[D3].status) == (Status.DONE, Status.FAILED)
    schema = feed.table.schema()
    assert [field.name for field in schema.fields] == ["id", "ts", "carrier", "n", "s", "more"], "at the end"
    assert (str(schema.find_type("n")), schema.find_field("more").required) == ("long", False)
    rows = feed.table.scan().to_arrow().sort_by("id").to_pydict()
    assert rows["n"] == [1, 2**40]
    assert rows["s"] == [{"a": 1, "b": None}, {"a": 2, "b": "x"}]
    assert rows["more"] == [None, 1.5]


def test_columns_evolve_once_where_several_runs_bring_the_same(spark: "SparkSession", feed: Feed) -> None:
    feed = declared(feed, new_columns="evolve")
    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, feed.spec, [D1])
    for day in (D2, D3):
        feed.land(day, "a", [day.day], more=pa.array([1.5]))
    with ThreadPoolExecutor(2) as runs:
        outcomes = list(runs.map(lambda day: append(spark.newSession, feed.profile, feed.spec, [day])[day], (D2, D3)))
    assert [outcome.status for outcome in outcomes] == [Status.DONE, Status.DONE], outcomes
    assert feed.ids() == [1, 2, 3]
    assert [field.name for field in feed.table.schema().fields].count("more") == 1


def test_required_columns_get_rows_without_nulls_only(spark: "SparkSession", feed: Feed) -> None:
    spark.sql(f"CREATE NAMESPACE {'.'.join([feed.profile.catalog.name, *feed.spec.table[:-1]])}")
    feed = make_feed(feed.profile, feed.raw, list(feed.spec.table), partition_by=[])
    spark.sql(f"CREATE TABLE {sql_name(feed.profile, feed.spec)} (id BIGINT NOT NULL, ts TIMESTAMP, carrier STRING)")
    feed.land(D1, "a", [1, 2])
    moments = pa.array([datetime(2013, 1, 2, tzinfo=UTC)] * 2)
    bad = feed.land_table(D2, "a", pa.table({"id": pa.array([None, 3]), "ts": moments}))
    lacking = feed.land_table(D3, "a", pa.table({"ts": moments}))
    outcomes = append(lambda: spark, feed.profile, feed.spec, [D1, D2, D3])
    assert outcomes[D1].status is Status.DONE
    assert f"{bad}: column 'id' has 1 nulls, and the table requires a value" in outcomes[D2].reason
    assert f"{lacking}: column 'id' is missing, and the table requires it" in outcomes[D3].reason
    assert feed.ids() == [1, 2]


def test_thousands_of_files_of_one_date(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "0", [0])
    whole = pq.read_table(feed.raw / D1.isoformat() / "0.parquet")
    for number in range(1, 2000):
        feed.land_table(D1, str(number), whole.set_column(0, "id", pa.array([number])))
    started = monotonic()
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert (outcome.status, outcome.files, outcome.rows) == (Status.DONE, 2000, 2000), outcome.reason
    assert feed.ids() == list(range(2000))
    assert monotonic() - started < 300
    assert append(no_spark, feed.profile, feed.spec, [D1])[D1].status is Status.NOTHING_TO_DO


@pytest.mark.parametrize(("still_for", "left"), [("0s", 0), ("30s", 1)])
def test_how_long_a_file_must_be_still_is_the_tables_own(
    profile: Profile, tmp_path: Path, still_for: str, left: int
) -> None:
    feed = declared(make_feed(profile, tmp_path, "a.b"), still_for=still_for)
    aged(feed.land(D1, "a", [1]), timedelta(seconds=29))
    aged(feed.land(D1, "b", [2]), timedelta(seconds=31))
    arrival = arrived(feed.spec, D1, LedgerState(), datetime.now(UTC))
    assert len(arrival.new) == 2 - left

"""What the rule names is what the engine rewrites, whatever the table's dates are made of."""

import time
from collections import Counter
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import pytest

from iceberg_assets.health import read
from iceberg_assets.health.entries import read_entries
from iceberg_assets.maintenance import compact, health_of
from iceberg_assets.spark import quote
from iceberg_assets.spec import Status, TableSpec
from iceberg_assets.spec.policy import MaintenancePolicy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST, SECOND = date(2024, 1, 30), date(2024, 1, 31)
NOW = datetime(2030, 1, 1, tzinfo=UTC)


def table_of(spark: "SparkSession", namespace: str, column: str, kind: str, partitioning: str) -> TableSpec:
    """A table with six files of each of two dates, five of them enough for a rewrite."""
    name = quote("local", namespace, "t")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS local.{namespace}")
    spark.sql(f"CREATE TABLE {name} (id BIGINT, {quote(column)} {kind}) USING iceberg {partitioning}")
    for day in (FIRST, SECOND):
        value = f"CAST('{day} 10:00:00' AS {kind})" if kind != "DATE" else f"DATE '{day}'"
        rows = spark.range(0, 6, 1, 6).selectExpr("id", f"{value} AS {quote(column)}")
        rows.writeTo(name).option("distribution-mode", "none").option("fanout-enabled", "true").append()
    return TableSpec.model_validate(
        {"table": [namespace, "t"], "dates": {"column": column, "start": "2024-01-01", "end": "2024-02-29"}}
    )


def rows(spark: "SparkSession", spec: TableSpec) -> list[tuple[int, object]]:
    return sorted(tuple(row) for row in spark.table(quote("local", *spec.table)).collect())


@pytest.mark.parametrize(
    ("column", "kind", "partitioning"),
    [
        ("ts", "TIMESTAMP", "PARTITIONED BY (days(ts))"),
        ("ts", "TIMESTAMP_NTZ", "PARTITIONED BY (days(ts), bucket(1, id))"),
        ("ts", "TIMESTAMP", "PARTITIONED BY (hours(ts))"),
        ("d", "DATE", "PARTITIONED BY (d)"),
        ("an `odd` name, it's", "TIMESTAMP", "PARTITIONED BY (days(`an ``odd`` name, it's`))"),
    ],
)
def test_a_date_is_compacted_and_its_neighbour_is_left_alone(spark, profile, namespace, column, kind, partitioning):
    spec = table_of(spark, namespace, column, kind, partitioning)
    before = rows(spark, spec)
    done = compact(lambda: spark, profile, spec, [SECOND], now=NOW)
    outcome = done.outcomes[SECOND]
    assert (outcome.status, outcome.productive, outcome.rows_preserved) == (Status.DONE, True, True), outcome.reason
    assert done.after.dates[SECOND].data_files == 1
    assert done.after.dates[FIRST].data_files == 6
    assert done.after.dates[FIRST].digest == done.before.dates[FIRST].digest
    assert rows(spark, spec) == before


@pytest.mark.parametrize("partitioning", ["PARTITIONED BY (months(ts))", "PARTITIONED BY (bucket(1, id))", ""])
def test_what_is_wider_than_a_date_is_compacted_with_one_of_its_dates(spark, profile, namespace, partitioning):
    spec = table_of(spark, namespace, "ts", "TIMESTAMP", partitioning)
    before = rows(spark, spec)
    carrier = max(health_of(profile, spec).dates)
    assert carrier == SECOND
    done = compact(lambda: spark, profile, spec, [FIRST, SECOND], now=NOW)
    assert done.outcomes[FIRST].status is Status.NOTHING_TO_DO
    assert f"compacted with {carrier}" in done.outcomes[FIRST].reason
    assert done.outcomes[SECOND].status is Status.DONE
    assert done.after.data_files == 1
    assert rows(spark, spec) == before


def test_each_manifest_is_read_once_at_most_however_many_dates_there_are(spark, profile, namespace, monkeypatch):
    """Each commit writes the lists of all the table's files anew: to read them again and again is most of the time."""
    spec, listed = table_of(spark, namespace, "ts", "TIMESTAMP", "PARTITIONED BY (days(ts))"), Counter()

    def counted(io, manifest, bounds_of, real=read_entries):
        listed[manifest.manifest_path] += 1
        return real(io, manifest, bounds_of)

    monkeypatch.setattr(read, "read_entries", counted)
    done = compact(lambda: spark, profile, spec, [FIRST, SECOND], now=NOW)
    assert [one.status for one in done.outcomes.values()] == [Status.DONE, Status.DONE]
    assert max(listed.values()) == 1, listed


def test_where_nothing_is_due_no_spark_is_asked_for(spark, profile, namespace):
    spec = table_of(spark, namespace, "ts", "TIMESTAMP", "PARTITIONED BY (days(ts))")
    compact(lambda: spark, profile, spec, [FIRST, SECOND], now=NOW)

    def no_session() -> "SparkSession":
        raise AssertionError("a session was asked for")

    again = compact(no_session, profile, spec, [FIRST, SECOND, date(2024, 2, 1)], now=NOW)
    assert {outcome.status for outcome in again.outcomes.values()} == {Status.NOTHING_TO_DO}


def test_a_date_that_is_written_to_while_the_session_begins_is_left_alone(spark, profile, namespace):
    """A JVM takes a minute to begin, and a rewrite after it makes a delete of the user's fail."""
    spec = table_of(spark, namespace, "ts", "TIMESTAMP", "PARTITIONED BY (days(ts))")
    quiet = {**spec.maintenance.model_dump(), "quiet_for": "1s"}
    spec = spec.model_copy(update={"maintenance": MaintenancePolicy.model_validate(quiet)})
    begun = []

    def begin() -> "SparkSession":
        if not begun:
            begun.append(
                spark.sql(f"INSERT INTO {quote('local', *spec.table)} VALUES (9, TIMESTAMP '{SECOND} 11:00:00')")
            )
        return spark

    time.sleep(1)
    outcome = compact(begin, profile, spec, [SECOND], now=datetime.now(UTC)).outcomes[SECOND]
    assert (outcome.status, outcome.retryable) == (Status.SKIPPED, True), outcome.reason
    assert "data was added at" in outcome.reason

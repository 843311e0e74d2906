"""Small files of four writers, appended: the right value of each, or the refusal that names the column.

All files of one case go into one table each, so that a value is compared as the engine reads it back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Status
from iceberg_assets.tables import append
from iceberg_assets_tests.tables.helpers import D1, Feed, make_feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NINE = datetime(2013, 1, 1, 9, tzinfo=UTC)
OLD = datetime(1850, 3, 4, 5, 6, 7, 123456, tzinfo=UTC)
OLD_WALL = OLD.replace(tzinfo=None)

Write = Callable[["SparkSession", Path], None]


def arrow(values: Any, kind: pa.DataType | None = None, **options: Any) -> Write:
    def write(_: "SparkSession", path: Path) -> None:
        pq.write_table(pa.table({"at": [NINE], "v": pa.array([values], kind)}), path, **options)

    return write


def polars(values: Any, kind: Any = None) -> Write:
    def write(_: "SparkSession", path: Path) -> None:
        pl.DataFrame({"at": [NINE], "v": pl.Series([values], dtype=kind)}).write_parquet(path)

    return write


def duck(expression: str) -> Write:
    def write(_: "SparkSession", path: Path) -> None:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(
                f"COPY (SELECT TIMESTAMPTZ '2013-01-01 09:00:00+00' AS at, {expression} AS v) "
                f"TO '{path}' (FORMAT parquet)"
            )

    return write


def by_spark(expression: str, **settings: str) -> Write:
    def write(spark: "SparkSession", path: Path) -> None:
        session = spark.newSession()
        for name, value in settings.items():
            session.conf.set(f"spark.sql.parquet.{name}", value)
        folder = path.with_suffix("")
        session.sql(f"SELECT TIMESTAMP '2013-01-01 09:00:00' AS at, {expression} AS v").coalesce(1).write.parquet(
            str(folder)
        )
        (part,) = folder.glob("*.parquet")
        part.rename(path)

    return write


@dataclass(frozen=True)
class Case:
    """A table made of the first file; then every file gives its value, or is refused.

    Attributes:
        files: what is written, and the value that it must give.
        refused: what is written, and what is said about its column.
        evolves: whether the table may.
    """

    files: tuple[tuple[Write, Any], ...]
    refused: tuple[tuple[Write, str], ...] = ()
    evolves: bool = False


NANOSECONDS = "has nanoseconds"
CASES = {
    "integers of any width in a long column": Case(
        (
            (arrow(2**40), 2**40),
            (arrow(7, pa.int32()), 7),
            (arrow(-7, pa.int8()), -7),
            (arrow(2**32 - 1, pa.uint32()), 2**32 - 1),
            (polars(255, pl.UInt8), 255),
            (polars(-300, pl.Int16), -300),
            (duck("65535::USMALLINT"), 65535),
            (duck("(-5)::TINYINT"), -5),
            (by_spark("CAST(9 AS SMALLINT)"), 9),
            (arrow(10, use_dictionary=False, column_encoding={"v": "DELTA_BINARY_PACKED"}, compression="lz4"), 10),
        ),
        (
            (arrow(11, compression={"at": "zstd", "v": "brotli"}), "is stored as BROTLI"),
            (arrow(2**63 + 1, pa.uint64()), "is uint64, and the table's is long"),
            (polars("7"), "is string, and the table's is long"),
            (duck("7.5::DOUBLE"), "is double, and the table's is long"),
            (by_spark("true"), "is boolean, and the table's is long"),
            (polars(time(1, 2, 3)), "is a TIME"),
            (arrow(OLD, pa.timestamp("ns", "UTC")), NANOSECONDS),
        ),
    ),
    "a long into an int column": Case(
        ((arrow(1, pa.int32()), 1), (polars(200, pl.UInt8), 200)),
        ((duck("2::BIGINT"), "is long, too wide for the table's int"),),
    ),
    "a long into an int column that evolves": Case(
        ((arrow(1, pa.int32()), 1), (duck("1099511627776::BIGINT"), 2**40), (by_spark("3"), 3)), evolves=True
    ),
    "unsigned 64 bits from the first file on": Case(
        ((arrow(2**63 + 1, pa.uint64()), Decimal(2**63 + 1)), (polars(2**64 - 1, pl.UInt64), Decimal(2**64 - 1))),
    ),
    "floats in a double column": Case(
        (
            (arrow(1.5), 1.5),
            (polars(1.5, pl.Float32), 1.5),
            (duck("7::INTEGER"), 7.0),
            (by_spark("CAST(0.5 AS FLOAT)"), 0.5),
        ),
        (
            (arrow(7, pa.uint32()), "is uint32"),
            (duck("1.25::DECIMAL(5, 2)"), "is decimal(5, 2)"),
            (arrow(1.5, pa.float16()), "is a half float"),
            (arrow(1.5, use_dictionary=False, column_encoding={"v": "BYTE_STREAM_SPLIT"}), "as BYTE_STREAM_SPLIT"),
        ),
    ),
    "decimals": Case(
        (
            (arrow(Decimal("1.25"), pa.decimal128(20, 4)), Decimal("1.2500")),
            (arrow(Decimal("1.25"), pa.decimal128(5, 2), store_decimal_as_integer=True), Decimal("1.2500")),
            (duck("99.5::DECIMAL(4, 1)"), Decimal("99.5000")),
            (duck("12345678.5::DECIMAL(12, 1)"), Decimal("12345678.5000")),
            (by_spark("CAST(0.1234 AS DECIMAL(9, 4))"), Decimal("0.1234")),
            (by_spark("7"), Decimal("7.0000")),
        ),
        (
            (duck("1.5::DECIMAL(22, 4)"), "is decimal(22, 4), too wide for the table's decimal(20, 4)"),
            (polars(Decimal("1.5"), pl.Decimal(38, 1)), "is decimal(38, 1), and the table's is decimal(20, 4)"),
            (arrow(Decimal("1.5"), pa.decimal256(40, 4)), "is decimal(40, 4)"),
        ),
    ),
    "points in time, before 1900 too": Case(
        (
            (arrow(OLD, pa.timestamp("us", "UTC")), OLD),
            (arrow(OLD.replace(microsecond=123000), pa.timestamp("ms", "UTC")), OLD.replace(microsecond=123000)),
            (arrow(OLD_WALL, pa.timestamp("ns"), use_deprecated_int96_timestamps=True), OLD),
            (polars(OLD, pl.Datetime("us", "UTC")), OLD),
            (duck("TIMESTAMPTZ '1850-03-04 05:06:07.123456+00'"), OLD),
            (by_spark("TIMESTAMP '1850-03-04 05:06:07.123456'", outputTimestampType="INT96"), OLD),
            (
                by_spark(
                    "TIMESTAMP '1850-03-04 05:06:07.123456'",
                    outputTimestampType="INT96",
                    int96RebaseModeInWrite="LEGACY",
                ),
                OLD,
            ),
            (
                by_spark("TIMESTAMP '0985-03-04 05:06:07'", datetimeRebaseModeInWrite="LEGACY"),
                datetime(985, 3, 4, 5, 6, 7, tzinfo=UTC),
            ),
        ),
        (
            (arrow(OLD, pa.timestamp("ns", "UTC")), NANOSECONDS),
            (polars(OLD_WALL, pl.Datetime("ns")), NANOSECONDS),
            (duck("TIMESTAMP_NS '1850-03-04 05:06:07.123456'"), NANOSECONDS),
            (polars(OLD_WALL, pl.Datetime("us")), "is timestamp, and the table's is timestamptz"),
            (duck("DATE '1850-03-04'"), "is date"),
        ),
    ),
    "times without a zone": Case(
        (
            (polars(OLD_WALL, pl.Datetime("us")), OLD_WALL),
            (duck("TIMESTAMP '1850-03-04 05:06:07.123456'"), OLD_WALL),
            (by_spark("TIMESTAMP_NTZ '1850-03-04 05:06:07.123456'"), OLD_WALL),
            (duck("DATE '1850-03-04'"), datetime(1850, 3, 4)),  # noqa: DTZ001
        ),
        ((duck("TIMESTAMPTZ '2013-01-01 09:00:00+00'"), "is timestamptz, and the table's is timestamp"),),
    ),
    "dates": Case(
        ((polars(date(1582, 10, 10)), date(1582, 10, 10)), (duck("DATE '0001-01-01'"), date(1, 1, 1))),
        ((by_spark("TIMESTAMP '2013-01-01 09:00:00'"), "is int96, and the table's is date"),),
    ),
    "texts": Case(
        (
            (arrow("ü"), "ü"),
            (arrow("ü", pa.large_string()), "ü"),
            (polars("ü", pl.Categorical), "ü"),
            (duck("'ü'::ENUM('ü')"), "ü"),
            (by_spark("'ü'"), "ü"),
        ),
        (
            (arrow(b"x"), "is binary, and the table's is string"),
            (duck("uuid()"), "is a UUID"),
            (arrow(None, pa.null()), "has no type"),
        ),
    ),
    "parts of a struct in another order": Case(
        (
            (arrow({"a": 1, "b": "x"}), {"a": 1, "b": "x"}),
            (arrow({"b": "x", "a": 1}), {"a": 1, "b": "x"}),
            (polars({"b": "y", "a": 2}), {"a": 2, "b": "y"}),
            (duck("{'b': 'z', 'a': 3::INTEGER}"), {"a": 3, "b": "z"}),
            (by_spark("named_struct('b', 'w', 'a', 4)"), {"a": 4, "b": "w"}),
            (arrow({"b": "only"}), {"a": None, "b": "only"}),
        ),
        (
            (duck("{'a': 1, 'b': 'x', 'c': 2}"), "column 'v.c' is not in the table"),
            (polars({"A": 1, "b": "x"}), "column 'v.A' differs in case only from the table's 'a'"),
            (arrow([1]), "is list<long>, and the table's is struct<a: long, b: string>"),
        ),
    ),
    "lists and maps": Case(
        (
            (arrow([[("k", 1)]], pa.list_(pa.map_(pa.string(), pa.int64()))), [[("k", 1)]]),
            (duck("[MAP {'k': 2::INTEGER}]"), [[("k", 2)]]),
            (by_spark("array(map('k', 3))"), [[("k", 3)]]),
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_right_value_of_each_file_or_the_right_refusal(
    spark: "SparkSession", profile: Profile, tmp_path: Path, namespace: str, name: str
) -> None:
    case = CASES[name]
    source = {"path": f"{tmp_path}/raw/%Y-%m-%d/*.parquet", "new_columns": "evolve" if case.evolves else "fail"}
    feed = make_feed(
        profile, tmp_path / "raw", f"{namespace}.t", source=source, partition_by=[],
        dates={"column": "at", "start": "2013-01-01"},
    )  # fmt: skip
    folder = feed.raw / D1.isoformat()
    folder.mkdir(parents=True)
    for number, (write, _) in enumerate(case.files):
        write(spark, folder / f"{number}.parquet")
        if not number or case.evolves:
            done(spark, feed)
    done(spark, feed)
    values = feed.table.scan().to_arrow()["v"].to_pylist()
    assert sorted(map(_shown, values)) == sorted(_shown(value) for _, value in case.files)
    for number, (write, said) in enumerate(case.refused):
        path = folder / f"bad{number}.parquet"
        write(spark, path)
        outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
        assert outcome.status is Status.FAILED, said
        assert str(path) in outcome.reason
        assert said in outcome.reason
        path.unlink()


def _shown(value: Any) -> str:
    """UTC has several spellings."""
    return repr(value.astimezone(UTC) if isinstance(value, datetime) and value.tzinfo else value)


def done(spark: "SparkSession", feed: Feed) -> None:
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert outcome.status in (Status.DONE, Status.NOTHING_TO_DO), outcome.reason

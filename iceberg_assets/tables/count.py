"""Count raw rows by file and date before anything is written, and judge a date's files by that.

Where a footer's statistics say that each row group lies on one date, no row has to be read for it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from iceberg_assets.errors import SourceError
from iceberg_assets.profiles import Profile
from iceberg_assets.profiles.place import one_spelling
from iceberg_assets.spark import literal, quote
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.claims import Content
from iceberg_assets.tables.create import escaped, with_derived
from iceberg_assets.tables.footers import Footer
from iceberg_assets.tables.source import RawFile
from iceberg_assets.tables.target import sql_name

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType


# Of files that do not name the calendar of their writer: the session may be set to shift or refuse early dates.
_CALENDAR = {"int96RebaseMode": "CORRECTED", "datetimeRebaseMode": "CORRECTED"}


@dataclass(frozen=True)
class RowCount:
    """So many rows of a file fall on a date; None: they have none."""

    file: RawFile
    day: date | None
    rows: int


def read_raw(spark: "SparkSession", profile: Profile, spec: TableSpec, files: Sequence[RawFile]) -> "DataFrame":
    """The files' rows with the table's own column types, and the derived columns.

    Spark would take the types from one of the files, and fail on the next that has int32 where that one has int64.
    """
    from pyspark.sql.types import StructType

    table = spark.table(sql_name(profile, spec)).schema
    raw = StructType([field for field in table.fields if field.name not in spec.derive])
    return with_derived(
        spark.read.options(**_CALENDAR).schema(raw).parquet(*(escaped(file.path) for file in files)), spec
    )


def count_rows(
    spark: "SparkSession", profile: Profile, spec: TableSpec, footers: Sequence[Footer]
) -> tuple[RowCount, ...]:
    """The rows of each file by the date that they fall on: by its footer, the rest in one aggregation."""
    told = [RowCount(footer.file, day, rows) for footer in footers for day, rows in footer.dates or ()]
    untold = [footer.file for footer in footers if footer.dates is None]
    return (*told, *(_counts_by_reading(spark, profile, spec, untold) if untold else ()))


def _counts_by_reading(
    spark: "SparkSession", profile: Profile, spec: TableSpec, files: Sequence[RawFile]
) -> tuple[RowCount, ...]:
    from pyspark.sql import functions

    frame = read_raw(spark, profile, spec, files)
    column = spec.dates.column
    assert column is not None, "a table with a source has a column of dates"
    day = _within_python(_date_of(frame.schema[column].dataType, functions.expr(quote(column))))
    counted = (
        frame.select(functions.col("_metadata.file_path").alias("file"), day.alias("day"))
        .groupBy("file", "day")
        .count()
        .collect()
    )
    by_path = {file.path: file for file in files}
    return tuple(RowCount(by_path[_path(uri)], on, rows) for uri, on, rows in counted)


def _path(uri: str) -> str:
    """What Spark calls a file, as it was listed."""
    parts = urlsplit(uri)
    return (
        one_spelling(f"{parts.scheme}://{parts.netloc}{unquote(parts.path)}") if parts.netloc else unquote(parts.path)
    )


def _date_of(kind: "DataType", column: "Column") -> "Column":
    """The date in UTC, whatever the session's zone is."""
    from pyspark.sql import functions
    from pyspark.sql.types import TimestampType

    if isinstance(kind, TimestampType):
        return functions.date_from_unix_date(functions.floor(functions.unix_seconds(column) / 86400).cast("int"))
    return column.cast("date")


def _within_python(day: "Column") -> "Column":
    """The date, or the nearest that Python has: Spark's go on for thousands of years on either side."""
    from pyspark.sql import functions

    first, last = functions.expr(literal(date.min)), functions.expr(literal(date.max))
    return functions.when(day < first, first).when(day > last, last).otherwise(day)


def contents_of(counts: Iterable[RowCount]) -> dict[RawFile, Content]:
    """All rows of each file that has any, and the dates that they fall on."""
    contents: dict[RawFile, Content] = {}
    for count in counts:
        known = contents.get(count.file, Content(0, frozenset()))
        dates = known.dates if count.day is None else known.dates | {count.day}
        contents[count.file] = Content(known.rows + count.rows, dates)
    return contents


def late_rows(spec: TableSpec, day: date, counts: Collection[RowCount], now: datetime) -> Mapping[date, int]:
    """The rows of a date's files that fall on other dates, by these.

    Raises:
        SourceError: names file and value of a row outside the partitions or without a date, or of any late one where
            ``source.late`` is ``fail``.
    """
    assert spec.source is not None
    first, last = spec.dates.start, spec.dates.last(now)
    late: dict[date, int] = {}
    for count in sorted(counts, key=lambda count: (count.file.path, count.day or date.min)):
        what = f"{count.file.path}: {count.rows} rows with {spec.dates.column} "
        if count.day is None:
            raise SourceError(f"{what}null have no date; repair the file, nothing of {day} was appended")
        if not first <= count.day <= last:
            raise SourceError(
                f"{what}on {count.day} lie outside the partitions {first} to {last}; repair the file or move "
                f"dates.start or dates.end, nothing of {day} was appended"
            )
        if count.day != day:
            if spec.source.late == "fail":
                raise SourceError(
                    f"{what}on {count.day} landed under {day}; land them under their own date, or set source.late to "
                    "append"
                )
            late[count.day] = late.get(count.day, 0) + count.rows
    return late

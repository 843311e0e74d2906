"""Parquet footers: what raw files hold, read before Spark does, by several threads and into little memory."""

import json
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache, partial
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.progress import track

from iceberg_assets.profiles import Store, on_s3
from iceberg_assets.profiles.store import failures, file_system
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.fields import Field, FieldType, ListOf, MapOf, Scalar, Struct
from iceberg_assets.tables.source import RawFile

# A batch is read as a whole; only the small summaries of earlier ones are kept.
_BATCH = 1000
# A few footers are read before anybody sees a bar.
_WORTH_A_BAR = 200
# What Spark 4.1 comes without a codec or a decoder for; measured, see test_corpus.py.
_FOREIGN = frozenset({"BROTLI", "BYTE_STREAM_SPLIT"})


@dataclass(frozen=True)
class Footer:
    """What a Parquet footer says. Files of one writer share their ``fields``.

    Attributes:
        null_free: of the columns that were asked for, those that have no null by the footer's statistics.
        dates: how many rows fall on which date, where the statistics of the column that was asked for say of each row
            group that it lies on one; None where they do not.
        foreign: columns, dotted, that are stored in a way that Spark has no reader for, each with that way.
    """

    file: RawFile
    fields: tuple[Field, ...]
    rows: int
    null_free: frozenset[str] = frozenset()
    dates: tuple[tuple[date, int], ...] | None = None
    foreign: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class UnreadableFile:
    """A file that is empty, truncated or not Parquet, and what the reader says of it.

    Attributes:
        opened: nothing can be said of a file that could not be, for lack of rights perhaps, or because it is gone.
    """

    file: RawFile
    reason: str
    opened: bool = True

    def __str__(self) -> str:
        return (
            f"({self.file.size} bytes) {'is not readable Parquet' if self.opened else 'cannot be read'}: {self.reason}"
        )


def date_column(spec: TableSpec) -> str | None:
    """The column whose statistics tell the dates of a raw file's rows; None where the table derives it."""
    return None if spec.dates.column in spec.derive else spec.dates.column


def read_footers(
    files: Sequence[RawFile],
    null_free: Collection[str] = (),
    dates_of: str | None = None,
    store: Store | None = None,
) -> tuple[tuple[Footer, ...], tuple[UnreadableFile, ...]]:
    """The footers of the files in their order, and the files that have none.

    Args:
        null_free: columns to be told whether they have a null.
        dates_of: the column to be told the rows' dates of.
        store: the profile's, where the files lie in one.
    """
    footers: list[Footer] = []
    unreadable: list[UnreadableFile] = []
    shared: dict[tuple[Field, ...], tuple[Field, ...]] = {}
    console = Console(stderr=True)
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as threads:
        read = _in_batches(threads, files, partial(_read, null_free=tuple(null_free), dates_of=dates_of, store=store))
        hidden = not console.is_terminal or len(files) < _WORTH_A_BAR
        for found in track(read, "Reading footers", total=len(files), console=console, transient=True, disable=hidden):
            if isinstance(found, UnreadableFile):
                unreadable.append(found)
            else:
                fields = shared.setdefault(found.fields, found.fields)
                footers.append(replace(found, fields=fields))
    return tuple(footers), tuple(unreadable)


def _in_batches(
    threads: ThreadPoolExecutor, files: Sequence[RawFile], read: Callable[[RawFile], Footer | UnreadableFile]
) -> Iterator[Footer | UnreadableFile]:
    left = iter(files)
    while batch := list(islice(left, _BATCH)):
        yield from threads.map(read, batch)


def place_of(file: RawFile, store: Store | None) -> tuple[str, Any]:
    """Path and file system by which PyArrow reads a raw file; None: that of this machine."""
    if not on_s3(file.path):
        return file.path, None
    return file.path.partition("://")[2], file_system(store, file.path)


def _read(
    file: RawFile, null_free: Collection[str], dates_of: str | None, store: Store | None
) -> Footer | UnreadableFile:
    try:
        path, files = place_of(file, store)
        metadata = pq.read_metadata(path, filesystem=files)
        fields = _fields(metadata.schema)
    except (pa.ArrowException, OSError, ValueError, *failures(file.path)) as error:
        # The machine and the store give their errors a number, a store's refusal aside; what Arrow says has none.
        refused = isinstance(error, PermissionError) or bool(getattr(error, "errno", None))
        opened = isinstance(error, pa.ArrowException | OSError | ValueError) and not refused
        return UnreadableFile(file, (str(error).splitlines() or [type(error).__name__])[0], opened)
    return Footer(
        file,
        fields,
        metadata.num_rows,
        frozenset(_without_null(metadata, null_free)),
        _dates(metadata, dates_of) if dates_of else None,
        _foreign(metadata),
    )


def _foreign(metadata: pq.FileMetaData) -> tuple[tuple[str, str], ...]:
    """The columns whose codec or encoding Spark does not know in any row group."""
    found = {}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for leaf in range(group.num_columns):
            part = group.column(leaf)
            for how in (part.compression, *part.encodings):
                if how in _FOREIGN:
                    found[part.path_in_schema] = how
    return tuple(found.items())


def _without_null(metadata: pq.FileMetaData, columns: Collection[str]) -> set[str]:
    """The columns of which every part has a null count of 0 in every row group."""
    nulls: set[str] = set()
    for number in range(metadata.num_row_groups if columns else 0):
        group = metadata.row_group(number)
        for leaf in range(group.num_columns):
            part = group.column(leaf)
            path, counted = part.path_in_schema, part.statistics
            if counted is None or not counted.has_null_count or counted.null_count:
                nulls.update(column for column in columns if path == column or path.startswith(f"{column}."))
    return set(columns) - nulls


def _dates(metadata: pq.FileMetaData, column: str) -> tuple[tuple[date, int], ...] | None:
    """How many rows fall on which date; None where a row group does not say that it lies on one."""
    rows: dict[date, int] = {}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        day = _only_date(group, column)
        if day is None:
            return None
        rows[day] = rows.get(day, 0) + group.num_rows
    return tuple(rows.items())


def _only_date(group: Any, column: str) -> date | None:
    """The date that all values of a row group fall on, if its statistics say so."""
    for number in range(group.num_columns):
        part = group.column(number)
        if part.path_in_schema == column:
            known = part.statistics
            if known is None or not known.has_min_max or not known.has_null_count or known.null_count:
                return None
            try:
                lowest, highest = _utc_date(known.min), _utc_date(known.max)
            except (OverflowError, ValueError):
                return None  # Python has no such year, or pyarrow wants pandas for nanoseconds.
            return lowest if lowest == highest else None
    return None


def _utc_date(value: object) -> date | None:
    if isinstance(value, datetime):
        # Without a zone it is read as UTC, the session's zone.
        return (value.astimezone(UTC) if value.tzinfo else value).date()
    return value if isinstance(value, date) else None


def _fields(schema: pq.ParquetSchema) -> tuple[Field, ...]:
    """Structure as Arrow sees it, scalar types as Parquet has them: Arrow's own note of a type may hide how it lies."""
    leaves = (schema.column(number) for number in range(len(schema)))
    return tuple(_field(field, leaves) for field in schema.to_arrow_schema())


def _field(field: pa.Field, leaves: "Iterator[pq.ColumnSchema]") -> Field:
    return Field(field.name, _type(field.type, leaves))


def _type(of: pa.DataType, leaves: "Iterator[pq.ColumnSchema]") -> FieldType:
    if isinstance(of, pa.BaseExtensionType):
        of = of.storage_type
    if pa.types.is_struct(of):
        return Struct(tuple(_field(of.field(number), leaves) for number in range(of.num_fields)))
    if pa.types.is_map(of):
        return MapOf(Field("key", _type(of.key_type, leaves)), Field("value", _type(of.item_type, leaves)))
    if pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of):
        return ListOf(Field("element", _type(of.value_type, leaves)))
    leaf = next(leaves)
    return _scalar(leaf.physical_type, leaf.logical_type.to_json())


_PLAIN = {
    "BOOLEAN": "boolean",
    "INT32": "int",
    "INT64": "long",
    "INT96": "int96",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BYTE_ARRAY": "binary",
    "FIXED_LEN_BYTE_ARRAY": "binary",
}
_ANNOTATED = {"String": "string", "Enum": "string", "JSON": "string", "BSON": "binary", "Date": "date", "Time": "time"}


@cache
def _scalar(physical: str, logical: str) -> Scalar:
    """The type of a leaf, from its physical type and its logical one as JSON."""
    said = json.loads(logical)
    match said["Type"]:
        case "None":
            return Scalar(_PLAIN[physical])
        case "Decimal":
            return Scalar("decimal", said["precision"], said["scale"])
        case "Int":
            width, signed = said["bitWidth"], said["isSigned"]
            return Scalar({32: "int", 64: "long"}.get(width, f"int{width}") if signed else f"uint{width}")
        case "Timestamp" if said["timeUnit"] == "nanoseconds":
            return Scalar("timestamp_ns")
        case "Timestamp":
            return Scalar("timestamptz" if said["isAdjustedToUTC"] else "timestamp")
        case other:
            return Scalar(_ANNOTATED.get(other, other.lower()))

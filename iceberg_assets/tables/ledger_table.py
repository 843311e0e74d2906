"""The Iceberg table that a ledger is kept in: its columns, its partitions by month, its version and migration.

A date's rows must be found among millions without reading the others, and what became of claims without reading any
file row. So the file rows carry their month and lie in its partition; all other rows have no month, and lie together.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.expressions import BooleanExpression
from pyiceberg.expressions.parser import parse
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import BooleanType, DateType, LongType, NestedField, StringType, TimestamptzType

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.tables.state_table import create_state_table, forget_the_past

_VERSION_PROPERTY = "iceberg-assets.ledger-version"
_VERSION = 2
_MONTH = NestedField(12, "month", DateType())
_SINCE_2 = (
    _MONTH,
    NestedField(13, "rows", LongType()),
    NestedField(14, "dates", StringType()),
    NestedField(15, "replaces", BooleanType()),
)
_SCHEMA = Schema(
    NestedField(1, "event", StringType(), required=True),
    NestedField(2, "claim", StringType(), required=True),
    NestedField(3, "table_uuid", StringType(), required=True),
    NestedField(4, "at", TimestamptzType(), required=True),
    NestedField(5, "n", LongType()),
    NestedField(6, "deadline", TimestamptzType()),
    NestedField(7, "day", DateType()),
    NestedField(8, "path", StringType()),
    NestedField(9, "size", LongType()),
    NestedField(10, "version", StringType()),
    NestedField(11, "snapshot_id", LongType()),
    *_SINCE_2,
)
_BY_MONTH = PartitionSpec(PartitionField(_MONTH.field_id, 1000, IdentityTransform(), _MONTH.name))
_NO_FILE = f"{_MONTH.name} is null"
_ROUNDS = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def open_ledger(catalog: Catalog, name: tuple[str, ...]) -> Table | None:
    """The table, brought to this version; None where there is none yet.

    Raises:
        ConfigurationError: a newer version of this package wrote it.
    """
    for _ in range(_ROUNDS):
        try:
            table = catalog.load_table(name)
        except NoSuchTableError:
            return None
        version = int(table.properties.get(_VERSION_PROPERTY, "1"))
        if version > _VERSION:
            raise ConfigurationError(
                f"{'.'.join(name)} has version {version}, and this iceberg_assets knows {_VERSION}: "
                "a newer release has written to it; install that release"
            )
        if version == _VERSION:
            return table
        try:
            _by_month(table)
        except (CommitFailedException, ValidationException, ValueError):
            continue  # Another process migrates it as well, or has written to it meanwhile.
    raise ConfigurationError(
        f"{'.'.join(name)} is of an older version and others keep writing to it: stop the processes of the older "
        "release, then try again"
    )


def create_ledger(catalog: Catalog, name: tuple[str, ...]) -> Table:
    """The table, made if nobody else was faster."""
    return create_state_table(catalog, name, _SCHEMA, (_VERSION_PROPERTY, str(_VERSION)), _BY_MONTH)


def to_arrow(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Ledger rows as they are stored."""
    stored = [{**row, "month": row["day"].replace(day=1) if row["day"] else None} for row in rows]
    return pa.Table.from_pylist(stored, schema=schema_to_pyarrow(_SCHEMA, include_field_ids=False))


def from_arrow(stored: pa.Table, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a ledger, each with these columns."""
    return zip(*(_values(stored[column]) for column in columns), strict=True)


def _values(column: pa.ChunkedArray) -> list[Any]:
    """Moments by way of a number: Arrow looks their zone up anew for each, which takes five times as long."""
    if not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    return [
        None if one is None else _EPOCH + timedelta(microseconds=one) for one in column.cast(pa.int64()).to_pylist()
    ]


def of_days(days: Collection[date]) -> BooleanExpression:
    """A filter that keeps the file rows of these dates, and all rows that are no file's.

    In the months of these dates it keeps others that lie between the first and the last of them, too.
    """
    if not days:
        return _parsed(_NO_FILE)
    months = _of(day.replace(day=1) for day in days)
    return _parsed(f"{_NO_FILE} or ({months} and day >= '{min(days)}' and day <= '{max(days)}')")


# PyIceberg takes longer to parse a filter than to read a small ledger, and the same few come again and again.
_parsed = lru_cache(maxsize=64)(parse)


def _of(months: Iterable[date]) -> str:
    return f"month in ({', '.join(repr(str(month)) for month in sorted(set(months)))})"


def fold(table: Table) -> None:
    """Rewrite each partition of several files as one file, then forget the snapshots before.

    Whoever loses a race leaves it to the next: no row is lost, because Iceberg refuses to delete what it was not shown.
    """
    files: dict[int | None, int] = {}
    for task in table.scan(selected_fields=("month",)).plan_files():
        month = task.file.partition[0]
        files[month] = files.get(month, 0) + 1
    several = [None if month is None else _as_date(month) for month, count in files.items() if count > 1]
    months = [month for month in several if month is not None]
    chosen = " or ".join([*([_NO_FILE] if None in several else []), *([_of(months)] if months else [])])
    try:
        if several:
            table.overwrite(table.scan(row_filter=chosen).to_arrow(), overwrite_filter=chosen)
        forget_the_past(table, datetime.now(UTC))
    except (CommitFailedException, ValidationException, ValueError, FileNotFoundError):
        # ValueError: another fold has forgotten one of the snapshots already; FileNotFoundError: or a file is gone.
        return


def _as_date(month: int) -> date:
    """A partition value as PyIceberg holds it: days since 1970."""
    return date.fromordinal(date(1970, 1, 1).toordinal() + month)


def _by_month(table: Table) -> None:
    """From version 1, which had no months, no partitions, and a claim's number and deadline on its file rows only."""
    rows = table.scan().to_arrow().to_pylist()
    claims = {row["claim"]: row for row in reversed(rows) if row["event"] == "claimed"}
    heads = [{**row, "day": None, "path": None, "size": None, "version": None} for row in claims.values()]
    with table.transaction() as change:
        with change.update_schema() as columns:
            for column in _SINCE_2:
                columns.add_column(column.name, column.field_type)
        with change.update_spec() as partitions:
            partitions.add_identity(_MONTH.name)
        change.overwrite(to_arrow([*heads, *rows]))
        change.set_properties({_VERSION_PROPERTY: str(_VERSION)})

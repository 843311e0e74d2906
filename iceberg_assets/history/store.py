"""The two Iceberg tables of the history, one of outcomes and one of errors, in the namespace of the project's own.

Rows lie in partitions by month, so that a look at last week reads one or two, and what is too old goes by the month.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BooleanType,
    DateType,
    DoubleType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    TimestamptzType,
)

from iceberg_assets.health import open_catalog
from iceberg_assets.history.record import Failure, Record, Who
from iceberg_assets.profiles import Profile, naming_the_service
from iceberg_assets.spec import Status
from iceberg_assets.spec.names import STATE_NAMESPACE
from iceberg_assets.tables.state_table import forget_the_past, open_state_table, opened_or_created

_VERSION = ("iceberg-assets.history-version", "1")
_FOLD_AT = 24
"""So many data files are read as they are; PyIceberg takes some milliseconds for each."""
_FOLD_EVERY = 8
"""From then on one commit in so many folds: those of several at once would keep each other from it."""
_ROUNDS = 5

_MONTH = NestedField(2, "month", DateType(), required=True)
_BY_MONTH = PartitionSpec(PartitionField(_MONTH.field_id, 1000, IdentityTransform(), _MONTH.name))
_SHARED = (
    NestedField(1, "id", StringType(), required=True),
    _MONTH,
    NestedField(3, "at", TimestamptzType(), required=True),
    NestedField(4, "table", StringType(), required=True),
    NestedField(5, "operation", StringType()),
    NestedField(6, "dates", ListType(20, DateType())),
    NestedField(7, "run_id", StringType(), required=True),
    NestedField(8, "process", LongType(), required=True),
    NestedField(9, "host", StringType(), required=True),
    NestedField(10, "profile", StringType(), required=True),
)


@dataclass(frozen=True)
class StateTable:
    """One of the two tables."""

    name: tuple[str, str]
    schema: Schema

    @property
    def arrow(self) -> pa.Schema:
        """Its columns as Arrow has them."""
        return schema_to_pyarrow(self.schema, include_field_ids=False)


OUTCOMES = StateTable(
    (STATE_NAMESPACE, "history"),
    Schema(
        *_SHARED,
        NestedField(11, "status", StringType(), required=True),
        NestedField(12, "reason", StringType(), required=True),
        NestedField(13, "productive", BooleanType(), required=True),
        NestedField(14, "shadow", BooleanType(), required=True),
        NestedField(15, "seconds", DoubleType(), required=True),
        NestedField(16, "predicted", MapType(21, StringType(), 22, DoubleType())),
        NestedField(17, "actual", MapType(23, StringType(), 24, DoubleType())),
        NestedField(18, "snapshot_before", LongType()),
        NestedField(19, "snapshot_after", LongType()),
        NestedField(25, "digests", ListType(26, StringType())),
        NestedField(27, "details", MapType(28, StringType(), 29, StringType())),
    ),
)
ERRORS = StateTable(
    (STATE_NAMESPACE, "errors"),
    Schema(
        *_SHARED,
        NestedField(11, "error", StringType(), required=True),
        NestedField(12, "message", StringType(), required=True),
    ),
)


@dataclass(frozen=True)
class Wanted:
    """Which rows; what is None leaves them all."""

    table: str | None = None
    operation: str | None = None
    status: Status | None = None
    since: datetime | None = None

    @property
    def filter(self) -> str:
        """As PyIceberg reads it."""
        equal = {"table": self.table, "operation": self.operation, "status": self.status and self.status.value}
        parts = [f"{column} == '{_escaped(value)}'" for column, value in equal.items() if value is not None]
        if self.since is not None:
            since = self.since.astimezone(UTC)
            parts += [f"month >= '{_month(since)}'", f"at >= '{since.isoformat()}'"]
        return " and ".join(parts)


def write_records(profile: Profile, records: Sequence[Record]) -> None:
    """Add outcomes: all of them, in one commit.

    Raises:
        ConfigurationError: a newer version of this package wrote the table.
    """
    _append(profile, OUTCOMES, [_row(one) for one in records])


def write_failures(profile: Profile, failures: Sequence[Failure]) -> None:
    """Add errors, likewise."""
    _append(profile, ERRORS, [_row(one) for one in failures])


def read_records(profile: Profile, wanted: Wanted) -> list[Record]:
    """Outcomes, oldest first; none where nothing was ever written."""
    return [_record(row) for row in _rows(read(profile, OUTCOMES, wanted))]


def read_failures(profile: Profile, wanted: Wanted) -> list[Failure]:
    """Errors, oldest first. Their statuses are no column."""
    found = _rows(read(profile, ERRORS, Wanted(wanted.table, wanted.operation, None, wanted.since)))
    return [Failure(**_common(row), error=row["error"], message=row["message"]) for row in found]


def read(profile: Profile, which: StateTable, wanted: Wanted, columns: Sequence[str] = ("*",)) -> pa.Table:
    """The rows as they are stored, in no order.

    Raises:
        ServiceError: the catalog or the store refused, or did not answer.
    """
    for last in (False,) * (_ROUNDS - 1) + (True,):
        try:
            with naming_the_service(profile):
                table = open_state_table(open_catalog(profile), which.name, _VERSION)
                if table is None:
                    break
                scan = table.scan(selected_fields=tuple(columns))
                return (scan.filter(wanted.filter) if wanted.filter else scan).to_arrow()
        except FileNotFoundError:
            # It was folded away twice since the table was loaded.
            if last:
                raise
    return which.arrow.empty_table()


def fold(profile: Profile, which: StateTable, keep: timedelta, now: datetime) -> None:
    """Rewrite each month of several files as one file, drop the months that ended ``keep`` ago, and clear away.

    Whoever loses a race leaves it to the next: Iceberg refuses to delete what it was not shown.
    """
    table = open_state_table(open_catalog(profile), which.name, _VERSION)
    if table is None:
        return
    try:
        files: dict[date, int] = {}
        for task in table.scan(selected_fields=("month",)).plan_files():
            month = date(1970, 1, 1) + timedelta(days=task.file.partition[0])
            files[month] = files.get(month, 0) + 1
        gone = {month for month in files if month < _month(now - keep)}
        several = {month for month, count in files.items() if count > 1} - gone
        if gone or several:
            kept = table.scan(row_filter=_of(several)).to_arrow() if several else which.arrow.empty_table()
            table.overwrite(kept, overwrite_filter=_of(gone | several))
        forget_the_past(table, now)
    except (CommitFailedException, ValidationException, ValueError, FileNotFoundError):
        # ValueError: another fold has forgotten one of the snapshots already; FileNotFoundError: or one of the files.
        return


def _append(profile: Profile, which: StateTable, rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    data = pa.Table.from_pylist(list(rows), schema=which.arrow)
    catalog = open_catalog(profile)
    for last in (False,) * (_ROUNDS - 1) + (True,):
        table = opened_or_created(catalog, which.name, which.schema, _VERSION, _BY_MONTH)
        try:
            table.append(data)
            break
        except (CommitFailedException, ValidationException):
            # PyIceberg has tried again as often as the table's properties say.
            if last:
                raise
    newest = table.current_snapshot()
    files = int((newest and newest.summary and newest.summary.get("total-data-files")) or 0)
    if files >= _FOLD_AT and files % _FOLD_EVERY == 0:
        fold(profile, which, profile.history.keep, datetime.now(UTC))


def _row(one: Record | Failure) -> dict[str, Any]:
    stored = asdict(one)
    return {**stored, **stored.pop("who"), "month": _month(one.at)}


def _rows(found: pa.Table) -> Iterable[dict[str, Any]]:
    """Each record once, the oldest first."""
    rows = {row["id"]: row for row in found.to_pylist()}
    return sorted(rows.values(), key=lambda row: row["at"])


def _common(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "who": Who(row["run_id"], row["process"], row["host"], row["profile"]),
        "at": row["at"].astimezone(UTC),
        "table": row["table"],
        "operation": row["operation"],
        "dates": tuple(row["dates"] or ()),
        "id": row["id"],
    }


def _record(row: Mapping[str, Any]) -> Record:
    same = ("reason", "productive", "shadow", "seconds", "snapshot_before", "snapshot_after")
    return Record(
        **_common(row),
        status=Status(row["status"]),
        predicted=dict(row["predicted"] or ()),
        actual=dict(row["actual"] or ()),
        details=dict(row["details"] or ()),
        digests=tuple(row["digests"] or ()),
        **{name: row[name] for name in same},
    )


def _month(of: datetime) -> date:
    return of.astimezone(UTC).date().replace(day=1)


def _of(months: Iterable[date]) -> str:
    return f"month in ({', '.join(repr(str(month)) for month in sorted(months))})"


def _escaped(value: str) -> str:
    return value.replace("'", "''")

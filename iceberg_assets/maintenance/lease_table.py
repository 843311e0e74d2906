"""The Iceberg table in which leases are written down: one for all tables of a catalog."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal, TypeVar

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from iceberg_assets.profiles import Profile
from iceberg_assets.spec.names import STATE_NAMESPACE
from iceberg_assets.tables.state_table import forget_the_past, open_state_table, opened_or_created

NAME = (STATE_NAMESPACE, "leases")

FOREVER = datetime(9999, 12, 31, tzinfo=UTC)
"""The deadline of a table on hold."""

_VERSION = ("iceberg-assets.leases-version", "1")
_FOLD_AT = 24
_TRIES = 20
_T = TypeVar("_T")
_one_by_one = threading.RLock()
_SCHEMA = Schema(
    NestedField(1, "event", StringType(), required=True),
    NestedField(2, "table_uuid", StringType(), required=True),
    NestedField(3, "number", LongType(), required=True),
    NestedField(4, "holder", StringType(), required=True),
    NestedField(5, "deadline", TimestamptzType(), required=True),
)


@dataclass(frozen=True)
class LeaseRow:
    """One event of a lease.

    Attributes:
        event: ``taken``, also for each time that it is prolonged, or ``released``.
        number: the table's leases are numbered, from 1 on.
        deadline: from then on anybody may take the next one.
    """

    event: Literal["taken", "released"]
    table_uuid: str
    number: int
    holder: str
    deadline: datetime

    @property
    def for_ever(self) -> bool:
        """Whether it is a hold, which ends by a person's word alone."""
        return self.deadline == FOREVER


def left_over(rows: Sequence[LeaseRow]) -> list[LeaseRow]:
    """Of a table's rows those above its last release: leases of holders that were killed, or could not end well."""
    released = max((row.number for row in rows if row.event == "released"), default=0)
    return [row for row in rows if row.number > released]


def highest(rows: Sequence[LeaseRow]) -> list[LeaseRow]:
    """Of a table's rows those of the lease with the highest number; none where there are none."""
    number = max((row.number for row in rows), default=0)
    return [row for row in rows if row.number == number]


def read_leases(profile: Profile, table_uuid: str) -> list[LeaseRow]:
    """All that is written down of a table's leases, in no order.

    Raises:
        ConfigurationError: a newer version of this package wrote it.
    """
    return _persistently(lambda: _rows(open_state_table(profile.pyiceberg(), NAME, _VERSION), table_uuid))


def write_next(profile: Profile, table_uuid: str, decide: Callable[[Sequence[LeaseRow]], LeaseRow]) -> LeaseRow:
    """Add the event that follows from a table's rows, and nothing that others have written since they were read.

    Args:
        decide: the event; what it raises ends the attempt. It is asked again where others were faster.

    Raises:
        ConfigurationError: as of :func:`read_leases`.
    """

    def attempt() -> tuple[LeaseRow, Table]:
        table = opened_or_created(profile.pyiceberg(), NAME, _SCHEMA, _VERSION)
        row = decide(_rows(table, table_uuid))
        # PyIceberg would begin a refused commit anew on top of what it did not expect.
        once = {**table.metadata.properties, TableProperties.COMMIT_NUM_RETRIES: "0"}
        table.metadata = table.metadata.model_copy(update={"properties": once})
        table.append(_to_arrow([row]))
        return row, table

    row, table = _persistently(attempt)
    _fold_now_and_then(table)
    return row


def _rows(table: Table | None, table_uuid: str) -> list[LeaseRow]:
    if table is None:
        return []
    found = table.scan(row_filter=f"table_uuid == '{table_uuid}'").to_arrow().to_pylist()
    return [LeaseRow(**row) for row in found]


def write_lease(profile: Profile, row: LeaseRow) -> None:
    """Add an event; now and then the table is folded. One that is written twice says no more than once."""
    _fold_now_and_then(_persistently(lambda: _append(profile, row)))


def _persistently(work: Callable[[], _T]) -> _T:
    """Do it again where others have committed so often meanwhile that files or commits of ours came to nothing.

    A release that is given up keeps everybody away for minutes.
    """
    for left in reversed(range(_TRIES)):
        try:
            # Threads of one process would only refuse each other.
            with _one_by_one:
                return work()
        except (CommitFailedException, FileNotFoundError):
            if not left:
                raise
            time.sleep(random.uniform(0.05, 0.5))  # noqa: S311 - two who wait alike would meet again
    raise AssertionError("unreachable")


def _append(profile: Profile, row: LeaseRow) -> Table:
    table = opened_or_created(profile.pyiceberg(), NAME, _SCHEMA, _VERSION)
    table.append(_to_arrow([row]))
    return table


def _to_arrow(rows: Sequence[LeaseRow]) -> pa.Table:
    return pa.Table.from_pylist(
        [asdict(row) for row in rows], schema=schema_to_pyarrow(_SCHEMA, include_field_ids=False)
    )


def _fold_now_and_then(table: Table) -> None:
    if len(table.metadata.snapshots) >= _FOLD_AT:
        _fold(table)


def _fold(table: Table) -> None:
    """Keep of each table its highest number and what was left over, then forget the snapshots before.

    Whoever loses a race leaves it to the next: Iceberg refuses to delete rows that it was not shown.
    """
    try:
        rows = [LeaseRow(**row) for row in table.scan().to_arrow().to_pylist()]
        by_table = defaultdict[str, list[LeaseRow]](list)
        for row in rows:
            by_table[row.table_uuid].append(row)
        kept = [row for of in by_table.values() for row in left_over(of) or highest(of)]
        table.overwrite(_to_arrow(kept), overwrite_filter=AlwaysTrue())
        forget_the_past(table, datetime.now(UTC))
    except (CommitFailedException, ValidationException, ValueError, FileNotFoundError):
        # ValueError: another fold has forgotten one of the snapshots already; FileNotFoundError: or a file is gone.
        return

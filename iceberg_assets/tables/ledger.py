"""The ledger of a table: which raw files are in it, and who is about to add which.

A table of append-only events, one ledger for each table, written through PyIceberg beside the table's own catalog
entry. What it says is folded into a :class:`LedgerState` by a pure function.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Self
from uuid import uuid4

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.table import Table

from iceberg_assets.errors import ConfigurationError, SourceError
from iceberg_assets.profiles import STATE_NAMESPACE, Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.names import slug
from iceberg_assets.tables.source import RawFile

CLAIM_DEADLINE = timedelta(hours=1)
"""So long a claim may take from being written to being picked; an abandoned one is watched as long again."""

CLAIM_PROPERTY = "iceberg-assets.claim"
"""Carried by the summary of a staged snapshot: the id of the claim whose rows it holds."""

BRANCH_PREFIX = "iceberg_assets_stage_"
"""A claim's own branch is named this and its id."""

_VERSION_PROPERTY = "iceberg-assets.ledger-version"
_VERSION = 1
_PROPERTIES = {
    "format-version": "2",
    _VERSION_PROPERTY: str(_VERSION),
    # A commit each few seconds must neither pile up metadata.json files nor fail because another one was faster.
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
    "commit.manifest-merge.enabled": "true",
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "20",
    "commit.retry.max-wait-ms": "1000",
    # A fold that others' events came into is refused, not done again without them.
    "write.delete.isolation-level": "serializable",
}
# Reading costs some 5 ms a file, and PyIceberg copies all snapshots several times a commit.
_FOLD_AT = 40
_MOMENT = pa.timestamp("us", tz="UTC")
_SCHEMA = pa.schema(
    [
        pa.field("event", pa.string(), nullable=False),
        pa.field("claim", pa.string(), nullable=False),
        pa.field("table_uuid", pa.string(), nullable=False),
        pa.field("at", _MOMENT, nullable=False),
        pa.field("n", pa.int64()),
        pa.field("deadline", _MOMENT),
        pa.field("day", pa.date32()),
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("version", pa.string()),
        pa.field("snapshot_id", pa.int64()),
    ]
)


class Event(StrEnum):
    """What can happen to a claim. Confirmed outweighs the other two ends, whatever came first."""

    CLAIMED = "claimed"
    CONFIRMED = "confirmed"
    ABANDONED = "abandoned"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class LedgerRow:
    """One row of the ledger: ``claimed`` has a row for each file, every other event one row.

    Attributes:
        table_uuid: the table that was meant: one dropped and made again starts anew.
        n: the token's number.
        snapshot_id: of ``confirmed``: the snapshot of main with the rows; None where there were none.
    """

    event: Event
    claim: str
    table_uuid: str
    at: datetime
    n: int | None = None
    deadline: datetime | None = None
    day: date | None = None
    path: str | None = None
    size: int | None = None
    version: str | None = None
    snapshot_id: int | None = None


@dataclass(frozen=True)
class Claim:
    """A frozen list of files that somebody is about to append.

    Attributes:
        n: how many batches were confirmed when it was made.
        deadline: from then on anybody may abandon it.
    """

    id: str
    table_uuid: str
    n: int
    files: tuple[RawFile, ...]
    deadline: datetime

    @property
    def token(self) -> str:
        """Iceberg takes one snapshot with this ``wap.id`` into main, and refuses any second one."""
        return token(self.table_uuid, self.n)

    @property
    def branch(self) -> str:
        """Where its rows are staged."""
        return f"{BRANCH_PREFIX}{self.id}"


def token(table_uuid: str, n: int) -> str:
    """The ``wap.id`` of a table's n-th batch."""
    return f"{table_uuid}/{n}"


@dataclass(frozen=True)
class LedgerState:
    """What the ledger says about one table.

    Attributes:
        confirmed: the files whose rows are in the table, by path.
        batches: confirmed claims with a snapshot, the ``n`` of the next claim.
        open: claims that have no end yet.
        abandoned: claims that ended so, and when.
        ends: how each ended claim ended, by id.
        snapshots: of confirmed claims, by id.
    """

    confirmed: Mapping[str, RawFile] = field(default_factory=dict)
    batches: int = 0
    open: tuple[Claim, ...] = ()
    abandoned: tuple[tuple[Claim, datetime], ...] = ()
    ends: Mapping[str, Event] = field(default_factory=dict)
    snapshots: Mapping[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[LedgerRow]) -> Self:
        """The state that the events of one table add up to, in whatever order they come."""
        rows = sorted(rows, key=lambda row: row.at)
        claims = _claims(rows)
        ends: dict[str, LedgerRow] = {}
        for row in rows:
            if row.event is not Event.CLAIMED and (row.event is Event.CONFIRMED or row.claim not in ends):
                ends[row.claim] = row
        confirmed = [claims[id_] for id_, end in ends.items() if end.event is Event.CONFIRMED]
        return cls(
            confirmed={file.path: file for claim in confirmed for file in claim.files},
            batches=sum(ends[claim.id].snapshot_id is not None for claim in confirmed),
            open=tuple(claim for claim in claims.values() if claim.id not in ends),
            abandoned=tuple((claims[id_], end.at) for id_, end in ends.items() if end.event is Event.ABANDONED),
            ends={id_: row.event for id_, row in ends.items()},
            snapshots={claim.id: ends[claim.id].snapshot_id for claim in confirmed},
        )

    def unseen(self, files: Sequence[RawFile]) -> tuple[RawFile, ...]:
        """The files whose rows are not in the table yet.

        Raises:
            SourceError: a file is in the table with another content.
        """
        for file in files:
            known = self.confirmed.get(file.path)
            if known is not None and (known.size, known.version) != (file.size, file.version):
                raise SourceError(
                    f"{file.path} was replaced after its rows were appended (then {known.size} bytes, version "
                    f"{known.version}; now {file.size} bytes, version {file.version}): appending it would double rows. "
                    "Put the old file back, and land the new rows under a new name"
                )
        return tuple(file for file in files if file.path not in self.confirmed)


def _claims(rows: Sequence[LedgerRow]) -> dict[str, Claim]:
    files: dict[str, list[RawFile]] = {}
    first: dict[str, LedgerRow] = {}
    for row in rows:
        if row.event is Event.CLAIMED:
            assert row.path is not None
            assert row.size is not None
            assert row.version is not None
            assert row.day is not None
            files.setdefault(row.claim, []).append(RawFile(row.path, row.size, row.version, row.day))
            first.setdefault(row.claim, row)
    claims = {}
    for id_, row in first.items():
        assert row.n is not None
        assert row.deadline is not None
        claims[id_] = Claim(id_, row.table_uuid, row.n, tuple(files[id_]), row.deadline)
    return claims


class Ledger:
    """The ledger of one table, as it stands in the catalog.

    Args:
        table_uuid: of the table as it is now.
    """

    def __init__(self, profile: Profile, spec: TableSpec, table_uuid: str) -> None:
        self.name = (STATE_NAMESPACE, f"ledger_{slug(*spec.table)}")
        self.table_uuid = table_uuid
        self._catalog = profile.pyiceberg()

    def read(self) -> LedgerState:
        """The newest state.

        Raises:
            ConfigurationError: a newer version of this package wrote the ledger.
        """
        table = self._load()
        if table is None:
            return LedgerState()
        rows = table.scan(row_filter=f"table_uuid = '{self.table_uuid}'").to_arrow().to_pylist()
        return LedgerState.of(LedgerRow(**{**row, "event": Event(row["event"])}) for row in rows)

    def claim(self, n: int, files: Sequence[RawFile], at: datetime) -> Claim:
        """Write a claim on the files with the token's number ``n``."""
        claim = Claim(uuid4().hex, self.table_uuid, n, tuple(files), at + CLAIM_DEADLINE)
        self._append(self._claimed(claim, at))
        return claim

    def confirm(self, claim: Claim, snapshot_id: int, at: datetime) -> None:
        """Its rows are in main since that snapshot."""
        self._append([self._event(Event.CONFIRMED, claim, at, snapshot_id)])

    def confirm_empty(self, files: Sequence[RawFile], at: datetime) -> None:
        """Files without a row are done without a snapshot, and take no token."""
        claim = Claim(uuid4().hex, self.table_uuid, 0, tuple(files), at)
        self._append([*self._claimed(claim, at), self._event(Event.CONFIRMED, claim, at)])

    def abandon(self, claim: Claim, at: datetime) -> None:
        """Its runner is taken for dead."""
        self._append([self._event(Event.ABANDONED, claim, at)])

    def withdraw(self, claim: Claim, at: datetime) -> None:
        """Its own runner gave it up, and will not pick it."""
        self._append([self._event(Event.WITHDRAWN, claim, at)])

    def fold(self, at: int = _FOLD_AT) -> None:
        """Rewrite the many small files as one, once there are ``at`` snapshots, and forget these.

        Whoever loses a race leaves it to the next: no event is lost, because Iceberg refuses to delete what it was not
        shown.
        """
        table = self._load()
        if table is None or len(table.metadata.snapshots) < at:
            return
        try:
            table.overwrite(table.scan().to_arrow())
            old = {snapshot.snapshot_id for snapshot in table.metadata.snapshots} - {table.metadata.current_snapshot_id}
            table.maintenance.expire_snapshots().by_ids(sorted(old)).commit()
        except (CommitFailedException, ValidationException, ValueError):
            # ValueError: another fold has forgotten one of the snapshots already.
            return

    def _claimed(self, claim: Claim, at: datetime) -> list[LedgerRow]:
        return [
            LedgerRow(
                Event.CLAIMED, claim.id, claim.table_uuid, at, claim.n, claim.deadline,
                day=file.day, path=file.path, size=file.size, version=file.version,
            )
            for file in claim.files
        ]  # fmt: skip

    def _event(self, event: Event, claim: Claim, at: datetime, snapshot_id: int | None = None) -> LedgerRow:
        return LedgerRow(event, claim.id, claim.table_uuid, at, claim.n, snapshot_id=snapshot_id)

    def _append(self, rows: Sequence[LedgerRow]) -> None:
        """All rows in one commit, or none."""
        table = self._load() or self._create()
        table.append(pa.Table.from_pylist([asdict(row) for row in rows], schema=_SCHEMA))

    def _load(self) -> Table | None:
        try:
            table = self._catalog.load_table(self.name)
        except NoSuchTableError:
            return None
        version: Any = table.properties.get(_VERSION_PROPERTY, "1")
        if int(version) > _VERSION:
            raise ConfigurationError(
                f"{'.'.join(self.name)} has version {version}, and this iceberg_assets knows {_VERSION}: "
                "a newer release has written to it; install that release"
            )
        return table

    def _create(self) -> Table:
        self._catalog.create_namespace_if_not_exists(STATE_NAMESPACE)
        return self._catalog.create_table_if_not_exists(self.name, _SCHEMA, properties=_PROPERTIES)

"""The ledger of a table: which raw files are in it, and who is about to add which.

A table of append-only events, one ledger for each table, written through PyIceberg beside the table's own catalog
entry. What they add up to is a :class:`LedgerState`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import date, datetime
from functools import lru_cache
from uuid import uuid4

import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.table import Table

from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.names import STATE_NAMESPACE, slug
from iceberg_assets.tables.claims import CLAIM_DEADLINE, Claim, Content, Entry, Event, LedgerRow, LedgerState
from iceberg_assets.tables.ledger_table import create_ledger, fold, from_arrow, of_days, open_ledger, to_arrow
from iceberg_assets.tables.source import RawFile

# Reading costs some 5 ms a file, and PyIceberg copies all snapshots several times a commit.
_FOLD_AT = 24
_COLUMNS = tuple(column.name for column in fields(LedgerRow))


@dataclass(frozen=True)
class _Version:
    """What is read of one version of a ledger, which its metadata file stands for: it never changes."""

    metadata_location: str
    table_uuid: str
    days: frozenset[date] | None
    table: Table = field(compare=False, repr=False)


def _read(version: _Version) -> LedgerState:
    wanted = AlwaysTrue() if version.days is None else of_days(version.days)
    stored = version.table.scan(row_filter=wanted, selected_fields=_COLUMNS).to_arrow()
    stored = stored.filter(pc.equal(stored["table_uuid"], version.table_uuid))
    return LedgerState.of(LedgerRow(Event(event), *more) for event, *more in from_arrow(stored, _COLUMNS))


# An append looks five times, and twice nothing has been written since; a sensor looks at each tick.
_remembered = lru_cache(maxsize=8)(_read)


class Ledger:
    """The ledger of one table, as it stands in the catalog.

    Args:
        table_uuid: of the table as it is now.
    """

    def __init__(self, profile: Profile, spec: TableSpec, table_uuid: str) -> None:
        self.name = (STATE_NAMESPACE, f"ledger_{slug(*spec.table)}")
        self.table_uuid = table_uuid
        self._profile, self._catalog = profile, profile.pyiceberg()

    def read(self, days: Collection[date] | None = None) -> LedgerState:
        """The newest state.

        Args:
            days: files are wanted of these dates only, so that those of others are not read; None: of all. Claims and
                their ends are read in any case.

        Raises:
            ConfigurationError: a newer version of this package wrote the ledger.
        """
        table = open_ledger(self._catalog, self.name)
        if table is None:
            return LedgerState()
        version = _Version(table.metadata_location, self.table_uuid, None if days is None else frozenset(days), table)
        # All files may be millions, which nobody wants to find in memory once they are done with.
        return _read(version) if days is None else _remembered(version)

    def claim(
        self,
        n: int,
        files: Sequence[RawFile],
        at: datetime,
        contents: Mapping[RawFile, Content] | None = None,
        *,
        replaces: bool = False,
    ) -> Claim:
        """Write a claim on the files with the token's number ``n``."""
        claim = Claim(uuid4().hex, self.table_uuid, n, tuple(files), at + CLAIM_DEADLINE, replaces)
        self._append(self._claimed(claim, at, contents))
        return claim

    def confirm(self, claim: Claim, snapshot_id: int, at: datetime) -> None:
        """Its rows are in main since that snapshot."""
        self._append([self._event(Event.CONFIRMED, claim, at, snapshot_id)])

    def confirm_empty(self, files: Sequence[RawFile], at: datetime) -> None:
        """Files without a row are done without a snapshot, and take no token."""
        claim = Claim(uuid4().hex, self.table_uuid, 0, tuple(files), at)
        nothing = dict.fromkeys(files, Content(0, frozenset()))
        self._append([*self._claimed(claim, at, nothing), self._event(Event.CONFIRMED, claim, at)])

    def adopt(
        self,
        files: Sequence[RawFile],
        contents: Mapping[RawFile, Content],
        at: datetime,
        snapshot_id: int | None,
        n: int,
    ) -> None:
        """The files' rows were in main, whose newest snapshot is the one given, before the ledger knew of them.

        Args:
            n: the next batch's number, above all tokens that main carries.
        """
        claim = Claim(uuid4().hex, self.table_uuid, n, tuple(files), at)
        self._append([*self._claimed(claim, at, contents), self._event(Event.ADOPTED, claim, at, snapshot_id)])

    def forget(self, entries: Iterable[Entry], at: datetime) -> None:
        """Their rows are not in the table any more."""
        self._append(
            [
                LedgerRow(
                    Event.FORGOTTEN, entry.claim.id, self.table_uuid, at, day=entry.file.day, path=entry.file.path
                )
                for entry in entries
            ]
        )

    def abandon(self, claim: Claim, at: datetime) -> None:
        """Its runner is taken for dead."""
        self._append([self._event(Event.ABANDONED, claim, at)])

    def withdraw(self, claim: Claim, at: datetime) -> None:
        """Its own runner gave it up, and will not pick it."""
        self._append([self._event(Event.WITHDRAWN, claim, at)])

    def fold(self, at: int = _FOLD_AT) -> None:
        """Rewrite the many small files as few, once there are ``at`` snapshots, and forget these."""
        table = open_ledger(self._catalog, self.name)
        if table is not None and len(table.metadata.snapshots) >= at:
            fold(table)

    def _claimed(
        self, claim: Claim, at: datetime, contents: Mapping[RawFile, Content] | None = None
    ) -> list[LedgerRow]:
        head = LedgerRow(
            Event.CLAIMED, claim.id, claim.table_uuid, at, claim.n, claim.deadline, replaces=claim.replaces
        )
        rows = [head]
        for file in claim.files:
            of_file = replace(head, day=file.day, path=file.path, size=file.size, version=file.version)
            if contents and (known := contents.get(file)):
                of_file = replace(of_file, rows=known.rows, dates=" ".join(map(date.isoformat, sorted(known.dates))))
            rows.append(of_file)
        return rows

    def _event(self, event: Event, claim: Claim, at: datetime, snapshot_id: int | None = None) -> LedgerRow:
        return LedgerRow(event, claim.id, claim.table_uuid, at, claim.n, snapshot_id=snapshot_id)

    def _append(self, rows: Sequence[LedgerRow]) -> None:
        """All rows in one commit, or none."""
        self._profile.require_writable()
        table = open_ledger(self._catalog, self.name) or create_ledger(self._catalog, self.name)
        table.append(to_arrow(asdict(row) for row in rows))

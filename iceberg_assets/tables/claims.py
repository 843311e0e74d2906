"""Claims and what became of them: the events of a ledger, and what they add up to. Pure, no I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Self

from iceberg_assets.errors import SourceError
from iceberg_assets.tables.source import RawFile

CLAIM_DEADLINE = timedelta(hours=1)
"""So long a claim may take from being written to being picked; an abandoned one is watched as long again."""

CLAIM_PROPERTY = "iceberg-assets.claim"
"""Carried by the summary of a staged snapshot: the id of the claim whose rows it holds."""

BRANCH_PREFIX = "iceberg_assets_stage_"
"""A claim's own branch is named this and its id."""


class Event(StrEnum):
    """What can happen to a claim. Of several ends the surest counts, whatever came first.

    ``adopted``: its rows were in the table before the ledger knew of them, so that they took no token. ``forgotten`` is
    no end of a claim: one of its files is not in the table any more.
    """

    CLAIMED = "claimed"
    CONFIRMED = "confirmed"
    ADOPTED = "adopted"
    FORGOTTEN = "forgotten"
    ABANDONED = "abandoned"
    WITHDRAWN = "withdrawn"


# A claim taken for dead may be alive and get in; its own runner knows that it will not; main knows that it did.
_WEIGHT = {Event.ABANDONED: 1, Event.WITHDRAWN: 2, Event.CONFIRMED: 3, Event.ADOPTED: 3}


@dataclass(frozen=True)
class LedgerRow:
    """One row of the ledger.

    ``claimed`` and ``adopted`` begin with a row without a file, and one for each file follows; ``forgotten`` has a row
    for each file, every other event one row.

    Attributes:
        table_uuid: the table that was meant: one dropped and made again starts anew.
        n: the token's number.
        snapshot_id: of ``confirmed``: the snapshot of main with the rows; None where there were none. Of ``adopted``:
            main's newest one at that time.
        rows: of a claimed file: how many it has.
        dates: of a claimed file: the dates that its rows fall on, in ISO format, parted by spaces.
        replaces: of ``claimed``: the rows of its files' dates that came earlier go.
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
    rows: int | None = None
    dates: str | None = None
    replaces: bool | None = None


@dataclass(frozen=True)
class Content:
    """How many rows a raw file brought, and which dates these fall on."""

    rows: int
    dates: frozenset[date]


@dataclass(frozen=True)
class Claim:
    """A frozen list of files that somebody is about to append.

    Attributes:
        n: how many batches were confirmed when it was made.
        files: of the dates that were read.
        deadline: from then on anybody may abandon it.
        replaces: once it is in, what earlier claims brought for its files' dates is not in any more.
    """

    id: str
    table_uuid: str
    n: int
    files: tuple[RawFile, ...]
    deadline: datetime
    replaces: bool = False

    @property
    def token(self) -> str:
        """Iceberg takes one snapshot with this ``wap.id`` into main, and refuses any second one."""
        return token(self.table_uuid, self.n)

    @property
    def days(self) -> frozenset[date]:
        """The dates that its files landed under."""
        return frozenset(file.day for file in self.files)

    @property
    def branch(self) -> str:
        """Where its rows are staged."""
        return f"{BRANCH_PREFIX}{self.id}"


def token(table_uuid: str, n: int) -> str:
    """The ``wap.id`` of a table's n-th batch."""
    return f"{table_uuid}/{n}"


@dataclass(frozen=True)
class Entry:
    """A file whose rows came into the table, and how.

    Attributes:
        end: ``confirmed`` or ``adopted``.
        at: when that was written.
        snapshot_id: see :class:`LedgerRow`.
        content: None where nobody has counted.
    """

    file: RawFile
    claim: Claim
    end: Event
    at: datetime
    snapshot_id: int | None
    content: Content | None

    def came_before(self, claim: Claim) -> bool:
        """Whether the rows were in main when the claim was staged. Only batches with a snapshot have a number."""
        if self.end is Event.CONFIRMED and self.snapshot_id is not None:
            return self.claim.n < claim.n
        return self.at < claim.deadline - CLAIM_DEADLINE


@dataclass(frozen=True)
class LedgerState:
    """What the ledger says about one table.

    Attributes:
        entries: the files whose rows are in the table, of the dates that were read.
        superseded: those whose rows were, until a later claim replaced their date.
        confirmed: the files of the entries, by path.
        batches: confirmed claims with a snapshot, the ``n`` of the next claim; where a table was adopted whose ledger
            was lost, counted on from the tokens that it carried.
        open: claims that have no end yet.
        abandoned: claims that ended so, and when.
        claims: all of them, by id.
        ends: how each ended claim ended, by id.
        snapshots: of confirmed and adopted claims, by id.
    """

    entries: tuple[Entry, ...] = ()
    superseded: tuple[Entry, ...] = ()
    confirmed: Mapping[str, RawFile] = field(default_factory=dict)
    batches: int = 0
    open: tuple[Claim, ...] = ()
    abandoned: tuple[tuple[Claim, datetime], ...] = ()
    claims: Mapping[str, Claim] = field(default_factory=dict)
    ends: Mapping[str, Event] = field(default_factory=dict)
    snapshots: Mapping[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[LedgerRow]) -> Self:
        """The state that the events of one table add up to, in whatever order they come."""
        rows = sorted(rows, key=lambda row: row.at)
        claims = _claims(rows)
        ends: dict[str, LedgerRow] = {}
        for row in rows:
            known = ends.get(row.claim)
            if row.event in _WEIGHT and (known is None or _WEIGHT[row.event] > _WEIGHT[known.event]):
                ends[row.claim] = row
        entries, superseded = _entries(rows, claims, ends)
        picked = [id_ for id_, end in ends.items() if end.event is Event.CONFIRMED and end.snapshot_id is not None]
        return cls(
            entries=entries,
            superseded=superseded,
            confirmed={entry.file.path: entry.file for entry in entries},
            batches=max(
                [
                    0,
                    *(claims[id_].n for id_, end in ends.items() if end.event is Event.ADOPTED),
                    *(claims[id_].n + 1 for id_ in picked),
                ]
            ),
            open=tuple(claim for claim in claims.values() if claim.id not in ends),
            abandoned=tuple((claims[id_], end.at) for id_, end in ends.items() if end.event is Event.ABANDONED),
            claims=claims,
            ends={id_: row.event for id_, row in ends.items()},
            snapshots={
                id_: row.snapshot_id for id_, row in ends.items() if row.event in (Event.CONFIRMED, Event.ADOPTED)
            },
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
                    "Put the old file back and land the new rows under a new name, or replace the date: "
                    f"iceberg-assets append TABLE --date {file.day} --replace"
                )
        return tuple(file for file in files if file.path not in self.confirmed)


def _claims(rows: Sequence[LedgerRow]) -> dict[str, Claim]:
    files: dict[str, list[RawFile]] = {}
    first: dict[str, LedgerRow] = {}
    for row in rows:
        if row.event is Event.CLAIMED:
            first.setdefault(row.claim, row)
            of_claim = files.setdefault(row.claim, [])
            if row.path is not None:
                assert row.size is not None
                assert row.version is not None
                assert row.day is not None
                of_claim.append(RawFile(row.path, row.size, row.version, row.day))
    claims = {}
    for id_, row in first.items():
        assert row.n is not None
        assert row.deadline is not None
        claims[id_] = Claim(id_, row.table_uuid, row.n, tuple(files[id_]), row.deadline, bool(row.replaces))
    return claims


def _entries(
    rows: Sequence[LedgerRow], claims: Mapping[str, Claim], ends: Mapping[str, LedgerRow]
) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
    """The files that are in, and those that were until a later claim replaced their date."""
    contents, forgotten = {}, set()
    for row in rows:
        if row.event is Event.FORGOTTEN:
            forgotten.add((row.claim, row.path))
        elif row.rows is not None and row.dates is not None:
            days = frozenset(map(date.fromisoformat, row.dates.split()))
            contents[row.claim, row.path] = Content(row.rows, days)
    entries = [
        Entry(file, claims[id_], end.event, end.at, end.snapshot_id, contents.get((id_, file.path)))
        for id_, end in ends.items()
        if end.event in (Event.CONFIRMED, Event.ADOPTED)
        for file in claims[id_].files
        if (id_, file.path) not in forgotten
    ]
    # A claim that was forgotten, because it was rolled back, replaces nothing any more.
    replaced: dict[date, dict[str, Claim]] = {}
    for entry in entries:
        if entry.claim.replaces:
            replaced.setdefault(entry.file.day, {})[entry.claim.id] = entry.claim
    gone = [
        any(entry.came_before(by) for by in replaced.get(entry.file.day, {}).values() if by is not entry.claim)
        for entry in entries
    ]
    return (
        tuple(entry for entry, out in zip(entries, gone, strict=True) if not out),
        tuple(entry for entry, out in zip(entries, gone, strict=True) if out),
    )

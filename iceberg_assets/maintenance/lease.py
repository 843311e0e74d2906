"""One maintainer a table at a time, between processes, machines and instances that know nothing of each other.

A lease is a number. Who wants it reads the highest one; where that is released or past its deadline, writes the next
number with a name and a deadline into the state table, by a commit that the catalog refuses if anybody has written to
that table since the reading. The maintained table itself is left alone: each commit to it is one that a user's append
may have to begin anew for. Nothing rests on the lease alone: Iceberg refuses commits that do not fit together, and
what was rewritten is verified.
"""

import os
import re
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from iceberg_assets.errors import IcebergAssetsError
from iceberg_assets.maintenance.lease_table import (
    FOREVER,
    LeaseRow,
    highest,
    left_over,
    read_leases,
    write_lease,
    write_next,
)
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.target import existing_target

LEASE_FOR = timedelta(minutes=5)
"""So long others wait for a holder that was killed elsewhere; a living one prolongs its lease at a third of it."""

_RELEASE_AGAIN = timedelta(seconds=3)

_for_several = threading.local()


class LeaseTakenError(IcebergAssetsError):
    """Somebody else maintains the table now, or a person has to look at it first; nothing was done."""


@dataclass
class Lease:
    """A lease that this process holds.

    Attributes:
        row: as it was written last.
        uncompared_since: rows of what was committed to the table since then may not have been compared. A lease that
            ends so is not released: whoever comes after its deadline, or its process, compares them first.
    """

    profile: Profile
    row: LeaseRow
    uncompared_since: datetime | None = None
    _over: threading.Event = field(default_factory=threading.Event, repr=False)
    _writing: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _kept: bool = False

    @property
    def on_hold(self) -> bool:
        """Whether the table waits for a person."""
        return self._kept

    @contextmanager
    def comparing(self) -> Iterator[None]:
        """A block that commits, and then compares rows; where it fails, they are not."""
        self.uncompared_since = self.uncompared_since or datetime.now(UTC)
        yield
        self.uncompared_since = None

    def hold_table(self, why: str) -> None:
        """Let nobody maintain the table until a person releases it.

        The hold has the highest number, whoever has taken the table over from a holder that was thought dead.
        """
        number = 1 + max(row.number for row in read_leases(self.profile, self.row.table_uuid))
        self._write(replace(self.row, number=number, holder=why, deadline=FOREVER))
        self._kept, self.uncompared_since = True, None

    def _write(self, row: LeaseRow) -> None:
        with self._writing:
            # What was held for ever is not prolonged to an hour.
            if not self._kept:
                write_lease(self.profile, row)
                self.row = row

    def _prolong(self, lasts: timedelta) -> None:
        while not self._over.wait(lasts.total_seconds() / 3):
            # A state table that cannot be written to now may be in a moment; the lease ends by itself if not.
            with suppress(Exception):
                self._write(replace(self.row, deadline=datetime.now(UTC) + lasts))

    def _release(self) -> None:
        """Let others have the table. What was done is done: a release that fails now is no error of it."""
        if not self._kept and self.uncompared_since is None and not self._write_release():
            # The catalog may be away, which is why the operation failed: nobody shall wait longer than it is.
            threading.Thread(target=self._release_later, daemon=True).start()

    def _release_later(self) -> None:
        while datetime.now(UTC) < self.row.deadline:
            time.sleep(_RELEASE_AGAIN.total_seconds())
            if self._write_release():
                return

    def _write_release(self) -> bool:
        try:
            write_lease(self.profile, replace(self.row, event="released"))
        except Exception:  # noqa: BLE001 - whatever it is, the lease ends by itself if it stays
            return False
        return True


@contextmanager
def lease(profile: Profile, spec: TableSpec, what: str, *, lasts: timedelta = LEASE_FOR) -> Iterator[Lease]:
    """Hold the table's lease for as long as the block lasts.

    Within :func:`one_lease` of the same thread it is that one.

    Args:
        what: is done, for others to read.
        lasts: until when a lease stands whose holder was killed.

    Raises:
        LeaseTakenError: somebody else has it; names the holder, and until when.
        TableDroppedError: there is no such table.
    """
    if (one := _for_several.__dict__.get(_key(profile, spec))) is not None:
        yield one
        return
    table_uuid = str(existing_target(profile, spec).metadata.table_uuid)
    taken = Lease(profile, *_take(profile, spec, table_uuid, what, lasts))
    prolonging = threading.Thread(target=taken._prolong, args=[lasts], daemon=True)
    prolonging.start()
    try:
        yield taken
    finally:
        taken._over.set()
        prolonging.join()
        taken._release()


@contextmanager
def one_lease(profile: Profile, spec: TableSpec, what: str) -> Iterator[None]:
    """One lease for all operations on the table that this thread runs in the block.

    Raises:
        LeaseTakenError, TableDroppedError: as of :func:`lease`.
    """
    with lease(profile, spec, what) as taken:
        of_thread, key = _for_several.__dict__, _key(profile, spec)
        of_thread[key] = taken
        try:
            yield
        finally:
            del of_thread[key]


def _key(profile: Profile, spec: TableSpec) -> str:
    return repr((profile.catalog.identity, spec.table))


def release(profile: Profile, spec: TableSpec) -> LeaseRow | None:
    """End a hold, or what a killed holder left to be compared: a person has looked. None: there is neither."""
    profile.require_writable()
    rows = read_leases(profile, str(existing_target(profile, spec).metadata.table_uuid))
    standing = _standing(rows)
    if standing is not None and not standing.for_ever:
        return None
    ended = standing or max(left_over(rows), key=lambda row: row.number, default=None)
    if ended is not None:
        write_lease(profile, replace(ended, event="released"))
    return ended


def standing_hold(profile: Profile, spec: TableSpec) -> LeaseRow | None:
    """The hold that the table is on; None: it is on none, though it may be maintained right now."""
    standing = standing_lease(profile, str(existing_target(profile, spec).metadata.table_uuid))
    return standing if standing is not None and standing.for_ever else None


def standing_lease(profile: Profile, table_uuid: str) -> LeaseRow | None:
    """The lease that keeps others away now; None: there is none."""
    return _standing(read_leases(profile, table_uuid))


def require_idle(profile: Profile, spec: TableSpec) -> None:
    """Refuse what a person does by hand while the table is maintained; one on hold waits for just that.

    Raises:
        ConfigurationError: this place may not write to the profile.
        LeaseTakenError: somebody maintains it.
    """
    profile.require_writable()
    standing = standing_lease(profile, str(existing_target(profile, spec).metadata.table_uuid))
    if standing is not None and not standing.for_ever:
        raise _taken(spec, standing)


def _take(
    profile: Profile, spec: TableSpec, table_uuid: str, what: str, lasts: timedelta
) -> tuple[LeaseRow, datetime | None]:
    """The lease, and since when holders before it may have left what nobody has compared."""
    holder = f"{what}, process {os.getpid()} on {socket.gethostname()}{_here()}"

    left: list[LeaseRow] = []

    def next_one(rows: Sequence[LeaseRow]) -> LeaseRow:
        nonlocal left
        if standing := _standing(rows):
            raise _taken(spec, standing)
        left = left_over(rows)
        number = 1 + max((row.number for row in rows), default=0)
        return LeaseRow("taken", table_uuid, number, holder, datetime.now(UTC) + lasts)

    row = write_next(profile, table_uuid, next_one)
    return row, min((one.deadline - LEASE_FOR for one in left if not one.for_ever), default=None)


def _standing(rows: Sequence[LeaseRow]) -> LeaseRow | None:
    """The highest lease, where it is neither released nor past its deadline."""
    of = highest(rows)
    if not of or any(row.event == "released" for row in of):
        return None
    latest = max(of, key=lambda row: row.deadline)
    return latest if latest.deadline > datetime.now(UTC) and not _is_gone(latest.holder) else None


@cache
def _here() -> str:
    """What tells this boot of this machine, and the container, from all others; empty where the system does not say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        return f" ({boot.partition('-')[0]}/{Path('/proc/self/ns/pid').stat().st_ino})"
    except OSError:
        return ""


def _is_gone(holder: str) -> bool:
    """Whether it was a process of this very machine that has ended: nobody has to wait for its deadline."""
    found = re.search(r"process (\d+) on \S*( \(\S+\))$", holder)
    if not found or found[2] != _here():
        return False
    try:
        state = Path(f"/proc/{found[1]}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    # It has ended, and whoever started it has not asked yet how.
    return state == "Z"


def _taken(spec: TableSpec, by: LeaseRow) -> LeaseTakenError:
    if by.for_ever:
        return LeaseTakenError(f"{spec.name} is on hold: {by.holder}")
    return LeaseTakenError(f"{spec.name} is maintained by somebody else: {by.holder}, until {by.deadline:%H:%M:%S %Z}")

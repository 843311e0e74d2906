"""Freshness: the raw files that are landed and not in the table, whatever keeps them out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.source import RawFile, landed
from iceberg_assets.tables.target import load_target

_UNKNOWN = datetime.max.replace(tzinfo=UTC)
# Dates that one look of a watch lists. A folder costs a request on an object store, and a table may have years of them.
_NEWEST = 14
_IN_TURN = 50


@dataclass(frozen=True)
class Watch:
    """Where a watch over all dates stands that looks at some of them each time.

    Attributes:
        waiting: the dates that had a waiting file when they were last looked at.
        before: the older dates have been looked at back to this one; None: it begins anew.
    """

    waiting: tuple[date, ...] = ()
    before: date | None = None


def next_look(partitions: Sequence[date], watch: Watch) -> tuple[frozenset[date], date | None]:
    """The dates to look at now, and how far back that leads.

    Looked at each time are the newest and the oldest that wait, so that a check does not turn green by looking away;
    all others in turn, back in time.
    """
    newest, older = partitions[-_NEWEST:], partitions[:-_NEWEST]
    turn = [day for day in older if watch.before is None or day < watch.before][-_IN_TURN:]
    waiting = set(sorted(watch.waiting)[:_IN_TURN]).intersection(partitions)
    return frozenset({*newest, *turn, *waiting}), turn[0] if turn and turn[0] > older[0] else None


def keep_watch(profile: Profile, spec: TableSpec, now: datetime, watch: Watch) -> tuple[tuple[RawFile, ...], Watch]:
    """The waiting files of the dates whose turn it is, oldest first, and where the watch then stands."""
    days, before = next_look(_partitions(spec, now), watch)
    waiting = waiting_files(profile, spec, now, days)
    dates = {file.day for file in waiting} | (set(watch.waiting) - days)
    return waiting, Watch(tuple(sorted(dates)), before)


def waiting_files(
    profile: Profile, spec: TableSpec, now: datetime, days: Collection[date] | None = None
) -> tuple[RawFile, ...]:
    """The files of these dates, or of all, that the ledger does not have as they are now, oldest first. Needs no JVM.

    A file that was replaced under its name waits too, and one that is bad or still being written.
    """
    dates = sorted(_partitions(spec, now) if days is None else days)
    found = [file for day in dates for file in landed(spec, day, profile.store)]
    table = load_target(profile, spec) if found else None
    confirmed: Mapping[str, RawFile] = {}
    if table is not None:
        ledger = Ledger(profile, spec, str(table.metadata.table_uuid))
        confirmed = ledger.read({file.day for file in found}).confirmed
    waiting = [file for file in found if confirmed.get(file.path) != file]
    return tuple(sorted(waiting, key=lambda file: (file.modified or _UNKNOWN, file.path)))


def _partitions(spec: TableSpec, now: datetime) -> Sequence[date]:
    return spec.dates.between(spec.dates.start, spec.dates.last(now), now)

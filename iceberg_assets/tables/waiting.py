"""Freshness: the raw files that are landed and not in the table, whatever keeps them out."""

from datetime import UTC, datetime

from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.source import RawFile, landed
from iceberg_assets.tables.standing import look

_UNKNOWN = datetime.max.replace(tzinfo=UTC)


def waiting_files(profile: Profile, spec: TableSpec, now: datetime) -> tuple[RawFile, ...]:
    """The files of all partitions that the ledger does not have as they are now, oldest first. Needs no JVM.

    A file that was replaced under its name waits too, and one that is bad or still being written.
    """
    found = [
        file for day in spec.dates.between(spec.dates.start, spec.dates.last(now), now) for file in landed(spec, day)
    ]
    looked = look(profile, spec) if found else None
    confirmed = looked[1].confirmed if looked else {}
    waiting = [file for file in found if confirmed.get(file.path) != file]
    return tuple(sorted(waiting, key=lambda file: (file.modified or _UNKNOWN, file.path)))

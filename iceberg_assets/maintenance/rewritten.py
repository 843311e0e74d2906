"""Which files a compaction took from a date, and which it put there. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from iceberg_assets.health import DataFile, compaction_unit
from iceberg_assets.maintenance.maintained import Maintained
from iceberg_assets.spec import TableSpec


@dataclass(frozen=True)
class Rewritten:
    """The files of one date that a compaction replaced, and what it replaced them by; the largest first."""

    before: tuple[DataFile, ...]
    after: tuple[DataFile, ...]


def rewritten(spec: TableSpec, result: Maintained, now: datetime) -> dict[date, Rewritten]:
    """By date, what was rewritten; dates that were left as they were are left out."""
    there, left = {file.path for file in result.before.files}, {file.path for file in result.after.files}
    added = [file for file in result.after.files if file.path not in there]
    found = {}
    for day in result.outcomes:
        health = result.before.dates.get(day)
        gone = [file for group in (health.groups if health else ()) for file in group.files if file.path not in left]
        if gone:
            unit = compaction_unit(spec, result.before, day, now)
            came = [file for file in added if file.within(unit.first, unit.last)]
            found[day] = Rewritten(_largest_first(gone), _largest_first(came))
    return found


def _largest_first(files: Sequence[DataFile]) -> tuple[DataFile, ...]:
    return tuple(sorted(files, key=lambda file: (-file.size, file.path)))

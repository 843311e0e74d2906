"""How many files a rewrite makes of those of older partition specs: they spread over the current one's. Pure."""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from math import prod

from iceberg_assets.health.facts import DataFile, SpecField, TableHealth


def files_after_respec(health: TableHealth, files: Iterable[DataFile]) -> int:
    """About how many files a group with files of older specs becomes: one for each partition of the current spec.

    Each field of the spec counts as many values as the files can have: the dates that they lie on, the buckets, what
    the older spec has of the same field. Of a field that the metadata tells nothing of, one: then it may be more.
    """
    given = list(files)
    fields = health.specs.get(health.spec_id, ())
    rows = sum(file.rows for file in given)
    return min(prod(_values(health, field, given) for field in fields), max(rows, 1))


def _values(health: TableHealth, field: SpecField, files: Sequence[DataFile]) -> int:
    """So many values of the field the files can have at most, as far as the metadata tells."""
    kind, _, size = field.transform.partition("[")
    if field.of_dates and kind in ("identity", "hour", "day", "month", "year"):
        return max(1, len({_part(day, kind) for day in _days(files)}) * (24 if kind == "hour" else 1))
    known = _known_values(health, field, files)
    if known is None:
        return int(size.rstrip("]")) if kind == "bucket" else 1
    return max(1, known)


def _known_values(health: TableHealth, field: SpecField, files: Sequence[DataFile]) -> int | None:
    """Distinct values of the same field in the files' own partitions; None where a file's spec lacks it."""
    found = set()
    for file in files:
        own = health.specs.get(file.spec_id, ())
        position = next((n for n, one in enumerate(own) if one == field), None)
        if position is None:
            return None
        found.add(file.partition[position])
    return len(found)


def _part(day: date, kind: str) -> date:
    """The first day of its month or year, for fields that are no finer; else the day itself."""
    return day.replace(day=1) if kind == "month" else day.replace(month=1, day=1) if kind == "year" else day


def _days(files: Iterable[DataFile]) -> set[date]:
    days: set[date] = set()
    for file in files:
        if file.first is not None and file.last is not None:
            days.update(file.first + timedelta(days=n) for n in range((file.last - file.first).days + 1))
    return days

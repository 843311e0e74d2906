"""Small files that no partition of the asset reaches, so that nobody can ask for their compaction. Pure."""

from collections import Counter
from datetime import date, datetime

from iceberg_assets.health.facts import DataFile, TableHealth
from iceberg_assets.health.rewrite_rule import rule
from iceberg_assets.health.unit import compaction_unit
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.units import format_count


def outside(spec: TableSpec, health: TableHealth, now: datetime) -> str | None:
    """How many such files there are and where, as a sentence; None: none.

    Files that are compacted with a date's month, year or table are reached. So are those whose dates are not known.
    """
    settings = rule(spec.maintenance.compact.options, health.properties)
    units = {compaction_unit(spec, health, day, now) for day in health.dates}
    if any(unit.first is None for unit in units):
        return None
    newest = spec.dates.last(now)
    counted = Counter(
        where
        for file in health.files
        if settings.is_small(file)
        and (where := _where(spec, file, newest))
        and not any(file.within(unit.first, unit.last) for unit in units)
    )
    if not counted:
        return None
    parts = ", ".join(f"{number} {where}" for where, number in counted.items())
    return (
        f"{format_count(counted.total(), 'small file')} outside the asset's partitions, which nothing here compacts: "
        f"{parts}"
    )


def _where(spec: TableSpec, file: DataFile, newest: date) -> str | None:
    """On which side of the partitions all rows of a file lie; None: it may have some within."""
    if file.first is None or file.last is None:
        return None
    start = spec.dates.start
    if file.first > file.last:
        return f"without a date ({spec.dates.column} is null)"
    if file.last < start:
        return f"before dates.start {start}"
    if file.first > newest:
        return f"after {'dates.end' if spec.dates.end == newest else 'today,'} {newest}"
    return None

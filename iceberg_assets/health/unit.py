"""The unit of compaction: which dates one rewrite takes, and the dates that a partition value stands for."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Literal

from iceberg_assets.health.facts import Grain, TableHealth
from iceberg_assets.spec import TableSpec

Kind = Literal["date", "timestamp", "timestamp_ns"]
Span = tuple[date, date]
"""First and last date, both included; empty where the first lies after the last."""

NOWHERE: Span = (date.max, date.min)
"""Rows without a date: no range on the column finds them."""

_PER_DAY: dict[Kind, int] = {"date": 1, "timestamp": 86_400 * 10**6, "timestamp_ns": 86_400 * 10**9}
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Unit:
    """What one compaction takes: all rows of the dates from ``first`` to ``last``, both included.

    Attributes:
        first, last: None, both of them: the whole table, rows without a date included.
        carrier: the one partition of the asset that stands for the unit in requests, attempts and figures.
    """

    first: date | None
    last: date | None
    carrier: date

    def covers(self, day: date) -> bool:
        """Whether rows of that date belong to it."""
        return (self.first is None or self.first <= day) and (self.last is None or day <= self.last)


def compaction_unit(spec: TableSpec, health: TableHealth, day: date, now: datetime) -> Unit:
    """The unit that a date belongs to. Its range is the ``where`` of the rewrite, on ``spec.dates.column``."""
    newest = spec.dates.last(now)
    # A table without a time field shows a date for its newest data, which is the one that carries it.
    return unit_of(day, health.grain, newest=newest, newest_with_data=health.newest_with_data or newest)


def unit_of(day: date, grain: Grain, *, newest: date, newest_with_data: date) -> Unit:
    """The unit of a date.

    Args:
        day: of the asset's partitions.
        grain: how far the date is widened, so that a rewrite takes partitions as a whole.
        newest: the newest partition of the asset: a month that is not over is carried by it.
        newest_with_data: carries the table where nothing narrower does.
    """
    match grain:
        case Grain.DATE:
            return Unit(day, day, day)
        case Grain.MONTH:
            first, last = _month((day.year - 1970) * 12 + day.month - 1)
        case Grain.YEAR:
            first, last = date(day.year, 1, 1), date(day.year, 12, 31)
        case Grain.TABLE:
            return Unit(None, None, newest_with_data)
    return Unit(first, last, min(last, newest))


def grain_of(transforms: Iterable[str]) -> Grain:
    """The grain of a partition spec.

    Args:
        transforms: of those of its fields that are made from the table's date column.
    """
    given = set(transforms)
    if given & {"identity", "day", "hour"}:
        return Grain.DATE
    return Grain.MONTH if "month" in given else Grain.YEAR if "year" in given else Grain.TABLE


@lru_cache(maxsize=65_536)
def partition_span(transform: str, kind: Kind, value: int | None) -> Span | None:
    """The dates that a partition value stands for: month 648 is 2024-01-01 to 2024-01-31.

    Args:
        transform: as Iceberg writes it; None is returned for one that tells nothing of time.
        kind: the source column's type.
        value: as manifests hold it, counted from 1970.
    """
    if transform not in ("identity", "hour", "day", "month", "year"):
        return None
    if value is None:
        return NOWHERE
    if transform == "month":
        return _month(value)
    if transform == "year":
        return _month(value * 12)[0], _month(value * 12 + 11)[1]
    day = _day({"identity": value // _PER_DAY[kind], "hour": value // 24, "day": value}[transform])
    return day, day


def day_span(kind: Kind, value: int) -> Span:
    """The date of a column's value, as a span of one day."""
    day = _day(value // _PER_DAY[kind])
    return day, day


def overlap(one: Span, other: Span) -> Span:
    """The dates in both."""
    return max(one[0], other[0]), min(one[1], other[1])


def _day(days: int) -> date:
    """So many days after 1970-01-01; what Python's calendar does not reach is its first or last date."""
    return date.fromordinal(min(max(days + _EPOCH.toordinal(), 1), date.max.toordinal()))


def _month(months: int) -> Span:
    """So many months after January 1970."""
    year, month = divmod(months, 12)
    if not date.min.year <= year + 1970 < date.max.year:
        return (date.min, date.min) if year < 0 else (date.max, date.max)
    following = date(year + 1970 + (month == 11), (month + 1) % 12 + 1, 1)
    return date(year + 1970, month + 1, 1), following - timedelta(days=1)

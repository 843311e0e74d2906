"""From a table's files to the health of each of its dates. Pure."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from hashlib import blake2b

from iceberg_assets.health.facts import (
    DataFile,
    DateHealth,
    Grain,
    Group,
    TableHealth,
    delete_files,
    delete_ratio,
    live_rows,
)
from iceberg_assets.health.rewrite_rule import Rule, groups, rule
from iceberg_assets.health.unit import Unit, unit_of
from iceberg_assets.spec import TableSpec

# A file over more dates than a month tells little of any one of them, and a file times all its dates may be millions.
_WIDEST_OWN_SPAN = timedelta(days=31)


def health_by_date(
    spec: TableSpec,
    files: Sequence[DataFile],
    *,
    grain: Grain,
    spec_id: int,
    properties: Mapping[str, str],
    now: datetime,
    before: TableHealth | None = None,
) -> dict[date, DateHealth]:
    """The asset's partitions that have data, in order.

    Args:
        spec: the table's declaration: its partitions and rewrite options count here.
        files: all live data files.
        grain: of the current partition spec.
        spec_id: the current partition spec.
        properties: the table's.
        now: with a zone; says which partitions there are.
        before: an earlier look at the table: a date that has the same files now is as it was.

    Raises:
        ConfigurationError: Iceberg would refuse the rewrite options.
    """
    start, newest = spec.dates.start, spec.dates.last(now)
    if newest < start:
        return {}
    own, wide = _assigned(files, start, newest)
    days = sorted(own)
    for file in wide:
        # Each file belongs to some date, so that no work is ever nobody's.
        first, last = max(file.first or start, start), min(file.last or newest, newest)
        position = bisect_left(days, first)
        if position == len(days) or days[position] > last:
            days.insert(bisect_left(days, last), last)
    units = {
        unit.carrier: unit for day in days for unit in [unit_of(day, grain, newest=newest, newest_with_data=days[-1])]
    }

    settings = rule(spec.maintenance.compact.options, properties)

    # Where a rewrite takes more than a date, other dates decide what a date shows.
    comparable = before is not None and grain is before.grain is Grain.DATE and spec_id == before.spec_id
    known = before.dates if before and comparable and properties == before.properties else {}
    # A unit wider than a date has digests of its own: a try on one of its dates was not one on the unit.
    salt = "" if grain is Grain.DATE else grain.value

    def health(day: date) -> DateHealth:
        unit = units.get(day)
        if unit is None or grain is Grain.DATE:
            found = (*own.get(day, ()), *(file for file in wide if file.within(day, day)))
        else:
            found = _of_unit(files, unit)
        if day in known and known[day].files == found:
            return known[day]
        due = groups(found, spec_id, settings) if unit else []
        return _date_health(day, found, due, salt if unit else "", spec_id, settings)

    return {day: health(day) for day in sorted({*days, *units})}


def _assigned(
    files: Iterable[DataFile], start: date, newest: date
) -> tuple[defaultdict[date, list[DataFile]], list[DataFile]]:
    """Files by their dates, and those over too many or unknown dates; files outside the partitions are in neither."""
    own: defaultdict[date, list[DataFile]] = defaultdict(list)
    wide: list[DataFile] = []
    for file in files:
        if file.first is None or file.last is None:
            wide.append(file)
            continue
        first, last = max(file.first, start), min(file.last, newest)
        if first <= last and file.last - file.first >= _WIDEST_OWN_SPAN:
            wide.append(file)
            continue
        while first <= last:
            own[first].append(file)
            first += timedelta(days=1)
    return own, wide


def _of_unit(files: Iterable[DataFile], unit: Unit) -> tuple[DataFile, ...]:
    whole_table = unit.first is None
    return tuple(file for file in files if whole_table or file.within(unit.first, unit.last))


def _date_health(
    day: date, files: tuple[DataFile, ...], found: list[Group], salt: str, spec_id: int, settings: Rule
) -> DateHealth:
    due = tuple(group for group in found if group.due)
    applied = delete_files(files)
    return DateHealth(
        day=day,
        data_files=len(files),
        small_files=sum(group.removes for group in due),
        small_files_waiting=sum(settings.is_small(file) for group in found if not group.due for file in group.files),
        delete_files=len(applied),
        deletes=sum(one.rows for one in applied),
        delete_ratio=delete_ratio(files, applied),
        old_spec_files=sum(file.spec_id != spec_id for file in files),
        total_bytes=sum(file.size for file in files),
        rows=live_rows(files),
        added_at=max((file.added_at for file in files if file.added_at), default=None),
        digest=_digest(files, salt),
        files=files,
        groups=due,
    )


def small_files(dates: Iterable[DateHealth]) -> int:
    """Files that the groups due would remove from a table; one that lies on several dates goes once."""
    gone: set[str] = set()
    removed = 0
    for group in (group for found in dates for group in found.groups):
        new = {file.path for file in group.files} - gone
        removed += min(group.removes, len(new))
        gone |= new
    return removed


def small_files_waiting(files: Iterable[DataFile], dates: Iterable[DateHealth], settings: Rule) -> int:
    """Small files of a table that no group due takes."""
    taken = {file.path for found in dates for group in found.groups for file in group.files}
    return sum(settings.is_small(file) for file in files if file.path not in taken)


def _digest(files: Iterable[DataFile], salt: str) -> str:
    """Sixteen hexadecimal digits that stand for the set of data files and of the delete files on them."""
    data = sorted(file.path for file in files)
    deletes = sorted({one.path for file in files for one in file.deletes})
    return blake2b("\n".join([salt, *data, "", *deletes]).encode(), digest_size=8).hexdigest()

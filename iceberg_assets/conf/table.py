"""From an application's settings to a table's declaration. Pure functions."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from iceberg_assets.conf.made import Leaves, Made, is_secret
from iceberg_assets.conf.value import FromEnvironment
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.spec.flat_location import FIELDS, IMPLEMENTATION, PROVIDER

NAME = ("app.iceberg.database", "app.iceberg.table")
_FROM, _PARTITIONS = "app.s3.from", "app.partition-by"
# Wherever an application keeps them, they are called as Iceberg calls them.
_PROPERTY = re.compile(
    r"(?:app\.)?(?:iceberg\.)?(?:(?:table-)?properties\.)?((?:write|history|commit|read|gc)\..+|format-version)"
)
_BY_DATE = "%Y-%m-%d"


def make_table(leaves: Leaves, of_catalog: Mapping[str, Any], date_column: str | None, start: date) -> Made:
    """The attributes of the table.

    Args:
        leaves: the application's settings.
        of_catalog: properties that its catalog gives to every table.
        date_column: that dates are read from; else the first that the table is partitioned by the date of.
        start: the first partition.

    Raises:
        ConfigurationError: something that a table needs is not said; names the key.
    """
    if missing := [key for key in (*NAME, _FROM) if key not in leaves]:
        raise ConfigurationError(f"there is no {missing[0]}, and a table needs it")
    for key in (*NAME, _FROM):
        if isinstance(leaves[key], list):
            raise ConfigurationError(f"{key}: expected one text, got a list")
    if is_secret(_FROM, leaves[_FROM]):
        raise ConfigurationError(
            f"{_FROM}: there are keys in it: take them out, they belong below store of the profile"
        )
    fields = leaves.get(_PARTITIONS, [])
    if not (isinstance(fields, list) and all(isinstance(field, Mapping) for field in fields)):
        raise ConfigurationError(f'{_PARTITIONS}: expected a list such as [{{ col = "region", type = "identity" }}]')
    dates = [field.get("col") for field in fields if field.get("type") == "date"]
    if not (column := date_column or next(iter(dates), None)):
        raise ConfigurationError(
            f"{_PARTITIONS} has no field of type date, and a table with raw files has dates: name the column that they "
            "are read from with --date-column"
        )
    found = {match[1]: key for key in leaves if (match := _PROPERTY.fullmatch(key))}
    properties, of_provider = _properties({**of_catalog, **{name: leaves[key] for name, key in found.items()}})
    attributes = {
        "table": ".".join(str(_text(leaves[key])) for key in NAME),
        "source": {"path": _by_date(leaves[_FROM])},
        "dates": {"column": column, "start": start.isoformat()},
        "partition_by": [{key: _text(value) for key, value in field.items()} for field in fields],
        "properties": properties,
        # As the application does: every append is followed by a rewrite of what it touched.
        "maintenance": {"compact": {"after_append": True, "options": {"min-input-files": 1}}},
    }
    notes = (
        f"{_FROM} was read as a whole. Here a date takes the files that landed under it: source.path has to say where "
        "in the path the date is",
        f"dates.start is {start}: of what landed earlier nothing is a partition; --start says another day",
        f"columns that the application's code derives are in no file of settings. Where the raw files lack '{column}', "
        f'add such as derive: {{{column}: "timestamp_millis(resolvedTimestamp)"}}',
        *of_provider,
    )
    taken = {*NAME, _FROM, *([_PARTITIONS] if fields else []), *found.values()}
    return Made({key: value for key, value in attributes.items() if value}, frozenset(taken), notes)


def _properties(given: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The table's properties, with this package's location provider in place of the application's own."""
    properties = {name: _text(value) for name, value in given.items()}
    other = properties.get(IMPLEMENTATION)
    if other is None or not str(other).endswith("FlatLocationProvider"):
        return properties, ()
    # There, a class without a list puts all files into one folder.
    properties = {name: value for name, value in properties.items() if name != IMPLEMENTATION}
    return {FIELDS: "", **properties}, (f"{IMPLEMENTATION} = {other} became {PROVIDER}, which heeds the same list",)


def _text(value: object) -> object:
    if isinstance(value, str) and "{{" in value:
        raise ConfigurationError(f"{value!r:.80}: a table's YAML would read what is in braces: take them out")
    return value.in_table() if isinstance(value, FromEnvironment) else value


def _by_date(place: object) -> str:
    """``s3a://raw/events/`` as ``s3a://raw/events/%Y-%m-%d/*.parquet``; a pattern of file names stays the last part."""
    if isinstance(place, FromEnvironment):
        folder = place.in_table('.rstrip("/")')
        return f"{folder}/{_BY_DATE}/*.parquet"
    folder, _, last = str(place).rpartition("/")
    is_pattern = "*" in last or last.endswith(".parquet")
    return f"{folder if is_pattern else str(place).rstrip('/')}/{_BY_DATE}/{last if is_pattern else '*.parquet'}"

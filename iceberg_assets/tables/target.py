"""The declared table as the two engines address it."""

from collections.abc import Iterable
from contextlib import suppress
from datetime import date, timedelta

from pyiceberg.exceptions import BadRequestError, NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import DateType, TimestampType

from iceberg_assets.errors import ConfigurationError, ServiceError, TableDroppedError, TableUnreadableError
from iceberg_assets.health import metadata_pointers
from iceberg_assets.profiles import Profile, of_service, shown_cause
from iceberg_assets.spark import literal, quote
from iceberg_assets.spec import TableSpec

PYICEBERG_WRITES = 2
"""The newest format version whose metadata PyIceberg 0.12 writes; it reads 3 as well."""


def load_target(profile: Profile, spec: TableSpec) -> Table | None:
    """The table with its newest metadata, or None where it is not made yet.

    Raises:
        TableUnreadableError: the catalog has the table, and its metadata file is not there or cannot be read.
        ConfigurationError: the catalog takes no such name.
        ServiceError: the catalog or the store refused, or did not answer.
    """
    try:
        return profile.pyiceberg().load_table(spec.table)
    except NoSuchTableError:
        return None
    except BadRequestError as error:
        raise ConfigurationError(
            f"{spec.name}: the catalog of profile '{profile.name}' takes no such name: {error}; change table"
        ) from None
    except Exception as error:
        # A network's trouble is none of the table's.
        if sentence := of_service(profile, error):
            raise ServiceError(sentence) from shown_cause(profile, error)
        if not isinstance(error, OSError):
            raise
        if cut := _cut_short(profile, spec):
            raise TableUnreadableError(
                f"{spec.name}: PyIceberg, which reads metadata, ends a path at a # or ?, and the table's is {cut}: "
                "nothing here can look at the table, and Spark can: make it anew below a LOCATION that has none"
            ) from error
        raise TableUnreadableError(
            f"{spec.name}: the metadata file that the catalog names cannot be read: {error}. Bring it back, or drop "
            "the table from the catalog and register the newest metadata file that is left (CALL system.register_table)"
        ) from error


def _cut_short(profile: Profile, spec: TableSpec) -> str | None:
    """The place of the table's metadata file, where its name is taken for the end of a URL."""
    # What the catalog says of it has failed once; a second failure would hide the first.
    with suppress(Exception):
        pointer = metadata_pointers(profile, [spec.table]).get(spec.table, "")
        return pointer if "#" in pointer or "?" in pointer else None
    return None


def existing_target(profile: Profile, spec: TableSpec) -> Table:
    """The table with its newest metadata, where it was there a moment ago.

    Raises:
        TableDroppedError: it is not any more.
    """
    if (table := load_target(profile, spec)) is None:
        raise dropped(spec)
    return table


def dropped(spec: TableSpec) -> TableDroppedError:
    """What to say of a table that is gone in the middle of a run."""
    return TableDroppedError(
        f"{spec.name} was dropped by somebody in the middle of this run, and its rows with it. Raw files are as they "
        f"were. To have it again: {spec.way_into_being}"
    )


def sql_name(profile: Profile, spec: TableSpec, *more: str) -> str:
    """The table's full name in SQL, each part quoted; ``more`` selects below it, such as ``branch_<name>``."""
    return quote(profile.catalog.name, *spec.table, *more)


def of_dates(spec: TableSpec, schema: Schema, days: Iterable[date]) -> str:
    """The rows of these dates, as a condition on the table's own date column."""
    return " OR ".join(f"({between(spec, schema, day, day)})" for day in sorted(days))


def between(spec: TableSpec, schema: Schema, first: date, last: date) -> str:
    """The rows from one date to another, both included, as a half-open range of the table's own date column.

    Spark's procedures do not read ``days(ts) = …``; a range on the source column selects the same files.
    """
    name = spec.dates.column
    assert name is not None, "a table without a column of dates is taken as a whole"
    kind, column = schema.find_type(name), quote(name)
    bounds = (first, last + timedelta(days=1))
    if isinstance(kind, DateType):
        low, high = (literal(bound) for bound in bounds)
    else:
        prefix, zone = ("TIMESTAMP_NTZ", "") if isinstance(kind, TimestampType) else ("TIMESTAMP", "+00:00")
        low, high = (f"{prefix} '{bound.isoformat()} 00:00:00{zone}'" for bound in bounds)
    return f"{column} >= {low} AND {column} < {high}"

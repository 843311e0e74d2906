"""The declared table as the two engines address it."""

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from iceberg_assets.profiles import Profile
from iceberg_assets.spark import quote
from iceberg_assets.spec import TableSpec


def load_target(profile: Profile, spec: TableSpec) -> Table | None:
    """The table with its newest metadata, or None where it is not made yet."""
    try:
        return profile.pyiceberg().load_table(spec.table)
    except NoSuchTableError:
        return None


def sql_name(profile: Profile, spec: TableSpec, *more: str) -> str:
    """The table's full name in SQL, each part quoted; ``more`` selects below it, such as ``branch_<name>``."""
    return quote(profile.catalog.name, *spec.table, *more)

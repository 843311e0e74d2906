"""Where each table's metadata is now: the cheap look that tells whether anything was committed."""

from collections.abc import Collection, Mapping

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from iceberg_assets.profiles import Profile

Name = tuple[str, ...]
"""Namespace parts and name of a table."""


def metadata_pointers(profile: Profile, tables: Collection[Name]) -> Mapping[Name, str]:
    """Location of each table's metadata file, which every commit changes; tables that do not exist are left out.

    A SQL catalog answers for all of them at once; others are asked for one after another.
    """
    catalog = open_catalog(profile)
    if isinstance(catalog, SqlCatalog):
        rows = _rows(catalog)
        # SQL catalogs join the parts of a namespace, and so does PyIceberg.
        named = ((table, (".".join(table[:-1]), table[-1])) for table in tables)
        return {table: rows[name] for table, name in named if name in rows}
    found = {}
    for table in tables:
        try:
            found[table] = catalog.load_table(table).metadata_location
        except NoSuchTableError:
            continue
    return found


def _rows(catalog: SqlCatalog) -> Mapping[tuple[str, str], str]:
    query = select(IcebergTables.table_namespace, IcebergTables.table_name, IcebergTables.metadata_location).where(
        IcebergTables.catalog_name == catalog.name
    )
    with catalog.engine.connect() as connection:
        return {(namespace, name): location for namespace, name, location in connection.execute(query) if location}


def open_catalog(profile: Profile) -> Catalog:
    """The profile's catalog, without a JVM."""
    try:
        return profile.pyiceberg()
    except OperationalError:
        # Nobody has used the profile yet: the folder of the catalog's file is missing.
        profile.prepare()
        return profile.pyiceberg()

"""Where each table's metadata is now: the cheap look that tells whether anything was committed."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchTableError
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from iceberg_assets.profiles import Profile

if TYPE_CHECKING:
    from pyiceberg.catalog.glue import GlueCatalog
    from pyiceberg.catalog.hive import HiveCatalog

Name = tuple[str, ...]
"""Namespace parts and name of a table."""

_POINTER = "metadata_location"
"""The parameter in which Glue and Hive keep it; tables of another format have none."""


def metadata_pointers(profile: Profile, tables: Collection[Name]) -> Mapping[Name, str]:
    """Location of each table's metadata file, which every commit changes; tables that do not exist are left out.

    SQL, Glue and Hive catalogs answer for many at once, without a look at any metadata file; others are asked for one
    after another.
    """
    catalog = open_catalog(profile)
    rows = next((_BY_CLASS[one.__name__] for one in type(catalog).__mro__ if one.__name__ in _BY_CLASS), None)
    if rows is None:
        return {table: location for table in tables if (location := _loaded(catalog, table))}
    # SQL catalogs join the parts of a namespace, and so does PyIceberg; Glue's and Hive's have one.
    named = {table: (".".join(table[:-1]), table[-1]) for table in tables}
    found = {(namespace, name): at for namespace, name, at in rows(catalog, {name[0] for name in named.values()}) if at}
    return {table: found[name] for table, name in named.items() if name in found}


def _loaded(catalog: Catalog, table: Name) -> str | None:
    try:
        return catalog.load_table(table).metadata_location
    except NoSuchTableError:
        return None


Row = tuple[str, str, str | None]
"""Namespace, name and metadata file of what a catalog has; no file: it is no Iceberg table."""


def _of_sql(catalog: SqlCatalog, _: Collection[str]) -> Iterator[Row]:
    query = select(IcebergTables.table_namespace, IcebergTables.table_name, IcebergTables.metadata_location).where(
        IcebergTables.catalog_name == catalog.name
    )
    with catalog.engine.connect() as connection:
        yield from ((namespace, name, location) for namespace, name, location in connection.execute(query))


def _of_glue(catalog: "GlueCatalog", namespaces: Collection[str]) -> Iterator[Row]:
    pages = catalog.glue.get_paginator("get_tables")
    for namespace in sorted(namespaces):
        try:
            for page in pages.paginate(DatabaseName=namespace):
                for table in page["TableList"]:
                    yield namespace, table["Name"], table.get("Parameters", {}).get(_POINTER)
        except catalog.glue.exceptions.EntityNotFoundException:
            continue


def _of_hive(catalog: "HiveCatalog", namespaces: Collection[str]) -> Iterator[Row]:
    with catalog._client as client:  # PyIceberg has no other door to the metastore.
        for namespace in sorted(namespaces):
            names = client.get_all_tables(db_name=namespace)
            for table in client.get_table_objects_by_name(dbname=namespace, tbl_names=names) if names else ():
                yield namespace, table.tableName, table.parameters.get(_POINTER)


_BY_CLASS: Mapping[str, Callable[..., Iterator[Row]]] = {
    "SqlCatalog": _of_sql,
    "GlueCatalog": _of_glue,
    "HiveCatalog": _of_hive,
}
"""By PyIceberg's class, which is named rather than imported: each needs a driver that only its own users have."""


def open_catalog(profile: Profile) -> Catalog:
    """The profile's catalog, without a JVM."""
    try:
        return profile.pyiceberg()
    except OperationalError:
        # Nobody has used the profile yet: the folder of the catalog's file is missing.
        profile.prepare()
        return profile.pyiceberg()

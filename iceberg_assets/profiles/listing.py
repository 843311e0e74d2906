"""What a catalog holds: its namespaces, tables and views, listed through PyIceberg."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.exceptions import NoSuchNamespaceError
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

Name = tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """A table or a view, by namespace parts and name."""

    name: Name
    is_view: bool = False


@dataclass(frozen=True)
class Listing:
    """The namespaces that were looked into, and what they hold, by name."""

    namespaces: tuple[Name, ...]
    objects: tuple[Listed, ...]


def list_catalog(catalog: Catalog, wanted: Callable[[Name], bool] = lambda _: True) -> Listing:
    """Tables and views of the wanted namespaces; of a Hive or Glue catalog PyIceberg tells the Iceberg tables alone.

    What is dropped while it is being listed may be in it or not.
    """
    found = tuple(namespace for namespace in _namespaces(catalog) if wanted(namespace))
    return Listing(found, tuple(one for namespace in found for one in _objects(catalog, namespace)))


def _namespaces(catalog: Catalog, parent: Name = ()) -> Iterator[Name]:
    """Every namespace below ``parent``, nested ones after the one that holds them."""
    try:
        below = sorted(catalog.list_namespaces(parent))
    except NoSuchNamespaceError:
        return
    for namespace in below:
        # Not every catalog heeds the parent.
        if len(namespace) > len(parent):
            yield namespace
            yield from _namespaces(catalog, namespace)


def _objects(catalog: Catalog, namespace: Name) -> list[Listed]:
    try:
        tables = {tuple(name) for name in catalog.list_tables(namespace)}
        views = {tuple(name) for name in _views(catalog, namespace)}
    except NoSuchNamespaceError:
        return []
    return [Listed(name, is_view=name in views) for name in sorted(tables | views)]


def _views(catalog: Catalog, namespace: Name) -> list[Name]:
    if isinstance(catalog, SqlCatalog):
        return _views_of_sql(catalog, namespace)
    try:
        return list(catalog.list_views(namespace))
    except NotImplementedError:
        return []


def _views_of_sql(catalog: SqlCatalog, namespace: Name) -> list[Name]:
    """Rows of another type beside the tables, which Spark writes and PyIceberg leaves out."""
    query = select(IcebergTables.table_name).where(
        IcebergTables.catalog_name == catalog.name,
        IcebergTables.table_namespace == ".".join(namespace),
        IcebergTables.iceberg_type == "VIEW",
    )
    try:
        with catalog.engine.connect() as connection:
            return [(*namespace, name) for (name,) in connection.execute(query)]
    except OperationalError:  # A catalog from before there were views lacks the column.
        return []

"""What stands in the way of deleting files of a table."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from iceberg_assets.health import TableHealth
from iceberg_assets.profiles import Profile
from iceberg_assets.spec.table import format_identifier


def forbidden(health: TableHealth) -> str | None:
    """Why no file of this table may be deleted; None where it may.

    Iceberg itself refuses to expire snapshots or remove orphans where ``gc.enabled`` is false.
    """
    if health.properties.get("gc.enabled", "true").lower() == "false":
        return "the table's property gc.enabled is false: its files may belong to another table too"
    return None


def neighbours(profile: Profile, health: TableHealth) -> list[str]:
    """The other tables of the catalog whose location holds this one's or lies inside it, as ``name at location``.

    Files of theirs look like orphans of this table, since only this table's metadata is asked.
    """
    catalog = profile.pyiceberg()
    found = []
    for namespace in _namespaces(catalog):
        for identifier in catalog.list_tables(namespace):
            if tuple(identifier) == health.table:
                continue
            try:
                location = catalog.load_table(identifier).location()
            except NoSuchTableError:  # Dropped since it was listed.
                continue
            if _inside(location, health.location) or _inside(health.location, location):
                found.append(f"{format_identifier(tuple(identifier))} at {location}")
    return found


def _namespaces(catalog: Catalog, parent: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every namespace below ``parent``, nested ones too."""
    for namespace in catalog.list_namespaces(parent):
        if len(namespace) > len(parent):
            yield namespace
            yield from _namespaces(catalog, namespace)


def _inside(inner: str, outer: str) -> bool:
    return _place(inner).is_relative_to(_place(outer))


def _place(location: str) -> PurePosixPath:
    """One spelling for one place: ``file:/a`` is ``file:///a``, and s3a is s3."""
    parts = urlsplit(location)
    scheme = {"s3a": "s3", "s3n": "s3", "": "file"}.get(parts.scheme, parts.scheme)
    return PurePosixPath(f"/{scheme}/{parts.netloc}/{parts.path}")

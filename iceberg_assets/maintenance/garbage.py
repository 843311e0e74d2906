"""What stands in the way of deleting files of a table."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError

from iceberg_assets.health import TableHealth
from iceberg_assets.profiles import Profile, local_path, overlap
from iceberg_assets.spec.table import format_identifier

# Where a table may keep files beside its location (org.apache.iceberg.TableProperties).
_PATHS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")


def forbidden(health: TableHealth) -> str | None:
    """Why no file of this table may be deleted; None where it may.

    Iceberg itself refuses to expire snapshots or remove orphans where ``gc.enabled`` is false.
    """
    if health.properties.get("gc.enabled", "true").lower() == "false":
        return "the table's property gc.enabled is false: its files may belong to another table too"
    return None


def strangers(profile: Profile, health: TableHealth, landing_places: Sequence[str]) -> list[str]:
    """What else lives in the table's location, or holds it, each as words that name it and its place.

    Orphan removal asks this table's metadata alone, so files of another table, raw files that wait to be appended, and
    whatever a symbolic link leads to would all look like orphans.

    Args:
        landing_places: folders in which raw files land, of every declared table.

    Raises:
        Exception: the metadata of another table cannot be read, so that nothing can be said of its files.
    """
    found = [f"raw files land in {place}" for place in landing_places if overlap([place], places(health.location, {}))]
    found += [f"a symbolic link leads from {link} to {target}" for link, target in _links_out(health.location)]
    own = places(health.location, health.properties)
    catalog = profile.pyiceberg()
    for namespace in _namespaces(catalog):
        for identifier in catalog.list_tables(namespace):
            if tuple(identifier) == health.table:
                continue
            try:
                other = catalog.load_table(identifier)
            except NoSuchTableError:  # Dropped since it was listed.
                continue
            if overlap(own, theirs := places(other.location(), other.properties)):
                found.append(f"table {format_identifier(tuple(identifier))} is at {', '.join(theirs)}")
    return found


def places(location: str, properties: Mapping[str, str]) -> list[str]:
    """Every folder that a table keeps files in."""
    return [location, *(properties[name] for name in _PATHS if properties.get(name))]


def _namespaces(catalog: Catalog, parent: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every namespace below ``parent``, nested ones too."""
    for namespace in catalog.list_namespaces(parent):
        if len(namespace) > len(parent):
            yield namespace
            yield from _namespaces(catalog, namespace)


def _links_out(location: str) -> Iterator[tuple[str, str]]:
    """Symbolic links below a local location whose target lies elsewhere: Hadoop's listing follows them."""
    root = local_path(location)
    if root is None:
        return
    for folder, folders, files in os.walk(root):
        for path in (Path(folder, name) for name in [*folders, *files]):
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                yield str(path), str(path.resolve())

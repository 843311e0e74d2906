"""What stands in the way of deleting files of a table."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from iceberg_assets.errors import TableUnreadableError
from iceberg_assets.health import TableHealth
from iceberg_assets.health.pointers import metadata_pointers, open_catalog
from iceberg_assets.maintenance.gc_enabled import gc_enabled
from iceberg_assets.profiles import Profile, local_path, overlap
from iceberg_assets.spec.table import format_identifier

# Where a table may keep files beside its location (org.apache.iceberg.TableProperties).
_PATHS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")


def forbidden(health: TableHealth) -> str | None:
    """Why no file of this table may be deleted; None where it may.

    Iceberg itself refuses to expire snapshots or remove orphans where ``gc.enabled`` is false.
    """
    if not gc_enabled(health.properties):
        return "the table's property gc.enabled is false: its files may belong to another table too"
    return None


def strangers(profiles: Sequence[Profile], health: TableHealth, landing_places: Sequence[str]) -> list[str]:
    """What else lives in the table's location, or holds it, each as words that name it and its place.

    Orphan removal asks this table's metadata alone, so files of another table, raw files that wait to be appended, and
    whatever a symbolic link leads to would all look like orphans.

    Args:
        profiles: the table's own first, then those of all other tables that anybody declares; where two of them are of
            one catalog it is looked at once.
        landing_places: folders in which raw files land, of every declared table.

    Raises:
        TableUnreadableError: the metadata of another table cannot be read, so that nothing can be said of its files.
    """
    found = [f"raw files land in {place}" for place in landing_places if overlap([place], places(health.location, {}))]
    found += [f"a symbolic link leads from {link} to {target}" for link, target in _links_out(health.location)]
    own = places(health.location, health.properties)
    catalogs = {profile.catalog.identity: profile for profile in reversed(profiles)}
    for identity, profile in catalogs.items():
        at_home = identity == profiles[0].catalog.identity
        where = "" if at_home else f" of profile '{profile.name}'"
        found += _overlapping(profile, own, where, without=health.table if at_home else None)
    return found


def located_in(profile: Profile, location: str, properties: Mapping[str, str]) -> list[str]:
    """The tables of a catalog that share a place with one that is none of them, as words that name each.

    Raises:
        TableUnreadableError: as of :func:`strangers`.
    """
    return list(_overlapping(profile, places(location, properties)))


def _overlapping(
    profile: Profile, own: Sequence[str], where: str = "", without: tuple[str, ...] | None = None
) -> Iterator[str]:
    for identifier, theirs in _tables(profile, without):
        if overlap(own, theirs):
            yield f"table {format_identifier(identifier)}{where} is at {', '.join(theirs)}"


_seen: dict[tuple[object, tuple[str, ...]], tuple[str, Sequence[str]]] = {}
"""By catalog and table, the metadata file that was read last, and where it says that files are.

The whole catalog is looked through for each of its tables, and a metadata file never changes.
"""


def _tables(profile: Profile, without: tuple[str, ...] | None) -> Iterator[tuple[tuple[str, ...], Sequence[str]]]:
    """Every table of a catalog but one, with where it keeps files."""
    catalog = open_catalog(profile)
    names = [tuple(name) for namespace in _namespaces(catalog) for name in catalog.list_tables(namespace)]
    for name, pointer in metadata_pointers(profile, [name for name in names if name != without]).items():
        known = _seen.get((profile.catalog.identity, name))
        if known is None or known[0] != pointer:
            try:
                known = remember_places(profile, catalog.load_table(name))
            except NoSuchTableError:  # Dropped since it was listed.
                continue
            except Exception as error:
                words = f"the metadata of table {format_identifier(name)} cannot be read: {error}"
                raise TableUnreadableError(words) from error
        yield name, known[1]


def remember_places(profile: Profile, table: Table) -> tuple[str, Sequence[str]]:
    """Keep where a table keeps files, so that it need not be loaded for it while its metadata file is the same."""
    found = table.metadata_location, places(table.location(), table.properties)
    _seen[profile.catalog.identity, table.name()] = found
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

"""Files that no metadata of a table names, though the store has them below its location. No JVM."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_assets.health.entries import manifests_of, read_entries
from iceberg_assets.spec.policy import Orphans
from iceberg_assets.tables.stored import Place, StoredFile, aliases, file_io, files_below, local_file, place_of

_EQUAL_SCHEMES = {"s3a": "s3", "s3n": "s3"}
"""Iceberg's own default of ``equal_schemes``."""


@dataclass(frozen=True)
class Found:
    """What a search came to.

    Attributes:
        orphans: old enough to go, by path.
        listed: how many files there are below the location.
        conflicts: files that differ in their prefix alone from one that the metadata names: the prefix listed, the
            prefix in the metadata, and one such file. They are never orphans.
    """

    orphans: tuple[StoredFile, ...]
    listed: int
    conflicts: Mapping[tuple[str, str], str]


def search(load: Callable[[], Table], policy: Orphans, cut_off: datetime) -> Found:
    """Find the orphans that were last written before the cut-off.

    Files are listed before the metadata is read, so that what is committed in between is not taken for an orphan.

    Raises:
        FileNotFoundError: a manifest that the metadata names is gone, so that nothing can be said of its files.
        TableUnreadableError: one is no Avro file, or a part of one.
    """
    table = load()
    fields = {field.name for spec in table.metadata.partition_specs for field in spec.fields}
    listing = list(files_below(file_io(table), table.location(), fields))
    old = {place_of(file.path).path: file for file in listing if file.modified_at < cut_off and not _is_link(file.path)}
    conflicts: dict[tuple[str, str], str] = {}
    equal = _Equal(policy)
    for path in references(load()):
        place = place_of(path)
        if (file := old.pop(place.path, None)) and (differ := equal.conflict(place_of(file.path), place)):
            conflicts[differ] = file.path
        for alias in aliases(path):
            old.pop(alias, None)
    return Found(tuple(sorted(old.values(), key=lambda file: file.path)), len(listing), conflicts)


def _is_link(path: str) -> bool:
    """Whether it leads to a file, rather than being one: who deletes it frees nothing."""
    local = local_file(path)
    return local is not None and local.is_symlink()


class _Equal:
    """Which schemes and authorities mean the same, as the policy has it."""

    def __init__(self, policy: Orphans) -> None:
        self._schemes = _EQUAL_SCHEMES | _one_by_one(policy.equal_schemes)
        self._authorities = _one_by_one(policy.equal_authorities)

    def conflict(self, listed: Place, named: Place) -> tuple[str, str] | None:
        """The two prefixes where they differ; what the metadata leaves out agrees with anything."""
        schemes = (self._schemes.get(one.scheme, one.scheme) for one in (listed, named))
        authorities = (self._authorities.get(one.authority, one.authority) for one in (listed, named))
        if _agree(*schemes) and _agree(*authorities):
            return None
        return listed.prefix, named.prefix


def _agree(listed: str, named: str) -> bool:
    return not named or listed == named


def _one_by_one(given: Mapping[str, str]) -> dict[str, str]:
    """``{"s3a,s3n": "s3"}`` with an entry for each name."""
    return {name.strip(): meant for names, meant in given.items() for name in names.split(",")}


def references(table: Table) -> Iterator[str]:
    """Every path that the metadata refers to; one may come more than once."""
    metadata = table.metadata
    yield table.metadata_location
    yield from (entry.metadata_file for entry in metadata.metadata_log)
    # Hadoop catalogs find the newest metadata by it.
    yield f"{metadata.location}/metadata/version-hint.text"
    yield from (one.statistics_path for one in (*metadata.statistics, *metadata.partition_statistics))
    read: set[str] = set()
    for snapshot in metadata.snapshots:
        yield from (path for path, _ in files_of(table, snapshot, read))


def files_of(table: Table, snapshot: Snapshot, read: set[str]) -> Iterator[tuple[str, int | None]]:
    """Path and bytes of a snapshot's manifest list (whose size no metadata has), manifests, data and delete files.

    Whether a branch, a tag or nothing at all leads to the snapshot makes no difference: it can still be read.

    Args:
        read: manifests that were looked through for another snapshot; grows by those of this one.
    """
    yield snapshot.manifest_list, None
    for manifest in manifests_of(snapshot, table.io):
        if manifest.manifest_path not in read:
            read.add(manifest.manifest_path)
            yield manifest.manifest_path, manifest.manifest_length
            for entry in read_entries(table.io, manifest, None):
                yield entry.path, entry.size

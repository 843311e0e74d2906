"""What the project's own tables in a catalog have in common: their properties, their version, and how they are made."""

from contextlib import suppress
from datetime import datetime, timedelta

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.spec.policy import Orphans
from iceberg_assets.tables.stored import delete
from iceberg_assets.tables.unreferenced import search

_PROPERTIES = {
    "format-version": "2",
    # A commit each few seconds must neither pile up metadata.json files nor fail because another one was faster.
    "write.metadata.delete-after-commit.enabled": "true",
    # Whoever was named a metadata file by the catalog has to find it, however long he is kept from reading it.
    "write.metadata.previous-versions-max": "100",
    "commit.manifest-merge.enabled": "true",
    # Reading opens every manifest, and PyIceberg takes some milliseconds for each.
    "commit.manifest.min-count-to-merge": "8",
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "20",
    "commit.retry.max-wait-ms": "1000",
    # A fold that others' events came into is refused, not done again without them.
    "write.delete.isolation-level": "serializable",
}

_GRACE = timedelta(hours=1)

Version = tuple[str, str]
"""The property that holds a table's version, and the version that this package knows."""


def open_state_table(catalog: Catalog, name: tuple[str, ...], version: Version) -> Table | None:
    """The table; None where there is none yet.

    Raises:
        ConfigurationError: a newer version of this package wrote it.
    """
    try:
        table = catalog.load_table(name)
    except NoSuchTableError:
        return None
    key, known = version
    if (found := table.properties.get(key)) != known:
        raise ConfigurationError(
            f"{'.'.join(name)} has version {found}, and this iceberg_assets knows {known}: a newer release has "
            "written to it; install that release"
        )
    return table


def create_state_table(
    catalog: Catalog,
    name: tuple[str, ...],
    schema: Schema,
    version: Version,
    partition_spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
) -> Table:
    """The table, made if nobody else was faster."""
    catalog.create_namespace_if_not_exists(name[:-1])
    key, known = version
    properties = _PROPERTIES | {key: known}
    return catalog.create_table_if_not_exists(name, schema, partition_spec=partition_spec, properties=properties)


def opened_or_created(
    catalog: Catalog,
    name: tuple[str, ...],
    schema: Schema,
    version: Version,
    partition_spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
) -> Table:
    """The table, made where there is none yet.

    Raises:
        ConfigurationError: as of :func:`open_state_table`.
    """
    return open_state_table(catalog, name, version) or create_state_table(
        catalog, name, schema, version, partition_spec
    )


def forget_the_past(table: Table, now: datetime) -> None:
    """Forget all snapshots but the current one, and delete what earlier ones have left.

    PyIceberg leaves the files of what it forgets. They go an hour later, when this is done again: until then somebody
    may be reading them, and what no metadata names yet may be a commit that is being made.

    Raises:
        CommitFailedException, ValueError: somebody else does the same.
        FileNotFoundError: likewise, a moment ago.
    """
    for file in search(table.refresh, Orphans(), now - _GRACE).orphans:
        # What cannot be deleted is in nobody's way.
        with suppress(OSError):
            delete(table, file.path)
    # Not by age: PyIceberg copies all snapshots several times a commit.
    old = {one.snapshot_id for one in table.metadata.snapshots} - {table.metadata.current_snapshot_id}
    table.maintenance.expire_snapshots().by_ids(sorted(old)).commit()

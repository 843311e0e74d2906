"""The table seen from outside: PyIceberg's own reader and a walk through the folder, nothing of iceberg_assets."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow.dataset as ds
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import ManifestContent
from pyiceberg.table import Table

from demo.verify import TableFigures

# Iceberg's default of min-input-files: fewer files in a partition are left as they are.
_COMPACTED_FROM = 5
_EPOCH = date(1970, 1, 1)
_NAME = "demo.flights"


def raw_rows(root: Path) -> int:
    """Rows of all raw Parquet files below the landing place, by their footers."""
    return int(ds.dataset(root, format="parquet").count_rows())


def load(catalog: Path, warehouse: Path) -> Table:
    """The demo's table.

    Args:
        catalog: the SQLite file of the JDBC catalog.
        warehouse: its folder of tables.
    """
    return SqlCatalog("local", uri=f"sqlite:///{catalog}", warehouse=f"file://{warehouse}").load_table(_NAME)


def look(table: Table) -> TableFigures:
    """Count what the demo promises, from data, metadata and folder."""
    snapshot = table.current_snapshot()
    if snapshot is None:
        raise LookupError(f"{_NAME} has no snapshot: nothing was appended")
    manifests = [m for m in snapshot.manifests(table.io) if m.content is ManifestContent.DATA]
    files = [entry.data_file for m in manifests for entry in m.fetch_manifest_entry(table.io, discard_deleted=True)]
    partitions = Counter(str(file.partition) for file in files)
    days = Counter(_EPOCH + timedelta(days=file.partition[0]) for file in files)
    reachable, present = set(_reachable(table)), set(_present(local_path(table.location())))
    return TableFigures(
        rows=sum(batch.num_rows for batch in table.scan(selected_fields=("carrier",)).to_arrow_batch_reader()),
        files=len(files),
        files_by_date=dict(sorted(days.items())),
        small_files=sum(count for count in partitions.values() if count >= _COMPACTED_FROM),
        bytes=sum(file.file_size_in_bytes for file in files),
        snapshots=len(table.snapshots()),
        manifests=len(manifests),
        orphans=frozenset(present - reachable),
        lost=frozenset(reachable - present),
    )


def longest_gap(table: Table) -> float:
    """Most seconds between two commits on the main branch that follow each other and added data."""
    times = []
    snapshot = table.current_snapshot()
    while snapshot is not None:
        if snapshot.summary and "added-data-files" in snapshot.summary:
            times.append(snapshot.timestamp_ms)
        snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
    return max((later - earlier for later, earlier in pairwise(times)), default=0) / 1000


def seconds_since_last_commit(table: Table) -> float:
    """How long ago the table changed."""
    return time.time() - table.metadata.last_updated_ms / 1000


def local_path(location: str) -> str:
    """``file:///tmp/a`` and ``file:/tmp/a`` as ``/tmp/a``."""
    return os.path.normpath(unquote(urlsplit(location).path))


def _reachable(table: Table) -> Iterator[str]:
    """Every file that the table's metadata leads to, from any snapshot."""
    metadata = table.metadata
    yield local_path(table.metadata_location)
    yield from (local_path(entry.metadata_file) for entry in metadata.metadata_log)
    yield from (local_path(statistics.statistics_path) for statistics in metadata.statistics)
    yield from (local_path(statistics.statistics_path) for statistics in metadata.partition_statistics)
    for snapshot in table.snapshots():
        yield local_path(snapshot.manifest_list)
        for manifest in snapshot.manifests(table.io):
            yield local_path(manifest.manifest_path)
            for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True):
                yield local_path(entry.data_file.file_path)


def _present(folder: str) -> Iterator[str]:
    """Every file in the folder, but for hidden ones: Hadoop writes a ``.crc`` beside each file."""
    for place, _, names in os.walk(folder):
        yield from (str(Path(place, name)) for name in names if not name.startswith((".", "_")))

"""Tables with real files, as old as a test wants them."""

import json
import os
import time
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import IcebergTables, SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, LongType, NestedField
from sqlalchemy import insert

MADE = timedelta(days=10)
"""So long ago everything here was written."""

_SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "day", DateType()))
_ARROW = pa.schema([("id", pa.int64()), ("day", pa.date32())])
BY_DAY = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))
_DAY = date(2024, 1, 10)


def table(catalog: Catalog, name: str, files: int, partitions: PartitionSpec = BY_DAY, **properties: str) -> Table:
    """A table of so many files of ten rows, each of a commit of its own, all of one day and long past."""
    catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
    made = catalog.create_table(
        name,
        _SCHEMA,
        partition_spec=partitions,
        properties={key.replace("_", "."): properties[key] for key in properties},
    )
    for number in range(files):
        ids = range(10 * number, 10 * number + 10)
        made.append(pa.Table.from_pydict({"id": list(ids), "day": [_DAY] * 10}, schema=_ARROW))
    _age(made)
    return catalog.load_table(name)


def stray(made: Table, name: str = "nobodys.parquet") -> Path:
    """An old file in the table's folder that nothing refers to."""
    file = Path(made.location().removeprefix("file://"), "data", name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"")
    old = time.time() - MADE.total_seconds()
    os.utime(file, (old, old))
    return file


def row(catalog: Catalog, name: str, kind: str, location: str = "file:///nowhere/1.metadata.json") -> None:
    """A row of the catalog that PyIceberg did not write."""
    assert isinstance(catalog, SqlCatalog)
    namespace, _, last = name.rpartition(".")
    with catalog.engine.begin() as connection:
        connection.execute(
            insert(IcebergTables).values(
                catalog_name=catalog.name,
                table_namespace=namespace,
                table_name=last,
                metadata_location=location,
                iceberg_type=kind,
            )
        )


def _age(made: Table) -> None:
    """Set the clock of the newest metadata back."""
    file = Path(made.metadata_location.removeprefix("file://"))
    file.write_text(json.dumps(_aged(json.loads(file.read_text()))))


def _aged(metadata: Any) -> Any:
    if isinstance(metadata, list):
        return [_aged(one) for one in metadata]
    if not isinstance(metadata, dict):
        return metadata
    by = round(MADE.total_seconds() * 1000)
    times = ("timestamp-ms", "last-updated-ms")
    return {key: value - by if key in times else _aged(value) for key, value in metadata.items()}

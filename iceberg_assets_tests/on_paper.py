"""Tables of metadata only: what a sensor reads is there, and the data files that it names are not. No JVM."""

import time
from collections.abc import Iterable
from datetime import date

from pyiceberg.catalog import Catalog
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, TimestamptzType

_SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "ts", TimestamptzType()))
_BY_DAY = PartitionSpec(PartitionField(2, 1000, DayTransform(), "ts_day"))
_EPOCH = date(1970, 1, 1)
_SMALL = 50_000


def make(catalog: Catalog, name: str, partitions: PartitionSpec = _BY_DAY, **properties: str) -> Table:
    """An empty table of ``id`` and ``ts``, partitioned by the day of ``ts`` unless told."""
    catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
    return catalog.create_table(
        name,
        _SCHEMA,
        partition_spec=partitions,
        properties={key.replace("__", "-").replace("_", "."): properties[key] for key in properties},
    )


def append(table: Table, days: Iterable[date], files: int) -> None:
    """Commit so many small data files for each of the days, in one snapshot with one manifest.

    In a table without partitions the days only count.
    """
    name_files(
        table,
        ((f"{table.location()}/data/ts_day={day}/{time.time_ns()}.parquet", day) for day in days for _ in range(files)),
    )


def name_files(table: Table, files: Iterable[tuple[str, date]]) -> None:
    """Commit small data files of these paths and days, in one snapshot with one manifest."""
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as snapshot:
        for path, day in files:
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=path,
                file_format=FileFormat.PARQUET,
                partition=Record(*[(day - _EPOCH).days for _ in table.spec().fields]),
                record_count=1_000,
                file_size_in_bytes=_SMALL,
                sort_order_id=0,
            )
            file.spec_id = 0
            snapshot.append_data_file(file)

"""Layouts as real tables: data files come in through PyIceberg, delete files through Iceberg's own API."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform, IdentityTransform, MonthTransform, Transform, VoidTransform
from pyiceberg.typedef import Record
from pyiceberg.types import BinaryType, IntegerType, LongType, NestedField, TimestamptzType

from iceberg_assets.health import TableHealth, read_health
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import quote
from iceberg_assets.spec import TableSpec
from iceberg_assets_tests.parity.layouts import WORLDS, File, Layout
from iceberg_assets_tests.parity.parquet import write_data, write_equality_deletes, write_position_deletes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    # Optional, or PyIceberg would want a value for the field that stays where it is dropped from a spec of version 1.
    NestedField(2, "ts", TimestamptzType(), required=False),
    NestedField(3, "part", IntegerType(), required=False),
    NestedField(4, "pad", BinaryType(), required=False),
)
FIELDS: Mapping[str, tuple[str, str, Transform[Any, Any]]] = {
    "day": ("ts", "ts_day", DayTransform()),
    "month": ("ts", "ts_month", MonthTransform()),
    "part": ("part", "part", IdentityTransform()),
}
# Each commit keeps a manifest of its own: the order of files is then the layout's, and the planner reads one alone.
PROPERTIES = {"commit.manifest-merge.enabled": "false", "write.delete.mode": "merge-on-read"}
NAMESPACE = "parity"


@dataclass(frozen=True)
class ParityTable:
    """One table that holds layouts of one world: a date each, or the one that it belongs to.

    A row's id is made of its layout, its file and its position; where its deletion vector is to have it, it is
    negative.
    """

    spark: "SparkSession"
    profile: Profile
    name: str
    layouts: tuple[Layout, ...]

    @property
    def identifier(self) -> tuple[str, str]:
        return NAMESPACE, self.name

    def spec(self, layout: Layout) -> TableSpec:
        """The declaration under which a layout is maintained."""
        dates = {"column": "ts", "start": "2024-01-01", "end": "2024-12-31"}
        compact = {"options": dict(layout.options)}
        return TableSpec.model_validate(
            {"table": list(self.identifier), "dates": dates, "maintenance": {"compact": compact}}
        )

    def health(self, layout: Layout) -> TableHealth:
        found = read_health(self.profile, self.spec(layout))
        assert found is not None
        return found

    @cached_property
    def paths(self) -> Mapping[str, tuple[int, int]]:
        """By its path: seed and number of each data file."""
        return {
            str(self._path(layout, number)): (layout.seed, number)
            for layout in self.layouts
            for number in range(len(layout.files))
        }

    def _path(self, layout: Layout, number: int, *kind: object) -> Path:
        folder = Path(self._table.location().removeprefix("file:")) / "data"
        return folder / "-".join(map(str, (f"{layout.seed:03}", f"{number:03}", *kind)))

    @cached_property
    def _table(self) -> Table:
        return self.profile.pyiceberg().load_table(self.identifier)

    def fill(self) -> None:
        """Create the table, and commit the files of each spec before it evolves to the next."""
        catalog, world = self.profile.pyiceberg(), WORLDS[self.layouts[0].world]
        catalog.create_namespace_if_not_exists(NAMESPACE)
        properties = {"format-version": str(world.version)} | PROPERTIES | (self.layouts[0].properties or {})
        table = catalog.create_table(
            self.identifier, SCHEMA, partition_spec=UNPARTITIONED_PARTITION_SPEC, properties=properties
        )
        (Path(table.location().removeprefix("file:")) / "data").mkdir(parents=True)
        had: tuple[str, ...] = ()
        for number, fields in enumerate(world.specs):
            with table.update_spec() as update:
                for gone in set(had) - set(fields):
                    update.remove_field(FIELDS[gone][1])
                for new in [field for field in fields if field not in had]:
                    source, name, transform = FIELDS[new]
                    update.add_field(source, transform, name)
            had = fields
            files = list(self._data_files(table, number))
            if files:
                with table.transaction() as commit, commit.update_snapshot().fast_append() as append:
                    for file in files:
                        append.append_data_file(file)
        if world.vectors:
            target = quote(self.profile.catalog.name, *self.identifier)
            self.spark.sql(f"ALTER TABLE {target} SET TBLPROPERTIES ('format-version' = '3')")
            self.spark.sql(f"DELETE FROM {target} WHERE id < 0")
        else:
            self._commit_deletes()

    def _data_files(self, table: Table, spec: int) -> Iterator[DataFile]:
        current = len(WORLDS[self.layouts[0].world].specs) - 1
        for layout in self.layouts:
            for number, file in enumerate(layout.files):
                if file.spec % (current + 1) == spec:
                    yield self._data_file(table, layout, number, file)

    def _data_file(self, table: Table, layout: Layout, number: int, file: File) -> DataFile:
        ids = self._ids(layout, number, file)
        path, splits = write_data(self._path(layout, number), ids, layout.day, file.size, whole=file.whole)
        noon = to_bytes(TimestamptzType(), int(datetime.combine(layout.day, time(12), UTC).timestamp()) * 10**6)
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record(*(_value(layout, file, field) for field in table.spec().fields)),
            record_count=file.rows,
            file_size_in_bytes=file.size,
            lower_bounds={2: noon},
            upper_bounds={2: noon},
            split_offsets=splits,
            spec_id=table.spec().spec_id,
        )

    def _ids(self, layout: Layout, number: int, file: File) -> list[int]:
        first = (layout.seed * 1_000 + number + 1) * 1_000
        return [-(first + row) if row < file.vector else first + row for row in range(file.rows)]

    def _commit_deletes(self) -> None:
        deletes = [one for layout in self.layouts for one in (*self._own_deletes(layout), *self._wide_deletes(layout))]
        if not deletes:
            return
        jvm: Any = self.spark._jvm
        target = quote(self.profile.catalog.name, *self.identifier)
        table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, target)
        commit = table.newRowDelta()
        for one in deletes:
            builder = jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec())
            if one.equality:
                columns = self.spark._sc._gateway.new_array(jvm.int, 1)
                columns[0] = 1
                builder = builder.ofEqualityDeletes(columns)
            else:
                builder = builder.ofPositionDeletes()
            if one.only is not None:
                builder = builder.withReferencedDataFile(one.only)
            size = one.path.stat().st_size
            builder = builder.withPath(str(one.path)).withFormat("parquet").withFileSizeInBytes(size)
            commit.addDeletes(builder.withPartitionPath(one.partition).withRecordCount(one.rows).build())
        commit.commit()

    def _own_deletes(self, layout: Layout) -> "Iterator[_DeleteFile]":
        for number, file in enumerate(layout.files):
            data, begin = str(self._path(layout, number)), 0
            for n, rows in enumerate(file.positions):
                # Each takes rows of its own, as long as there are any; then the first ones again.
                begin = begin if begin + rows <= file.rows else 0
                path = self._path(layout, number, "positions", n)
                write_position_deletes(path, [(data, begin + row) for row in range(rows)])
                yield _DeleteFile(path, _partition(layout, file.part), rows, only=data)
                begin += rows

    def _wide_deletes(self, layout: Layout) -> "Iterator[_DeleteFile]":
        for n, one in enumerate(layout.deletes):
            members = [i for i, file in enumerate(layout.files) if file.part == one.part and file.spec == -1]
            path = self._path(layout, members[0], "wide", n)
            if one.equality:
                ids = self._ids(layout, members[0], layout.files[members[0]])[: one.equality]
                write_equality_deletes(path, ids)
                yield _DeleteFile(path, _partition(layout, one.part), len(ids), equality=True)
            else:
                write_position_deletes(path, [(str(self._path(layout, member)), n) for member in members])
                yield _DeleteFile(path, _partition(layout, one.part), len(members))


@dataclass(frozen=True)
class _DeleteFile:
    path: Path
    partition: str
    rows: int
    equality: bool = False
    only: str | None = None


def _partition(layout: Layout, part: int | None) -> str:
    return f"ts_day={layout.day}/part={part}"


def _value(layout: Layout, file: File, field: Any) -> int | None:
    if isinstance(field.transform, VoidTransform):
        return None
    if field.source_id == 3:
        return file.part
    days = (layout.day - datetime(1970, 1, 1, tzinfo=UTC).date()).days
    return days if isinstance(field.transform, DayTransform) else (layout.day.year - 1970) * 12 + layout.day.month - 1


def tables(spark: "SparkSession", profile: Profile, layouts: Sequence[Layout]) -> list[ParityTable]:
    """The tables that hold the layouts, not made yet."""
    shared = {
        kind: tuple(one for one in layouts if one.world == kind) for kind, world in WORLDS.items() if world.shared
    }
    return [
        *(ParityTable(spark, profile, kind, found) for kind, found in shared.items() if found),
        *(ParityTable(spark, profile, f"own_{one.seed}", (one,)) for one in layouts if not WORLDS[one.world].shared),
    ]

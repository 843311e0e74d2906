"""Reading ``TableHealth`` through PyIceberg: the metadata file, the manifest list, the live manifests. No JVM."""

import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from math import inf
from typing import Any, cast

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.manifest import ManifestContent, ManifestFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.transforms import VoidTransform
from pyiceberg.types import DateType, TimestampNanoType, TimestampType, TimestamptzNanoType, TimestamptzType

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health.by_date import health_by_date, small_files, small_files_waiting
from iceberg_assets.health.cache import ManifestCache
from iceberg_assets.health.deletes import DeleteIndex, delete_fact
from iceberg_assets.health.entries import EQUALITY_DELETES, Entry, manifests_of, naming_the_table, read_entries
from iceberg_assets.health.facts import DataFile, DeleteFile, Grain, Manifest, Ref, Snapshot, SpecField, TableHealth
from iceberg_assets.health.pointers import open_catalog
from iceberg_assets.health.rewrite_rule import rule
from iceberg_assets.health.unit import Kind, Span, grain_of, overlap, partition_span
from iceberg_assets.profiles import Profile, naming_the_service
from iceberg_assets.spec import TableSpec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A file that is listed and gone was removed by an expiry in between; a third time it is really missing.
_LOOKS = 3
# Iceberg's field ids begin at 1.
_NO_COLUMN = 0


def read_health(
    profile: Profile,
    spec: TableSpec,
    *,
    before: TableHealth | None = None,
    cache: ManifestCache | None = None,
    deadline: float = inf,
    branch: str = MAIN_BRANCH,
    loaded: Table | None = None,
) -> TableHealth | None:
    """The table as its metadata describes it now; None: there is no such table.

    Args:
        profile: where it is.
        spec: which it is, what its dates are read from, and how it is compacted.
        before: an earlier look by the same spec, so that this one takes as long as there is that is new.
        cache: spares reading a manifest twice.
        deadline: of ``time.monotonic()``. What was read by then is in the cache, and a second look goes on from there.
        branch: whose head is looked at.
        loaded: the table, where the caller has just loaded it.

    Raises:
        ServiceError: the catalog or the store refused, or did not answer.
        ConfigurationError: the table's column of dates is absent or has no dates, or its rewrite options are refused.
        TableUnreadableError: a manifest that the current snapshot lists does not exist, or cannot be read.
        TimeoutError: the deadline passed.
    """
    for look in range(1, _LOOKS + 1):
        missing = naming_the_table(spec.name) if look == _LOOKS else suppress(FileNotFoundError)
        with missing, naming_the_service(profile):
            table = loaded if loaded and look == 1 else _load(profile, spec)
            if table is None:
                return None
            return _health(table, spec, before, cache, datetime.now(UTC), deadline, branch)
    raise AssertionError("unreachable")


def _load(profile: Profile, spec: TableSpec) -> Table | None:
    try:
        return open_catalog(profile).load_table(spec.table)
    except NoSuchTableError:
        return None


def _health(
    table: Table,
    spec: TableSpec,
    before: TableHealth | None,
    cache: ManifestCache | None,
    now: datetime,
    deadline: float,
    branch: str,
) -> TableHealth:
    metadata = table.metadata
    current = table.snapshot_by_name(branch)
    if current is None and branch != MAIN_BRANCH:
        raise ConfigurationError(f"{spec.name} has no branch '{branch}'; it has {', '.join(metadata.refs) or 'none'}")
    listed = manifests_of(current, table.io) if current else []
    column = _DateColumn(metadata, spec)
    snapshots = _snapshots(metadata)
    known = _known_files(before, table, listed, spec) if before else {}
    entries = _entries(
        table, [one for one in listed if one.manifest_path not in known], listed, column, cache, deadline
    )
    deletes = {
        entry: delete_fact(spec_id, entry, column.span_of_partition(spec_id, entry.partition))
        for spec_id, entry in _deletes(entries)
    }
    by_manifest = {**known, **_data_files(entries, deletes, metadata, column, snapshots)}
    manifests = tuple(
        Manifest(
            one.manifest_path,
            one.manifest_length,
            one.partition_spec_id,
            "data" if one.content == ManifestContent.DATA else "deletes",
            by_manifest[one.manifest_path],
        )
        for one in listed
    )
    files = tuple(file for manifest in manifests for file in manifest.files)
    properties, spec_id = metadata.properties, metadata.default_spec_id
    dates = health_by_date(
        spec, files, grain=column.grain, spec_id=spec_id, properties=properties, now=now, before=before
    )
    return TableHealth(
        table=spec.table,
        uuid=str(metadata.table_uuid),
        location=metadata.location,
        metadata_location=table.metadata_location,
        format_version=metadata.format_version,
        properties=properties,
        schema=table.schema(),
        spec_id=spec_id,
        grain=column.grain,
        snapshot_id=current.snapshot_id if current else None,
        files=files,
        deletes=tuple(deletes.values()),
        manifests=manifests,
        snapshots=snapshots,
        refs=_refs(metadata),
        metadata_files=len(metadata.metadata_log) + 1,
        # Of the asset's own dates: nobody can ask for the others.
        small_files=small_files(dates.values()),
        small_files_waiting=small_files_waiting(
            files, dates.values(), rule(spec.maintenance.compact.options, properties)
        ),
        dates=dates,
        specs={
            one.spec_id: tuple(
                SpecField(made.source_id, str(made.transform), made.source_id == column.id) for made in one.fields
            )
            for one in metadata.partition_specs
        },
    )


def _known_files(
    before: TableHealth, table: Table, listed: Sequence[ManifestFile], spec: TableSpec
) -> dict[str, tuple[DataFile, ...]]:
    """The files of data manifests that were read earlier, as long as the same deletes apply to them."""
    deletes = {one.manifest_path for one in listed if one.content == ManifestContent.DELETES}
    name, schema = spec.dates.column, table.schema()
    same = (
        before.uuid == str(table.metadata.table_uuid)
        and (name is None or before.schema.find_field(name) == schema.find_field(name))
        and deletes == {one.path for one in before.manifests if one.content == "deletes"}
    )
    still = {one.manifest_path for one in listed}
    return {one.path: one.files for one in before.manifests if same and one.path in still - deletes}


class _DateColumn:
    """The column that a row's date is read from, and what each partition spec tells of it.

    Of a table without one nothing tells a date: every file can be of any, and one unit takes them all.
    """

    def __init__(self, metadata: TableMetadata, spec: TableSpec) -> None:
        kind: Kind
        self.id, kind = (_NO_COLUMN, "date") if spec.dates.column is None else _found(metadata, spec)
        self.kind = kind
        self.specs = {one.spec_id: self._fields(one) for one in metadata.partition_specs}
        self._spans: dict[tuple[int, tuple[Any, ...]], list[Span]] = {}
        self.grain = grain_of(transform for _, transform in self.specs[metadata.default_spec_id])

    def _fields(self, spec: PartitionSpec) -> list[tuple[int, str]]:
        """Position and transform of the spec's fields that are made from the column."""
        return [(i, str(field.transform)) for i, field in enumerate(spec.fields) if field.source_id == self.id]

    def needs_bounds(self, spec_id: int) -> bool:
        """Whether the partition alone does not tell the date."""
        return self.id != _NO_COLUMN and grain_of(transform for _, transform in self.specs[spec_id]) is not Grain.DATE

    def span(self, spec_id: int, entry: Entry) -> Span | tuple[None, None]:
        """The dates that a data file's rows can be of, by its partition and its bounds; None: any."""
        found = self._of_partition(spec_id, entry.partition)
        if entry.first is not None and entry.last is not None:
            found = [*found, (date.fromordinal(entry.first), date.fromordinal(entry.last))]
        return reduce(overlap, found) if found else (None, None)

    def span_of_partition(self, spec_id: int, partition: tuple[Any, ...]) -> Span | tuple[None, None]:
        """The dates that a partition's rows can be of; None: any."""
        found = self._of_partition(spec_id, partition)
        return reduce(overlap, found) if found else (None, None)

    def _of_partition(self, spec_id: int, partition: tuple[Any, ...]) -> list[Span]:
        # Many files share a partition.
        key = (spec_id, partition)
        if key not in self._spans:
            spans = (partition_span(how, self.kind, partition[position]) for position, how in self.specs[spec_id])
            self._spans[key] = [span for span in spans if span]
        return self._spans[key]


def _found(metadata: TableMetadata, spec: TableSpec) -> tuple[int, Kind]:
    """The field id and the kind of the declared column."""
    schema = metadata.schema()
    try:
        field = schema.find_field(str(spec.dates.column))
    except ValueError:
        raise ConfigurationError(
            f"{spec.name}: dates.column is '{spec.dates.column}', and the table has no such column; "
            f"it has {', '.join(schema.column_names)}"
        ) from None
    return field.field_id, _kind(spec, field.field_type)


def _kind(spec: TableSpec, field_type: object) -> Kind:
    match field_type:
        case DateType():
            return "date"
        case TimestampType() | TimestamptzType():
            return "timestamp"
        case TimestampNanoType() | TimestamptzNanoType():
            return "timestamp_ns"
    raise ConfigurationError(
        f"{spec.name}: dates.column '{spec.dates.column}' is of type {field_type}; expected a date or timestamp column"
    )


def _entries(
    table: Table,
    wanted: Sequence[ManifestFile],
    listed: Sequence[ManifestFile],
    column: _DateColumn,
    cache: ManifestCache | None,
    deadline: float,
) -> list[tuple[ManifestFile, list[Entry]]]:
    """The live files of each wanted manifest."""
    uuid = str(table.metadata.table_uuid)
    known = cache.load(uuid, column.id, (one.manifest_path for one in wanted)) if cache else {}
    read: dict[str, list[Entry]] = {}
    unread = [one for one in wanted if one.manifest_path not in known]
    try:
        for number, manifest in enumerate(unread):
            # One at least, so that each look comes nearer to the end.
            if number and time.monotonic() > deadline:
                raise TimeoutError(f"{number} of {len(unread)} manifests were read")
            if manifest.has_added_files() or manifest.has_existing_files():
                bounds = (column.id, column.kind) if column.needs_bounds(manifest.partition_spec_id) else None
                read[manifest.manifest_path] = read_entries(table.io, manifest, bounds)
    finally:
        if cache:
            cache.store(uuid, column.id, read, listed={manifest.manifest_path for manifest in listed})
    found = {**known, **read}
    return [(manifest, found.get(manifest.manifest_path, [])) for manifest in wanted]


def _deletes(entries: Iterable[tuple[ManifestFile, Sequence[Entry]]]) -> Iterator[tuple[int, Entry]]:
    """Spec id and entry of each delete file."""
    return ((manifest.partition_spec_id, entry) for manifest, found in entries for entry in found if entry.content != 0)


def _data_files(
    entries: Sequence[tuple[ManifestFile, Sequence[Entry]]],
    facts: Mapping[Entry, DeleteFile],
    metadata: TableMetadata,
    column: _DateColumn,
    snapshots: Sequence[Snapshot],
) -> dict[str, tuple[DataFile, ...]]:
    """By manifest, its data files, with the deletes that apply to them."""
    unpartitioned = {
        one.spec_id
        for one in metadata.partition_specs
        if all(isinstance(field.transform, VoidTransform) for field in one.fields)
    }
    index, arrivals = DeleteIndex(_deletes(entries), unpartitioned), Arrivals(snapshots)

    def data_file(spec_id: int, entry: Entry) -> DataFile:
        applied = index.of(spec_id, entry)
        own = [one for one in applied if one.referenced is not None and one.content != EQUALITY_DELETES]
        first, last = column.span(spec_id, entry)
        return DataFile(
            path=entry.path,
            size=entry.size,
            rows=entry.rows,
            spec_id=spec_id,
            partition=entry.partition,
            first=first,
            last=last,
            added_at=arrivals.of(entry.snapshot_id, entry.file_sequence),
            deletes=tuple(facts[one] for one in applied),
            deleted_rows=min(entry.rows, sum(one.rows for one in own)),
            rows_known=len(own) == len(applied),
            file_sequence=entry.file_sequence,
            sequence=entry.sequence,
        )

    return {
        manifest.manifest_path: tuple(
            data_file(manifest.partition_spec_id, entry) for entry in found if entry.content == 0
        )
        for manifest, found in entries
    }


class Arrivals:
    """When data came in, told from the snapshot that added a file."""

    def __init__(self, snapshots: Sequence[Snapshot]) -> None:
        self._by_id = {snapshot.id: snapshot for snapshot in snapshots}
        self._by_sequence = sorted(snapshots, key=lambda one: (one.sequence_number, one.committed_at))

    def of(self, snapshot_id: int | None, sequence: int) -> datetime | None:
        """The commit time, or the latest that it can have been; None for a rewrite, or where no snapshot tells.

        Args:
            snapshot_id: that added the file.
            sequence: of that commit; 0 in v1 tables, which number nothing.
        """
        if snapshot_id in self._by_id:
            snapshot = self._by_id[snapshot_id]
            return None if snapshot.operation == "replace" else snapshot.committed_at
        # Expired: it was there before the next one that is left. That errs on the side of waiting.
        later = bisect_right(self._by_sequence, sequence, key=lambda one: one.sequence_number) if sequence else 0
        return self._by_sequence[later].committed_at if later < len(self._by_sequence) else None


def _snapshots(metadata: TableMetadata) -> tuple[Snapshot, ...]:
    return tuple(
        Snapshot(
            id=one.snapshot_id,
            parent_id=one.parent_snapshot_id,
            sequence_number=one.sequence_number or 0,
            committed_at=_EPOCH + timedelta(milliseconds=one.timestamp_ms),
            operation=one.summary.operation.value if one.summary else "",
            summary=dict(one.summary.additional_properties) if one.summary else {},
        )
        for one in metadata.snapshots
    )


def _refs(metadata: TableMetadata) -> tuple[Ref, ...]:
    return tuple(
        Ref(
            name=name,
            snapshot_id=ref.snapshot_id,
            kind=cast(Any, ref.snapshot_ref_type.value),
            max_ref_age_ms=ref.max_ref_age_ms,
            min_snapshots_to_keep=ref.min_snapshots_to_keep,
            max_snapshot_age_ms=ref.max_snapshot_age_ms,
        )
        for name, ref in metadata.refs.items()
    )

"""``TableHealth``: what Iceberg's metadata says about one table, as frozen facts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property
from typing import Literal, NamedTuple

from pyiceberg.schema import Schema


class Grain(StrEnum):
    """How much of the table one rewrite has to take so that it takes whole partitions of the current spec."""

    DATE = "date"
    MONTH = "month"
    YEAR = "year"
    TABLE = "table"


class DeleteFile(NamedTuple):
    """One live delete file; of deletion vectors, which share files, each is one.

    Attributes:
        rows: the deletes in it: of positions and vectors one for each deleted row; an equality delete is of any number.
        kind: by positions, by equality, or a deletion vector.
        size: in bytes.
        referenced: the one data file that it is about; None: any of its partition.
        first, last: the dates that its partition can hold; None: unknown, any date.
        file_sequence: of the commit that wrote it.
    """

    path: str
    rows: int
    kind: Literal["position", "equality", "vector"] = "position"
    size: int = 0
    spec_id: int = 0
    partition: tuple[object, ...] = ()
    referenced: str | None = None
    first: date | None = None
    last: date | None = None
    file_sequence: int = 0

    def within(self, first: date | None, last: date | None) -> bool:
        """Whether its partition may hold rows between the dates, both included; None is unbounded."""
        return _within(self.first, self.last, first, last)


class SpecField(NamedTuple):
    """One field of a partition spec: the column's field id, the transform as Iceberg writes it.

    Attributes:
        of_dates: whether the column is the one that a row's date is read from.
    """

    source_id: int
    transform: str
    of_dates: bool


@dataclass(frozen=True, slots=True)
class DataFile:
    """One live data file.

    Attributes:
        size: in bytes.
        rows: as written, deleted ones included.
        first, last: the dates that its rows can be of, both included. None: unknown, any date; first after last: none.
        added_at: when data last came in with this file, at the latest; None: by a rewrite, or longer ago than
            any snapshot that is left.
        deletes: the delete files that apply to it.
        deleted_rows: by deletion vectors and position deletes that refer to this file alone.
        file_sequence: of the commit that wrote the file; 0 in v1 tables, which number nothing.
        rows_known: whether ``deleted_rows`` is all that is deleted (no equality or partition-wide deletes apply).
    """

    path: str
    size: int
    rows: int
    spec_id: int
    partition: tuple[object, ...]
    first: date | None
    last: date | None
    added_at: datetime | None = None
    deletes: tuple[DeleteFile, ...] = ()
    deleted_rows: int = 0
    rows_known: bool = True
    file_sequence: int = 0

    @property
    def delete_files(self) -> int:
        """How many delete files apply to it."""
        return len(self.deletes)

    def within(self, first: date | None, last: date | None) -> bool:
        """Whether it may hold rows between the dates, both included; None is unbounded."""
        return _within(self.first, self.last, first, last)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One manifest of the current snapshot.

    Attributes:
        size: in bytes.
        files: the live data files that it lists.
    """

    path: str
    size: int
    spec_id: int
    content: Literal["data", "deletes"]
    files: tuple[DataFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot that the metadata lists.

    Attributes:
        committed_at: in UTC, exact to the millisecond.
        operation: append, replace, overwrite or delete; empty where its writer did not say.
        summary: whatever its writer recorded. A missing total is unknown, not zero.
    """

    id: int
    parent_id: int | None
    sequence_number: int
    committed_at: datetime
    operation: str
    summary: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ref:
    """A branch or tag, with its own retention where it has one (milliseconds, snapshots)."""

    name: str
    snapshot_id: int
    kind: Literal["branch", "tag"]
    max_ref_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Files that ``rewrite_data_files`` would consider together.

    Attributes:
        partition: by the current spec; empty for one group of all that is of no partition by it: the files of other
            specs, and those whose partition values are all null.
        due: whether they would be rewritten.
        reason: why or why not, with the numbers.
        outputs: how many files Iceberg expects to write for them.
    """

    partition: tuple[object, ...]
    files: tuple[DataFile, ...]
    due: bool
    reason: str
    outputs: int

    @property
    def removes(self) -> int:
        """By how many files the table gets smaller; a split removes none."""
        return max(0, len(self.files) - self.outputs)


@dataclass(frozen=True, slots=True)
class DateHealth:
    """One date of the table.

    Where a rewrite takes more than a date (:class:`Grain`), the date that carries it shows the whole unit's figures,
    and the unit's other dates show their own without groups.

    Attributes:
        small_files: files that the groups due would remove.
        small_files_waiting: small files that no group due takes.
        delete_files: distinct delete files that touch its data files.
        deletes: the deletes in them, which every reader applies anew.
        delete_ratio: of them for each row that was written; above 1 where equality deletes outnumber the rows.
        old_spec_files: data files of other partition specs than the current one.
        total_bytes: of the data files.
        rows: live rows; None where equality or partition-wide deletes leave that unknown.
        added_at: when data was last added; None: long ago.
        digest: changes with the set of data and delete files.
        files: the data files whose figures these are.
        groups: those that are due.
    """

    day: date
    data_files: int
    small_files: int
    small_files_waiting: int
    delete_files: int
    deletes: int
    delete_ratio: float
    old_spec_files: int
    total_bytes: int
    rows: int | None
    added_at: datetime | None
    digest: str
    files: tuple[DataFile, ...]
    groups: tuple[Group, ...]

    @property
    def average_file_bytes(self) -> int:
        """Zero without files."""
        return self.total_bytes // self.data_files if self.data_files else 0


@dataclass(frozen=True)
class TableHealth:
    """One table at one snapshot.

    Attributes:
        table: namespace parts and name.
        schema: the current one.
        spec_id: the current partition spec.
        grain: what one compaction takes.
        snapshot_id: None before the first commit.
        files: the live data files, also those outside the asset's partitions.
        deletes: the live delete files, also those that apply to no data file.
        manifests: of the current snapshot.
        metadata_files: metadata.json files that the metadata log tracks, the current one included.
        small_files, small_files_waiting: as for a date, over the table as a whole.
        dates: the asset's partitions that have data.
        specs: the fields of each partition spec that files may have, by its id.
    """

    table: tuple[str, ...]
    uuid: str
    location: str
    metadata_location: str
    format_version: int
    properties: Mapping[str, str]
    schema: Schema
    spec_id: int
    grain: Grain
    snapshot_id: int | None
    files: tuple[DataFile, ...]
    deletes: tuple[DeleteFile, ...]
    manifests: tuple[Manifest, ...]
    snapshots: tuple[Snapshot, ...]
    refs: tuple[Ref, ...]
    metadata_files: int
    small_files: int
    small_files_waiting: int
    dates: Mapping[date, DateHealth]
    specs: Mapping[int, tuple[SpecField, ...]] = field(default_factory=dict)

    @property
    def delete_files(self) -> int:
        """How many delete files are live."""
        return len(self.deletes)

    @property
    def data_files(self) -> int:
        """How many data files are live."""
        return len(self.files)

    @cached_property
    def newest_with_data(self) -> date | None:
        """The newest of the asset's partitions that have data; None where none has."""
        return max(self.dates, default=None)

    @cached_property
    def delete_ratio(self) -> float:
        """As of a date: deletes that readers apply for each row that was written."""
        return delete_ratio(self.files, delete_files(self.files))

    @cached_property
    def old_spec_files(self) -> int:
        """Data files of other partition specs than the current one."""
        return sum(file.spec_id != self.spec_id for file in self.files)

    @cached_property
    def total_bytes(self) -> int:
        """Bytes of the live data files."""
        return sum(file.size for file in self.files)

    @cached_property
    def rows(self) -> int | None:
        """Live rows; None where equality or partition-wide deletes leave that unknown."""
        return live_rows(self.files)

    @property
    def average_file_bytes(self) -> int:
        """Zero without files."""
        return self.total_bytes // self.data_files if self.files else 0


def _within(own_first: date | None, own_last: date | None, first: date | None, last: date | None) -> bool:
    if own_first is None or own_last is None:
        return True
    return (last is None or own_first <= last) and (first is None or own_last >= first)


def delete_files(files: Iterable[DataFile]) -> frozenset[DeleteFile]:
    """The distinct delete files that apply to any of the data files."""
    return frozenset(one for file in files for one in file.deletes)


def delete_ratio(files: Iterable[DataFile], applied: Iterable[DeleteFile]) -> float:
    """The deletes that apply to the files for each row that was written to them; 0 without rows."""
    written = sum(file.rows for file in files)
    return sum(one.rows for one in applied) / written if written else 0.0


def live_rows(files: Sequence[DataFile]) -> int | None:
    """Rows less the deleted ones; None where a file's deleted rows are not known."""
    if not all(file.rows_known for file in files):
        return None
    return sum(file.rows - file.deleted_rows for file in files)

"""One manifest as plain rows: what health needs of each live file, and nothing else of what Avro holds."""

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import lru_cache
from typing import Any, NamedTuple, cast

from pyiceberg.avro.decoder import new_decoder
from pyiceberg.avro.file import META_SCHEMA, AvroFile, AvroFileHeader
from pyiceberg.avro.reader import Reader
from pyiceberg.avro.resolver import construct_reader, resolve_reader
from pyiceberg.io import FileIO
from pyiceberg.manifest import DATA_FILE_TYPE, MANIFEST_ENTRY_SCHEMAS, ManifestEntryStatus, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import IntegerType, NestedField, StructType
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from iceberg_assets.errors import TableUnreadableError
from iceberg_assets.health.unit import Kind, day_span

POSITION_DELETES, EQUALITY_DELETES = 1, 2
# Reserved field id of file_path in position delete files: equal bounds mean that the file refers to one data file.
_PATH_FIELD = 2147483546

# PyIceberg's own reading stops at the fields of v2, which has no referenced data file; v1 files have no content.
_FILE = [
    NestedField(134, "content", IntegerType(), required=False) if field.field_id == 134 else field
    for field in DATA_FILE_TYPE[3].fields
]
_SCHEMA = Schema(
    *(
        NestedField(2, "data_file", StructType(*_FILE), required=True) if field.field_id == 2 else field
        for field in MANIFEST_ENTRY_SCHEMAS[3].fields
    )
)
_CONTENT, _PATH, _FORMAT, _PARTITION, _ROWS, _SIZE, _LOWER, _UPPER, _REFERENCED = (
    next(i for i, field in enumerate(_FILE) if field.field_id == field_id)
    for field_id in (134, 100, 101, 102, 103, 104, 125, 128, 143)
)


class Entry(NamedTuple):
    """One live file of a manifest.

    Attributes:
        content: 0 data, 1 position deletes, 2 equality deletes (the numbers of Iceberg's spec).
        partition: raw values of the manifest's own partition spec; what JSON does not know is text.
        rows: of a delete file: the deletes in it.
        sequence: the data sequence number, which decides what deletes apply; 0 in v1 tables.
        file_sequence: of the commit that wrote the file.
        referenced: the one data file that a delete file refers to.
        vector: whether it is a deletion vector.
        first, last: ordinals of the dates that the column's bounds lie on; None where they are absent or not needed.
    """

    content: int
    path: str
    partition: tuple[Any, ...]
    rows: int
    size: int
    snapshot_id: int | None
    sequence: int
    file_sequence: int
    referenced: str | None
    vector: bool
    first: int | None
    last: int | None


# What decoders raise at bytes that are no Avro: none of them names the file.
_GARBLED = (ArithmeticError, AssertionError, EOFError, LookupError, SystemError, TypeError, ValueError, zlib.error)


def manifests_of(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """The manifests that a snapshot lists.

    Raises:
        FileNotFoundError: its manifest list does not exist.
        TableUnreadableError: it is no Avro file, or a part of one.
    """
    with _naming("manifest list", snapshot.manifest_list):
        return snapshot.manifests(io)


def read_entries(io: FileIO, manifest: ManifestFile, bounds_of: tuple[int, Kind] | None) -> list[Entry]:
    """The live files of one manifest, in its order.

    Args:
        io: that reads it.
        manifest: as the snapshot's manifest list has it.
        bounds_of: field id and type of the column whose bounds are wanted; None where the partition tells the date.

    Raises:
        FileNotFoundError: it does not exist.
        TableUnreadableError: it is no Avro file, or a part of one.
    """
    path = manifest.manifest_path
    with _naming("manifest", path), _Manifest(io.new_input(path)) as records:
        return [_entry(record, manifest, bounds_of) for record in records if record[0] != ManifestEntryStatus.DELETED]


@contextmanager
def _naming(what: str, path: str) -> Iterator[None]:
    try:
        yield
    except _GARBLED as error:
        raise _unreadable(f"the {what} {path} cannot be read ({type(error).__name__}: {error})") from error


@contextmanager
def naming_the_table(name: str) -> Iterator[None]:
    """A file of the metadata that is not there becomes one sentence.

    Raises:
        TableUnreadableError: it is not.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise _unreadable(f"{name}: a file of its metadata is missing: {error}") from error


def _unreadable(what: str) -> TableUnreadableError:
    """The error about a file of the metadata that the table cannot be told without, and the way out.

    Args:
        what: is wrong with which file.
    """
    return TableUnreadableError(
        f"{what}. Bring it back from where it is kept; without it, either put main back to a snapshot that does not "
        "need it (CALL system.rollback_to_snapshot) or, where older snapshots alone do, expire those"
    )


_HEADER = construct_reader(META_SCHEMA, {-1: AvroFileHeader})


@lru_cache(maxsize=256)
def _reader(avro_schema: str) -> Reader:
    """Of entries that were written with that schema."""
    return resolve_reader(AvroSchemaConversion().avro_to_iceberg(json.loads(avro_schema)), _SCHEMA)


class _Manifest(AvroFile[Any]):
    """One whose schema is not taken apart again: the manifests of a table share it, and reading them is quicker."""

    def __enter__(self) -> "_Manifest":
        with self.input_file.open() as file:
            self.decoder = new_decoder(file.read())
        self.header = cast(AvroFileHeader, _HEADER.read(self.decoder))
        self.reader = _reader(self.header.meta["avro.schema"])
        return self


def _entry(record: Any, manifest: ManifestFile, bounds_of: tuple[int, Kind] | None) -> Entry:
    snapshot_id, sequence, file_sequence, file = record[1], record[2], record[3], record[4]
    content, partition, referenced = int(file[_CONTENT] or 0), file[_PARTITION], file[_REFERENCED]
    first = last = None
    if content == 0 and bounds_of is not None:
        first, last = _dates(file[_LOWER], file[_UPPER], bounds_of)
    if content == POSITION_DELETES and referenced is None:
        referenced = _only_path(file[_LOWER], file[_UPPER])
    # What the writer left out is the manifest's own: snapshot and sequence number were not known before the commit.
    return Entry(
        content=content,
        path=file[_PATH],
        partition=tuple(_plain(partition[i]) for i in range(len(partition))),
        rows=file[_ROWS],
        size=file[_SIZE],
        snapshot_id=manifest.added_snapshot_id if snapshot_id is None else snapshot_id,
        sequence=manifest.sequence_number if sequence is None else sequence,
        file_sequence=manifest.sequence_number if file_sequence is None else file_sequence,
        referenced=referenced,
        vector=str(file[_FORMAT]).upper() == "PUFFIN",
        first=first,
        last=last,
    )


def _dates(
    lower: Mapping[int, bytes] | None, upper: Mapping[int, bytes] | None, column: tuple[int, Kind]
) -> tuple[int | None, int | None]:
    """Ordinals of the dates that the bounds of the column lie on."""
    field_id, kind = column
    low, high = (lower or {}).get(field_id), (upper or {}).get(field_id)
    if low is None or high is None:
        return None, None
    return tuple(_date_of(bound, kind).toordinal() for bound in (low, high))  # type: ignore[return-value]


def _date_of(bound: bytes, kind: Kind) -> date:
    # Four bytes are a date, also in a file older than the column's promotion to a timestamp.
    return day_span("date" if len(bound) == 4 else kind, int.from_bytes(bound, "little", signed=True))[0]


def _only_path(lower: Mapping[int, bytes] | None, upper: Mapping[int, bytes] | None) -> str | None:
    low, high = (lower or {}).get(_PATH_FIELD), (upper or {}).get(_PATH_FIELD)
    return low.decode() if low is not None and low == high else None


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)

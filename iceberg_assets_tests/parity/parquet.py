"""Parquet files of exact sizes, and the delete files about them, without a JVM."""

import random
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

# Reserved field ids of position delete files, by Iceberg's spec.
_PATH, _POSITION = 2147483546, 2147483545
_TRIES = 20


class Written(NamedTuple):
    """A data file that lies in the store: its path, and where its row groups begin."""

    path: str
    splits: list[int]


def _field(name: str, type_: pa.DataType, field_id: int) -> pa.Field:
    return pa.field(name, type_, nullable=False, metadata={"PARQUET:field_id": str(field_id)})


_DATA = pa.schema(
    [_field("id", pa.int64(), 1), _field("ts", pa.timestamp("us", "UTC"), 2), _field("pad", pa.binary(), 4)]
)
_POSITIONS = pa.schema([_field("file_path", pa.string(), _PATH), _field("pos", pa.int64(), _POSITION)])
_EQUALITY = pa.schema([_field("id", pa.int64(), 1)])


def write_data(path: Path, ids: Sequence[int], day: date, size: int, *, whole: bool) -> Written:
    """One file of exactly so many bytes, of which the most are noise that no codec makes smaller.

    Args:
        whole: in one row group; else in one for each row.
    """
    group = len(ids) if whole else 1
    noise, moment = random.Random(path.name), datetime.combine(day, time(12), UTC)
    pad, filler = size - 1_500, 50
    for _ in range(_TRIES):
        share, more = divmod(max(pad, 0), len(ids))
        pads = [noise.randbytes(share + (more if n == 0 else 0)) for n in range(len(ids))]
        _write(path, _DATA, {"id": list(ids), "ts": [moment] * len(ids), "pad": pads}, group, filler)
        if (found := path.stat().st_size) == size:
            groups = pq.read_metadata(path)
            return Written(
                str(path), [groups.row_group(n).column(0).data_page_offset for n in range(groups.num_row_groups)]
            )
        # Lengths are written before what they are of, so that a byte more of noise may be three of the file.
        if 0 < filler + size - found < 100:
            filler += size - found
        else:
            pad += size - found
    raise AssertionError(f"no file of {len(ids)} rows has exactly {size} bytes")


def write_position_deletes(path: Path, rows: Sequence[tuple[str, int]]) -> None:
    """Rows are ordered by path and position, as the spec wants them."""
    ordered = sorted(rows)
    columns = {"file_path": [path for path, _ in ordered], "pos": [position for _, position in ordered]}
    _write(path, _POSITIONS, columns, len(rows))


def write_equality_deletes(path: Path, ids: Sequence[int]) -> None:
    _write(path, _EQUALITY, {"id": list(ids)}, len(ids))


def _write(path: Path, schema: pa.Schema, columns: dict[str, list[object]], group: int, filler: int = 1) -> None:
    plain = {"compression": "none", "use_dictionary": False, "write_statistics": False, "store_schema": False}
    with pq.ParquetWriter(path, schema, **plain) as writer:
        writer.write_table(pa.table(columns, schema=schema), row_group_size=group)
        writer.add_key_value_metadata({"filler": "-" * filler})

"""Nulls where the table requires a value, found before anything is written."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from iceberg_assets.profiles import Store
from iceberg_assets.tables.evolve import Path, dotted
from iceberg_assets.tables.fields import Field, FieldType, ListOf, MapOf, Scalar, Struct
from iceberg_assets.tables.fit import Problem
from iceberg_assets.tables.footers import Footer, place_of


def required_in(columns: Iterable[Field]) -> tuple[Field, ...]:
    """The columns that must have a value, or of which a part must."""
    return tuple(column for column in columns if column.required or _within(column.type))


def _within(of: FieldType) -> bool:
    match of:
        case Scalar():
            return False
        case Struct():
            return bool(required_in(of.fields))
        case ListOf():
            return bool(required_in([of.element]))
        case MapOf():
            return bool(required_in([of.value]))


def nulls(footers: Sequence[Footer], required: Sequence[Field], store: Store | None = None) -> tuple[Problem, ...]:
    """The nulls in required columns, by file.

    A column is read only where the footer's statistics do not say that it has none.
    """
    problems = []
    for footer in footers:
        there = {field.name for field in footer.fields}
        for column in required:
            if column.name in there and column.name not in footer.null_free:
                path, files = place_of(footer.file, store)
                with pq.ParquetFile(path, filesystem=files) as file:
                    found = _count(file.read([column.name])[column.name], column, ())
                problems += [
                    Problem(
                        footer.file,
                        dotted(path),
                        f"has {count} nulls, and the table requires a value",
                        "repair the file, or make the column optional (ALTER COLUMN … DROP NOT NULL)",
                    )
                    for path, count in found.items()
                ]
    return tuple(problems)


def _count(values: pa.ChunkedArray | pa.Array, field: Field, parent: Path) -> dict[Path, int]:
    """By path: how often a required part is null though what holds it is not."""
    path = (*parent, field.name)
    found = {path: values.null_count} if field.required and values.null_count else {}
    present = values.drop_null()
    match field.type:
        case Struct():
            there = {present.type.field(number).name for number in range(present.type.num_fields)}
            for part in field.type.fields:
                if part.name in there:
                    found |= _count(pc.struct_field(present, part.name), part, path)
        case ListOf():
            found |= _count(pc.list_flatten(present), field.type.element, path)
        case MapOf():
            chunks = present.chunks if isinstance(present, pa.ChunkedArray) else [present]
            items = pa.chunked_array([chunk.items for chunk in chunks], type=present.type.item_type)
            found |= _count(items, field.type.value, path)
        case Scalar():
            pass
    return found

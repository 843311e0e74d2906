"""What rows hold, as a count and a sum of hashes that does not depend on their order or on the files they lie in.

A row's hash is Spark's ``xxhash64`` over all columns. What that function does not tell apart is told to it: it leaves
nulls out, takes −0.0 for 0.0, runs nested arrays together, and refuses maps. Hashes are summed and not XORed, under
which a row that is there twice is as good as not there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from iceberg_assets.spark import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType


@dataclass(frozen=True)
class Content:
    """Rows, counted and hashed; two that are equal hold the same rows, each as often.

    Attributes:
        digest: the sum of the rows' hashes, each a signed 64-bit number.
    """

    rows: int
    digest: Decimal


def content(frame: "DataFrame") -> Content:
    """The content of all rows of a frame, in one pass over all its columns.

    Columns count by their position and type; their names do not.
    """
    told = ", ".join(_told(frame.schema))
    row = frame.selectExpr(f"xxhash64({told}) AS hash").selectExpr(
        "count(*) AS rows", "coalesce(sum(CAST(hash AS DECIMAL(38, 0))), 0) AS digest"
    )
    found = row.collect()[0]
    return Content(found["rows"], found["digest"])


def _told(schema: "StructType") -> Iterator[str]:
    for field in schema.fields:
        yield from _value(quote(field.name), field.dataType)


def _value(value: str, kind: "DataType", depth: int = 0) -> Iterator[str]:
    """Expressions whose hashes tell any two values of a type apart, none of them null, or null only with the value."""
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, MapType, StructType, VariantType

    yield f"{value} IS NULL"
    match kind:
        case FloatType() | DoubleType():
            yield value
            # Only its text shows the sign of a zero.
            yield f"{value} = 0 AND CAST({value} AS STRING) LIKE '-%'"
        case StructType():
            for field in kind.fields:
                yield from _value(f"{value}.{quote(field.name)}", field.dataType, depth)
        case ArrayType():
            yield from _elements(value, kind.elementType, depth)
        case MapType():
            # Iceberg's files keep the order of entries, and a rewrite copies it.
            entry = StructType().add("key", kind.keyType).add("value", kind.valueType)
            yield from _elements(f"map_entries({value})", entry, depth)
        case VariantType():
            yield f"to_json({value})"
        case _:
            yield value


def _elements(array: str, kind: "DataType", depth: int) -> Iterator[str]:
    yield f"size({array})"
    name = f"e{depth}"
    told = ", ".join(_value(name, kind, depth + 1))
    yield f"transform({array}, {name} -> xxhash64({told}))"

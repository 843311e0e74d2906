"""Columns and their types, of a raw file and of the table alike, and which of them Spark reads as which.

A type is spelled as Iceberg spells it. What Parquet has and Iceberg has not is spelled ``int8``, ``uint64``, ``int96``,
``timestamp_ns``, ``null``, …
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pyiceberg import types as iceberg
from pyiceberg.schema import Schema


@dataclass(frozen=True)
class Scalar:
    """A type without parts; ``precision`` and ``scale`` are a decimal's."""

    name: str
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})" if self.name == "decimal" else self.name


@dataclass(frozen=True)
class Struct:
    """Named parts."""

    fields: "tuple[Field, ...]"

    def __str__(self) -> str:
        return f"struct<{', '.join(f'{field.name}: {field.type}' for field in self.fields)}>"


@dataclass(frozen=True)
class ListOf:
    """Any number of one type."""

    element: "Field"

    def __str__(self) -> str:
        return f"list<{self.element.type}>"


@dataclass(frozen=True)
class MapOf:
    """Values by key."""

    key: "Field"
    value: "Field"

    def __str__(self) -> str:
        return f"map<{self.key.type}, {self.value.type}>"


FieldType = Scalar | Struct | ListOf | MapOf


@dataclass(frozen=True)
class Field:
    """A column, or a part of one. Lists and maps call their parts ``element``, ``key`` and ``value``."""

    name: str
    type: FieldType
    required: bool = False


# What Spark 4.1 reads right with the table's type given, by either of its two readers; measured, see test_corpus.py.
# It reads more than that, but wrong: uint32 as double turns negative, TIME and nanoseconds as long lose their unit.
_READ_AS: dict[str, tuple[str, ...]] = {
    "boolean": ("boolean",),
    "int8": ("int", "long", "double"),
    "int16": ("int", "long", "double"),
    "int": ("int", "long", "double"),
    "uint8": ("int", "long"),
    "uint16": ("int", "long"),
    "uint32": ("long",),
    "long": ("long",),
    "float": ("float", "double"),
    "double": ("double",),
    "date": ("date", "timestamp"),
    # A time of day without a zone is no point in time: taking it for UTC would be a guess.
    "timestamp": ("timestamp",),
    "timestamptz": ("timestamptz",),
    "int96": ("timestamptz",),
    "string": ("string", "binary", "uuid"),
    "binary": ("binary", "fixed"),
}
_BECOMES = {"int8": "int", "int16": "int", "uint8": "int", "uint16": "int", "uint32": "long", "int96": "timestamptz"}
# Digits before the point that hold every value.
_DIGITS = {"int": 10, "long": 20}
_PROMOTIONS = {"int": ("long",), "float": ("double",)}
_LARGEST_PRECISION = 38


def readable(raw: Scalar, column: Scalar) -> bool:
    """Whether Spark reads every value of the file's type right as the column's."""
    if column.name == "decimal":
        if raw.name == "uint64":
            return (column.precision, column.scale) == (20, 0)
        digits = raw.precision - raw.scale if raw.name == "decimal" else _DIGITS.get(raw.name, _LARGEST_PRECISION + 1)
        return column.scale >= raw.scale and column.precision - column.scale >= digits
    return column.name in _READ_AS.get(raw.name, ())


def _new_scalar(raw: Scalar) -> Scalar | None:
    if raw.name == "uint64":
        return Scalar("decimal", 20, 0)
    if raw.name == "decimal":
        return raw if raw.precision <= _LARGEST_PRECISION else None
    return Scalar(_BECOMES.get(raw.name, raw.name)) if raw.name in _READ_AS else None


def promoted(column: Scalar, raw: Scalar) -> Scalar | None:
    """What Iceberg may widen the column to, so that the file's values are read right; None: it may not."""
    if column.name == "decimal" == raw.name and column.scale == raw.scale and raw.precision <= _LARGEST_PRECISION:
        return raw
    wider = (Scalar(name) for name in _PROMOTIONS.get(column.name, ()))
    return next((kind for kind in wider if readable(raw, kind)), None)


def new_type(raw: FieldType) -> FieldType | None:
    """The type of a new column for values of the file's type; None where Spark cannot read a part of them."""

    def part(of: Field) -> Field | None:
        kind = new_type(of.type)
        return None if kind is None else Field(of.name, kind)

    match raw:
        case Scalar():
            return _new_scalar(raw)
        case Struct():
            parts = [part(one) for one in raw.fields]
            return Struct(tuple(one for one in parts if one)) if all(parts) else None
        case ListOf():
            element = part(raw.element)
            return ListOf(element) if element else None
        case MapOf():
            key, value = part(raw.key), part(raw.value)
            return MapOf(key, value) if key and value else None


def leaves(of: FieldType) -> Iterable[Scalar]:
    """The scalar parts of a type."""
    match of:
        case Scalar():
            yield of
        case Struct():
            for part in of.fields:
                yield from leaves(part.type)
        case ListOf():
            yield from leaves(of.element.type)
        case MapOf():
            yield from leaves(of.key.type)
            yield from leaves(of.value.type)


def fields_of(schema: Schema) -> tuple[Field, ...]:
    """The columns of an Iceberg table."""
    return tuple(_field(one) for one in schema.fields)


def _field(field: iceberg.NestedField) -> Field:
    return Field(field.name, _type(field.field_type), field.required)


def _type(of: iceberg.IcebergType) -> FieldType:
    match of:
        case iceberg.StructType():
            return Struct(tuple(_field(field) for field in of.fields))
        case iceberg.ListType():
            return ListOf(Field("element", _type(of.element_type), of.element_required))
        case iceberg.MapType():
            return MapOf(Field("key", _type(of.key_type)), Field("value", _type(of.value_type), of.value_required))
        case iceberg.DecimalType():
            return Scalar("decimal", of.precision, of.scale)
        case iceberg.FixedType():
            return Scalar("fixed")
        case _:
            return Scalar(str(of))

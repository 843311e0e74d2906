"""Change the columns of a table: what leads from some columns to others, and Iceberg's evolution that does it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iceberg_assets.profiles import Profile
from iceberg_assets.spark import quote
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.fields import Field, FieldType, ListOf, MapOf, Scalar, Struct
from iceberg_assets.tables.target import sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Path = tuple[str, ...]
"""A column with its parents; inside lists and maps these are called ``element``, ``key`` and ``value``."""


def dotted(path: Path) -> str:
    """A path for people."""
    return ".".join(path)


@dataclass(frozen=True)
class Change:
    """A column that the table has to get, or the wider type of one that it has."""

    path: Path
    type: FieldType
    new: bool


def evolved(columns: Sequence[Field], changes: Iterable[Change]) -> tuple[Field, ...]:
    """The columns after the changes; new ones come last."""
    result = Struct(tuple(columns))
    for change in changes:
        changed = _changed(result, change.path, change)
        assert isinstance(changed, Struct)
        result = changed
    return result.fields


def _changed(of: FieldType, path: Path, change: Change) -> FieldType:
    if not path:
        return change.type
    step, rest = path[0], path[1:]
    match of:
        case ListOf():
            return ListOf(replace(of.element, type=_changed(of.element.type, rest, change)))
        case MapOf() if step == "value":
            return MapOf(of.key, replace(of.value, type=_changed(of.value.type, rest, change)))
        case MapOf():
            return MapOf(replace(of.key, type=_changed(of.key.type, rest, change)), of.value)
        case Struct():
            if change.new and not rest:
                return Struct((*of.fields, Field(step, change.type)))
            return Struct(
                tuple(
                    replace(one, type=_changed(one.type, rest, change)) if one.name == step else one
                    for one in of.fields
                )
            )
        case Scalar():
            raise AssertionError(f"{change.path} leads into a {of}")


def changes(before: Sequence[Field], after: Sequence[Field]) -> Iterator[Change]:
    """What leads from some columns to others, each part of the table once."""
    yield from _changes(Struct(tuple(before)), Struct(tuple(after)), ())


def _changes(before: FieldType, after: FieldType, path: Path) -> Iterator[Change]:
    match before, after:
        case Struct(), Struct():
            known = {field.name: field for field in before.fields}
            for field in after.fields:
                if field.name in known:
                    yield from _changes(known[field.name].type, field.type, (*path, field.name))
                else:
                    yield Change((*path, field.name), field.type, new=True)
        case ListOf(), ListOf():
            yield from _changes(before.element.type, after.element.type, (*path, "element"))
        case MapOf(), MapOf():
            yield from _changes(before.key.type, after.key.type, (*path, "key"))
            yield from _changes(before.value.type, after.value.type, (*path, "value"))
        case _ if before != after:
            yield Change(path, after, new=False)


def evolve(spark: "SparkSession", profile: Profile, spec: TableSpec, wanted: Sequence[Change]) -> None:
    """Add the new columns, all in one commit, and widen the others in another one. Rows are not touched."""
    table = sql_name(profile, spec)
    if new := [f"{quote(*one.path)} {sql_type(one.type)}" for one in wanted if one.new]:
        spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({', '.join(new)})")
    for one in wanted:
        if not one.new:
            spark.sql(f"ALTER TABLE {table} ALTER COLUMN {quote(*one.path)} TYPE {sql_type(one.type)}")


_SQL = {"int": "INT", "long": "BIGINT", "timestamp": "TIMESTAMP_NTZ", "timestamptz": "TIMESTAMP"}


def sql_type(of: FieldType) -> str:
    """A type as Spark SQL spells it."""
    match of:
        case Struct():
            return f"STRUCT<{', '.join(f'{quote(field.name)}: {sql_type(field.type)}' for field in of.fields)}>"
        case ListOf():
            return f"ARRAY<{sql_type(of.element.type)}>"
        case MapOf():
            return f"MAP<{sql_type(of.key.type)}, {sql_type(of.value.type)}>"
        case Scalar():
            return _SQL.get(of.name, str(of).upper())

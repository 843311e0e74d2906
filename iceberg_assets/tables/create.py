"""Create the declared table where it is missing, or refuse the declaration before anything is touched."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import Profile, overlap
from iceberg_assets.spark import literal, quote
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.names import STATE_NAMESPACE
from iceberg_assets.spec.table import PartitionField
from iceberg_assets.tables.evolve import sql_type
from iceberg_assets.tables.fields import Field
from iceberg_assets.tables.source import differing_in_case, nearest
from iceberg_assets.tables.target import load_target, sql_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# As Spark and as PyIceberg spell them.
_TIME_TYPES = ("date", "timestamp", "timestamp_ntz", "timestamptz")


def check_places(profile: Profile, spec: TableSpec, location: str | None = None) -> None:
    """Refuse a raw landing place that contains the table's files, or lies among them.

    Orphan removal takes every file below a table's location that no metadata names, and a raw file is one. Where the
    table's own ``location`` is not known, the warehouse stands for it.

    Raises:
        ConfigurationError: names both places.
    """
    if spec.source is None:
        return
    raw, place = spec.source.root, location or profile.catalog.warehouse
    if overlap([raw], [place]):
        raise ConfigurationError(
            f"{spec.name}: source.path lands in {raw}, and the table's files lie in {place}: neither may contain the "
            "other, because maintenance removes unknown files from a table's location. Move one of them"
        )


def ensure_table(spark: "SparkSession", profile: Profile, spec: TableSpec, columns: Sequence[Field]) -> bool:
    """Create namespace, table and the state's namespace where they are missing.

    The table gets the ``columns`` of the raw files, all optional, and the derived ones.

    Returns:
        True if the table was made now.

    Raises:
        ConfigurationError: the declaration does not fit the columns, or the places overlap. Nothing was made.
    """
    existing = load_target(profile, spec)
    if existing is not None:
        check_places(profile, spec, existing.location())
        fields = existing.schema().fields
        _check_declaration(spec, {field.name: str(field.field_type) for field in fields})
        return False
    check_places(profile, spec)
    schema = _schema(spark, spec, columns)
    _check_declaration(spec, {field.name: field.dataType.typeName() for field in schema.fields})
    for namespace in ((STATE_NAMESPACE,), spec.table[:-1]):
        statement = f"CREATE NAMESPACE IF NOT EXISTS {quote(profile.catalog.name, *namespace)}"
        _unless_there(spark, statement, profile.pyiceberg().namespace_exists, namespace)
    return _unless_there(spark, _statement(profile, spec, schema), profile.pyiceberg().table_exists, spec.table)


def _unless_there(
    spark: "SparkSession", statement: str, there: Callable[[tuple[str, ...]], bool], name: tuple[str, ...]
) -> bool:
    """Make something that others may be making at the same moment; False if they were faster."""
    try:
        spark.sql(statement)
    except Exception:
        if not there(name):
            raise
        return False
    return True


def with_derived(frame: "DataFrame", spec: TableSpec) -> "DataFrame":
    """The raw columns, followed by those of ``derive``.

    Raises:
        ConfigurationError: Spark cannot make sense of an expression.
    """
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.sql import functions

    for name, expression in spec.derive.items():
        try:
            frame.select(functions.expr(expression))
        except (AnalysisException, ParseException) as error:
            said = str(error).strip().splitlines()[0]
            raise ConfigurationError(f"{spec.name}: derive.{name}: {expression!r} is not usable: {said}") from None
    derived = [functions.expr(expression).alias(name) for name, expression in spec.derive.items()]
    return frame.select("*", *derived)


def escaped(path: str) -> str:
    """A path for Spark's reader, which takes a plain one for a glob."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def _schema(spark: "SparkSession", spec: TableSpec, columns: Sequence[Field]) -> "StructType":
    """The raw columns and the derived ones, as Spark has them."""
    names = [column.name for column in columns]
    if taken := [name for name in spec.derive if name in names]:
        raise ConfigurationError(f"{spec.name}: derive.{taken[0]}: the raw files have a column of that name already")
    if twins := differing_in_case([*names, *spec.derive]):
        raise ConfigurationError(f"{spec.name}: columns {' and '.join(twins[0])} differ in case only; rename one")
    raw = ", ".join(f"{quote(column.name)} {sql_type(column.type)}" for column in columns)
    return with_derived(spark.createDataFrame([], raw), spec).schema


def _check_declaration(spec: TableSpec, columns: Mapping[str, str]) -> None:
    """Refuse a declaration that names columns which are not there, or of another type than it needs."""
    mistakes = []
    named = {"dates.column": spec.dates.column} | {
        f"partition_by.{n}.col": field.col for n, field in enumerate(spec.partition_by)
    }
    timed = {"dates.column"} | {f"partition_by.{n}.col" for n, field in enumerate(spec.partition_by) if field.func}
    for key, name in named.items():
        if name not in columns:
            hint = nearest(name, columns) or f"; there are {', '.join(columns)}"
            mistakes.append(f"{key}: there is no column '{name}'{hint}")
        elif key in timed and columns[name] not in _TIME_TYPES:
            mistakes.append(f"{key}: column '{name}' is {columns[name]}, expected a timestamp or a date")
        elif key in timed and columns[name] == "date" and _func_at(spec, key) == "hour":
            mistakes.append(f"{key}: column '{name}' is a date, which has no hour")
    if mistakes:
        raise ConfigurationError(f"{spec.name} does not fit its columns:\n  " + "\n  ".join(mistakes))


def _func_at(spec: TableSpec, key: str) -> str | None:
    return None if key == "dates.column" else spec.partition_by[int(key.split(".")[1])].func


def _statement(profile: Profile, spec: TableSpec, schema: "StructType") -> str:
    """CREATE TABLE: unlike a CREATE … AS SELECT it leaves no empty snapshot."""
    parts = [f"CREATE TABLE {sql_name(profile, spec)} ({schema.toDDL()}) USING iceberg"]
    if spec.partition_by:
        parts.append(f"PARTITIONED BY ({', '.join(_transform(field) for field in spec.partition_by)})")
    if spec.properties:
        pairs = (f"{literal(name)} = {literal(value)}" for name, value in spec.properties.items())
        parts.append(f"TBLPROPERTIES ({', '.join(pairs)})")
    return " ".join(parts)


def _transform(field: PartitionField) -> str:
    column = quote(field.col)
    match field.type:
        case "identity":
            return column
        case "date":
            return f"{field.func}s({column})"
        case _:
            return f"{field.type}({field.size}, {column})"

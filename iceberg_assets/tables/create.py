"""Create the declared table where it is missing, or refuse the declaration before anything is touched."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from iceberg_assets.errors import ConfigurationError, ServiceError, in_brief
from iceberg_assets.profiles import Profile, brief_of, of_service, on_s3, overlap, shown_cause
from iceberg_assets.spark import literal, quote
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.names import STATE_NAMESPACE
from iceberg_assets.spec.table import PartitionField
from iceberg_assets.tables.declared import check_columns, check_table
from iceberg_assets.tables.evolve import sql_type
from iceberg_assets.tables.fields import Field
from iceberg_assets.tables.location_provider import require_provider
from iceberg_assets.tables.source import differing_in_case
from iceberg_assets.tables.target import load_target, sql_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType


def check_places(profile: Profile, spec: TableSpec, location: str | None = None) -> None:
    """Refuse a raw landing place that contains the table's files, or lies among them.

    Orphan removal takes every file below a table's location that no metadata names, and a raw file is one. Where the
    table's own ``location`` is not known, the warehouse stands for it.

    Raises:
        ConfigurationError: names both places.
    """
    if spec.source is None:
        return
    raw, place = spec.source.root, location or profile.catalog.place
    if on_s3(raw) and profile.store is None:
        raise ConfigurationError(
            f"{spec.name}: source.path lands in {raw}, and profile '{profile.name}' has no store: say there how it is "
            "reached, at least by its region"
        )
    if place and overlap([raw], [place]):
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
        ConfigurationError: the declaration does not fit the columns, the places overlap, or Iceberg refuses the table:
            a property's value, a transform of a type that has it not. Or Spark lacks the class that would say where its
            files go.
        ServiceError: the catalog or the store refused, or did not answer.
    """
    existing = load_target(profile, spec)
    if existing is not None:
        check_places(profile, spec, existing.location())
        check_table(spec, existing)
        check_derived(spark, profile, spec, columns)
        return False
    check_places(profile, spec)
    schema = _schema(spark, spec, columns)
    check_columns(spec, {field.name: field.dataType.typeName() for field in schema.fields})
    require_provider(spark, spec)
    try:
        for namespace in ((STATE_NAMESPACE,), spec.table[:-1]):
            statement = f"CREATE NAMESPACE IF NOT EXISTS {quote(profile.catalog.name, *namespace)}"
            _unless_there(spark, statement, profile.pyiceberg().namespace_exists, namespace)
        return _unless_there(spark, _statement(profile, spec, schema), profile.pyiceberg().table_exists, spec.table)
    except Exception as error:  # noqa: BLE001 (whatever Spark raises becomes a sentence)
        if sentence := of_service(profile, error):
            raise ServiceError(sentence) from shown_cause(profile, error)
        raise ConfigurationError(
            f"{spec.name} cannot be made as it is declared: {brief_of(profile, error)}; see partition_by and properties"
        ) from shown_cause(profile, error)


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
            said = in_brief(error)
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
    return with_derived(spark.createDataFrame([], _ddl(columns)), spec).schema


def _ddl(columns: Sequence[Field]) -> str:
    return ", ".join(f"{quote(column.name)} {sql_type(column.type)}" for column in columns)


def check_derived(spark: "SparkSession", profile: Profile, spec: TableSpec, columns: Sequence[Field]) -> None:
    """Refuse ``derive`` where Spark would only once rows are being written.

    Args:
        columns: of the table, with those that it is about to get.

    Raises:
        ConfigurationError: an expression cannot be resolved, or its values do not go into the table's column.
    """
    if not spec.derive:
        return
    from pyspark.sql.types import StructType

    table = spark.table(sql_name(profile, spec)).schema
    raw = [field for field in table.fields if field.name not in spec.derive]
    if new := [column for column in columns if column.name not in table.names]:
        raw += spark.createDataFrame([], _ddl(new)).schema.fields
    derived = with_derived(spark.createDataFrame([], StructType(raw)), spec).schema
    for name in spec.derive:
        given, wanted = derived[name].dataType, table[name].dataType
        if not _storable(given, wanted):
            kind = wanted.simpleString()
            raise ConfigurationError(
                f"{spec.name}: derive.{name}: {spec.derive[name]!r} is {given.simpleString()}, and the table's column "
                f"is {kind}; CAST it AS {kind.upper()}"
            )


def _storable(given: "DataType", wanted: "DataType") -> bool:
    """Whether Spark stores values of one type in a column of another (``spark.sql.storeAssignmentPolicy``: ANSI)."""
    from pyspark.sql.types import AtomicType, DatetimeType, NullType, NumericType, StringType

    if given.simpleString() == wanted.simpleString() or isinstance(given, NullType):
        return True
    if isinstance(wanted, StringType):
        return isinstance(given, AtomicType)
    return any(isinstance(given, kind) and isinstance(wanted, kind) for kind in (NumericType, DatetimeType))


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

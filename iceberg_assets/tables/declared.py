"""Whether a table's declaration fits its columns, and a table that is there already. Pure functions."""

from collections.abc import Collection, Iterator, Mapping

from pyiceberg.table import Table
from pyiceberg.transforms import VoidTransform

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.flat_location import strange_fields
from iceberg_assets.spec.names import is_reserved
from iceberg_assets.spec.table import PartitionField
from iceberg_assets.tables.source import differing_in_case, nearest

# As Spark and as PyIceberg spell them.
_TIME_TYPES = ("date", "timestamp", "timestamp_ntz", "timestamptz")


def check_columns(spec: TableSpec, columns: Mapping[str, str]) -> None:
    """Refuse a declaration that names columns which are not there, or of another type than it needs.

    Args:
        columns: their types by name, in a table that is to be made.

    Raises:
        ConfigurationError: lists every mistake by its key path.
    """
    flat = (f"properties.{one}" for one in strange_fields(spec.properties, _declared_fields(spec)))
    _refuse(spec, "does not fit its columns", [*_about_columns(spec, columns), *flat])


def check_table(spec: TableSpec, table: Table) -> tuple[str, ...]:
    """Refuse a declaration that an existing table contradicts.

    Returns:
        Notes on properties that have another value in the table, which is what counts.

    Raises:
        ConfigurationError: lists every mistake by its key path.
    """
    columns = {field.name: str(field.field_type) for field in table.schema().fields}
    mistakes = [
        *_about_columns(spec, columns),
        *_about_derived(spec, columns),
        *_about_names(columns),
        *_about_partitions(spec, table),
        *_about_flat_location(spec, table),
    ]
    _refuse(spec, "does not fit the table that exists", mistakes)
    return tuple(_about_properties(spec, table))


def _refuse(spec: TableSpec, what: str, mistakes: list[str]) -> None:
    if mistakes:
        raise ConfigurationError(f"{spec.name} {what}:\n  " + "\n  ".join(mistakes))


def _about_columns(spec: TableSpec, columns: Mapping[str, str]) -> Iterator[str]:
    named = [("dates.column", column, "day") for column in [spec.dates.column] if column is not None]
    named += [(f"partition_by.{n}.col", field.col, field.func or "") for n, field in enumerate(spec.partition_by)]
    for key, name, func in named:
        if name not in columns:
            yield f"{key}: there is no column '{name}'" + (
                nearest(name, columns) or f"; there are {', '.join(columns)}"
            )
        elif func and columns[name] not in _TIME_TYPES:
            yield f"{key}: column '{name}' is {columns[name]}, expected a timestamp or a date"
        elif func == "hour" and columns[name] == "date":
            yield f"{key}: column '{name}' is a date, which has no hour"


def _about_derived(spec: TableSpec, columns: Mapping[str, str]) -> Iterator[str]:
    for name in spec.derive:
        if name not in columns:
            yield (
                f"derive.{name}: the table has no column '{name}'{nearest(name, columns)}; add it with ALTER TABLE "
                f"{spec.name} ADD COLUMN, or take it out of derive"
            )


def _about_names(columns: Collection[str]) -> Iterator[str]:
    for name in columns:
        if is_reserved(name):
            yield f"source: Iceberg and Spark keep the name of the table's column '{name}' for themselves; rename it"
    for twins in differing_in_case(columns):
        yield f"source: the table's {' and '.join(twins)} differ in case only, so Spark takes them for one; rename one"


def _about_partitions(spec: TableSpec, table: Table) -> Iterator[str]:
    """In any order; a declaration that does not say ``partition_by`` takes the table as it is."""
    if "partition_by" not in spec.model_fields_set:
        return
    declared = [(field.col, _transform(field)) for field in spec.partition_by]
    there = [
        (table.schema().find_column_name(field.source_id) or "", str(field.transform))
        for field in table.spec().fields
        # What remains, in tables of format version 1, of a field that was dropped.
        if not isinstance(field.transform, VoidTransform)
    ]
    if set(declared) != set(there):
        yield (
            f"partition_by: declared is {_layout(declared)}, and the table is partitioned by {_layout(there)}; declare "
            f"that, or change the table with ALTER TABLE {spec.name} ADD, DROP or REPLACE PARTITION FIELD"
        )


def _declared_fields(spec: TableSpec) -> list[str]:
    return [name for field in spec.partition_by for name in field.names]


def _about_flat_location(spec: TableSpec, table: Table) -> Iterator[str]:
    """What the table itself lists; of a column that older specs alone are made of, the paths of their files show it."""
    known = [field.name for field in table.spec().fields] + list(table.schema().column_names)
    for one in strange_fields(table.properties, known):
        yield f"the table's {one}: no file of it can be written. ALTER TABLE {spec.name} SET TBLPROPERTIES mends it"


def _transform(field: PartitionField) -> str:
    """A partition field's transform as Iceberg writes it: ``day``, ``bucket[4]``."""
    match field.type:
        case "identity":
            return "identity"
        case "date":
            return str(field.func)
        case _:
            return f"{field.type}[{field.size}]"


def _layout(fields: list[tuple[str, str]]) -> str:
    return ", ".join(column if how == "identity" else f"{how}({column})" for column, how in fields) or "nothing"


def _about_properties(spec: TableSpec, table: Table) -> Iterator[str]:
    # The one that Iceberg does not keep among the others.
    there = {**table.properties, "format-version": str(table.format_version)}
    for name, value in spec.properties.items():
        if there.get(name) != value:
            found = f"is {there[name]} in the table" if name in there else "is not set in the table"
            yield f"properties.{name} {found}, which counts, and {value} in the declaration: ALTER TABLE changes it"

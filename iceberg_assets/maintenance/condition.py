"""A condition of Spark SQL: the data files that Iceberg would find it may match, told without Spark."""

import re
from collections.abc import Collection, Iterator

from pyiceberg.expressions import (
    And,
    BooleanExpression,
    NotEqualTo,
    NotNull,
    NotStartsWith,
    Or,
    Reference,
    UnboundPredicate,
)
from pyiceberg.expressions.parser import parse
from pyiceberg.expressions.visitors import rewrite_not
from pyiceberg.table import Table

from iceberg_assets.errors import ConfigurationError


def files_matched(table: Table, snapshot_id: int | None, where: str) -> Collection[str] | None:
    """The paths of the data files that may hold such rows, by their partitions and bounds.

    None: what the condition means is known to Spark alone. It has words that PyIceberg's parser does not know, or
    literals that Spark would cast.

    Raises:
        ConfigurationError: a column that the table does not have.
    """
    if (condition := read_condition(where)) is None:
        return None
    known = table.schema().column_names
    folded = {name.casefold() for name in known}
    if unknown := sorted({name for name in _columns(condition) if name.casefold() not in folded}):
        raise ConfigurationError(f"where: the table has no column {', '.join(unknown)}; it has {', '.join(known)}")
    try:
        scan = table.scan(row_filter=condition, snapshot_id=snapshot_id, case_sensitive=False)
        return {task.file.file_path for task in scan.plan_files()}
    except (ValueError, TypeError):
        return None


def read_condition(where: str) -> BooleanExpression | None:
    """A condition of Spark SQL as PyIceberg's; None where PyIceberg does not know its words.

    The two quote the other way round: to Spark double quotes hold a text, and back-quotes a name.
    """
    swapped = re.sub(
        r"""'(?:[^'\\]|\\.)*'|"((?:[^"\\]|\\.)*)"|`((?:[^`]|``)+)`""",
        lambda found: f"'{found[1]}'" if found[1] is not None else f'"{found[2]}"' if found[2] else found[0],
        where,
    )
    try:
        return _without_nulls(rewrite_not(parse(swapped)))
    except Exception:  # noqa: BLE001 (the parser raises what its library does)
        return None


def _columns(condition: BooleanExpression) -> Iterator[str]:
    """The names that it speaks of."""
    match condition:
        case And(left=left, right=right) | Or(left=left, right=right):
            yield from _columns(left)
            yield from _columns(right)
        case UnboundPredicate(term=Reference(name=name)):
            yield name


def _without_nulls(condition: BooleanExpression) -> BooleanExpression:
    """Spark adds ``IS NOT NULL`` to what it hands to Iceberg, in SQL's sense: a null differs from nothing."""
    match condition:
        case And(left=left, right=right):
            return And(_without_nulls(left), _without_nulls(right))
        case NotEqualTo(term=term) | NotStartsWith(term=term):
            return And(NotNull(term=term), condition)
    return condition

"""``table_overrides`` and names of tables, as people write them: nested, dotted, quoted, and in two spellings."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from iceberg_assets.spec.table import parse_parts

Name = tuple[str, ...]
"""A table's namespace and name, or its name alone."""

_SPELLINGS = {"rewrite_manifest": "rewrite_manifests", "expire_snapshots": "expire_snapshot"}
"""Keys of operations that are read as another one."""


def parse_name(value: object) -> Name:
    """``table``, ``database.table`` or a longer one, as its parts; a part that holds a dot stands in back-quotes.

    Raises:
        ValueError: it is none of these.
    """
    # Taken for a name, a pattern would be nobody's: what it was to exclude would be maintained.
    if isinstance(value, str) and "*" in value and "`" not in value:
        raise ValueError(f"expected a name, and patterns are none, got {value!r}; databases takes whole namespaces")
    if isinstance(value, str) and (parts := parse_parts(value)):
        return parts
    raise ValueError(f"expected database.table, or table alone, got {value!r}")


def one_spelling(data: Any) -> Any:
    """The mapping with each operation by the one key that it has here.

    Raises:
        ValueError: an operation is there by both of its keys.
    """
    if not isinstance(data, Mapping):
        return data
    for other, known in _SPELLINGS.items():
        if other in data and known in data:
            raise ValueError(f"{other} and {known} are the same operation: keep one of them")
    return {_SPELLINGS.get(key, key): value for key, value in data.items()}


def by_table(value: Any, operations: Sequence[str]) -> Any:
    """Overrides by the table's dotted name, however deep they are nested.

    HOCON reads ``demo.flights: {…}`` as one key inside another, and ``"demo.flights": {…}`` as one. What still is a
    placeholder in angle brackets, as in the file that people start from, is left out.

    Args:
        operations: the keys that an override can have.

    Raises:
        ValueError: something in it is no override, or a table has two, of which only one would count.
    """
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    written: set[Name] = set()
    for text, override in _tables(value, (), operations):
        # What is no name is refused by its key.
        name = parse_parts(text) or (text,)
        if name in written:
            raise ValueError(f"{text}: the table is there twice, in two spellings: put all of it under one of them")
        written.add(name)
        found[text] = override
    return found


def _tables(value: Mapping[str, Any], path: Name, operations: Sequence[str]) -> Iterator[tuple[str, Any]]:
    known = {*operations, *_SPELLINGS}
    for key, inner in value.items():
        name = ".".join((*path, str(key)))
        if str(key).startswith("<"):
            continue
        if not isinstance(inner, Mapping):
            raise ValueError(
                f"{name}: expected operations such as {operations[0]}, got {inner!r:.80}{_hint(key, known)}"
            )
        if not inner or known & inner.keys():
            yield name, inner
        elif all(isinstance(item, Mapping) for item in inner.values()):
            yield from _tables(inner, (*path, str(key)), operations)
        else:
            wrong = next(name for name, item in inner.items() if not isinstance(item, Mapping))
            raise ValueError(
                f"{name}.{wrong}: expected operations of a table, which are {', '.join(operations)}"
                f"{_hint(str(key), known) or _hint(str(wrong), known)}"
            )


def _hint(word: str, known: set[str]) -> str:
    nearest = difflib.get_close_matches(word, sorted(known), n=1)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""

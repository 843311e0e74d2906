"""The README's table of keys and the models that read them say the same."""

import re
import typing
from collections.abc import Iterator
from pathlib import Path

from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.model import SpecModel

README = Path(__file__).parent.parent / "README.md"
Key = tuple[str, ...]


def keys(model: type[SpecModel], above: Key = ()) -> Iterator[Key]:
    """Every key of a declaration that holds a value, with those above it."""
    for field_name, field in model.model_fields.items():
        name = field.alias or field_name
        below = [one for one in _classes(field.annotation) if issubclass(one, SpecModel)]
        if below:
            yield from keys(below[0], (*above, name))
        else:
            yield (*above, name)


def _classes(annotation: object) -> Iterator[type]:
    if isinstance(annotation, type) and not typing.get_args(annotation):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _classes(part)


def rows() -> Iterator[tuple[Key, set[str]]]:
    """By row of the table: its key, and all words in code."""
    for row in re.findall(r"^\| `.*$", README.read_text(), re.MULTILINE):
        first, *_ = cells = row.strip("|").split(" | ")
        words = {word for code in re.findall(r"`([^`]+)`", " ".join(cells)) for word in re.findall(r"\w+", code)}
        yield tuple(first.strip(" `").split(".")), words


def test_every_key_of_a_declaration_is_in_the_table() -> None:
    table = dict(rows())
    missing = [
        ".".join(key)
        for key in keys(TableSpec)
        if not any(key[: len(row)] == row and words.issuperset(key[len(row) :]) for row, words in table.items())
    ]
    assert not missing


def test_every_key_in_the_table_is_one_of_a_declaration() -> None:
    known = list(keys(TableSpec))
    table = [row for row, _ in rows() if not row[0].startswith(("iceberg_assets", "demo"))]
    assert len(table) > 10
    assert [".".join(row) for row in table if not any(key[: len(row)] == row for key in known)] == []

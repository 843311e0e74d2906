"""What a procedure of Iceberg takes: types, and how values that people write become the engine's."""

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any, Literal

from iceberg_assets.spec.sort_order import parse_sort_order
from iceberg_assets.spec.units import parse_bytes, parse_moment

Kind = Literal[
    "bytes",
    "count",
    "factor",
    "flag",
    "list",
    "map",
    "moment",
    "order",
    "ratio",
    "snapshot",
    "snapshots",
    "text",
    "word",
]
Value = bool | int | float | str | datetime | timedelta | tuple[str, ...] | tuple[int, ...] | Mapping[str, str]
"""A checked value. A moment is a point in time, or how long ago it was."""


@dataclass(frozen=True)
class Argument:
    """One argument of a procedure, or one entry of its ``options`` map.

    Attributes:
        name: as Iceberg writes it.
        kind: what its value is; see ``KINDS``.
        sentence: what it does.
        default: what Iceberg takes where it is left out, as words; empty: nothing.
        choices: the words allowed where ``kind`` is ``word``.
        least: the least that is allowed where ``kind`` is ``count``.
        required: whether the CALL fails without it.
        only: the strategy that has it (``sort``, ``z-order``); empty: every one.
        refused: why it is not offered; empty: it is.
    """

    name: str
    kind: Kind
    sentence: str
    default: str = ""
    choices: tuple[str, ...] = ()
    least: int = 1
    required: bool = False
    only: Literal["", "sort", "z-order"] = ""
    refused: str = ""

    def parse(self, value: object) -> Value:
        """The value as it is meant.

        Raises:
            ValueError: the argument is not offered, or the value is not of its kind; names both.
        """
        if self.refused:
            raise ValueError(f"{self.name}: {self.refused}")
        try:
            return KINDS[self.kind].parse(self, value)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None


@dataclass(frozen=True)
class Procedure:
    """One procedure of ``<catalog>.system``.

    Attributes:
        sentence: what it does.
        source: the classes of Iceberg that the declaration was read from.
        arguments: all but ``table``, which every one of them takes.
        options: the entries of its argument ``options``; without any it has none.
        asset: the maintenance asset that does the same, by its name; empty: none does.
    """

    name: str
    sentence: str
    source: str
    arguments: tuple[Argument, ...]
    options: tuple[Argument, ...] = ()
    asset: str = ""

    def parse(self, given: Mapping[str, object], *, complete: bool = True) -> dict[str, Value]:
        """Each value by its argument's own rule; arguments and options side by side.

        Args:
            given: by name, as a person wrote it.
            complete: whether what is required has to be there.

        Raises:
            ValueError: an unknown name, with the nearest known one, or a value that is not of its kind.
        """
        known = {one.name: one for one in (*self.arguments, *self.options)}
        for name in given:
            if name not in known:
                raise ValueError(f"unknown option '{name}'; {nearest(name, known)}")
        missing = [one.name for one in self.arguments if one.required and one.name not in given]
        if complete and missing:
            raise ValueError(f"{self.name} needs {' and '.join(missing)}")
        return {name: known[name].parse(value) for name, value in given.items()}

    def call_arguments(self, values: Mapping[str, Value], now: datetime) -> dict[str, object]:
        """The named arguments of the CALL, all but ``table``, for :func:`iceberg_assets.spark.sql.call`.

        Args:
            values: as :meth:`parse` gives them.
            now: that ages are counted from, with a zone.
        """
        arguments: dict[str, object] = {
            one.name: now - values[one.name] if isinstance(values[one.name], timedelta) else values[one.name]  # type: ignore[operator]
            for one in self.arguments
            if one.name in values
        }
        options = {one.name: option_text(values[one.name]) for one in self.options if one.name in values}
        return {**arguments, **({"options": options} if options else {})}


def nearest(name: str, known: Iterable[str]) -> str:
    """What to say to somebody who wrote a name that is not known."""
    names = list(known)
    found = difflib.get_close_matches(name, names, n=1)
    return f"did you mean '{found[0]}'?" if found else f"known are {', '.join(names)}"


def option_text(value: Value) -> str:
    """A value as Iceberg's map of strings has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def argument_schema(argument: Argument) -> dict[str, Any]:
    """The JSON schema of one argument."""
    kind = KINDS[argument.kind]
    described = argument.sentence + (f" Iceberg's default: {argument.default}." if argument.default else "")
    choices = {"enum": list(argument.choices)} if argument.choices else {}
    return {**kind.schema, **choices, "description": described}


@dataclass(frozen=True)
class _Kind:
    """How values of a kind are read, what people are told of them, and their JSON schema."""

    parse: Callable[[Argument, object], Value]
    words: str
    schema: Mapping[str, Any]


_MOST = 2**31 - 1
"""Iceberg reads counts as Java's int."""


def _count(argument: Argument, value: object) -> int:
    if isinstance(value, int | str) and not isinstance(value, bool) and str(value).isdecimal():
        if (number := int(value)) < argument.least:
            raise ValueError(f"expected at least {argument.least}, got {value!r}")
        if number > _MOST:
            raise ValueError(f"expected a whole number of {_MOST} at most, got {value!r}")
        return number
    raise ValueError(f"expected a whole number, got {value!r}")


def _number(most: float, words: str) -> Callable[[Argument, object], float]:
    def parse(_: Argument, value: object) -> float:
        try:
            number = float(str(value)) if not isinstance(value, bool) else -1.0
        except ValueError:
            number = -1.0
        if not 0 <= number <= most or number == inf or (most > 1 and number == 0):
            raise ValueError(f"expected {words}, got {value!r}")
        return number

    return parse


def _flag(_: Argument, value: object) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise ValueError(f"expected true or false, got {value!r}")
    return str(value).lower() == "true"


def _word(argument: Argument, value: object) -> str:
    if value not in argument.choices:
        raise ValueError(f"expected one of {', '.join(argument.choices)}, got {value!r}")
    return str(value)


def _text(_: Argument, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"expected a text, got {value!r}")
    return value


def _snapshot(_: Argument, value: object) -> int:
    # As text too: a JSON reader may have rounded a number of 64 bits.
    if isinstance(value, bool) or not str(value).isdecimal() or int(str(value)) >= 2**63:
        raise ValueError(f"expected the id of a snapshot, got {value!r}")
    return int(str(value))


def _items(value: object) -> list[object]:
    if isinstance(value, str):
        value = json.loads(value) if value.lstrip().startswith("[") else [part.strip() for part in value.split(",")]
    if not isinstance(value, list | tuple) or not value or not all(value):
        raise ValueError(f"expected a list, or names with commas between them, got {value!r}")
    return list(value)


def _list(_: Argument, value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in _items(value))


def _snapshots(argument: Argument, value: object) -> tuple[int, ...]:
    return tuple(_snapshot(argument, item) for item in _items(value))


def _map(_: Argument, value: object) -> dict[str, str]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = json.loads(value)
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        raise ValueError(f'expected a map of texts, such as {{"s3a,s3n": "s3"}}, got {value!r}')
    return dict(value)


def _order(_: Argument, value: object) -> str:
    return parse_sort_order(value).text


_TEXT, _INTEGER = {"type": "string"}, {"type": "integer"}
_ANY_OF_BOTH = {"type": ["string", "integer"]}
KINDS: Mapping[Kind, _Kind] = {
    "bytes": _Kind(lambda _, value: parse_bytes(value), "a size: 512MB, or a number of bytes", _ANY_OF_BOTH),
    "count": _Kind(_count, "a whole number", _INTEGER),
    "factor": _Kind(_number(inf, "a number above 0"), "a number above 0", {"type": "number"}),
    "flag": _Kind(_flag, "true or false", {"type": "boolean"}),
    "list": _Kind(_list, "names, with commas between them or as a JSON list", {"type": "array", "items": _TEXT}),
    "map": _Kind(_map, "a map, on the command line as JSON", {"type": "object", "additionalProperties": _TEXT}),
    "moment": _Kind(
        lambda _, value: parse_moment(value), "an age (5d, 36h), or an ISO point in time with its zone", _TEXT
    ),
    "order": _Kind(_order, "a sort order", _TEXT),
    "ratio": _Kind(_number(1, "a number between 0 and 1"), "a number between 0 and 1", {"type": "number"}),
    "snapshot": _Kind(_snapshot, "the id of a snapshot", _ANY_OF_BOTH),
    "snapshots": _Kind(_snapshots, "ids of snapshots, with commas", {"type": "array", "items": _ANY_OF_BOTH}),
    "text": _Kind(_text, "a text", _TEXT),
    "word": _Kind(_word, "one of its words", _TEXT),
}
"""By kind: how a value is read, and the words for it."""

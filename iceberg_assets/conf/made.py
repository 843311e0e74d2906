"""What is made of an application's settings, with what has to be said about it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iceberg_assets.conf.value import FromEnvironment
from iceberg_assets.profiles.values import REDACTED

Leaves = Mapping[str, Any]
"""Values by their whole key, such as ``app.iceberg.table``."""


@dataclass(frozen=True)
class Made:
    """A part of the result.

    Attributes:
        settings: as YAML has them.
        taken: the keys that are in it, or of which a note says why not.
        notes: what a person should know, each a sentence.
    """

    settings: Mapping[str, Any]
    taken: frozenset[str]
    notes: tuple[str, ...]


def leaves_of(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """The tree by whole keys; lists are values."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            found |= leaves_of(value, f"{above}{key}.")
        else:
            found[f"{above}{key}"] = value
    return found


def plain(value: object) -> Any:
    """What holds where no variable is set."""
    return value.default if isinstance(value, FromEnvironment) else value


def shown(key: str, value: object) -> str:
    """A value for people, on one line; a secret is not shown."""
    if plain(value) and re.search(REDACTED, key):
        return "…"
    text = value.in_profile() if isinstance(value, FromEnvironment) else str(value)
    return text.replace("\n", "\\n")

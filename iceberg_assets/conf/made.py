"""What is made of an application's settings, with what has to be said about it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iceberg_assets.conf.value import FromEnvironment
from iceberg_assets.profiles.values import NAMES, in_urls

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


_BY_NAME = re.compile(rf"(?i){NAMES}")
_IN_OPTIONS = re.compile(rf"(?i)(?:{NAMES})[\w.-]*=\S")
_NO_SECRET = re.compile(r"(?i)(?:provider|enabled|impl|class|type|ur[il]|endpoint|timeout|-ms)$")


def is_secret(key: str, value: object) -> bool:
    """Whether there is a secret in clear: by the key, or in the value, as of a URL or of Java's options.

    What is called ``aws.credentials.provider`` or ``token-refresh-enabled`` says how to come by one.
    """
    text = plain(value)
    if text in (None, ""):
        return False
    by_name = _BY_NAME.search(key) and not _NO_SECRET.search(key)
    return bool(by_name or in_urls(str(text)) or _IN_OPTIONS.search(str(text)))


def shown(key: str, value: object) -> str:
    """A value for people, on one line; a secret is not shown."""
    if is_secret(key, value):
        return "…"
    text = value.in_profile() if isinstance(value, FromEnvironment) else str(value)
    return text.replace("\n", "\\n")

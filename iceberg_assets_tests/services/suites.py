"""Every suite by name: the cells for each catalog, and those about troubles; and which of them CI runs."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from iceberg_assets_tests.services import cells, troubles
from iceberg_assets_tests.services.catalogs import CATALOGS, Catalog
from iceberg_assets_tests.services.cells import Cell

_AT_A_TIME = 2
"""Suites of CI's share, which is six minutes."""


@dataclass(frozen=True)
class Played:
    """A catalog, and what is done to it in turn."""

    catalog: Catalog
    cells: tuple[Cell, ...]


SUITES: Mapping[str, Played] = {name: Played(one, cells.CELLS) for name, one in CATALOGS.items()} | {
    name: Played(troubles.BEHIND_PROXIES, of) for name, of in troubles.CELLS.items()
}


def picked(commit: str) -> list[str]:
    """CI's suites of a commit: its hash says which, so that all have their turn."""
    names = list(SUITES)
    first = int(commit, 16) % len(names)
    return [names[(first + number * (len(names) // _AT_A_TIME)) % len(names)] for number in range(_AT_A_TIME)]


def head() -> str:
    """The commit that is checked out; a copy without a repository has none."""
    root = Path(__file__).parents[2]
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False)
    return said.stdout.strip() or "0"

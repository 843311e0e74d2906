"""What the search for orphans names of random tables, beside a count of what is reachable that shares no code with it.

Run on demand: ``make test-orphans``. The first layouts are a test in CI.
"""

import argparse
import copy
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata

from iceberg_assets.spec.policy import Orphans
from iceberg_assets.tables.unreferenced import search
from iceberg_assets_tests.orphans.layouts import Layout, layout
from iceberg_assets_tests.orphans.reach import plain

SEEDS = 1000


def _main_alone(metadata: TableMetadata) -> dict[str, Any]:
    return {"snapshots": [one for one in metadata.snapshots if one.snapshot_id in _reached(metadata, ["main"])]}


def _refs_alone(metadata: TableMetadata) -> dict[str, Any]:
    return {"snapshots": [one for one in metadata.snapshots if one.snapshot_id in _reached(metadata, metadata.refs)]}


def _reached(metadata: TableMetadata, refs: Iterable[str]) -> set[int]:
    parents = {one.snapshot_id: one.parent_snapshot_id for one in metadata.snapshots}
    found = set[int]()
    for head in (metadata.refs[name].snapshot_id for name in refs if name in metadata.refs):
        at: int | None = head
        while at in parents and at is not None:
            found.add(at)
            at = parents[at]
    return found


BLIND: Mapping[str, Callable[[TableMetadata], dict[str, Any]]] = {
    "older snapshots": lambda metadata: {
        "snapshots": [one for one in metadata.snapshots if one.snapshot_id == metadata.current_snapshot_id]
    },
    "branches": _main_alone,
    "staged snapshots": _refs_alone,
    "statistics": lambda _: {"statistics": []},
    "statistics of partitions": lambda _: {"partition_statistics": []},
    "the metadata log": lambda _: {"metadata_log": []},
}
"""What a careless search does not look at: the metadata without it. Each has to be found out."""


@dataclass(frozen=True)
class Searched:
    """What became of a layout.

    Attributes:
        faults: what is alive and was named, and what is dead and was not.
        found_out: which kinds of blindness would have named what is alive.
    """

    seed: int
    dead: int
    alive: int
    faults: tuple[str, ...]
    found_out: frozenset[str]

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.alive} alive, {self.dead} dead: {'; '.join(self.faults) or 'named as they are'}"
        )


def play(catalog: Catalog, root: Path, seeds: Iterable[int]) -> Iterator[Searched]:
    """Make the tables and search each; blindly too, until each kind of blindness was found out."""
    left = set(BLIND)
    for seed in seeds:
        one = searched(layout(catalog, root, seed), left)
        left -= one.found_out
        yield one


def searched(made: Layout, blind: Iterable[str] = ()) -> Searched:
    """What the search names of a layout, beside what is so."""
    alive, dead, named = made.alive(), made.dead(), names(made)
    faults = [f"alive and named: {path}" for path in sorted(named & alive)]
    faults += [f"dead and not named: {path}" for path in sorted(dead - named)]
    faults += [f"neither, and named: {path}" for path in sorted(named - dead - alive)]
    found_out = frozenset(kind for kind in blind if names(made, kind) & alive)
    return Searched(made.seed, len(dead), len(alive), tuple(faults), found_out)


def names(made: Layout, blind: str | None = None) -> set[str]:
    """Real paths of the files that the search names."""
    found = search(lambda: _seen(made.table, blind), Orphans(), datetime.now(UTC) - timedelta(days=3))
    return {os.path.realpath(plain(file.path)) for file in found.orphans}


def _seen(table: Table, blind: str | None) -> Table:
    if blind is None:
        return table
    seen = copy.copy(table)
    seen.metadata = table.metadata.model_copy(update=BLIND[blind](table.metadata))
    return seen


def in_memory() -> Catalog:
    """A catalog that no engine but this process needs."""
    return load_catalog("orphans", type="sql", uri="sqlite:///:memory:", warehouse="file:///nowhere")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="?", default=f"0:{SEEDS}", help="a:b, from a up to b - 1")
    first, last = map(int, parser.parse_args().seeds.split(":"))
    root, started = Path(tempfile.mkdtemp(prefix="iceberg-assets-orphans-")), time.monotonic()
    played = []
    for one in play(in_memory(), root, range(first, last)):
        played.append(one)
        if one.faults:
            sys.stdout.write(f"{one}\n")
            sys.stdout.flush()
    found_out = {kind: next((one.seed for one in played if kind in one.found_out), None) for kind in BLIND}
    report = {
        "layouts": len(played),
        "alive": sum(one.alive for one in played),
        "dead": sum(one.dead for one in played),
        "faults": sum(bool(one.faults) for one in played),
        "found_out_by_seed": found_out,
        "seconds": round(time.monotonic() - started),
    }
    sys.stdout.write(json.dumps(report, indent=1) + "\n")
    if report["faults"] or None in found_out.values():
        return 1
    shutil.rmtree(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())

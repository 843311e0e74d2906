"""What exactly once costs: our append beside a hand-written one, in one session, on tables made alike.

The hand-written one reads the same files with the table's schema and appends them; it neither looks at footers, nor
counts rows, nor knows what is in the table already. Each size has tables of its own, a round to warm up, and then five
rounds in which the two take turns at being first. The large batch is made so large that the hand-written append of it
takes somewhat more than 20 s on this machine. Held to: at most 1.15 times as long where the hand-written one takes 20 s
or more, and at most 2 s longer in any case.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from iceberg_assets import spark
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec import Status, TableSpec, parse_table
from iceberg_assets.tables import append
from iceberg_assets.tables.target import sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = date(2024, 1, 1)
ROUNDS = 5
_LARGE = 8
MOST_TIMES, FROM_SECONDS, MOST_MORE_SECONDS = 1.15, 20, 2.0


@dataclass(frozen=True)
class Size:
    """A batch of so many files of so many rows."""

    files: int
    rows: int


@dataclass(frozen=True)
class Measured:
    """Medians in seconds."""

    size: Size
    ours: float
    by_hand: float

    @property
    def holds(self) -> bool:
        """Whether both limits are kept."""
        few = self.by_hand < FROM_SECONDS or self.ours <= MOST_TIMES * self.by_hand
        return few and self.ours - self.by_hand <= MOST_MORE_SECONDS


def main(arguments: Sequence[str]) -> int:
    """Measure the sizes and print them; 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--rows", type=int, help="of each of the eight files of the large batch; else as many as it takes"
    )
    rows = parser.parse_args(arguments).rows
    with tempfile.TemporaryDirectory(prefix="bench_append_") as folder:
        root = Path(folder)
        (root / "pyproject.toml").touch()
        profile = load_profile("local", root)
        running = spark.session(profile)
        measured = []
        for size in (Size(1, 1000), Size(24, 1000), Size(_LARGE, rows or large_enough(running, profile, root))):
            measured.append(measure(running, profile, root, size))
            print(measured[-1], flush=True)
        running.stop()
    shown = Table("files", "rows", "by hand s", "ours s", "times", "more s", "")
    for one in measured:
        shown.add_row(
            f"{one.size.files}",
            f"{one.size.files * one.size.rows:,}",
            f"{one.by_hand:.2f}",
            f"{one.ours:.2f}",
            f"{one.ours / one.by_hand:.2f}",
            f"{one.ours - one.by_hand:+.2f}",
            "holds" if one.holds else "TOO MUCH",
        )
    Console(highlight=False, width=100).print(shown)
    return 0 if all(one.holds for one in measured) else 1


def large_enough(running: "SparkSession", profile: Profile, root: Path) -> int:
    """The rows of each of the eight files whose hand-written append takes somewhat more than 20 s."""
    size = Size(_LARGE, 200_000)
    spec = declared(root, "trial")
    files = land(root / "raw" / "trial" / DAY.isoformat(), write(root / "templates" / "trial", size), 0)
    ours(running, profile, spec)
    seconds = []
    for _ in range(3):
        started = time.monotonic()
        hand_written(running, profile, spec, files)
        seconds.append(time.monotonic() - started)
    return int(round(size.rows * 1.3 * FROM_SECONDS / median(seconds), -4))


def measure(running: "SparkSession", profile: Profile, root: Path, size: Size) -> Measured:
    """The medians of one size."""
    name = f"f{size.files}_r{size.rows}"
    spec = declared(root, name)
    by_hand = spec.model_copy(update={"table": (spec.table[0], f"{name}_by_hand")})
    template = write(root / "templates" / name, size)
    taken: dict[str, list[float]] = {"ours": [], "by hand": []}
    for number in range(ROUNDS + 1):
        files = land(root / "raw" / name / DAY.isoformat(), template, number)
        steps: list[tuple[str, Callable[[], None]]] = [
            ("ours", lambda: ours(running, profile, spec)),
            ("by hand", lambda files=files: hand_written(running, profile, by_hand, files)),  # type: ignore[misc]
        ]
        if number == 0:
            # The first append makes our table; the other is made like it, and both are warm then.
            ours(running, profile, spec)
            like(running, profile, spec, by_hand)
            steps = steps[1:]
        for label, step in steps if number % 2 else reversed(steps):
            started = time.monotonic()
            step()
            if number:
                taken[label].append(time.monotonic() - started)
    counts = {running.table(sql_name(profile, one)).count() for one in (spec, by_hand)}
    assert counts == {size.files * size.rows * (ROUNDS + 1)}, counts
    return Measured(size, median(taken["ours"]), median(taken["by hand"]))


def ours(running: "SparkSession", profile: Profile, spec: TableSpec) -> None:
    """The append of this package."""
    outcome = append(lambda: running, profile, spec, [DAY])[DAY]
    assert outcome.status is Status.DONE, outcome.reason


def hand_written(running: "SparkSession", profile: Profile, spec: TableSpec, files: Sequence[Path]) -> None:
    """What one would write oneself."""
    name = sql_name(profile, spec)
    running.read.schema(running.table(name).schema).parquet(*map(str, files)).writeTo(name).append()


def like(running: "SparkSession", profile: Profile, spec: TableSpec, other: TableSpec) -> None:
    """An empty table with the columns and partitions of another."""
    columns = running.table(sql_name(profile, spec)).schema.toDDL()
    running.sql(f"CREATE TABLE {sql_name(profile, other)} ({columns}) USING iceberg PARTITIONED BY (days(ts))")


def declared(root: Path, name: str) -> TableSpec:
    """A table by day."""
    attributes = {
        "table": f"bench.{name}",
        "source": {"path": f"{root}/raw/{name}/%Y-%m-%d/*.parquet"},
        "dates": {"column": "ts", "start": DAY.isoformat(), "end": DAY.isoformat()},
        "partition_by": [{"col": "ts", "type": "date", "func": "day"}],
    }
    return parse_table(attributes, root=root, variables={}, where="benchmark")


def write(folder: Path, size: Size) -> list[Path]:
    """The files of a batch: twelve columns of values that do not compress to nothing."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(7)
    start = int(datetime.combine(DAY, datetime.min.time(), UTC).timestamp() * 1_000_000)
    paths = []
    for number in range(size.files):
        moments = start + np.sort(random.integers(0, 86_400_000_000, size.rows))
        columns: dict[str, pa.Array] = {
            "id": pa.array(np.arange(size.rows) + number * size.rows),
            "ts": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "carrier": pa.array(np.array(["AA", "B6", "DL", "UA"])[random.integers(0, 4, size.rows)]),
            "note": pa.array(random.integers(0, 1 << 60, size.rows)).cast(pa.string()),
        }
        columns |= {f"v{n}": pa.array(random.random(size.rows)) for n in range(8)}
        paths.append(folder / f"{number:03}.parquet")
        pq.write_table(pa.table(columns), paths[-1])
    return paths


def land(folder: Path, template: Sequence[Path], number: int) -> list[Path]:
    """The batch under names of its own: links, so that the disk is not measured."""
    folder.mkdir(parents=True, exist_ok=True)
    landed = [folder / f"{number}_{path.name}" for path in template]
    for path, link in zip(template, landed, strict=True):
        os.link(path, link)
    return landed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

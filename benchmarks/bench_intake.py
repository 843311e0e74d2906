"""How long an append needs before Spark is asked for anything: footers, and a date's files against a large ledger.

Run by ``make bench-intake``. Prints figures, and ends with 1 where a limit is passed.
"""

import argparse
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from iceberg_assets.profiles import load_profile
from iceberg_assets.spec import parse_table
from iceberg_assets.tables.claims import CLAIM_DEADLINE, Event
from iceberg_assets.tables.fit import fit
from iceberg_assets.tables.footers import read_footers
from iceberg_assets.tables.intake import arrived
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.ledger_table import create_ledger, to_arrow
from iceberg_assets.tables.source import RawFile

FOOTERS, FOOTERS_WITHIN = 10_000, 30.0
LEDGER, LISTED_WITHIN = 1_000_000, 2.0
_FILES_A_CLAIM = 50
_FILES_A_DATE = 1000
_START = date(2013, 1, 1)
_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@contextmanager
def timed(seconds: dict[str, float], what: str) -> Iterator[None]:
    """Note and print how long something took."""
    started = time.perf_counter()
    yield
    seconds[what] = time.perf_counter() - started
    print(f"  {what:<58}{seconds[what]:8.2f} s")


def footers(root: Path, count: int, seconds: dict[str, float]) -> None:
    """Files of twenty columns, of a few writers; read once, and once by a plain loop over pyarrow for comparison."""
    print(f"{count:,} footers of 20 columns on local disk")
    folder = root / "raw" / _START.isoformat()
    folder.mkdir(parents=True)
    kinds = [pa.int64(), pa.float64(), pa.int16(), pa.timestamp("us", tz="UTC"), pa.int32()]
    contents = []
    for variant in range(5):
        columns = {f"c{n}_{variant if n == 19 else 0}": pa.array([n or None], kinds[n % 5]) for n in range(20)}
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns), sink)
        contents.append(sink.getvalue().to_pybytes())
    files = []
    for number in range(count):
        path = folder / f"{number}.parquet"
        path.write_bytes(contents[number % len(contents)])
        files.append(RawFile(str(path), path.stat().st_size, "1", _START))
    with timed(seconds, "plain loop: pyarrow.parquet.read_metadata"):
        for file in files:
            pq.read_metadata(file.path)
    with timed(seconds, "read_footers"):
        read, bad = read_footers(files, dates_of="c3_0")
    assert len(read) == count
    assert {footer.dates for footer in read} == {((date(1970, 1, 1), 1),)}
    assert not bad
    with timed(seconds, "fit: compared with each other"):
        assert not fit(read, (), "evolve").problems
    tracemalloc.start()
    kept, _ = read_footers(files, dates_of="c3_0")
    size, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"  kept {size / len(kept):,.0f} bytes a file, {peak / 2**20:.1f} MiB at the peak")
    ratio = seconds["read_footers"] / seconds["plain loop: pyarrow.parquet.read_metadata"]
    print(f"  read_footers takes {ratio:.2f} times the plain loop")


def listing(root: Path, count: int, seconds: dict[str, float]) -> None:
    """A date of which half the files are new, against a ledger of ``count`` files in claims of 50."""
    print(f"a date of {_FILES_A_DATE:,} files against a ledger of {count:,}, in claims of {_FILES_A_CLAIM}")
    (root / "pyproject.toml").touch()
    profile = load_profile("local", root)
    profile.prepare()
    attributes = {
        "table": "bench.t",
        "source": {"path": "landed/%Y-%m-%d/*.parquet"},
        "dates": {"column": "ts", "start": _START.isoformat()},
    }
    spec = parse_table(attributes, root=root, variables={}, where="bench")
    ledger = Ledger(profile, spec, "uuid")
    table = create_ledger(profile.pyiceberg(), ledger.name)
    day = _START
    folder = root / "landed" / day.isoformat()
    folder.mkdir(parents=True)
    for number in range(_FILES_A_DATE):
        (folder / f"{number:05}.parquet").write_bytes(b"x")
    known = list(arrived(spec, day, ledger.read([day]), _NOON).new[: _FILES_A_DATE // 2])
    with timed(seconds, "writing the ledger (once)"):
        table.append(_ledger(count, known))
    with timed(seconds, "listing the date's unseen files"):
        arrival = arrived(spec, day, ledger.read([day]), _NOON)
    assert (arrival.known, len(arrival.new)) == (len(known), _FILES_A_DATE - len(known))
    with timed(seconds, "reading the ledger whole, as before"):
        assert len(ledger.read().confirmed) == count
    ratio = seconds["reading the ledger whole, as before"] / seconds["listing the date's unseen files"]
    print(f"  listing by date is {ratio:.1f} times as fast")


def _ledger(count: int, first: list[RawFile]) -> pa.Table:
    """Confirmed claims, a thousand files a date, the first of which are given; by column, since rows take minutes."""
    rows: dict[str, list[Any]] = {name: [] for name in ("event", "claim", "at", "n", "day", "path", "snapshot_id")}

    def add(event: Event, claim: int, day: date | None = None, path: str | None = None) -> None:
        values = (event.value, f"{claim:032x}", _NOON + timedelta(seconds=claim), claim, day, path, claim)
        for column, value in zip(rows.values(), values, strict=True):
            column.append(value)

    for claim in range(count // _FILES_A_CLAIM):
        add(Event.CLAIMED, claim)
        for number in range(claim * _FILES_A_CLAIM, (claim + 1) * _FILES_A_CLAIM):
            if number < len(first):
                add(Event.CLAIMED, claim, first[number].day, first[number].path)
            else:
                day = _START + timedelta(days=1 + number // _FILES_A_DATE)
                add(Event.CLAIMED, claim, day, f"/raw/{day}/part-{number:012}.parquet")
        add(Event.CONFIRMED, claim)
    schema, size = to_arrow([]).schema, len(rows["event"])
    versions = {file.path: file.version for file in first}
    rows |= {
        "table_uuid": ["uuid"] * size,
        "deadline": [at + CLAIM_DEADLINE for at in rows["at"]],
        "size": [None if path is None else 1 for path in rows["path"]],
        "version": [None if path is None else versions.get(path, "1") for path in rows["path"]],
        "month": [day and day.replace(day=1) for day in rows["day"]],
    }
    rows |= {name: [None] * size for name in schema.names if name not in rows}
    return pa.Table.from_pydict(rows, schema=schema)


def main() -> int:
    """Both benchmarks in folders of their own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--footers", type=int, default=FOOTERS)
    parser.add_argument("--ledger", type=int, default=LEDGER)
    arguments = parser.parse_args()
    seconds: dict[str, float] = {}
    for bench, size in ((footers, arguments.footers), (listing, arguments.ledger)):
        with tempfile.TemporaryDirectory() as root:
            bench(Path(root), size, seconds)
    within = {"read_footers": FOOTERS_WITHIN, "listing the date's unseen files": LISTED_WITHIN}
    late = [
        f"{what}: {seconds[what]:.2f} s, at most {limit} s" for what, limit in within.items() if seconds[what] > limit
    ]
    print("\n".join(late) or "within the limits")
    return bool(late)


if __name__ == "__main__":
    sys.exit(main())

"""The first expiry of a table that nobody ever expired: thousands of snapshots, and a driver of 512 MB.

Ours, in steps with streamed results, beside one CALL as Iceberg has it; each in a process and on a table of its own.
The tables are metadata alone: a hundred manifests, which each snapshot lists in a manifest list of its own. Ends with 1
where ours fails, or leaves what should go. Run by
``make bench-expiry``.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pyiceberg.table import Table
from rich.console import Console
from rich.table import Table as Shown

from iceberg_assets import spark
from iceberg_assets.maintenance import expire_snapshots
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spark import call, quote
from iceberg_assets.spec import TableSpec
from iceberg_assets_tests import on_paper

SNAPSHOTS, MANIFESTS, HEAP = 3_000, 100, "512m"
DAY = date(2024, 1, 10)
SIDES = ("ours", "one CALL")
_OLDEST = timedelta(days=400)


def neglected(profile: Profile, name: str, snapshots: int) -> Table:
    """A table of so many snapshots, an hour or so from one to the next, all but the last of them old."""
    catalog = profile.pyiceberg()
    made = on_paper.make(catalog, name)
    for _ in range(MANIFESTS):
        on_paper.append(made.refresh(), [DAY], 10)
    made.refresh()
    file = Path(made.metadata_location.removeprefix("file://"))
    metadata = json.loads(file.read_bytes())
    last = next(one for one in metadata["snapshots"] if one["snapshot-id"] == metadata["current-snapshot-id"])
    metadata |= _history(last, snapshots, file.parent)
    file.write_text(json.dumps(metadata))
    return catalog.load_table(name)


def _history(last: dict[str, Any], snapshots: int, folder: Path) -> dict[str, Any]:
    """The parts of the metadata that say which snapshots there are; ids, numbers and times count up to the last."""
    listed, now = Path(last["manifest-list"].removeprefix("file://")), datetime.now(UTC)
    made = []
    for number in range(1, snapshots + 1):
        own = folder / f"snap-{number}-1.avro"
        shutil.copyfile(listed, own)
        at = now - _OLDEST + number * (_OLDEST - timedelta(days=10)) / snapshots
        more = {"parent-snapshot-id": number - 1} if number > 1 else {}
        kept = {key: value for key, value in last.items() if key != "parent-snapshot-id"}
        stamp = {"snapshot-id": number, "timestamp-ms": int(at.timestamp() * 1000), "manifest-list": f"file://{own}"}
        made.append(kept | stamp | more)
    newest = made[-1]
    return {
        "snapshots": made,
        "current-snapshot-id": snapshots,
        "refs": {"main": {"snapshot-id": snapshots, "type": "branch"}},
        "snapshot-log": [{"snapshot-id": snapshots, "timestamp-ms": newest["timestamp-ms"]}],
    }


def expired(root: Path, side: str, snapshots: int) -> dict[str, float]:
    """Seconds, the peak of this process in MiB, and the snapshots left, of one side."""
    profile = load_profile("local", root)
    profile.prepare()
    profile = profile.model_copy(update={"spark": {**profile.spark, "spark.driver.memory": HEAP}})
    table = neglected(profile, f"neglected.{side.replace(' ', '_').lower()}", snapshots)
    spec = TableSpec.model_validate({"table": list(table.name()), "dates": {"column": "ts", "start": DAY.isoformat()}})
    running = spark.session(profile)
    running.sql("SELECT 1").collect()
    started = time.monotonic()
    if side == SIDES[0]:
        expire_snapshots(lambda: running, profile, spec, [DAY], now=datetime.now(UTC))
    else:
        older = datetime.now(UTC) - timedelta(days=5)
        statement = call(profile.catalog.name, "expire_snapshots", table=quote(*spec.table), older_than=older)
        running.sql(statement).collect()
    seconds = time.monotonic() - started
    running.stop()
    left = len(profile.pyiceberg().load_table(spec.table).metadata.snapshots)
    return {
        "seconds": seconds,
        "process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "left": left,
    }


def main(arguments: Sequence[str]) -> int:
    """Print both sides; 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--snapshots", type=int, default=SNAPSHOTS)
    parser.add_argument("--side", choices=SIDES)
    parser.add_argument("--root", type=Path)
    given = parser.parse_args(arguments)
    if given.side:
        print(json.dumps(expired(given.root, given.side, given.snapshots)))
        return 0
    shown = Shown("", "seconds", "Python", "snapshots left")
    found = {}
    with tempfile.TemporaryDirectory(prefix="bench_expiry_") as folder:
        Path(folder, "pyproject.toml").touch()
        for side in SIDES:
            own = ["--side", side, "--root", folder, "--snapshots", str(given.snapshots)]
            command = [sys.executable, "-m", "benchmarks.bench_expiry", *own]
            ended = subprocess.run(command, check=False, capture_output=True, text=True)
            if ended.returncode:
                shown.add_row(side, "failed", "", ended.stderr.strip().splitlines()[-1][:60])
                continue
            one = found[side] = json.loads(ended.stdout.splitlines()[-1])
            left = f"{one['left']:.0f} of {given.snapshots}"
            shown.add_row(side, f"{one['seconds']:.1f}", f"{one['process']:.0f} MiB", left)
    Console(highlight=False, width=110).print(shown)
    return 0 if SIDES[0] in found and found[SIDES[0]]["left"] == 1 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

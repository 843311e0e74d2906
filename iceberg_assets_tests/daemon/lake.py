"""A small project: one table, its sensors, and raw files that one append makes due."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

import iceberg_assets
from iceberg_assets.spec import TableSpec, parse_table

PACKAGE = "lake"
TABLE = "lake.events"
FIRST = date(2024, 1, 1)
DATES = tuple(FIRST + timedelta(days=n) for n in range(10))
FILES = 5
ROWS = 20

_DEFINITIONS = """
from pathlib import Path

import dagster as dg


@dg.definitions
def defs():
    declared = dg.load_from_defs_folder(path_within_project=Path(__file__).parent)
    return dg.Definitions.merge(declared, dg.Definitions(executor=dg.in_process_executor))
"""

_PROJECT = f"""
[tool.dg]
directory_type = "project"

[tool.dg.project]
root_module = "{PACKAGE}"
code_location_name = "{PACKAGE}"
"""

_ATTRIBUTES = {
    "table": TABLE,
    "source": {"path": "raw/%Y-%m-%d/*.parquet"},
    "dates": {"column": "ts", "start": FIRST.isoformat(), "end": "2024-01-31"},
    "partition_by": [{"col": "ts", "type": "date", "func": "day"}],
    # Each task writes its own files: one append leaves of a date as many files as it had raw ones.
    "properties": {"write.distribution-mode": "none", "write.spark.fanout.enabled": "true"},
    "maintenance": {"quiet_for": "0s"},
}
_SENSORS = {"sensors": "stopped", "interval": "5s"}


def make_project(root: Path) -> None:
    """Write the project, and land its raw files: of each date as many as make it due."""
    files = {
        "pyproject.toml": _PROJECT,
        f"{PACKAGE}/__init__.py": "",
        f"{PACKAGE}/definitions.py": _DEFINITIONS,
        f"{PACKAGE}/defs/events/defs.yaml": _component("IcebergTable", _ATTRIBUTES),
        f"{PACKAGE}/defs/maintenance/defs.yaml": _component("IcebergMaintenance", _SENSORS),
        "profiles/local.yaml": _profile(),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for n, day in enumerate(DATES):
        for m in range(FILES):
            first = (n * FILES + m) * ROWS
            land(root / "raw" / day.isoformat() / f"{m}.parquet", day, range(first, first + ROWS))


def land(file: Path, day: date, ids: range) -> None:
    """One raw file, its rows a minute apart."""
    noon = datetime.combine(day, datetime.min.time(), UTC) + timedelta(hours=12)
    times = pa.array([noon + timedelta(minutes=n) for n in range(len(ids))], pa.timestamp("us", tz="UTC"))
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "ts": times}), file)


def spec() -> TableSpec:
    """The table's declaration."""
    return parse_table(_ATTRIBUTES, root=Path(), variables={}, where="test")


def _component(kind: str, attributes: Mapping[str, object]) -> str:
    return yaml.safe_dump({"type": f"iceberg_assets.{kind}", "attributes": attributes})


def _profile() -> str:
    """The embedded profile, with a task for each raw file."""
    settings = yaml.safe_load((Path(iceberg_assets.__file__).parent / "profiles" / "local.yaml").read_text())
    settings["spark"] = {"spark.sql.files.openCostInBytes": "128m"}
    return yaml.safe_dump(settings)

"""A catalog of the test's own, and records to put into its history. No JVM."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from iceberg_assets.history import Record, Who
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec import Status

DAY = date(2026, 1, 30)
NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
Make = Callable[..., Record]


@pytest.fixture
def lake(tmp_path: Path) -> Profile:
    (tmp_path / "pyproject.toml").touch()
    return load_profile("local", root=tmp_path)


@pytest.fixture
def make(lake: Profile) -> Make:
    """A compaction of one date, unless told otherwise."""
    who = Who.here(lake, "run-1")

    def record(**given: Any) -> Record:
        usual: dict[str, Any] = {
            "who": who,
            "at": NOW,
            "table": "demo.flights",
            "operation": "compacted",
            "dates": (DAY,),
            "status": Status.DONE,
            "reason": "24 files became 1",
            "productive": True,
            "seconds": 1.5,
            "predicted": {"iceberg/planned_data_files": 24.0},
            "actual": {"iceberg/saved_files": 23.0, "iceberg/saved_bytes": 4096.0},
            "details": {"iceberg/orphans": "a.parquet\nb.parquet"},
            "snapshot_before": 2**62,
            "snapshot_after": 2**62 + 1,
            "digests": ("abc",),
        }
        return Record(**usual | given)

    return record

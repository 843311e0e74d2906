"""The project's own tables leave nothing behind: they are what nobody else would look after. No JVM."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.table.name_mapping import MappedField, NameMapping

from iceberg_assets.profiles import Profile
from iceberg_assets.tables.state_table import create_state_table, forget_the_past, open_state_table

VERSION = ("iceberg-assets.test-version", "1")
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


@pytest.mark.parametrize("hours", [0, 2])
def test_files_of_the_past_go_once_nobody_can_be_reading_them(profile: Profile, namespace: str, hours: int) -> None:
    profile.prepare()
    names = NameMapping([MappedField(**{"field-id": 1, "names": ["id"]})])
    table = create_state_table(
        profile.pyiceberg(), (namespace, "t"), pyarrow_to_schema(ROWS.schema, name_mapping=names), VERSION
    )
    for _ in range(4):
        table.overwrite(ROWS)
    later = datetime.now(UTC) + timedelta(hours=hours)
    for _ in range(2):  # What one leaves, the next clears away.
        forget_the_past(table, later)
    found = open_state_table(profile.pyiceberg(), (namespace, "t"), VERSION)
    assert found is not None
    assert (len(found.metadata.snapshots), found.scan().to_arrow()) == (1, ROWS)
    stored = list(Path(found.location().removeprefix("file://")).rglob("*.parquet"))
    assert len(stored) == (1 if hours else 4)

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from demo.feed import DAYS, WAVES, flights, land

FIRST = datetime(2013, 1, 1, tzinfo=UTC)


def test_eight_waves_land_two_weeks_of_flights_once(tmp_path: Path) -> None:
    landed = [land(tmp_path, wave) for wave in range(WAVES)]

    rows = sum(pq.read_metadata(file).num_rows for file in tmp_path.rglob("*.parquet"))
    hours = pc.field("time_hour")
    assert rows == flights().filter((hours >= FIRST) & (hours < FIRST + timedelta(days=DAYS))).num_rows
    assert all(len(dates) == DAYS for dates in landed), "each wave touches every date"


def test_a_file_is_of_the_utc_hour_in_its_name(tmp_path: Path) -> None:
    (file,) = land(tmp_path, 5, days=1)[date(2013, 1, 1)][:1]

    assert file == tmp_path / "flights" / "2013-01-01" / "flights-13.parquet"
    assert set(pq.read_table(file)["time_hour"].to_pylist()) == {datetime(2013, 1, 1, 13, tzinfo=UTC)}


def test_a_landed_file_never_changes(tmp_path: Path) -> None:
    land(tmp_path, 0)
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*.parquet")}

    assert land(tmp_path, 0) == {}
    assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()} == before


def test_columns_are_typed_and_na_is_null() -> None:
    schema = flights().schema
    assert schema.field("time_hour").type == pa.timestamp("us", tz="UTC")
    assert {schema.field(name).type for name in ("carrier", "tailnum", "origin", "dest")} == {pa.string()}
    assert {field.type for field in schema} == {pa.string(), pa.int32(), pa.timestamp("us", tz="UTC")}
    assert flights()["dep_time"].null_count == 8255, "the flights that were cancelled"

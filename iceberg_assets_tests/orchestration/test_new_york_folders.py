"""Raw folders by New York's dates, a table by UTC's: what left in the evening is of the next date."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from demo.feed import flights
from iceberg_assets_tests.orchestration.test_main_job import COMPACTION, launch

pytestmark = pytest.mark.usefixtures("spark")

FOLDER, NEXT = date(2013, 1, 1), date(2013, 1, 2)
WAVES = 5


def test_rows_of_the_evening_are_shown_on_the_date_they_fall_on_and_compacted_there(locate):
    location = locate(
        dates={"column": "time_hour", "start": FOLDER.isoformat(), "end": "2013-01-31"},
        partition_by=[{"col": "time_hour", "type": "date", "func": "day"}],
    )
    midnight = datetime.combine(FOLDER, datetime.min.time(), ZoneInfo("America/New_York"))
    left = pc.field("time_hour")
    of_the_day = flights().filter((left >= midnight) & (left < midnight + timedelta(days=1)))
    evening = of_the_day.filter(left >= datetime.combine(NEXT, datetime.min.time(), UTC)).num_rows
    assert 0 < evening < of_the_day.num_rows

    for wave in range(WAVES):
        some = of_the_day.take(list(range(wave, of_the_day.num_rows, WAVES)))
        (location.raw / FOLDER.isoformat()).mkdir(parents=True, exist_ok=True)
        pq.write_table(some, location.raw / FOLDER.isoformat() / f"wave{wave}.parquet")
        location.run(FOLDER, FOLDER)

    assert location.materialized() == {FOLDER.isoformat()}
    for day, rows in ((FOLDER, of_the_day.num_rows - evening), (NEXT, evening)):
        shown = location.shown(day)
        assert (shown["dagster/partition_row_count"], shown["iceberg/data_files"]) == (rows, WAVES)
    assert "late rows were appended with another date's files" in location.shown(NEXT)["iceberg/reason"]

    (request,) = location.tick(COMPACTION).run_requests or []
    assert request.tags["dagster/asset_partition_range_start"] == FOLDER.isoformat()
    assert request.tags["dagster/asset_partition_range_end"] == NEXT.isoformat(), "it is due though no folder is of it"
    assert launch(location, request).success
    shown = location.shown(NEXT, "compacted")
    assert (shown["dagster/partition_row_count"], shown["iceberg/data_files"]) == (evening, 1)
    assert shown["dagster/row_count"] == of_the_day.num_rows

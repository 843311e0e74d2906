"""A table of its own for each test, declared as its YAML would, and an instance to run it on."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_assets.orchestration import MaintenanceAttributes, TableAsset, maintenance_definitions, table_definitions
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import parse_table

FIRST = date(2024, 1, 1)


@dataclass
class Location:
    """A code location with one table, and what a person or the daemon would do with it."""

    table: TableAsset
    raw: Path
    instance: dg.DagsterInstance
    definitions: dg.Definitions

    def land(self, day: date, name: str, rows: int = 3, of: date | None = None) -> Path:
        """Put one raw file under a date; its rows fall on that date, or on another."""
        folder = self.raw / day.isoformat()
        folder.mkdir(parents=True, exist_ok=True)
        noon = datetime.combine(of or day, datetime.min.time(), UTC) + timedelta(hours=12)
        times = pa.array([noon + timedelta(seconds=n) for n in range(rows)], pa.timestamp("us", tz="UTC"))
        pq.write_table(pa.table({"id": pa.array(range(rows), pa.int64()), "ts": times}), folder / f"{name}.parquet")
        return folder / f"{name}.parquet"

    def run(
        self, first: date, last: date, *assets: str, config: Any = None, fails: bool = False
    ) -> dg.ExecuteInProcessResult:
        """Materialize the table's own asset, or those below it, for a range of dates in one run."""
        keys = [dg.AssetKey([*self.table.key.path, name]) for name in assets] or [self.table.key]
        tags = {
            "dagster/asset_partition_range_start": first.isoformat(),
            "dagster/asset_partition_range_end": last.isoformat(),
        }
        result = self.definitions.resolve_job_def(self.table.job.name).execute_in_process(
            instance=self.instance, asset_selection=keys, tags=tags, run_config=config, raise_on_error=False
        )
        assert result.success is not fails
        return result

    def tick(self, sensor: str, cursor: str | None = None) -> dg.SensorResult:
        """One evaluation of a sensor, its events recorded as the daemon would."""
        result = self.evaluate(sensor, cursor)
        for event in result.asset_events:
            self.instance.report_runless_asset_event(event)
        return result

    def evaluate(self, sensor: str, cursor: str | None) -> dg.SensorResult:
        """One evaluation of a sensor, of which the daemon stores nothing."""
        repository = self.definitions.get_repository_def()
        context = dg.build_sensor_context(instance=self.instance, cursor=cursor, repository_def=repository)
        return repository.get_sensor_def(sensor).evaluate_tick(context)

    def shown(self, day: date, *below: str) -> dict[str, Any]:
        """The metadata of the latest materialization or observation of a date."""
        key = dg.AssetKey([*self.table.key.path, *below])
        wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[day.isoformat()])
        records = [
            *self.instance.fetch_materializations(wanted, limit=1).records,
            *self.instance.fetch_observations(wanted, limit=1).records,
        ]
        newest = max(records, key=lambda record: record.storage_id)
        event = newest.asset_materialization or newest.asset_observation
        assert event is not None
        return {name: value.value for name, value in event.metadata.items()}

    def check(self, name: str) -> bool:
        """Whether the check of the table passed when it was evaluated last."""
        key = dg.AssetCheckKey(self.table.key, name)
        record = self.instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
        assert record.event is not None
        return bool(record.event.dagster_event.asset_check_evaluation_data.passed)

    def materialized(self, *below: str) -> set[str]:
        """The dates that are green."""
        return set(self.instance.get_materialized_partitions(dg.AssetKey([*self.table.key.path, *below])))


Locate = Callable[..., Location]


@pytest.fixture
def locate(profile: Profile, project: Path, namespace: str) -> Iterator[Locate]:
    """Make a location of a table's declaration."""
    instances = []

    def make(under: Profile = profile, **declared: Any) -> Location:
        attributes: dict[str, Any] = {
            "table": f"{namespace}.events",
            "source": {"path": f"raw_{namespace}/%Y-%m-%d/*.parquet"},
            "dates": {"column": "ts", "start": FIRST.isoformat(), "end": "2024-01-31"},
            "partition_by": [{"col": "ts", "type": "date", "func": "day"}],
            "maintenance": {"quiet_for": "0s"},
        } | declared
        spec = parse_table(attributes, root=project, variables={}, where="test")
        table = TableAsset(spec, under, project)
        definitions = dg.Definitions.merge(
            table_definitions(table), maintenance_definitions([table], MaintenanceAttributes())
        )
        instance = dg.DagsterInstance.local_temp()
        instances.append(instance)
        return Location(table, project / f"raw_{namespace}", instance, definitions)

    yield make
    for instance in instances:
        instance.dispose()


def days(n: int) -> Sequence[date]:
    """The first n dates."""
    return [FIRST + timedelta(days=k) for k in range(n)]

"""A project on a running catalog: its tables declared, landed for, materialized, ticked and looked at."""

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
from dagster._core.execution.plan.objects import StepFailureData

from iceberg_assets.maintenance import Asked
from iceberg_assets.orchestration import MaintenanceAttributes, TableAsset, maintenance_definitions, table_definitions
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spark import quote, session
from iceberg_assets.spec import Operation, TableSpec, parse_table
from iceberg_assets_tests.declare import declare
from iceberg_assets_tests.services.catalogs import PROFILE, Running
from iceberg_assets_tests.services.seaweedfs import RAW

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

D1, D2 = date(2024, 1, 1), date(2024, 1, 2)


class World:
    """One catalog, one project, one Spark session, one Dagster instance.

    Attributes:
        said: whatever was said to people or programs, to be looked through for secrets.
    """

    def __init__(self, running: Running) -> None:
        self.running, self.root = running, running.root
        # In memory: on a disk each of its events is synchronized three times, which took longer than the appends.
        self.instance = dg.DagsterInstance.ephemeral()
        self.said: list[str] = []

    @cached_property
    def profile(self) -> Profile:
        """The catalog's profile."""
        return load_profile(PROFILE, self.root)

    @property
    def spark(self) -> "SparkSession":
        """The session, begun by whoever needs it first."""
        return session(self.profile)

    def table(self, name: str | list[str], scheme: str | None = None, **changes: Any) -> "Declared":
        """A table whose raw files land below one of the places; it is declared to the command line as well."""
        place = self.running.raw[scheme or next(iter(self.running.raw))]
        folder = f"{len(list(self.root.glob('defs/*')))}"
        attributes: Mapping[str, Any] = {
            "table": name,
            "profile": PROFILE,
            "source": {"path": f"{place}/{folder}/%Y-%m-%d/*.parquet", "new_columns": "evolve"},
            "dates": {"column": "ts", "start": D1.isoformat(), "end": "2024-01-31"},
            "partition_by": [{"col": "ts", "type": "date", "func": "day"}],
            "maintenance": {
                "quiet_for": "0s",
                # Two appends make work for a compaction: each costs a Spark job.
                "compact": {"options": {"min-input-files": 2}},
                "manifests": {"min_count": 2},
                "expire": {"older_than": "0s", "retain_last": 1, "minimum_age": "0s"},
            },
            **changes,
        }
        declare(self.root, folder, attributes)
        spec = parse_table(attributes, root=self.root, variables={}, where="test")
        return Declared(self, TableAsset(spec, self.profile, self.root), folder)

    def close(self) -> None:
        """End what was begun."""
        from pyspark.sql import SparkSession

        if running := SparkSession.getActiveSession():
            running.stop()
        self.instance.dispose()


def _in_words(failure: StepFailureData) -> str:
    """What a person reads first in the UI: the step's own description, else its error."""
    if failure.user_failure_data and failure.user_failure_data.description:
        return failure.user_failure_data.description
    error = failure.error and (failure.error.cause or failure.error)
    return error.message.strip() if error else "failed"


@dataclass(frozen=True)
class Declared:
    """One table of the world.

    Attributes:
        folder: below the raw places, where its files land.
    """

    world: World
    asset: TableAsset
    folder: str

    @property
    def spec(self) -> TableSpec:
        """Its declaration."""
        return self.asset.spec

    @cached_property
    def definitions(self) -> dg.Definitions:
        """The code location that it is in."""
        sensors = maintenance_definitions([self.asset], MaintenanceAttributes())
        return dg.Definitions.merge(table_definitions(self.asset), sensors)

    # What people and the daemon do

    def land(self, day: date, name: str, ids: Iterable[int], **columns: Any) -> None:
        """A raw file of a row an id, under the date."""
        ids = list(ids)
        moment = datetime.combine(day, datetime.min.time(), UTC) + timedelta(hours=9)
        times = pa.array([moment] * len(ids), pa.timestamp("us", tz="UTC"))
        self.land_table(day, name, pa.table({"id": pa.array(ids, pa.int64()), "ts": times, **columns}))

    def land_table(self, day: date, name: str, rows: pa.Table) -> None:
        """A raw file of these rows."""
        key, written = f"{self.folder}/{day}/{name}.parquet", io.BytesIO()
        pq.write_table(rows, written)
        if self.world.running.store:
            self.world.running.store.client().put_object(Bucket=RAW, Key=key, Body=written.getvalue())
        else:
            path = Path(self.world.running.raw["file"], key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(written.getvalue())

    def run(self, *days: date, assets: Iterable[str] = (), config: Any = None) -> str | None:
        """Materialize the table's own asset, or those below it; what went wrong, None where nothing did."""
        keys = [dg.AssetKey([*self.asset.key.path, name]) for name in assets] or [self.asset.key]
        tags = {
            "dagster/asset_partition_range_start": days[0].isoformat(),
            "dagster/asset_partition_range_end": days[-1].isoformat(),
        }
        result = self.definitions.resolve_job_def(self.asset.job.name).execute_in_process(
            instance=self.world.instance, asset_selection=keys, tags=tags, run_config=config, raise_on_error=False
        )
        events = result.all_events
        self.world.said += [f"{event.message} {event.event_specific_data}" for event in events]
        if result.success:
            return None
        failed = [event.step_failure_data for event in events if event.is_step_failure]
        return "; ".join(_in_words(one) for one in failed) or "the run failed"

    def materialize(self, *days: date, assets: Iterable[str] = (), config: Any = None) -> None:
        """:meth:`run`, which has to succeed."""
        wrong = self.run(*days, assets=assets, config=config)
        assert wrong is None, wrong

    def tick(self) -> list[str]:
        """The operations that both sensors ask for."""
        repository = self.definitions.get_repository_def()
        asked = []
        for sensor in repository.sensor_defs:
            context = dg.build_sensor_context(instance=self.world.instance, repository_def=repository)
            result = sensor.evaluate_tick(context)
            self.world.said.append(f"{result.skip_message} {result.asset_events}")
            asked += [key.path[-1] for one in result.run_requests or () for key in one.asset_selection or ()]
        return asked

    def asked(self, *days: date, now: datetime | None = None) -> Asked:
        """What an operation is asked for beyond the policy: nothing."""
        return Asked(days or (D1,), now or datetime.now(UTC), {})

    # What is there

    @property
    def sql(self) -> str:
        """Its full name in Spark's SQL."""
        return quote(self.world.profile.catalog.name, *self.spec.table)

    def by_pyiceberg(self) -> list[int]:
        """Every id, sorted, as often as it is there."""
        table = self.world.profile.pyiceberg().load_table(self.spec.table)
        found: list[int] = table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist()
        return sorted(found)

    def by_spark(self) -> list[int]:
        """The same by the other engine."""
        return sorted(row[0] for row in self.world.spark.sql(f"SELECT id FROM {self.sql}").collect())

    def shown(self, day: date, operation: Operation | None = None) -> dict[str, Any]:
        """The metadata of the latest materialization of a date."""
        key = self.asset.key_of(operation) if operation else self.asset.key
        wanted = dg.AssetRecordsFilter(asset_key=key, asset_partitions=[day.isoformat()])
        event = self.world.instance.fetch_materializations(wanted, limit=1).records[0].asset_materialization
        assert event is not None
        return {name: value.value for name, value in event.metadata.items()}

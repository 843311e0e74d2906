"""One declared table as Dagster knows it: its keys, partitions, pools and job."""

import re
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from iceberg_assets.orchestration.resources import resource_key
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Operation, TableSpec
from iceberg_assets.spec.names import slug

# Dagster makes the names of ops, inputs and checks of the keys, and refuses what is not such a name.
_AN_OPS_NAME = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True)
class TableAsset:
    """A table's declaration bound to its profile.

    Attributes:
        root: the project's folder, which profiles are read from.
        several_profiles: whether tables of this location live in more than one profile; then keys begin with it.
        landing_places: the folders in which raw files of the location's tables land; never orphans of this one.
        profiles: names of those of the location's tables; what their catalogs have is no orphan of this one either.
    """

    spec: TableSpec
    profile: Profile
    root: Path
    several_profiles: bool = False
    landing_places: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()

    @cached_property
    def key(self) -> dg.AssetKey:
        """``[<profile>/]<namespace…>/<table>``; of a part that Dagster can name no op by, its slug."""
        path = [*([self.profile.name] if self.several_profiles else []), *self.spec.table]
        return dg.AssetKey([part if _AN_OPS_NAME.fullmatch(part) else slug(part) for part in path])

    def key_of(self, operation: Operation) -> dg.AssetKey:
        """The asset of a maintenance operation, below the table's."""
        return dg.AssetKey([*self.key.path, operation.value])

    @cached_property
    def keys(self) -> frozenset[dg.AssetKey]:
        """The table's own asset and those below it."""
        return frozenset({self.key, *(self.key_of(operation) for operation in Operation)})

    @property
    def slug(self) -> str:
        """The table's name where Dagster allows letters, digits and underscores only."""
        return slug(*self.key.path)

    @property
    def resource_key(self) -> str:
        """The resource that gives the profile's Spark session."""
        return resource_key(self.profile)

    @property
    def append_pool(self) -> str:
        """Appends of one table wait for each other; the ledger is what keeps them correct."""
        return f"iceberg_append__{self.slug}"

    @property
    def maintenance_pool(self) -> str:
        """Rewrites of one table conflict with each other, so they wait."""
        return f"iceberg_maintenance__{self.slug}"

    @cached_property
    def partitions(self) -> dg.DailyPartitionsDefinition:
        """The dates of the table; the newest is today, or the ``end`` where that has come."""
        dates = self.spec.dates
        # Dagster's end is exclusive, and by itself the current day is no partition yet.
        return dg.DailyPartitionsDefinition(
            start_date=dates.start.isoformat(),
            end_date=(dates.end + timedelta(days=1)).isoformat() if dates.end else None,
            timezone=dates.timezone,
            end_offset=1,
        )

    @cached_property
    def job(self) -> UnresolvedAssetJobDefinition:
        """Everything about the table in one process, so that a run has one Spark session."""
        appended = [self.key] if self.spec.source else []
        return dg.define_asset_job(
            f"iceberg__{self.slug}",
            selection=dg.AssetSelection.assets(*appended, *(self.key_of(operation) for operation in Operation)),
            executor_def=dg.in_process_executor,
            description=f"Append to and maintain {self.spec.name}.",
        )

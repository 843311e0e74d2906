"""The components: a table is one YAML, the sensors of a location are another, the job of a catalog a third."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

import dagster as dg
from pydantic import Field, model_validator

from iceberg_assets.orchestration.assets import append_asset, external_asset, maintenance_asset
from iceberg_assets.orchestration.catalog_job import CatalogJobAttributes, catalog_job, catalog_job_definitions
from iceberg_assets.orchestration.checks import health_checks
from iceberg_assets.orchestration.failures import failure_sensor
from iceberg_assets.orchestration.resources import iceberg_spark
from iceberg_assets.orchestration.sensors import maintenance_sensors
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.profiles import load_profile, profile_name
from iceberg_assets.spec import Operation, TableSpec
from iceberg_assets.spec.declaration import anchored, check_declared_once, fill_in
from iceberg_assets.spec.model import SpecModel
from iceberg_assets.spec.units import Age
from iceberg_assets.tables import check_places


class TableAttributes(TableSpec):
    """A table's YAML; ``{{ env.NAME }}`` in it is filled in before it is checked."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, data: Any) -> Any:
        return fill_in(data, os.environ) if isinstance(data, Mapping) else data


class MaintenanceAttributes(SpecModel):
    """The sensors' YAML.

    Attributes:
        sensors: whether they run without being switched on in the UI.
        interval: least time between two ticks.
    """

    sensors: Literal["running", "stopped"] = "stopped"
    interval: Age = Field(default=timedelta(seconds=60))


@dataclass(frozen=True, eq=False)
class IcebergTable(dg.Component):
    """An Iceberg table: the append of its raw Parquet, its maintenance, its checks.

    Attributes:
        root: the project's folder.
        declared_in: the file or folder of the declaration, for messages.
    """

    spec: TableSpec
    root: Path
    declared_in: str = "Python"

    @classmethod
    def get_model_cls(cls) -> type[TableAttributes]:
        """What the YAML may hold."""
        return TableAttributes

    @classmethod
    def load(cls, attributes: Any, context: dg.ComponentLoadContext) -> Self:
        """The component of a checked YAML."""
        file = context.path / "defs.yaml"
        declared_in = str(file if file.is_file() else context.path)
        return cls(anchored(attributes, context.project_root), context.project_root, declared_in)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The table's assets, checks, job and Spark session."""
        return table_definitions(_bound(self, *_location(context)))


@dataclass(frozen=True, eq=False)
class IcebergMaintenance(dg.Component):
    """The two sensors of a location: one asks for compaction, one for the rest, over all its tables."""

    attributes: MaintenanceAttributes

    @classmethod
    def get_model_cls(cls) -> type[MaintenanceAttributes]:
        """What the YAML may hold."""
        return MaintenanceAttributes

    @classmethod
    def load(cls, attributes: Any, context: dg.ComponentLoadContext) -> Self:  # noqa: ARG003 (Dagster's signature)
        """The component of a checked YAML."""
        return cls(attributes or MaintenanceAttributes())

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The sensors over every table that the location declares."""
        location = _location(context)
        tables = [_bound(component, *location) for component in _tables(context)]
        return maintenance_definitions(tables, self.attributes)


@dataclass(frozen=True, eq=False)
class IcebergCatalogJob(dg.Component):
    """The whole-catalog job: tables that nobody declared, maintained by one file of settings.

    Attributes:
        root: the project's folder.
    """

    attributes: CatalogJobAttributes
    root: Path

    @classmethod
    def get_model_cls(cls) -> type[CatalogJobAttributes]:
        """What the YAML may hold."""
        return CatalogJobAttributes

    @classmethod
    def load(cls, attributes: Any, context: dg.ComponentLoadContext) -> Self:
        """The component of a checked YAML."""
        return cls(attributes, context.project_root)

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The job, with its schedule where it has one."""
        return catalog_job_definitions(catalog_job(self.attributes, self.root, *_location(context)))


def table_definitions(table: TableAsset) -> dg.Definitions:
    """The definitions of one table, also for locations that are not made of components.

    Raises:
        ConfigurationError: the raw files and the table would lie inside each other.
    """
    check_places(table.profile, table.spec)
    appended = append_asset(table) if table.spec.source else external_asset(table)
    return dg.Definitions(
        assets=[appended, *(maintenance_asset(table, operation) for operation in Operation)],
        asset_checks=[health_checks(table)],
        resources={table.resource_key: iceberg_spark(table.profile.name, table.root)},
    )


def maintenance_definitions(tables: Sequence[TableAsset], attributes: MaintenanceAttributes) -> dg.Definitions:
    """The sensors over these tables, also for locations that are not made of components.

    Beside the two of maintenance, one that tells of failures where a profile says whom.
    """
    status = dg.DefaultSensorStatus[attributes.sensors.upper()]
    failures = failure_sensor(tables, status)
    return dg.Definitions(
        # Here, not beside each table: Dagster notes the component on every job, and would take the tables' and the
        # sensors' for two of one name.
        jobs=[table.job for table in tables],
        sensors=[
            *maintenance_sensors(tables, interval=attributes.interval, status=status),
            *([failures] if failures else []),
        ],
    )


def _tables(context: dg.ComponentLoadContext) -> list[IcebergTable]:
    return context.component_tree.get_all_components(of_type=IcebergTable)


def _location(context: dg.ComponentLoadContext) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of all tables together: the names of their profiles, and where their raw files land.

    Raises:
        ConfigurationError: two declarations are of one table.
    """
    tables = _tables(context)
    check_declared_once((one.declared_in, profile_name(one.spec.profile), one.spec) for one in tables)
    profiles = {load_profile(one.spec.profile, one.root).name for one in tables}
    return tuple(sorted(profiles)), tuple(sorted({one.spec.source.root for one in tables if one.spec.source}))


@cache
def _bound(component: IcebergTable, profiles: tuple[str, ...], landing_places: tuple[str, ...]) -> TableAsset:
    """The same object each time, so that both components speak of one job."""
    profile = load_profile(component.spec.profile, component.root)
    return TableAsset(component.spec, profile, component.root, len(profiles) > 1, landing_places, profiles)

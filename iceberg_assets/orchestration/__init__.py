"""Dagster: components, assets, sensors, checks and resources. The only package, with definitions, that imports it."""

from iceberg_assets.orchestration.components import (
    IcebergMaintenance,
    IcebergTable,
    MaintenanceAttributes,
    maintenance_definitions,
    table_definitions,
)
from iceberg_assets.orchestration.table_asset import TableAsset

__all__ = [
    "IcebergMaintenance",
    "IcebergTable",
    "MaintenanceAttributes",
    "TableAsset",
    "maintenance_definitions",
    "table_definitions",
]

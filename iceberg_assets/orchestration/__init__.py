"""Dagster: components, assets, sensors, checks and resources. The only package, with definitions, that imports it."""

from iceberg_assets.orchestration.catalog_job import CatalogJobAttributes, catalog_job, catalog_job_definitions
from iceberg_assets.orchestration.components import (
    IcebergCatalogJob,
    IcebergMaintenance,
    IcebergTable,
    MaintenanceAttributes,
    maintenance_definitions,
    table_definitions,
)
from iceberg_assets.orchestration.table_asset import TableAsset

__all__ = [
    "CatalogJobAttributes",
    "IcebergCatalogJob",
    "IcebergMaintenance",
    "IcebergTable",
    "MaintenanceAttributes",
    "TableAsset",
    "catalog_job",
    "catalog_job_definitions",
    "maintenance_definitions",
    "table_definitions",
]

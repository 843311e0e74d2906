"""Apache Iceberg tables as Dagster assets: appended exactly once, maintained by sensors, honest about both.

``iceberg_assets.spark()`` gives a person the Spark session of a profile.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from iceberg_assets.orchestration import IcebergCatalogJob, IcebergMaintenance, IcebergTable

    def spark(profile: str | None = None) -> SparkSession:
        """See :mod:`iceberg_assets.spark`."""


__all__ = ["IcebergCatalogJob", "IcebergMaintenance", "IcebergTable", "spark"]


def __getattr__(name: str) -> Any:
    # At first use: the components bring dagster with them, which the command line does not need.
    if name == "spark":
        return import_module("iceberg_assets.spark")
    if name in ("IcebergCatalogJob", "IcebergMaintenance", "IcebergTable"):
        return getattr(import_module("iceberg_assets.orchestration"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

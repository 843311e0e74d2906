"""Apache Iceberg tables as Dagster assets: appended exactly once, maintained by sensors, honest about both."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from iceberg_assets.orchestration import IcebergMaintenance, IcebergTable

__all__ = ["IcebergMaintenance", "IcebergTable", "session"]


def session(profile: str | None = None) -> "SparkSession":
    """A ready Spark session on a profile's catalog: the named one, else that of ``PROFILE``, else ``local``."""
    from iceberg_assets import spark
    from iceberg_assets.profiles import load_profile

    return spark.session(load_profile(profile))


def __getattr__(name: str) -> Any:
    # The components bring dagster with them, which the command line does not need.
    if name in ("IcebergMaintenance", "IcebergTable"):
        return getattr(import_module("iceberg_assets.orchestration"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

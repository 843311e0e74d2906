"""The Spark session of a profile as a Dagster resource."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spark import session
from iceberg_assets.spec.names import slug

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class IcebergSpark(dg.ConfigurableResource):  # type: ignore[type-arg]
    """A profile's Spark session, started at first use, so that the code server never has a JVM.

    Attributes:
        profile: the profile's name.
        root: the project's folder, which the profile is read from.
    """

    profile: str
    root: str

    @property
    def session(self) -> "SparkSession":
        """The session of this process; one for all steps of a run.

        Raises:
            ConfigurationError: the machine lacks what Spark needs.
        """
        return session(load_profile(self.profile, Path(self.root)), _build)


def _build(settings: dict[str, str]) -> "SparkSession":
    # Imported late: dagster-pyspark brings pyspark with it.
    from dagster_pyspark import LazyPySparkResource

    built: SparkSession = LazyPySparkResource(spark_config=dict(settings)).spark_session
    return built


def resource_key(profile: Profile) -> str:
    """The resource that gives a profile's Spark session."""
    return f"iceberg_assets__{slug(profile.name)}"


@cache
def iceberg_spark(profile: str, root: Path) -> IcebergSpark:
    """The resource of a profile; the same object each time, since ``Definitions.merge`` compares by identity."""
    return IcebergSpark(profile=profile, root=str(root))

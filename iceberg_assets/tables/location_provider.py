"""A location provider of the table's own: asked for before the table is made, since Iceberg asks at the first write."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from iceberg_assets.errors import ConfigurationError, in_brief
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import literal
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.flat_location import IMPLEMENTATION, PROVIDER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def provider_notes(profile: Profile, spec: TableSpec, properties: Mapping[str, str]) -> tuple[str, ...]:
    """What a flat location means for others who write the table.

    Args:
        properties: of the table, or those that it is about to get.
    """
    if profile.catalog.type != "glue" or properties.get(IMPLEMENTATION) != PROVIDER:
        return ()
    return (
        f"{spec.name} has a flat location, which Glue's own optimizers do not know: leave them off, or what they "
        "compact goes where Iceberg's default puts it",
    )


def require_provider(spark: "SparkSession", spec: TableSpec) -> None:
    """Refuse a declared ``write.location-provider.impl`` that Spark's executors do not find.

    They are who writes. That a range of one row is read keeps Spark from answering on the driver.

    Raises:
        ConfigurationError: names the class, and where its jar belongs.
    """
    if (name := spec.properties.get(IMPLEMENTATION)) is None:
        return
    find = f"reflect('org.apache.spark.util.Utils', 'classForName', {literal(name)}, true, false)"
    try:
        spark.range(1).selectExpr(find).collect()
    except Exception as error:
        if "ClassNotFoundException" not in str(error):
            raise
        way_out = (
            "this package brings it for the sessions that it makes; on a server of yours, add iceberg_assets/jvm/"
            "flat-location-provider.jar to its spark.jars"
            if name == PROVIDER
            else "add its jar to the profile's jars, or leave the property out"
        )
        raise ConfigurationError(
            f"{spec.name}: properties.{IMPLEMENTATION}: Spark's executors have no class {name}, and the table could "
            f"not be written to: {way_out} ({in_brief(error)})"
        ) from error

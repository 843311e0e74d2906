"""Iceberg's own library in the driver's JVM, for what its Spark procedures make a dozen jobs of.

On a table of some dozen files a CALL of ``expire_snapshots`` or ``remove_orphan_files`` costs one or two seconds of a
core, and what it calls itself some hundredths of one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from iceberg_assets.health.expiry import EPOCH
from iceberg_assets.maintenance.engine import EngineError
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.target import sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No path has it, so that all paths of a manifest cross to Python in one call.
_BETWEEN = "\0"


def expire(spark: "SparkSession", profile: Profile, spec: TableSpec, older_than: datetime, retain_last: int) -> None:
    """Expire snapshots and delete the files that only they reach (``org.apache.iceberg.ExpireSnapshots``).

    Manifests are read one by one, and the paths of all files that are looked at are held by the driver.

    Args:
        older_than, retain_last: as of the procedure.

    Raises:
        EngineError: Iceberg refused.
    """
    with _told():
        change = _load(spark, profile, spec).expireSnapshots()
        milliseconds = int((older_than - EPOCH).total_seconds() * 1000)
        change.expireOlderThan(milliseconds).retainLast(retain_last).commit()


def reachable(spark: "SparkSession", profile: Profile, spec: TableSpec) -> Iterator[str]:
    """Every path that the table's metadata refers to, as Iceberg reads it; one may come more than once.

    Raises:
        EngineError: something of the metadata cannot be read.
    """
    with _told():
        table, iceberg = _load(spark, profile, spec), spark._jvm.org.apache.iceberg  # type: ignore[union-attr]
        util, io, specs, read = iceberg.ReachableFileUtil, table.io(), table.specs(), set[str]()
        yield from util.metadataFileLocations(table, False)
        yield from util.manifestListLocations(table)
        yield from util.statisticsFilesLocations(table)
        yield util.versionHintLocation(table)
        for snapshot in table.snapshots():
            for manifest in snapshot.allManifests(io):
                if (path := manifest.path()) not in read:
                    read.add(path)
                    yield path
                    yield from _paths(spark, iceberg.ManifestFiles.readPaths(manifest, io, specs))


def _paths(spark: "SparkSession", listed: Any) -> list[str]:
    try:
        joined = spark._jvm.java.lang.String.join(_BETWEEN, listed)  # type: ignore[union-attr]
    finally:
        listed.close()
    return joined.split(_BETWEEN) if joined else []


def _load(spark: "SparkSession", profile: Profile, spec: TableSpec) -> Any:
    """The table as Spark's catalog gives it to a procedure."""
    util: Any = spark._jvm.org.apache.iceberg.spark.Spark3Util  # type: ignore[union-attr]
    return util.loadIcebergTable(spark._jsparkSession, sql_name(profile, spec))


@contextmanager
def _told() -> Iterator[None]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise EngineError(str(error)) from error

"""Iceberg's own library in the driver's JVM, for what its Spark procedures make a dozen jobs of.

On a table of some dozen files a CALL of ``expire_snapshots`` or ``remove_orphan_files`` costs one or two seconds of a
core, and what it calls itself some hundredths of one.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from iceberg_assets.health.expiry import EPOCH
from iceberg_assets.maintenance.engine import execute, told
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.target import sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No path has it.
_BETWEEN = "\0"


def at_hand() -> bool:
    """Whether the driver's JVM is this process's: that of a session by Spark Connect is the server's."""
    from pyspark.sql import is_remote

    return not is_remote()


def expire(
    spark: "SparkSession", profile: Profile, spec: TableSpec, older_than: datetime, retain_last: int, oldest: int
) -> None:
    """Expire snapshots and delete the files that only they reach (``org.apache.iceberg.ExpireSnapshots``).

    Manifests are read one by one, and the paths of all files that are looked at are held by the driver.

    Args:
        older_than, retain_last: as of the procedure.
        oldest: the id of a snapshot that goes by them.

    Raises:
        EngineError: Iceberg refused.
    """
    with told():
        change = _load(spark, profile, spec).expireSnapshots()
        milliseconds = int((older_than - EPOCH).total_seconds() * 1000)
        # Without an id Iceberg leaves the files that the oldest snapshot to stay has removed (IncrementalFileCleanup).
        change.expireSnapshotId(oldest).expireOlderThan(milliseconds).retainLast(retain_last).commit()


def reachable(spark: "SparkSession", profile: Profile, spec: TableSpec) -> Iterator[str]:
    """Every path that the table's metadata refers to, as Iceberg reads it; one may come more than once.

    Raises:
        EngineError: something of the metadata cannot be read.
    """
    with told():
        table, jvm = _load(spark, profile, spec), spark._jvm
        iceberg: Any = jvm.org.apache.iceberg  # type: ignore[union-attr]
        util, io, specs = iceberg.ReachableFileUtil, table.io(), table.specs()
        yield from _joined(spark, util.metadataFileLocations(table, False))
        yield from _joined(spark, util.manifestListLocations(table))
        yield from _joined(spark, util.statisticsFilesLocations(table))
        yield util.versionHintLocation(table)
        # Two manifests are equal there by their paths; most snapshots list the manifests of the one before.
        manifests: Any = jvm.java.util.HashSet()  # type: ignore[union-attr]
        for snapshot in table.snapshots():
            manifests.addAll(snapshot.allManifests(io))
        for manifest in manifests:
            yield manifest.path()
            listed = iceberg.ManifestFiles.readPaths(manifest, io, specs)
            try:
                yield from _joined(spark, listed)
            finally:
                listed.close()


_COLUMNS = {
    "metadata_log_entries": "file",
    "snapshots": "manifest_list",
    "all_manifests": "path",
    "all_files": "file_path",
}


def reachable_by_sql(spark: "SparkSession", profile: Profile, spec: TableSpec) -> Iterator[str]:
    """The same by Iceberg's metadata tables, which a session by Spark Connect reads too; without statistics files.

    Raises:
        EngineError: as of :func:`reachable`.
    """
    for name, column in _COLUMNS.items():
        for row in execute(spark, f"SELECT DISTINCT {column} FROM {sql_name(profile, spec, name)}"):  # noqa: S608
            yield row[0]


def _joined(spark: "SparkSession", paths: Any) -> list[str]:
    """Java's strings in one call: each call waits for Python's threads, and there may be a million paths."""
    joined: str = spark._jvm.java.lang.String.join(_BETWEEN, paths)  # type: ignore[union-attr]
    return joined.split(_BETWEEN) if joined else []


def _load(spark: "SparkSession", profile: Profile, spec: TableSpec) -> Any:
    """The table as Spark's catalog gives it to a procedure."""
    util: Any = spark._jvm.org.apache.iceberg.spark.Spark3Util  # type: ignore[union-attr]
    return util.loadIcebergTable(spark._jsparkSession, sql_name(profile, spec))

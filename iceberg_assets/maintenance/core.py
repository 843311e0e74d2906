"""Iceberg's own library in the driver's JVM, for what its Spark procedures make a dozen jobs of.

On a table of some dozen files a CALL of ``rewrite_manifests``, ``expire_snapshots`` or ``remove_orphan_files`` costs
one or two seconds of a core, and what it calls itself some hundredths of one.
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
# No snapshot has it: Iceberg's ids are above zero.
_NO_SNAPSHOT = 0


def at_hand() -> bool:
    """Whether the driver's JVM is this process's: that of a session by Spark Connect is the server's."""
    from pyspark.sql import is_remote

    return not is_remote()


def rewrite_manifests(spark: "SparkSession", profile: Profile, spec: TableSpec) -> None:
    """Write what all data manifests list into as few as their target size lets.

    Delete manifests stay as they are. One thread writes, in no order of partitions
    (``org.apache.iceberg.RewriteManifests``).

    Raises:
        EngineError: Iceberg refused.
    """
    with told():
        _load(spark, profile, spec).rewriteManifests().clusterBy(_always_the_same(spark)).commit()


def expire(spark: "SparkSession", profile: Profile, spec: TableSpec, older_than: datetime, retain_last: int) -> None:
    """Expire snapshots and delete the files that only they reach (``org.apache.iceberg.ExpireSnapshots``).

    Manifests are read one by one, and the paths of all files that are looked at are held by the driver. The table has
    to have a snapshot that stays.

    Args:
        older_than, retain_last: as of the procedure.

    Raises:
        EngineError: Iceberg refused.
    """
    with told():
        change = _load(spark, profile, spec).expireSnapshots()
        milliseconds = int((older_than - EPOCH).total_seconds() * 1000)
        # Without an id Iceberg leaves the files that the oldest snapshot to stay has removed (IncrementalFileCleanup).
        # With that of a snapshot it goes whatever keeps it by now: a branch that somebody has just made, for example.
        change.expireSnapshotId(_NO_SNAPSHOT).expireOlderThan(milliseconds).retainLast(retain_last).commit()


def reachable(spark: "SparkSession", profile: Profile, spec: TableSpec) -> Iterator[str]:
    """Every path that the table's metadata refers to, as Iceberg reads it; one may come more than once.

    Raises:
        EngineError: something of the metadata cannot be read.
    """
    with told():
        table, jvm = _load(spark, profile, spec), spark._jvm
        iceberg: Any = jvm.org.apache.iceberg  # type: ignore[union-attr]
        util, io, specs = iceberg.ReachableFileUtil, table.io(), table.specs()
        join, read_paths = jvm.java.lang.String.join, iceberg.ManifestFiles.readPaths  # type: ignore[union-attr]
        yield from _split(join(_BETWEEN, util.metadataFileLocations(table, False)))
        yield from _split(join(_BETWEEN, util.manifestListLocations(table)))
        yield from _split(join(_BETWEEN, util.statisticsFilesLocations(table)))
        yield util.versionHintLocation(table)
        # Two manifests are equal there by their paths; most snapshots list the manifests of the one before.
        manifests: Any = jvm.java.util.HashSet()  # type: ignore[union-attr]
        for snapshot in _each(table.snapshots()):
            manifests.addAll(snapshot.allManifests(io))
        for manifest in _each(manifests):
            yield manifest.path()
            listed = read_paths(manifest, io, specs)
            try:
                yield from _split(join(_BETWEEN, listed))
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


def _split(joined: str) -> list[str]:
    """Java's strings in one call: each call waits for Python's threads, and there may be a million paths."""
    return joined.split(_BETWEEN) if joined else []


def _each(iterable: Any) -> Iterator[Any]:
    """What Java's iterable has. Py4J's own loop ends by an exception of the JVM, which Spark takes apart at length."""
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _always_the_same(spark: "SparkSession") -> Any:
    """A ``java.util.function.Function`` that gives one value for all: a function of Python's would be called back."""
    gateway: Any = spark._sc._gateway
    lang: Any = gateway.jvm.java.lang
    function, anything = (lang.Class.forName(name) for name in ("java.util.function.Function", "java.lang.Object"))
    taken = gateway.new_array(lang.Class, 1)
    taken[0] = anything
    handles = lang.invoke.MethodHandles
    constant = handles.dropArguments(handles.constant(anything, ""), 0, taken)
    return lang.invoke.MethodHandleProxies.asInterfaceInstance(function, constant)


def _load(spark: "SparkSession", profile: Profile, spec: TableSpec) -> Any:
    """The table as Spark's catalog gives it to a procedure."""
    util: Any = spark._jvm.org.apache.iceberg.spark.Spark3Util  # type: ignore[union-attr]
    return util.loadIcebergTable(spark._jsparkSession, sql_name(profile, spec))

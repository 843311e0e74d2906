"""What a table refers to, by Spark's own metadata tables: a reader that shares nothing with the previews."""

from pathlib import Path
from typing import TYPE_CHECKING

from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def live_files(spark: "SparkSession", spec: TableSpec) -> dict[str, int]:
    """Path and bytes of the data and delete files of main, as Spark lists them."""
    return _paths(spark, spec, "entries", "data_file.file_path", "data_file.file_size_in_bytes", "WHERE status < 2")


def live_manifests(spark: "SparkSession", spec: TableSpec) -> dict[str, int]:
    """Path and bytes of the manifests of main, as Spark lists them."""
    return _paths(spark, spec, "manifests", "path", "length", "")


def _paths(spark: "SparkSession", spec: TableSpec, of: str, path: str, size: str, where: str) -> dict[str, int]:
    name = ".".join(f"`{part.replace('`', '``')}`" for part in ("local", *spec.table))
    return {row[0]: row[1] for row in spark.sql(f"SELECT {path}, {size} FROM {name}.{of} {where}").collect()}


def untouched(profile: Profile, spec: TableSpec) -> tuple[str, dict[str, bytes]]:
    """The metadata pointer, and every file below the table's location with its bytes."""
    table = profile.pyiceberg().load_table(spec.table)
    root = Path(table.location().removeprefix("file:"))
    return table.metadata_location, {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}

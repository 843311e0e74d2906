"""The Hadoop catalog of PyIceberg's side: folders, versions that nobody overwrites, and the same tables as Spark's."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)

from iceberg_assets.profiles import Profile
from iceberg_assets.profiles.hadoop import HadoopCatalog
from iceberg_assets.spark import quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})
TABLE = ("a", "b c", "t.1")


@pytest.fixture
def catalog(tmp_path: Path) -> HadoopCatalog:
    found = HadoopCatalog("folders", warehouse=f"file://{tmp_path}/wh")
    found.create_namespace("a")
    found.create_namespace(("a", "b c"))
    return found


def test_a_commit_is_the_next_version_and_one_that_is_there_is_never_overwritten(
    catalog: HadoopCatalog, tmp_path: Path
) -> None:
    table = catalog.create_table(TABLE, ROWS.schema)
    table.append(ROWS)
    # What another writer, such as Spark, has put there meanwhile.
    third = tmp_path / "wh" / "a" / "b c" / "t.1" / "metadata" / "v3.metadata.json"
    second = third.with_name("v2.metadata.json").read_bytes()
    third.write_bytes(second)
    stale = catalog.load_table(TABLE)
    assert stale.metadata_location.endswith("v3.metadata.json")
    assert not catalog._publish(stale.metadata, TABLE, 3)
    assert third.read_bytes() == second
    assert not [path for path in third.parent.iterdir() if path.suffix == ".tmp"]


def test_of_writers_at_once_each_commit_is_kept(catalog: HadoopCatalog) -> None:
    catalog.create_table(TABLE, ROWS.schema, properties={"commit.retry.num-retries": "50"})

    def append(_: int) -> None:
        for _ in range(20):
            try:
                catalog.load_table(TABLE).append(ROWS)
                return
            except CommitFailedException:
                continue
        raise AssertionError("20 tries were refused")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(append, range(8)))
    table = catalog.load_table(TABLE)
    assert len(table.metadata.snapshots) == 8
    assert table.scan().to_arrow().num_rows == 16
    assert table.metadata_location.endswith("/v9.metadata.json")


def test_namespaces_are_folders_and_tables_those_with_metadata(catalog: HadoopCatalog) -> None:
    catalog.create_table(TABLE, ROWS.schema)
    assert catalog.list_namespaces() == [("a",)]
    assert catalog.list_namespaces("a") == [("a", "b c")]
    assert catalog.list_namespaces(("a", "b c")) == []
    assert catalog.list_tables(("a", "b c")) == [TABLE]
    assert catalog.list_tables("a") == []
    assert catalog.namespace_exists("a")
    assert not catalog.namespace_exists(TABLE)
    with pytest.raises(NamespaceNotEmptyError):
        catalog.drop_namespace("a")
    catalog.drop_table(TABLE)
    catalog.drop_namespace(("a", "b c"))
    assert catalog.list_namespaces("a") == []


def test_what_cannot_be_is_refused_as_other_catalogs_do(catalog: HadoopCatalog) -> None:
    table = catalog.create_table(TABLE, ROWS.schema)
    with pytest.raises(TableAlreadyExistsError):
        catalog.create_table(TABLE, ROWS.schema)
    with pytest.raises(NamespaceAlreadyExistsError):
        catalog.create_namespace("a")
    for name in ("nowhere.t", ("a", "..", "t"), ("a", "b/c", "t")):
        with pytest.raises(NoSuchNamespaceError):
            catalog.create_table(name, ROWS.schema)
    assert not catalog.table_exists(("a", "b/c", "t"))
    with pytest.raises(ValueError, match="lies where its name says"):
        catalog.create_table("a.other", ROWS.schema, location="file:///elsewhere")
    with pytest.raises(NotImplementedError, match="does not rename"):
        catalog.rename_table(TABLE, "a.other")
    catalog.drop_table(TABLE)
    with pytest.raises(NoSuchTableError):
        catalog.load_table(TABLE)
    with pytest.raises((CommitFailedException, NoSuchTableError)):
        table.append(ROWS)
    assert not catalog.table_exists(TABLE), "a commit does not bring a dropped table back"


def test_spark_and_pyiceberg_write_one_table_in_turn(spark: "SparkSession", tmp_path: Path) -> None:
    catalog = {"name": "folders", "type": "hadoop", "warehouse": f"{tmp_path}/wh"}
    profile = Profile.model_validate({"name": "folders", "catalog": catalog})
    for name, value in profile.spark_settings().items():
        if name.startswith("spark.sql.catalog.folders"):
            spark.conf.set(name, value)
    folders, named = profile.pyiceberg(), quote("folders", *TABLE)
    spark.sql("CREATE NAMESPACE folders.a")
    spark.sql("CREATE NAMESPACE folders.a.`b c`")
    spark.sql(
        f"CREATE TABLE {named} (id bigint) USING iceberg TBLPROPERTIES ('write.metadata.compression-codec' = 'gzip')"
    )
    spark.sql(f"INSERT INTO {named} VALUES (0)")
    assert folders.load_table(TABLE).metadata_location.endswith("/v2.gz.metadata.json")
    for _ in range(2):
        folders.load_table(TABLE).append(ROWS)
        assert folders.load_table(TABLE).current_snapshot() is not None
        spark.sql(f"INSERT INTO {named} VALUES (3)")
        newest = folders.load_table(TABLE)
        seen = spark.sql(f"SELECT snapshot_id FROM {named}.history ORDER BY made_current_at DESC LIMIT 1").collect()
        assert newest.metadata.current_snapshot_id == seen[0].snapshot_id
        assert newest.metadata_location.rpartition("/")[2] in _files_of_spark(spark, named)
    assert sorted(row.id for row in spark.table(named).collect()) == [0, 1, 1, 2, 2, 3, 3]
    # The other way round: a table of PyIceberg's in Spark.
    folders.create_namespace("py")
    folders.create_table("py.t", ROWS.schema).append(ROWS)
    assert spark.table("folders.py.t").count() == 2
    spark.sql("ALTER TABLE folders.py.t ADD COLUMN more string")
    assert [field.name for field in folders.load_table("py.t").schema().fields] == ["id", "more"]


def _files_of_spark(spark: "SparkSession", named: str) -> str:
    rows = spark.sql(f"SELECT file FROM {named}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1").collect()
    return str(rows[0].file)

"""Maintenance never changes rows: where a rewrite did, it is seen and taken back, but never over an append."""

from datetime import date
from typing import TYPE_CHECKING

import pytest

from iceberg_assets.maintenance.measure import Replacement, replacements
from iceberg_assets.maintenance.undo import roll_back
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def spec(spark: "SparkSession", namespace: str) -> TableSpec:
    """A table of one file with three rows."""
    spark.sql(f"CREATE NAMESPACE local.{namespace}")
    for name, rows in (("whole", "(1), (2), (3)"), ("part", "(1), (2)")):
        spark.sql(f"CREATE TABLE local.{namespace}.{name} (id INT) USING iceberg")
        spark.sql(f"INSERT INTO local.{namespace}.{name} SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")
    return TableSpec.model_validate({"table": f"{namespace}.whole", "dates": {"column": "id", "start": "2024-01-01"}})


def lose_a_row(spark: "SparkSession", spec: TableSpec, profile: Profile) -> Replacement:
    """Replace the table's file by one with a row less, as a broken rewrite would."""
    util = spark._jvm.org.apache.iceberg.spark.Spark3Util

    def file_of(name: str):
        table = util.loadIcebergTable(spark._jsparkSession, f"local.{spec.table[0]}.{name}")
        return table, table.newScan().planFiles().iterator().next().file()

    (table, whole), (_, part) = file_of("whole"), file_of("part")
    before = profile.pyiceberg().load_table(spec.table).current_snapshot()
    table.newRewrite().deleteFile(whole).addFile(part).commit()
    (found,) = replacements(spark, profile, spec, before.snapshot_id, None)
    return found


def rows(spark: "SparkSession", spec: TableSpec) -> int:
    return spark.sql(f"SELECT count(*) FROM local.{spec.name}").collect()[0][0]


def test_a_rewrite_that_loses_a_row_is_seen_and_taken_back(spark, spec, profile):
    broken = lose_a_row(spark, spec, profile)
    assert (broken.rows_before, broken.rows_after) == (3, 2)
    assert not broken.rows_preserved
    assert roll_back(profile, spec, broken.snapshot_id, broken.parent_id)
    assert rows(spark, spec) == 3


def test_nothing_is_taken_back_over_an_append_that_came_after(spark, spec, profile):
    broken = lose_a_row(spark, spec, profile)
    spark.sql(f"INSERT INTO local.{spec.name} VALUES (4)")
    assert not roll_back(profile, spec, broken.snapshot_id, broken.parent_id)
    assert rows(spark, spec) == 3


def test_rows_are_counted_where_delete_files_hide_some(spark, profile, namespace):
    spark.sql(f"CREATE NAMESPACE local.{namespace}")
    table = f"local.{namespace}.deleted"
    spark.sql(
        f"CREATE TABLE {table} (id INT) USING iceberg TBLPROPERTIES "
        "('write.delete.mode'='merge-on-read', 'format-version'='2')"
    )
    spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id FROM range(10)")
    spark.sql(f"DELETE FROM {table} WHERE id = 3")
    spec = TableSpec.model_validate(
        {"table": f"{namespace}.deleted", "dates": {"column": "id", "start": date(2024, 1, 1)}}
    )
    before = profile.pyiceberg().load_table(spec.table).current_snapshot()
    spark.sql(f"CALL local.system.rewrite_data_files(table => '{spec.name}', options => map('rewrite-all','true'))")
    (found,) = replacements(spark, profile, spec, before.snapshot_id, None)
    assert (found.rows_before, found.rows_after) == (9, 9)

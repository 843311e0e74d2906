"""Whose files lie among whose, so that none of them is taken for an orphan."""

import os
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from iceberg_assets.maintenance import remove_orphans
from iceberg_assets.spec import Status, TableSpec

DAY = date(2024, 1, 1)


@pytest.fixture
def spec(spark, namespace) -> TableSpec:
    """A table with one old file that nothing refers to."""
    spark.sql(f"CREATE NAMESPACE local.{namespace}")
    spark.sql(f"CREATE TABLE local.{namespace}.outer (ts TIMESTAMP) USING iceberg")
    spark.sql(f"INSERT INTO local.{namespace}.outer VALUES (TIMESTAMP '2024-01-01 00:00:00+00:00')")
    return TableSpec.model_validate({"table": f"{namespace}.outer", "dates": {"column": "ts", "start": "2024-01-01"}})


def skipped(spark, profile, spec, **given) -> str:
    """The reason why orphans of the table are not removed, with every file of it old enough to be one."""
    location = Path(profile.catalog.warehouse, *spec.table)
    (location / "data" / "stray.parquet").write_bytes(b"stray")
    for path in location.rglob("*"):
        os.utime(path, (0, 0))
    before = {path for path in location.rglob("*") if path.is_file()}
    result = remove_orphans(lambda: spark, profile, spec, [DAY], now=datetime.now(UTC), **given)
    outcome = result.outcomes[DAY]
    assert outcome.status is Status.SKIPPED, outcome.reason
    assert {path for path in location.rglob("*") if path.is_file()} == before
    return outcome.reason


def test_a_neighbour_in_a_nested_namespace_is_left_alone(spark, profile, spec):
    namespace = spec.table[0]
    spark.sql(f"CREATE NAMESPACE local.{namespace}.deep")
    inside = f"file://{profile.catalog.warehouse}/{namespace}/outer/inner"
    spark.sql(f"CREATE TABLE local.{namespace}.deep.inner (id INT) USING iceberg LOCATION '{inside}'")
    spark.sql(f"INSERT INTO local.{namespace}.deep.inner VALUES (1)")
    assert f"table {namespace}.deep.inner is at file:/" in skipped(spark, profile, spec)


def test_a_neighbour_that_keeps_its_data_here_is_left_alone(spark, profile, spec):
    inside = f"file://{profile.catalog.warehouse}/{spec.table[0]}/outer/guest"
    spark.sql(
        f"CREATE TABLE local.{spec.table[0]}.guest (id INT) USING iceberg TBLPROPERTIES ('write.data.path'='{inside}')"
    )
    spark.sql(f"INSERT INTO local.{spec.table[0]}.guest VALUES (1)")
    assert "guest is at" in skipped(spark, profile, spec)


def test_a_neighbour_behind_a_symbolic_link_is_left_alone(spark, profile, spec, tmp_path):
    (tmp_path / "link").symlink_to(Path(profile.catalog.warehouse, spec.table[0]))
    spark.sql(f"CREATE TABLE local.{spec.table[0]}.twin (id INT) USING iceberg LOCATION 'file://{tmp_path}/link/outer'")
    spark.sql(f"INSERT INTO local.{spec.table[0]}.twin VALUES (1)")
    assert "twin is at" in skipped(spark, profile, spec)


def test_raw_files_of_another_table_are_left_alone(spark, profile, spec):
    landing = f"{profile.catalog.warehouse}/{spec.table[0]}/outer/raw"
    assert f"raw files land in {landing}" in skipped(spark, profile, spec, landing_places=[landing])


def test_what_a_symbolic_link_leads_to_is_left_alone(spark, profile, spec, tmp_path):
    (tmp_path / "precious.txt").write_text("precious")
    link = Path(profile.catalog.warehouse, *spec.table, "data", "link")
    link.symlink_to(tmp_path)
    assert f"a symbolic link leads from {link} to {tmp_path}" in skipped(spark, profile, spec)
    assert (tmp_path / "precious.txt").exists()

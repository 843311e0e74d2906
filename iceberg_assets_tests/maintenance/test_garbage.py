"""Whose files lie among whose, however the places are spelled."""

import pytest

from iceberg_assets.maintenance import health_of
from iceberg_assets.maintenance.garbage import _inside, neighbours
from iceberg_assets.spec import TableSpec


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("file:/wh/db/t/data/inner", "file:///wh/db/t"),
        ("/wh/db/t", "file:/wh/db/t/"),
        ("s3a://lake/wh/t/x", "s3://lake/wh/t"),
        ("s3://lake/wh/t", "s3n://lake/"),
    ],
)
def test_one_place_in_two_spellings_is_one_place(inner, outer):
    assert _inside(inner, outer)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file:/wh/db/t2", "file:/wh/db/t"),
        ("s3://lake2/t", "s3://lake/t"),
        ("s3://lake/wh/db/t_old", "s3://lake/wh/db/t"),
    ],
)
def test_a_prefix_of_a_name_is_not_a_folder(one, other):
    assert not _inside(one, other)
    assert not _inside(other, one)


def test_a_neighbour_in_a_nested_namespace_is_found(spark, profile, namespace):
    spark.sql(f"CREATE NAMESPACE local.{namespace}")
    spark.sql(f"CREATE NAMESPACE local.{namespace}.deep")
    spark.sql(f"CREATE TABLE local.{namespace}.outer (ts TIMESTAMP) USING iceberg")
    inside = f"file://{profile.catalog.warehouse}/{namespace}/outer/inner"
    spark.sql(f"CREATE TABLE local.{namespace}.deep.inner (id INT) USING iceberg LOCATION '{inside}'")
    spark.sql(f"INSERT INTO local.{namespace}.outer VALUES (TIMESTAMP '2024-01-01 00:00:00+00:00')")
    spec = TableSpec.model_validate({"table": f"{namespace}.outer", "dates": {"column": "ts", "start": "2024-01-01"}})
    (found,) = neighbours(profile, health_of(profile, spec))
    assert found.startswith(f"{namespace}.deep.inner at file:/")

"""``rollback`` takes back maintenance and nothing else; ``hold`` says why a table is left alone, or ends that."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from iceberg_assets.maintenance.lease import lease
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets_tests.command import run, run_json
from iceberg_assets_tests.declare import declare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(spark: "SparkSession", project: Path, namespace: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A declared table of six small files; the working directory is its project."""
    name = f"{namespace}.orders"
    declare(project, namespace, {"table": name, "dates": {"column": "ts", "start": "2024-05-01", "end": "2024-05-31"}})
    spark.sql(f"CREATE NAMESPACE local.{namespace}")
    rows = spark.range(0, 12, 1, 6).selectExpr("id", "TIMESTAMP '2024-05-30 01:00:00+00:00' AS ts")
    rows.writeTo(f"local.{name}").using("iceberg").create()
    monkeypatch.chdir(project)
    return name


def test_the_last_maintenance_is_taken_back_once(spark: "SparkSession", table: str) -> None:
    run("call", "rewrite_data_files", table, "--force")
    files = f"SELECT count(*) AS files, sum(record_count) AS rows FROM local.{table}.files"
    assert spark.sql(files).collect() == [(1, 12)]
    foretold = run_json("rollback", table, "--dry-run")
    assert (foretold["done"], spark.sql(files).collect()) == (False, [(1, 12)])
    assert run_json("rollback", table) == {**foretold, "done": True}
    assert spark.sql(files).collect() == [(6, 12)]
    refused = run("rollback", table, fails=2).output
    assert "which is no maintenance: to go back over it would drop its changes" in " ".join(refused.split())


def test_a_hold_is_shown_and_ended(profile: Profile, table: str) -> None:
    assert run_json("hold", table)["on_hold"] is False
    spec = TableSpec.model_validate({"table": table, "dates": {"column": "ts", "start": "2024-05-01"}})
    with lease(profile, spec, "compacted") as held:
        held.hold_table("a rewrite changed rows")
    assert "on hold: a rewrite changed rows" in run("hold", table).output
    assert "on hold: a rewrite changed rows" in run("call", "rewrite_data_files", table, "--force", fails=1).output
    assert "released; it was a rewrite changed rows" in run("hold", table, "--release").output
    run("call", "rewrite_data_files", table, "--force")
    assert "not on hold" in run("hold", table, "--release").output

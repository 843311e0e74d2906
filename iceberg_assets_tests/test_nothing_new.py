"""Materializing a date with nothing new starts no JVM, neither from the command line nor from Dagster."""

from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from iceberg_assets.cli import app
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables import operator
from iceberg_assets_tests.declare import declare
from iceberg_assets_tests.orchestration.conftest import FIRST, Locate
from iceberg_assets_tests.orchestration.conftest import locate as locate  # noqa: PLC0414 - a fixture


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))


def in_already(profile: Profile, spec: TableSpec, raw: Path) -> None:
    """A table as its raw file fills it, without an engine; the ledger says so."""
    profile.prepare()
    rows = pq.read_table(raw)
    catalog = profile.pyiceberg()
    catalog.create_namespace_if_not_exists(spec.table[:-1])
    table = catalog.create_table(spec.table, rows.schema)
    table.append(rows)
    operator.adopt(profile, spec, [FIRST], do=True)


def test_a_date_with_nothing_new_needs_no_java(
    locate: Locate, profile: Profile, project: Path, namespace: str, no_java: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = locate(partition_by=[])
    spec = location.table.spec
    assert spec.source is not None
    in_already(profile, spec, location.land(FIRST, "a"))

    location.run(FIRST, FIRST)
    assert location.shown(FIRST)["iceberg/status"] == "nothing_to_do"

    dates = {"column": "ts", "start": "2024-01-01", "end": "2024-01-31"}
    declare(project, namespace, {"table": spec.name, "source": {"path": spec.source.path}, "dates": dates})
    monkeypatch.chdir(project)
    assert "nothing_to_do" in appended(spec, FIRST, fails=0)
    location.land(FIRST, "b")
    assert "Spark needs Java" in appended(spec, FIRST, fails=2), "what is new does"


def appended(spec: TableSpec, day: date, *, fails: int) -> str:
    result: Any = CliRunner().invoke(app, ["append", spec.name, "--date", day.isoformat(), "--json"])
    assert result.exit_code == fails, result.output
    return str(result.output)

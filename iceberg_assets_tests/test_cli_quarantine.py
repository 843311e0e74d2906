"""The quarantine on the command line. No JVM."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from iceberg_assets.cli import app
from iceberg_assets.spec import parse_table
from iceberg_assets.tables.quarantine import quarantine
from iceberg_assets_tests.declare import declare


def test_quarantine_lists_and_restores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    attributes = {
        "table": "a.b",
        "source": {"path": "raw/%Y-%m-%d/*.parquet", "bad_files": "quarantine"},
        "dates": {"column": "ts", "start": "2013-01-01"},
    }
    declare(tmp_path, "b", attributes)
    bad = tmp_path / "raw" / "2013-01-01" / "a.parquet"
    bad.parent.mkdir(parents=True)
    bad.write_bytes(b"bad")
    moved = quarantine(parse_table(attributes, root=tmp_path, variables={}, where="test"), str(bad))
    run = CliRunner()
    assert run.invoke(app, ["quarantine", "list", "a.b"]).output.strip() == str(moved)
    assert str(bad) in run.invoke(app, ["quarantine", "restore", "a.b", str(moved)]).output
    assert bad.read_bytes() == b"bad"
    assert "nothing of a.b is in quarantine" in run.invoke(app, ["quarantine", "list", "a.b"]).output
    again = run.invoke(app, ["quarantine", "restore", "a.b", str(moved)])
    assert again.exit_code == 2
    assert "is not in the quarantine" in again.output

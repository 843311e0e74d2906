"""The page that guides' SQL is looked up on: each command of it is run, in its order, and does something."""

import json
import os
import re
import shlex
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from iceberg_assets.cli import app
from iceberg_assets.spec.procedures import PROCEDURES
from iceberg_assets_tests.maintenance.test_foretold import FIRST, MERGE_ON_READ, SECOND, Scene

pytestmark = pytest.mark.jvm

PAGE = Path(__file__).parents[1] / "docs" / "procedures.md"
DECLARED = """
type: iceberg_assets.IcebergTable
attributes:
  table: {table}
  dates: {{column: ts, start: "2024-01-01", end: "2024-02-29"}}
  maintenance: {{quiet_for: 0s, manifests: {{min_count: 2}}, expire: {{minimum_age: 0s}}}}
"""


def commands() -> list[str]:
    return re.findall(r"^    iceberg-assets (call .*)$", PAGE.read_text(), re.MULTILINE)


def test_every_procedure_that_guides_have_is_on_the_page() -> None:
    shown = {one.split()[1] for one in commands()}
    assert shown == PROCEDURES.keys() - {"publish_changes"}


@pytest.fixture
def of_the_page(spark, profile, project, namespace, tmp_path, monkeypatch) -> dict[str, Any]:
    """The tables that the page is about, and what its variables stand for."""
    scene = Scene(spark, profile, namespace)
    spec = scene.table({}, MERGE_ON_READ | {"write.wap.enabled": "true"}, name="events")
    name, catalog = scene.sql(spec), profile.pyiceberg()
    first = catalog.load_table(spec.table).metadata.current_snapshot_id
    scene.write(spec, [FIRST, SECOND])
    for removed in (3, 5):
        spark.sql(f"DELETE FROM {name} WHERE id = {removed}")
    time.sleep(0.01)
    before, moment = catalog.load_table(spec.table).metadata.current_snapshot_id, datetime.now(UTC)
    time.sleep(0.01)
    spark.conf.set("spark.wap.id", "staged")
    scene.write(spec, [SECOND], files=1)
    spark.conf.unset("spark.wap.id")
    staged = catalog.load_table(spec.table).metadata.snapshots[-1].snapshot_id
    spark.sql("SELECT 100L AS id, TIMESTAMP '2024-01-30 05:00:00+00:00' AS ts, 'x' AS name").write.parquet(
        f"{tmp_path}/there"
    )
    flat = scene.table({}, {}, by="", name="flat")
    lost = scene.table({}, {}, name="lost")
    metadata = catalog.load_table(lost.table).metadata_location
    spark.sql(f"DROP TABLE {scene.sql(lost)}")
    stray = Path(catalog.load_table(spec.table).location().removeprefix("file:")) / "data" / "stray.parquet"
    stray.write_text("nobody's")
    os.utime(stray, (0, 0))
    for one in (spec, flat, lost):
        folder = project / "defs" / f"{namespace}_{one.table[-1]}"
        folder.mkdir(parents=True)
        (folder / "defs.yaml").write_text(DECLARED.format(table=one.name))
    monkeypatch.chdir(project)
    return {
        "scene": scene,
        "events": spec,
        "flat": flat,
        "demo": namespace,
        "stray": stray,
        "BEFORE": before,
        "FIRST": first,
        "STAGED": staged,
        "A_MOMENT_AGO": moment.isoformat(),
        "FOLDER": f"{tmp_path}/there",
        "METADATA": metadata,
    }


def test_each_command_of_the_page_does_what_it_says(of_the_page: Mapping[str, Any]) -> None:
    scene, spec = of_the_page["scene"], of_the_page["events"]
    for command in commands():
        if "fast_forward" in command:
            scene.spark.sql(f"ALTER TABLE {scene.sql(spec)} CREATE OR REPLACE BRANCH audit")
            row = "7, TIMESTAMP '2024-01-30 06:00:00+00:00', 'y'"
            scene.spark.sql(f"INSERT INTO {scene.sql(spec)}.`branch_audit` VALUES ({row})")
        _, procedure, *given = (_meant(word, of_the_page) for word in shlex.split(command))
        result = CliRunner().invoke(app, ["call", procedure, *given, "--json"])
        assert result.exit_code == 0, (command, result.output)
        for one in json.loads(result.output):
            assert one.get("due", one.get("status") == "done"), (command, one)
    assert not of_the_page["stray"].exists()
    assert (100, "x") in {(row[0], row[2]) for row in scene.rows(of_the_page["flat"])}
    assert scene.profile.pyiceberg().table_exists((of_the_page["demo"], "lost"))


def _meant(word: str, of_the_page: Mapping[str, Any]) -> str:
    known = {**of_the_page, "NOW": datetime.now(UTC).isoformat()}
    word = re.sub(r"\$([A-Z_]+)", lambda found: str(known[found[1]]), word)
    return re.sub(r"^demo\.(\w+)$", rf"{of_the_page['demo']}.\1", word)

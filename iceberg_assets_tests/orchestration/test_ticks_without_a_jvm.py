"""A tick reads metadata and nothing else: neither pyspark nor Java come into the code server."""

import json
import subprocess
import sys

import pytest

from iceberg_assets_tests.orchestration.conftest import days
from iceberg_assets_tests.orchestration.test_main_job import scatter

TICK = """
import json, sys
import dagster as dg, psutil
from pathlib import Path
from iceberg_assets.orchestration import MaintenanceAttributes, TableAsset, maintenance_definitions, table_definitions
from iceberg_assets.profiles import load_profile
from iceberg_assets.spec import TableSpec
root = Path(sys.argv[1])
table = TableAsset(TableSpec.model_validate_json(sys.argv[2]), load_profile("local", root), root)
definitions = dg.Definitions.merge(table_definitions(table), maintenance_definitions([table], MaintenanceAttributes()))
repository = definitions.get_repository_def()
asked = []
for sensor in repository.sensor_defs:
    context = dg.build_sensor_context(instance=dg.DagsterInstance.local_temp(), repository_def=repository)
    asked.append(len(sensor.evaluate_tick(context).run_requests or []))
loaded = [name for name in ("pyspark", "py4j", "dagster_pyspark") if name in sys.modules]
children = [child.name() for child in psutil.Process().children(recursive=True)]
print(json.dumps({"asked": asked, "loaded": loaded, "children": children}))
"""


def test_neither_pyspark_nor_java_come_with_a_tick(locate, spark, project):
    location = locate()
    scatter(location, spark, days(1))
    ended = subprocess.run(
        [sys.executable, "-c", TICK, str(project), location.table.spec.model_dump_json()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert sorted(told["asked"]) == [0, 1], "the tick was a real one: it asked for the compaction"
    assert told["loaded"] == []
    assert told["children"] == []


@pytest.mark.parametrize("module", ["iceberg_assets", "iceberg_assets.definitions", "iceberg_assets.orchestration"])
def test_importing_the_code_location_loads_no_pyspark(module):
    code = f"import {module}, sys; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

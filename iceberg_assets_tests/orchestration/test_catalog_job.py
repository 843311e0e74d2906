"""The whole-catalog job as a run of Dagster. No JVM."""

import json
from pathlib import Path
from typing import Any

import dagster as dg

from iceberg_assets import profiles
from iceberg_assets.orchestration import CatalogJobAttributes, catalog_job, catalog_job_definitions
from iceberg_assets.profiles import load_profile
from iceberg_assets_tests.job import lake


def test_a_run_tells_of_each_table_and_fails_where_one_did(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "job.conf").write_text("catalog: local, iceberg_assets.orphans: off")
    profile = load_profile("local", tmp_path)
    profile.prepare()
    catalog = profile.pyiceberg()
    lake.table(catalog, "sales.clean", 1)
    definitions = catalog_job_definitions(catalog_job(CatalogJobAttributes(file="job.conf", profile="local"), tmp_path))
    job = definitions.resolve_job_def("maintain")
    with dg.instance_for_test() as instance:
        assert job.execute_in_process(instance=instance).success

        broken = lake.table(catalog, "sales.broken", 1)
        Path(broken.metadata_location.removeprefix("file://")).write_text("{}")
        result = job.execute_in_process(instance=instance, raise_on_error=False)
    assert not result.success
    (failed,) = (event for event in result.all_events if event.is_step_failure)
    failure = failed.step_failure_data.user_failure_data
    assert failure is not None
    assert "2 tables and views: 1 nothing to do, 1 failed; sales.broken: failed" in (failure.description or "")
    assert failure.metadata["iceberg/tables_failed"].value == 1


def test_a_run_that_died_is_told_of_and_one_that_has_told_itself_is_not_told_of_twice(tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "job.conf").write_text("catalog: local, iceberg_assets.orphans: off")
    (tmp_path / "profiles").mkdir()
    embedded = (Path(profiles.__file__).parent / "local.yaml").read_text()
    (tmp_path / "profiles" / "local.yaml").write_text(f"{embedded}\non_failure: {{command: 'cp /dev/stdin {told}'}}\n")
    profile = load_profile("local", tmp_path)
    profile.prepare()
    broken = lake.table(profile.pyiceberg(), "sales.broken", 1)
    Path(broken.metadata_location.removeprefix("file://")).write_text("{}")
    definitions = catalog_job_definitions(catalog_job(CatalogJobAttributes(file="job.conf", profile="local"), tmp_path))
    (sensor,) = definitions.sensors or []
    job = definitions.resolve_job_def("maintain")
    with dg.instance_for_test() as instance:
        failed = job.execute_in_process(instance=instance, raise_on_error=False)
        assert json.loads(told.read_text())["failures"][0]["table"] == "sales.broken"
        told.unlink()
        (event,) = [one for one in failed.all_events if one.event_type is dg.DagsterEventType.RUN_FAILURE]
        sensor(_after(sensor, event, instance, failed.dagster_run))
        assert not told.exists(), "it was told of by the run itself"

        died = instance.create_run_for_job(job)
        instance.report_run_failed(died, "its process is gone")
        (record,) = instance.get_records_for_run(died.run_id, of_type=dg.DagsterEventType.RUN_FAILURE).records
        sensor(_after(sensor, record.event_log_entry.dagster_event, instance, died))
        (one,) = json.loads(told.read_text())["failures"]
    assert one["table"] == "catalog local"
    assert "its process is gone" in one["reason"]


def _after(sensor: Any, event: Any, instance: dg.DagsterInstance, run: dg.DagsterRun) -> Any:
    """What the daemon gives the sensor after the failure of a run."""
    return dg.build_run_status_sensor_context(sensor.name, event, instance, run).for_run_failure()

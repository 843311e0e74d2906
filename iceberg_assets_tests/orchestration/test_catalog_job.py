"""The whole-catalog job as a run of Dagster. No JVM."""

from pathlib import Path

import dagster as dg

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
    assert "2 tables and views: 1 failed, 1 nothing to do; sales.broken: failed" in (failure.description or "")
    assert failure.metadata["iceberg/tables_failed"].value == 1

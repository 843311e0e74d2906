"""A failed run is told of by table, operation, dates and reason; the history has it, too. No JVM."""

import json
from pathlib import Path

import dagster as dg
import pytest

from iceberg_assets.history import Wanted, read_failures, read_records
from iceberg_assets.maintenance.lease import lease
from iceberg_assets.orchestration.failures import FAILURES
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Status
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.orchestration.conftest import FIRST, Locate, Location, days


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Where the hook writes what it is told."""
    return tmp_path / "told.json"


@pytest.fixture
def hooked(profile: Profile, told: Path) -> Profile:
    """The profile with a hook."""
    hook = {"command": f"cp /dev/stdin {told}"}
    return profile.model_validate({**profile.model_dump(), "on_failure": hook})


@pytest.fixture
def location(hooked: Profile, locate: Locate) -> Location:
    """A table with two dates to compact."""
    found = locate(source=None, under=hooked)
    found.table.profile.prepare()
    table = on_paper.make(found.table.profile.pyiceberg(), found.table.spec.name)
    on_paper.append(table, days(2), 6)
    return found


def tell(location: Location, failed: dg.ExecuteInProcessResult) -> None:
    """What the daemon does after the failure of a run."""
    events = failed.all_events
    (failure,) = [event for event in events if event.event_type is dg.DagsterEventType.RUN_FAILURE]
    sensor = location.definitions.get_repository_def().get_sensor_def(FAILURES)
    context = dg.build_run_status_sensor_context(
        FAILURES,
        failure,
        location.instance,
        failed.dagster_run,
        repository_def=location.definitions.get_repository_def(),
    ).for_run_failure()
    sensor(context)


def test_a_failed_run_is_told_of_and_written_down(location: Location, told: Path) -> None:
    spec, profile = location.table.spec, location.table.profile
    with lease(profile, spec, "rewrite_data_files"):
        failed = location.run(FIRST, days(2)[-1], "compacted", fails=True)
    tell(location, failed)
    payload = json.loads(told.read_text())
    assert (payload["run_id"], payload["profile"]) == (failed.run_id, profile.name)
    (one,) = payload["failures"]
    assert (one["table"], one["operation"]) == (spec.name, "compacted")
    assert one["dates"] == [day.isoformat() for day in days(2)]
    assert "is maintained by somebody else: rewrite_data_files, process" in one["reason"]
    records = read_records(profile, Wanted(table=spec.name))
    assert [(one.dates, one.status, one.who.run_id) for one in records] == [
        ((day,), Status.SKIPPED, failed.run_id) for day in days(2)
    ]


def test_a_failed_append_is_told_of_by_its_file(hooked: Profile, locate: Locate, told: Path) -> None:
    location = locate(under=hooked)
    location.land(FIRST, "torn").write_bytes(b"PAR1 and no more")
    tell(location, location.run(FIRST, FIRST, fails=True))
    (one,) = json.loads(told.read_text())["failures"]
    assert (one["operation"], one["dates"]) == ("append", [FIRST.isoformat()])
    assert "torn.parquet" in one["reason"]


def test_an_operation_that_cannot_begin_is_an_error_of_the_history(location: Location, told: Path) -> None:
    spec, profile = location.table.spec, location.table.profile
    profile.pyiceberg().drop_table(spec.table)
    tell(location, location.run(FIRST, FIRST, "compacted", fails=True))
    (error,) = read_failures(profile, Wanted(table=spec.name))
    assert (error.operation, error.error, error.dates) == ("compacted", "ConfigurationError", (FIRST,))
    assert "there is no table" in error.message
    assert "there is no table" in json.loads(told.read_text())["failures"][0]["reason"]


def test_a_run_that_died_without_a_word_is_told_of_by_all_that_it_was_about(location: Location, told: Path) -> None:
    run = dg.DagsterRun(
        location.table.job.name,
        run_id=dg.DagsterRun("x").run_id,
        tags={"dagster/asset_partition_range_start": str(FIRST), "dagster/asset_partition_range_end": str(FIRST)},
        asset_selection=frozenset({dg.AssetKey([*location.table.key.path, "snapshots_expired"])}),
    )
    location.instance.add_run(run)
    location.instance.report_run_failed(run, "its process is gone")
    (record,) = location.instance.get_records_for_run(run.run_id, of_type=dg.DagsterEventType.RUN_FAILURE).records
    context = dg.build_run_status_sensor_context(
        FAILURES, record.event_log_entry.dagster_event, location.instance, run
    ).for_run_failure()
    location.definitions.get_repository_def().get_sensor_def(FAILURES)(context)
    (one,) = json.loads(told.read_text())["failures"]
    assert (one["operation"], one["dates"]) == ("snapshots_expired", [FIRST.isoformat()])
    assert "its process is gone" in one["reason"]

"""Checks as the sensor evaluates them: red on a table that is broken, recorded once, green again. No JVM."""

import json
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import dagster as dg
import pytest

from iceberg_assets.health.attempts import MOST_FAILURES
from iceberg_assets.maintenance import standing_hold
from iceberg_assets.maintenance.lease import lease
from iceberg_assets.orchestration import memory
from iceberg_assets.orchestration.checks import doubts, evaluations, rows_preserved
from iceberg_assets.spec import Operation, Outcome, Status
from iceberg_assets.spec.policy import Checks
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.orchestration.conftest import FIRST, Location
from iceberg_assets_tests.orchestration.test_source_checks import check_op

COMPACTION = "iceberg_compaction"


class Watched:
    """A table that others write, and the sensor's ticks over it."""

    def __init__(self, location: Location, profile) -> None:
        profile.prepare()
        self.location, self.key = location, location.table.key
        self.table = on_paper.make(profile.pyiceberg(), location.table.spec.name)
        self.commit(FIRST)
        self.cursor: str | None = None

    def commit(self, day: date, files: int = 1) -> None:
        on_paper.append(self.table.refresh(), [day], files)

    def tick(self) -> dict[str, dg.AssetCheckEvaluation]:
        """What the next tick records of the checks."""
        result = self.location.tick(COMPACTION, self.cursor)
        self.cursor = result.cursor
        self.said = result.skip_message or ""
        return {one.check_name: one for one in result.asset_events if isinstance(one, dg.AssetCheckEvaluation)}

    def run_fails(self, operation: Operation) -> None:
        """A run of an operation on the first date, as the instance knows it."""
        table = self.location.table
        run = self.location.instance.create_run_for_job(
            self.location.definitions.resolve_job_def(table.job.name),
            asset_selection=frozenset({table.key_of(operation)}),
            tags={"dagster/partition": FIRST.isoformat()},
            status=dg.DagsterRunStatus.STARTED,
        )
        self.location.instance.report_run_failed(run)

    def materialized(self, operation: Operation, **said: str) -> None:
        metadata = {f"iceberg/{name}": value for name, value in said.items()} | {"iceberg/digest": "seen"}
        key = self.location.table.key_of(operation)
        self.location.instance.report_runless_asset_event(
            dg.AssetMaterialization(key, partition=FIRST.isoformat(), metadata=metadata)
        )


@pytest.fixture
def watched(locate, profile):
    return lambda **declared: Watched(locate(source=None, **declared), profile)


def test_a_tick_evaluates_every_check_and_says_again_only_what_turned(watched):
    table = watched()
    first = table.tick()
    assert set(first) == set(Checks.model_fields) - {"freshness", "ledger_complete"}
    assert {name for name, one in first.items() if not one.passed} == {"pool_limit"}
    assert table.location.table.maintenance_pool in first["pool_limit"].description
    assert table.tick() == {}
    table.commit(FIRST + timedelta(days=1))
    assert set(table.tick()) == set(first), "after a commit all of them, so that they plot"

    table.location.instance.event_log_storage.set_concurrency_slots(table.location.table.maintenance_pool, 1)
    assert check_op(table.location)["pool_limit"]
    table.commit(FIRST)
    assert table.tick()["pool_limit"].passed


def test_metadata_files_pile_up_until_the_table_says_how_many_to_keep(watched):
    table = watched(checks={"metadata_files": {"max": 3}})
    for _ in range(3):
        table.commit(FIRST)
    red = table.tick()["metadata_files"]
    assert not red.passed
    with table.table.refresh().transaction() as change:
        change.set_properties(
            {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "2"}
        )
    table.commit(FIRST)
    assert table.tick()["metadata_files"].passed


def test_a_date_column_that_its_writer_renamed_turns_the_schema_check_red_though_nothing_else_can_be_told(watched):
    table = watched()
    assert table.tick()["schema_as_declared"].passed
    with table.table.refresh().update_schema() as change:
        change.rename_column("ts", "happened_at")
    (red,) = table.tick().values()
    assert (red.check_name, red.passed, red.severity) == ("schema_as_declared", False, dg.AssetCheckSeverity.ERROR)
    assert "dates.column: there is no column 'ts'" in red.description
    assert "could not be looked at" in table.said
    assert table.tick() == {}, "it is said once"
    with table.table.refresh().update_schema() as change:
        change.rename_column("happened_at", "ts")
    assert table.tick()["schema_as_declared"].passed


def test_a_table_that_cannot_be_looked_at_is_red_until_it_can(watched):
    """Else it would be forgotten with all its checks green: its reason is lost in a tick that asks for something."""
    table = watched()
    table.tick()
    with table.table.refresh().transaction() as change:
        change.set_properties({"write.target-file-size-bytes": "abc"})
    (red,) = table.tick().values()
    assert (red.check_name, red.passed, red.severity) == ("schema_as_declared", False, dg.AssetCheckSeverity.ERROR)
    assert "write.target-file-size-bytes is 'abc'" in red.description
    with table.table.refresh().transaction() as change:
        change.remove_properties("write.target-file-size-bytes")
    assert table.tick()["schema_as_declared"].passed

    table.commit(FIRST)
    metadata = Path(urlsplit(table.table.refresh().metadata_location).path)
    kept = metadata.read_bytes()
    metadata.write_text("{}")
    (red,) = table.tick().values()
    assert "could not be looked at" in red.description
    metadata.write_bytes(kept)
    assert table.tick()["schema_as_declared"].passed


def test_a_store_that_does_not_answer_in_time_keeps_no_other_table_from_being_looked_at(watched, monkeypatch):
    """The tick's own time is not over: the next one must not begin, and end, with that table again."""
    table = watched()

    def hangs(*_: object, **__: object) -> None:
        raise TimeoutError("the read operation timed out")

    monkeypatch.setattr(memory, "read_health", hangs)
    assert not table.tick()["schema_as_declared"].passed
    assert "TimeoutError: the read operation timed out" in table.said
    assert json.loads(table.cursor)["next"] is None


def test_another_partitioning_than_the_declared_one_turns_the_schema_check_red(watched):
    table = watched(partition_by=[{"col": "ts", "type": "date", "func": "month"}])
    red = table.tick()["schema_as_declared"]
    assert not red.passed
    assert "declared is month(ts), and the table is partitioned by day(ts)" in red.description


def test_what_fails_again_and_again_turns_red_and_a_run_that_works_turns_it_green(watched):
    table = watched()
    table.commit(FIRST, files=5)
    assert table.tick()["unproductive_maintenance"].passed
    for _ in range(MOST_FAILURES):
        table.run_fails(Operation.COMPACT)
    red = table.tick()["unproductive_maintenance"]
    assert not red.passed
    assert f"failed {MOST_FAILURES} times in a row" in red.description
    table.materialized(Operation.COMPACT, status="done", reason="6 files became 1")
    table.commit(FIRST)
    assert table.tick()["unproductive_maintenance"].passed


def test_a_search_for_orphans_that_was_skipped_is_told_until_one_is_done(watched):
    table = watched()
    assert "never looked for" in table.tick()["orphans"].description
    table.materialized(Operation.REMOVE_ORPHANS, status="skipped", reason="gc.enabled is false")
    table.commit(FIRST)
    red = table.tick()["orphans"]
    assert not red.passed
    assert "gc.enabled is false" in red.description
    table.materialized(Operation.REMOVE_ORPHANS, status="done", reason="3 of 3 orphans removed")
    table.commit(FIRST)
    green = table.tick()["orphans"]
    assert green.passed
    assert "3 of 3 orphans removed" in green.description


def test_rows_that_a_rewrite_changed_hold_the_table_until_a_person_has_settled_their_own_date(watched):
    """Neither a rewrite of another date that goes well nor one that the sensor starts may end the doubt."""
    table, other = watched(), FIRST + timedelta(days=1)
    table.commit(other, files=5)
    location, instance = table.location, table.location.instance

    def run_ends(status: Status, *, preserved: bool | None, day: date = FIRST, settles: bool) -> dg.AssetCheckResult:
        outcome = Outcome(Operation.COMPACT, status, "snapshot 7 has 2 rows, its parent 3", rows_preserved=preserved)
        doubted = doubts(instance, location.table)
        result = rows_preserved(location.table, Operation.COMPACT, {day: outcome}, doubted, settles=settles)
        for event in evaluations([result]):
            instance.report_runless_asset_event(event)
        return result

    assert run_ends(Status.DONE, preserved=True, settles=False).passed
    assert doubts(instance, location.table) == set()
    changed = run_ends(Status.FAILED, preserved=False, settles=False)
    assert (changed.passed, changed.severity) == (False, dg.AssetCheckSeverity.ERROR)
    later = run_ends(Status.DONE, preserved=True, day=other, settles=True)
    assert (later.passed, later.severity) == (False, dg.AssetCheckSeverity.WARN), "the other date's run goes on"
    assert f"changed the rows of {FIRST}, and that is not settled" in (later.description or "")
    assert not run_ends(Status.FAILED, preserved=None, settles=True).passed, "a run that failed has settled nothing"
    assert not run_ends(Status.DONE, preserved=True, settles=False).passed, "no person has said so"

    table.tick()
    assert f"on hold: 'compacted' of {FIRST} changed rows" in table.said, "and nothing was asked for"
    for operation in Operation:
        refused = location.run(FIRST, FIRST, operation.value, fails=True)
        (failure,) = [event for event in refused.all_events if event.is_step_failure]
        assert "with force: true" in str(failure.step_failure_data.error_display_string)
    op = location.definitions.resolve_assets_def(location.table.key_of(Operation.COMPACT)).op.name
    profile, spec = location.table.profile, location.table.spec
    with lease(profile, spec, "a rewrite") as held:
        held.hold_table("a rewrite changed rows")
    location.run(FIRST, FIRST, "compacted", config={"ops": {op: {"config": {"force": True}}}})
    assert doubts(instance, location.table) == set()
    assert standing_hold(profile, spec) is None
    asked = location.tick(COMPACTION, table.cursor).run_requests
    assert [one.tags["dagster/asset_partition_range_start"] for one in asked] == [other.isoformat()]

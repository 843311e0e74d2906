"""Checks as the sensor evaluates them: red on a table that is broken, recorded once, green again. No JVM."""

from datetime import date, timedelta

import dagster as dg
import pytest

from iceberg_assets.health.attempts import MOST_FAILURES
from iceberg_assets.orchestration.checks import dates_in_doubt, evaluations, rows_in_doubt, rows_preserved
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


def test_rows_that_a_rewrite_changed_hold_expiry_back_until_their_own_date_is_settled(locate):
    """A rewrite of another date that goes well must not let the snapshot go that one would roll back to."""
    location, other = locate(), FIRST + timedelta(days=1)
    instance, table = location.instance, location.table

    def run_ends(day: date, status: Status, *, preserved: bool | None) -> dg.AssetCheckResult:
        outcome = Outcome(Operation.COMPACT, status, "snapshot 7 has 2 rows, its parent 3", rows_preserved=preserved)
        doubted = dates_in_doubt(instance, table, Operation.COMPACT)
        result = rows_preserved(table, Operation.COMPACT, {day: outcome}, doubted)
        for event in evaluations([result]):
            instance.report_runless_asset_event(event)
        return result

    assert run_ends(FIRST, Status.DONE, preserved=True).passed
    assert rows_in_doubt(instance, table) is None
    changed = run_ends(FIRST, Status.FAILED, preserved=False)
    assert (changed.passed, changed.severity) == (False, dg.AssetCheckSeverity.ERROR)
    for status, preserved in ((Status.DONE, True), (Status.FAILED, None)):
        later = run_ends(other, status, preserved=preserved)
        assert (later.passed, later.severity) == (False, dg.AssetCheckSeverity.WARN), "the other date's run goes on"
        assert f"changed the rows of {FIRST}, and that is not settled" in (rows_in_doubt(instance, table) or "")
    assert not run_ends(FIRST, Status.FAILED, preserved=None).passed, "a run that failed has settled nothing"
    assert run_ends(FIRST, Status.NOTHING_TO_DO, preserved=None).passed
    assert rows_in_doubt(instance, table) is None

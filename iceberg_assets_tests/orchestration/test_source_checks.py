"""The checks of ledger and raw files, red on the real thing and green again; and the run that replaces a day."""

import os
import time
from datetime import timedelta

import dagster as dg

from iceberg_assets.spark import call, quote
from iceberg_assets.tables import operator
from iceberg_assets_tests.orchestration.conftest import days
from iceberg_assets_tests.orchestration.test_main_job import COMPACTION, UPKEEP


def check_op(location) -> dict[str, bool]:
    """The check op by itself, as the UI runs it."""
    graph = location.definitions.resolve_asset_graph()
    checks = {key for key in graph.asset_check_keys if key.asset_key == location.table.key}
    job = location.definitions.resolve_implicit_global_asset_job_def().get_subset(asset_check_selection=checks)
    result = job.execute_in_process(instance=location.instance)
    return {one.check_name: one.passed for one in result.get_asset_check_evaluations()}


def test_a_rollback_turns_the_ledger_check_red_and_forget_turns_it_green(locate, spark, profile):
    location = locate()
    heads = []
    for day in days(2):
        location.land(day, "a")
        location.run(day, day)
        heads.append(profile.pyiceberg().load_table(location.table.spec.table).metadata.current_snapshot_id)
    tick = location.tick(COMPACTION)
    assert location.check("ledger_complete")
    again = location.tick(COMPACTION, tick.cursor)
    assert not [event for event in again.asset_events if isinstance(event, dg.AssetCheckEvaluation)], "nothing turned"

    table = quote(*location.table.spec.table)
    spark.sql(call("local", "rollback_to_snapshot", table=table, snapshot_id=heads[0])).collect()
    tick = location.tick(COMPACTION, again.cursor)
    assert not location.check("ledger_complete")
    (told,) = [event for event in tick.asset_events if getattr(event, "check_name", "") == "ledger_complete"]
    assert f"iceberg-assets ledger forget {location.table.spec.name} --after-rollback" in told.description
    assert not check_op(location)["ledger_complete"]

    operator.forget_rolled_back(profile, location.table.spec, do=True)
    location.run(*[days(2)[1]] * 2)
    location.tick(COMPACTION, tick.cursor)
    assert location.check("ledger_complete")
    assert check_op(location)["ledger_complete"]
    assert location.shown(days(2)[1])["dagster/row_count"] == 6


def test_a_file_that_waits_too_long_turns_freshness_red_and_its_append_green(locate, spark):
    location = locate(checks={"freshness": {"max": "1h", "severity": "error"}})
    first, second = days(2)
    location.land(first, "a")
    location.run(first, first)
    tick = location.tick(COMPACTION)
    assert location.check("freshness")
    young = location.land(second, "young")
    tick = location.tick(COMPACTION, tick.cursor)
    assert location.check("freshness"), "it waits for less than an hour"
    two_hours_ago = time.time() - timedelta(hours=2).total_seconds()
    os.utime(young, (two_hours_ago, two_hours_ago))
    assert not location.tick(UPKEEP).asset_events, "one of the two sensors evaluates checks"
    tick = location.tick(COMPACTION)  # as a minute later: an age is not looked at in every tick
    assert not location.check("freshness")
    (told,) = [event for event in tick.asset_events if getattr(event, "check_name", "") == "freshness"]
    assert told.severity is dg.AssetCheckSeverity.ERROR
    assert str(young) in told.description
    assert f"materialize {second}" in told.description
    assert not check_op(location)["freshness"]
    location.run(second, second)
    location.tick(COMPACTION, tick.cursor)
    assert location.check("freshness")


def test_a_day_is_replaced_by_a_run_of_that_configuration(locate, spark):
    location = locate()
    (day,) = days(1)
    location.land(day, "a", rows=3)
    location.run(day, day)
    location.land(day, "a", rows=5)
    failed = location.run(day, day, fails=True)
    assert "was replaced after its rows were appended" in str(
        failed.get_step_failure_events()[0].step_failure_data.error
    )
    config = {"ops": {"__".join(location.table.key.path): {"config": {"replace": True}}}}
    location.run(day, day, config=config)
    shown = location.shown(day)
    assert (shown["dagster/partition_row_count"], shown["iceberg/appended_rows"]) == (5, 5)
    assert "in place of those of 1 files" in shown["iceberg/reason"]

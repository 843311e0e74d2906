"""The main job on the real engine: files land, are appended, noticed, compacted, and tidied up after."""

import os
import time
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.execution.backfill import PartitionBackfill

from iceberg_assets.spec import Operation
from iceberg_assets_tests.orchestration.conftest import Location, days

pytestmark = pytest.mark.usefixtures("spark")

COMPACTION, UPKEEP = "iceberg_compaction", "iceberg_upkeep"


def land_and_append(location: Location, dates, waves: int = 5) -> None:
    for wave in range(waves):
        for day in dates:
            location.land(day, f"wave{wave}")
        location.run(dates[0], dates[-1])


def scatter(location: Location, spark, dates, files: int = 5) -> None:
    """Append one date, and have Spark write so many files a date in one commit: what many appends leave, sooner."""
    location.land(dates[0], "first")
    location.run(dates[0], dates[0])
    times = ", ".join(f"TIMESTAMP '{day} 01:00:00+00:00'" for day in dates)
    rows = spark.range(0, files, 1, files).selectExpr("id", f"explode(array({times})) AS ts")
    table = ".".join(["local", *location.table.spec.table])
    rows.writeTo(table).option("distribution-mode", "none").option("fanout-enabled", "true").append()


def launch(location: Location, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    job = location.definitions.resolve_job_def(request.job_name or "")
    return job.execute_in_process(
        instance=location.instance,
        asset_selection=list(request.asset_selection or []),
        tags=dict(request.tags) | {"dagster/run_key": request.run_key or ""},
        raise_on_error=False,
    )


def test_small_files_are_noticed_compacted_and_tidied_up_after(locate, namespace):
    """Of a table that has a name of all letters: Dagster's names have few."""
    location = locate(
        table=[namespace, 'l\'été `à` "Nice", 100% / 2'],
        maintenance={
            "quiet_for": "0s",
            "manifests": {"min_count": 3},
            "expire": {"older_than": "0s", "retain_last": 2, "minimum_age": "0s"},
        },
        checks={"snapshots": {"max": 4}},
    )
    three = days(3)
    land_and_append(location, three)
    for day in three:
        shown = location.shown(day)
        assert shown["iceberg/status"] == "done"
        assert shown["iceberg/data_files"] == 5
        assert shown["dagster/partition_row_count"] == 15
        assert shown["dagster/row_count"] == 45
        assert shown["iceberg/small_files"] == 4
        assert isinstance(shown["iceberg/snapshot_id"], str)
    assert not location.check("small_files")
    assert not location.check("snapshots")

    noticed = location.tick(COMPACTION)
    (request,) = noticed.run_requests or []
    assert request.tags["dagster/asset_partition_range_start"] == "2024-01-01"
    assert request.tags["dagster/asset_partition_range_end"] == "2024-01-03"
    assert [key.path[-1] for key in request.asset_selection or []] == ["compacted"]
    assert not location.tick(UPKEEP).run_requests, "the rest waits while compaction is due"

    assert launch(location, request).success
    for day in three:
        shown = location.shown(day, "compacted")
        assert (shown["iceberg/status"], shown["iceberg/productive"]) == ("done", True)
        assert (shown["iceberg/data_files"], shown["iceberg/removed_data_files"]) == (1, 5)
        assert shown["dagster/partition_row_count"] == 15

    after = location.tick(COMPACTION, noticed.cursor)
    assert not after.run_requests
    assert "3 files on 3 dates" in after.skip_message
    assert location.check("small_files")
    assert location.shown(three[0])["iceberg/data_files"] == 1

    (rest,) = location.tick(UPKEEP).run_requests or []
    assert [key.path[-1] for key in rest.asset_selection or []] == [
        "manifests_rewritten",
        "snapshots_expired",
        "orphans_removed",
    ]
    assert launch(location, rest).success
    assert location.shown(three[0], "manifests_rewritten")["iceberg/table_manifests"] == 1
    assert location.shown(three[0], "snapshots_expired")["iceberg/table_snapshots"] == 2
    assert location.shown(three[0], "orphans_removed")["iceberg/status"] == "nothing_to_do"
    location.tick(COMPACTION, after.cursor)
    assert location.check("snapshots")
    assert not location.tick(UPKEEP).run_requests
    assert not location.tick(COMPACTION, after.cursor).run_requests


def test_dates_that_are_still_written_are_left_alone_and_say_when(locate, spark):
    location = locate(maintenance={"quiet_for": "1h"})
    scatter(location, spark, days(2))
    tick = location.tick(COMPACTION)
    assert not tick.run_requests
    assert "2024-01-01 to 2024-01-02: 11 files, 9 would go" in tick.skip_message
    assert "quiet after 1h" in tick.skip_message
    failed = location.run(days(2)[0], days(2)[0], "compacted", fails=True)
    assert "force: true" in str(failed.get_step_failure_events()[0].step_failure_data.error)
    assert not location.materialized("compacted")
    config = {"ops": {"__".join([*location.table.key.path, "compacted"]): {"config": {"force": True}}}}
    location.run(days(2)[0], days(2)[0], "compacted", config=config)
    assert location.shown(days(2)[0], "compacted")["iceberg/data_files"] == 1


def test_four_small_files_are_not_asked_for_and_a_date_without_need_turns_green(locate, spark):
    location = locate()
    scatter(location, spark, days(1), files=3)
    tick = location.tick(COMPACTION)
    assert not tick.run_requests
    location.run(days(1)[0], days(1)[0], "compacted")
    shown = location.shown(days(1)[0], "compacted")
    assert (shown["iceberg/status"], shown["iceberg/productive"]) == ("nothing_to_do", False)
    assert shown["iceberg/small_files_waiting"] == 4


def test_late_rows_are_shown_on_the_date_they_fell_on(locate):
    location = locate()
    monday, tuesday, *_ = days(3)
    location.land(tuesday, "late", of=monday)
    location.run(tuesday, tuesday)
    assert location.shown(tuesday)["iceberg/late_rows"] == 3
    assert location.shown(monday)["dagster/partition_row_count"] == 3
    assert "late rows" in location.shown(monday)["iceberg/reason"]
    assert location.materialized() == {tuesday.isoformat()}


def test_in_a_range_the_good_dates_are_green_and_the_bad_one_is_named(locate):
    location = locate()
    first, second, third = days(3)
    for day in (first, third):
        location.land(day, "good")
    failed = location.run(first, third, fails=True)
    assert location.materialized() == {first.isoformat(), third.isoformat()}
    assert str(second) in str(failed.get_step_failure_events()[0].step_failure_data.error)
    assert location.shown(first)["dagster/row_count"] == 6


def test_what_others_wrote_is_shown_and_asked_for_too(locate, spark):
    location = locate()
    scatter(location, spark, days(1), files=4)
    tick = location.tick(COMPACTION)
    assert len(tick.run_requests or []) == 1
    assert location.shown(days(1)[0])["iceberg/data_files"] == 5


def test_runs_and_backfills_in_flight_are_not_asked_for_again(locate, spark):
    location = locate()
    scatter(location, spark, days(2))
    (request,) = location.tick(COMPACTION).run_requests or []
    run = location.instance.create_run_for_job(
        location.definitions.resolve_job_def(location.table.job.name),
        asset_selection=frozenset(request.asset_selection or []),
        tags=dict(request.tags),
        status=dg.DagsterRunStatus.STARTED,
    )
    tick = location.tick(COMPACTION)
    assert not tick.run_requests
    assert "a compaction of it is running or queued" in tick.skip_message
    assert not location.tick(UPKEEP).run_requests
    location.instance.delete_run(run.run_id)

    @dg.job
    def somebody_elses() -> None: ...

    location.instance.create_run_for_job(
        somebody_elses, tags={"dagster/partition": "eu"}, status=dg.DagsterRunStatus.STARTED
    )
    assert location.tick(COMPACTION, cursor="by hand").run_requests, "other people's runs and cursors harm nobody"

    # A backfill has no run of its own for its first seconds.
    graph = location.definitions.resolve_asset_graph()
    location.instance.add_backfill(
        PartitionBackfill.from_asset_partitions(
            backfill_id="b",
            asset_graph=graph,
            partition_names=[day.isoformat() for day in days(2)],
            asset_selection=[location.table.key_of(Operation.COMPACT)],
            backfill_timestamp=time.time(),
            tags={},
            dynamic_partitions_store=location.instance,
            all_partitions=False,
            title=None,
            description=None,
            run_config=None,
        )
    )
    assert not location.tick(COMPACTION).run_requests


def test_a_failed_run_is_asked_for_again_but_not_at_once(locate, spark):
    location = locate()
    scatter(location, spark, days(1))
    (request,) = location.tick(COMPACTION).run_requests or []
    table = ".".join(["local", *location.table.spec.table])
    # A target that no rewrite can have: the run fails.
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.target-file-size-bytes'='-1')")
    failed = launch(location, request)
    assert not failed.success
    assert "could not be looked at" in location.tick(COMPACTION).skip_message, "one table's fault is no other's"
    spark.sql(f"ALTER TABLE {table} UNSET TBLPROPERTIES ('write.target-file-size-bytes')")
    tick = location.tick(COMPACTION)
    assert not tick.run_requests
    assert "failed 1 time in a row, tried again in" in tick.skip_message


def test_strays_go_and_what_is_young_or_alive_stays(locate, profile):
    location = locate()
    land_and_append(location, days(1), waves=1)
    data = Path(profile.catalog.warehouse, *location.table.spec.table, "data")
    old, young = data / "old-stray.parquet", data / "young-stray.parquet"
    alive = set(data.rglob("*.parquet"))
    for stray in (old, young):
        stray.write_bytes(b"not alive")
    four_days_ago = time.time() - timedelta(days=4).total_seconds()
    for path in [old, *alive]:
        os.utime(path, (four_days_ago, four_days_ago))
    location.run(days(1)[0], days(1)[0], "orphans_removed")
    shown = location.shown(days(1)[0], "orphans_removed")
    assert (shown["iceberg/status"], shown["iceberg/removed_orphans"]) == ("done", 1)
    assert set(data.rglob("*.parquet")) == {young, *alive}


def test_where_garbage_collection_is_off_nothing_is_deleted_and_that_is_said(locate, spark):
    location = locate(properties={"gc.enabled": False})
    land_and_append(location, days(1), waves=1)
    location.run(days(1)[0], days(1)[0], "snapshots_expired", "orphans_removed")
    for operation in ("snapshots_expired", "orphans_removed"):
        shown = location.shown(days(1)[0], operation)
        assert shown["iceberg/status"] == "skipped"
        assert "gc.enabled" in shown["iceberg/reason"]


def test_a_table_inside_anothers_location_keeps_its_files(locate, spark, profile):
    location = locate()
    land_and_append(location, days(1), waves=1)
    namespace, name = location.table.spec.table
    inner = f"{profile.catalog.warehouse}/{namespace}/{name}/data/inner"
    spark.sql(f"CREATE TABLE local.{namespace}.inner (id INT) USING iceberg LOCATION 'file://{inner}'")
    spark.sql(f"INSERT INTO local.{namespace}.inner VALUES (1)")
    files = [path for path in Path(inner).rglob("*") if path.is_file()]
    for path in files:
        os.utime(path, (0, 0))
    location.run(days(1)[0], days(1)[0], "orphans_removed")
    shown = location.shown(days(1)[0], "orphans_removed")
    assert shown["iceberg/status"] == "skipped"
    assert f"{namespace}.inner" in shown["iceberg/reason"]
    assert all(path.exists() for path in files)


def test_a_table_that_others_write_is_maintained_all_the_same(locate, spark):
    location = locate(source=None)
    name = ".".join(["local", *location.table.spec.table])
    spark.sql(f"CREATE NAMESPACE local.{location.table.spec.table[0]}")
    spark.sql(f"CREATE TABLE {name} (id BIGINT, ts TIMESTAMP) USING iceberg PARTITIONED BY (days(ts))")
    assert "has no snapshot yet" in location.tick(COMPACTION).skip_message
    for _ in range(5):
        spark.sql(f"INSERT INTO {name} VALUES (1, TIMESTAMP '2024-01-02 01:00:00+00:00')")
    noticed = location.tick(COMPACTION)
    (request,) = noticed.run_requests or []
    assert location.shown(days(2)[1])["iceberg/data_files"] == 5
    assert not location.check("small_files")
    assert launch(location, request).success
    assert location.shown(days(2)[1], "compacted")["iceberg/data_files"] == 1
    location.tick(COMPACTION, noticed.cursor)
    assert location.check("small_files")


def test_where_nothing_ever_landed_the_folder_is_named(locate):
    location = locate()
    failed = location.run(days(1)[0], days(1)[0], fails=True)
    assert "does not exist" in str(failed.get_step_failure_events()[0].step_failure_data.error)
    assert not location.materialized()

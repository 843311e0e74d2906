"""Ticks cost what has changed, end in time, and lose nothing. Tables of metadata only: no JVM."""

import json
import shutil
import time
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import dagster as dg
import pytest
from dagster._core.execution.backfill import PartitionBackfill

from iceberg_assets.health import ManifestCache, read_health
from iceberg_assets.health.attempts import MOST_FAILURES
from iceberg_assets.health.compaction_due import MOST_COMPACTIONS
from iceberg_assets.orchestration import event_log, sensors
from iceberg_assets.orchestration.event_log import Events, shown_digests
from iceberg_assets.spec import Operation
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.orchestration.conftest import FIRST, Locate, Location

COMPACTION = "iceberg_compaction"


@pytest.fixture
def written_by_others(locate: Locate, profile):
    """A table without a source, and a way to commit to it."""

    def make(days: list[date], files: int = 5, **declared: object) -> Location:
        profile.prepare()
        location = locate(source=None, **declared)
        table = on_paper.make(profile.pyiceberg(), location.table.spec.name)
        on_paper.append(table, days, files)
        return location

    return make


def every_second(count: int) -> list[date]:
    return [FIRST + timedelta(days=2 * n) for n in range(count)]


def observed(tick) -> list[str]:
    return [event.partition for event in tick.asset_events if isinstance(event, dg.AssetObservation)]


def asked(tick) -> list[str]:
    return [request.tags["dagster/asset_partition_range_start"] for request in tick.run_requests or []]


def test_two_thousand_dates_late_data_and_dates_before_the_start(written_by_others, profile):
    dates = {"column": "ts", "start": "2010-01-01", "end": "2026-12-31"}
    days = [date(2010, 1, 1) + timedelta(days=2 * n) for n in range(2_000)]
    before = [date(2009, 12, 31), date(1999, 1, 1)]
    location = written_by_others([*before, *days], 5, dates=dates)
    begin = time.monotonic()
    tick = location.tick(COMPACTION)
    assert time.monotonic() - begin < 60, "Dagster ends a tick after 60 s"
    assert len(asked(tick)) == 8, "a short queue, not a run for each of 2,000 gaps"
    partitions = set(location.table.partitions.get_partition_keys())
    assert set(asked(tick)) <= partitions
    assert {event.partition for event in tick.asset_events if getattr(event, "partition", None)} <= partitions

    late = days[1000]
    on_paper.append(profile.pyiceberg().load_table(location.table.spec.table), [late], 9)
    assert asked(location.tick(COMPACTION, tick.cursor))[0] == late.isoformat(), "what gains most comes first"


def test_a_table_that_did_not_change_is_not_read_again(written_by_others, profile):
    """Its manifests may even be gone: a tick that read them would say so."""
    location = written_by_others([FIRST])
    first = location.tick(COMPACTION)
    table = profile.pyiceberg().load_table(location.table.spec.table)
    metadata = Path(urlsplit(table.location()).path) / "metadata"
    shutil.move(metadata, metadata.with_name("away"))
    second = location.tick(COMPACTION, first.cursor)
    assert asked(second) == asked(first) == [FIRST.isoformat()]
    assert not second.asset_events, "what was shown is not shown again"
    shutil.move(metadata.with_name("away"), metadata)

    new = FIRST + timedelta(days=5)
    on_paper.append(table.refresh(), [new], 5)
    third = location.tick(COMPACTION, second.cursor)
    assert len(asked(third)) == 2
    assert observed(third) == [new.isoformat()]


def test_what_a_tick_showed_and_the_daemon_lost_is_shown_again(written_by_others, profile):
    """Dagster stores a tick's events before its cursor: without the cursor there need be no events."""
    location = written_by_others([FIRST])
    first, again = (location.evaluate(COMPACTION, None) for _ in range(2))
    assert observed(first) == observed(again) == [FIRST.isoformat()]


def test_a_tick_that_runs_out_of_time_goes_on_in_the_next_where_it_stopped(written_by_others, monkeypatch):
    location = written_by_others([FIRST])
    monkeypatch.setattr(sensors, "_TICK_SECONDS", -1)
    late = location.tick(COMPACTION)
    assert not late.run_requests
    assert "the next tick begins with it" in late.skip_message
    assert json.loads(late.cursor)["next"] == location.table.key.to_user_string()
    monkeypatch.undo()
    assert asked(location.tick(COMPACTION, late.cursor)) == [FIRST.isoformat()]


def test_each_look_at_a_large_table_comes_nearer_to_its_end(written_by_others, profile, tmp_path):
    location = written_by_others([FIRST])
    table = profile.pyiceberg().load_table(location.table.spec.table)
    for n in range(1, 4):
        on_paper.append(table.refresh(), [FIRST + timedelta(days=n)], 2)
    cache, said = ManifestCache(tmp_path / "cache.sqlite"), []
    for _ in range(10):
        try:
            health = read_health(profile, location.table.spec, cache=cache, deadline=0)
            break
        except TimeoutError as error:
            said.append(str(error))
    assert said == ["1 of 4 manifests were read", "1 of 3 manifests were read", "1 of 2 manifests were read"]
    assert health == read_health(profile, location.table.spec)


def test_attempts_are_read_in_the_next_tick_where_time_ran_out(written_by_others, monkeypatch):
    location = written_by_others(every_second(3))
    location.tick(COMPACTION)
    monkeypatch.setattr(event_log, "_AT_ONCE", 1)
    events = Events(location.instance, {})
    for unread in (3, 2):
        with pytest.raises(TimeoutError, match=f"1 of {unread} events"):
            shown_digests(events, location.table, every_second(3), deadline=0)
    assert set(shown_digests(events, location.table, every_second(3), deadline=0)) == set(every_second(3))


def test_a_date_that_lost_its_last_file_is_shown_without_files(written_by_others, profile):
    """Its plot would go on with the files that it had."""
    gone = FIRST + timedelta(days=1)
    location = written_by_others([FIRST, gone])
    first = location.tick(COMPACTION)
    assert location.shown(gone)["iceberg/data_files"] == 5
    table = profile.pyiceberg().load_table(location.table.spec.table)
    of_date = [task.file for task in table.scan(row_filter=f"ts >= '{gone}T00:00:00+00:00'").plan_files()]
    with table.transaction() as transaction, transaction.update_snapshot().overwrite() as snapshot:
        for file in of_date:
            snapshot.delete_data_file(file)
    second = location.tick(COMPACTION, first.cursor)
    assert location.shown(gone)["iceberg/data_files"] == 0
    assert not location.tick(COMPACTION, second.cursor).asset_events, "it is shown once"


def test_a_tick_that_asks_for_something_tells_in_its_log_why_and_why_not_the_rest(written_by_others, capsys):
    location = written_by_others([FIRST])
    assert location.tick(COMPACTION).run_requests
    told = capsys.readouterr().err
    assert f"compacted: {FIRST}: 5 files, 4 would go" in told


def test_what_others_report_of_the_asset_in_their_own_words_keeps_no_tick_from_its_work(written_by_others):
    """One event, or one backfill of partitions that the asset once had, would end every tick while it is there."""
    location = written_by_others([FIRST])
    key, instance = location.table.key_of(Operation.COMPACT), location.instance
    for partition, words in (("all", {}), (FIRST.isoformat(), {"iceberg/status": "fine"}), (None, {})):
        for asset in (location.table.key, key):
            instance.report_runless_asset_event(dg.AssetMaterialization(asset, partition=partition, metadata=words))
    letters = dg.StaticPartitionsDefinition(["a"])
    once = dg.Definitions(assets=[dg.AssetSpec(key, partitions_def=letters)]).get_repository_def()
    instance.add_backfill(
        PartitionBackfill.from_asset_partitions(
            backfill_id="letters",
            asset_graph=once.asset_graph,
            partition_names=["a"],
            asset_selection=[key],
            backfill_timestamp=time.time(),
            tags={},
            dynamic_partitions_store=instance,
            all_partitions=False,
            title=None,
            description=None,
            run_config=None,
        )
    )
    tick = location.tick(COMPACTION)
    assert asked(tick) == [FIRST.isoformat()]
    assert location.shown(FIRST)["iceberg/data_files"] == 5


def test_eight_dates_that_fail_in_turn_are_each_given_up_after_eight_times(written_by_others):
    """A memory of too few failed runs would count none of them to the end, and try all of them for ever."""
    dates = every_second(MOST_COMPACTIONS)
    location = written_by_others(dates)
    table = location.table
    for day in dates * MOST_FAILURES:
        location.instance.add_run(
            dg.DagsterRun(
                table.job.name,
                asset_selection=frozenset({table.key_of(Operation.COMPACT)}),
                tags={"dagster/partition": day.isoformat()},
                status=dg.DagsterRunStatus.FAILURE,
            )
        )
    tick = location.tick(COMPACTION)
    assert tick.skip_message.count(f"failed {MOST_FAILURES} times in a row") == len(dates)
    assert not location.check("unproductive_maintenance")

"""Every event about a date says the same keys, of the real engine's doing; what is beside them stays small."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dagster._serdes import serialize_value

from iceberg_assets.orchestration.checks import evaluations, rows_preserved
from iceberg_assets.spec import Operation, Outcome, Status
from iceberg_assets_tests.orchestration.conftest import FIRST, Location, days
from iceberg_assets_tests.orchestration.test_main_job import COMPACTION, scatter

OF_PARTITION = {
    "iceberg/data_files": int,
    "iceberg/small_files": int,
    "iceberg/small_files_waiting": int,
    "iceberg/delete_files": int,
    "iceberg/delete_ratio": float,
    "iceberg/old_spec_files": int,
    "iceberg/total_bytes": int,
    "iceberg/average_file_bytes": float,
    "dagster/partition_row_count": int,
}
OF_TABLE = {
    "iceberg/table_data_files": int,
    "iceberg/table_small_files": int,
    "iceberg/table_small_files_waiting": int,
    "iceberg/table_delete_files": int,
    "iceberg/table_delete_ratio": float,
    "iceberg/table_old_spec_files": int,
    "iceberg/table_total_bytes": int,
    "iceberg/table_average_file_bytes": float,
    "iceberg/table_snapshots": int,
    "iceberg/table_pinned_snapshots": int,
    "iceberg/table_manifests": int,
    "iceberg/table_metadata_files": int,
    "dagster/row_count": int,
    "dagster/table_name": str,
    "dagster/uri": str,
    "dagster/column_schema": dg.TableSchema,
}
ALWAYS = {"iceberg/snapshot_id": str, "iceberg/status": str, "iceberg/reason": str, "iceberg/pinned_by": str}
KEYS: Mapping[str, type] = OF_PARTITION | OF_TABLE | ALWAYS

MOST_BYTES = {"iceberg/files": 6_000, "iceberg/file_sizes": 30_000, "iceberg/snapshots": 30_000}


def holds_the_keys(said: Mapping[str, Any]) -> None:
    assert {name: type(said.get(name)) for name in KEYS} == dict(KEYS)
    assert said["iceberg/reason"]


def events(location: Location, key: dg.AssetKey) -> list[dg.AssetMaterialization | dg.AssetObservation]:
    found = [
        *location.instance.fetch_materializations(key, limit=100).records,
        *location.instance.fetch_observations(key, limit=100).records,
    ]
    return [one for record in found if (one := record.asset_materialization or record.asset_observation)]


def sizes(event: dg.AssetMaterialization | dg.AssetObservation) -> dict[str, int]:
    return {name: len(serialize_value(event.metadata[name])) for name in MOST_BYTES if name in event.metadata}


@pytest.fixture
def kept(locate, spark) -> Location:
    """Three dates of forty files each, late rows on a fourth; two dates went through every operation."""
    location = locate(
        maintenance={"quiet_for": "0s", "expire": {"older_than": "0s", "minimum_age": "0s", "retain_last": 1}}
    )
    scatter(location, spark, days(3), files=40)
    location.land(FIRST, "late", of=FIRST + timedelta(days=5))
    location.run(FIRST, FIRST)
    location.tick(COMPACTION)
    location.run(FIRST, days(2)[1], *(operation.value for operation in Operation))
    return location


def test_events_say_every_key_of_their_date_and_table_and_show_what_was_done(kept):
    every_event_says_every_key(kept)
    the_compaction_shows_files_before_and_after_and_why_it_ran(kept)
    the_expiry_shows_which_snapshots_went(kept)


def every_event_says_every_key(kept: Location) -> None:
    table = kept.table
    seen: dict[str, int] = {}
    largest: dict[str, int] = {}
    for key in [table.key, *(table.key_of(operation) for operation in Operation)]:
        for event in events(kept, key):
            said = {name: value.value for name, value in event.metadata.items()}
            holds_the_keys(said)
            kind = f"{type(event).__name__} {key.path[-1]}"
            seen[kind] = seen.get(kind, 0) + 1
            for name, size in sizes(event).items():
                largest[name] = max(largest.get(name, 0), size)
    assert seen == {
        "AssetMaterialization events": 2,
        # One of the late date, and one a date of the tick: what Spark wrote, and nobody had shown.
        "AssetObservation events": 3,
        **{f"AssetMaterialization {operation.value}": 2 for operation in Operation},
    }
    assert largest.keys() == MOST_BYTES.keys()
    assert all(size < MOST_BYTES[name] for name, size in largest.items()), largest


def the_compaction_shows_files_before_and_after_and_why_it_ran(kept: Location) -> None:
    first, second = (kept.shown(day, "compacted") for day in days(2))
    assert "41 files of 41 planned became 1: 41 files of" in first["iceberg/reason"]
    assert "due from 5" in first["iceberg/reason"]
    rows = [record.data for record in first["iceberg/files"].records]
    before = [row for row in rows if row["when"] == "before"]
    (after,) = [row for row in rows if row["when"] == "after"]
    assert before[-1]["file"] == "and 31 more"
    assert sum(row["rows"] for row in before) == after["rows"] == first["dagster/partition_row_count"]
    assert after["bytes"] == first["iceberg/total_bytes"]
    assert "iceberg/file_sizes" not in first, "a picture is of the run: the last date has it"
    assert "81 files of" in second["iceberg/file_sizes"]


def the_expiry_shows_which_snapshots_went(kept: Location) -> None:
    first, second = (kept.shown(day, "snapshots_expired") for day in days(2))
    assert "iceberg/snapshots" not in first
    assert f"{second['iceberg/expired_snapshots']} of" in second["iceberg/snapshots"]
    assert "data:image/svg+xml;base64," in second["iceberg/snapshots"]


def test_nothing_is_expired_while_a_rewrite_is_said_to_have_changed_rows(locate, spark, profile):
    location = locate(maintenance={"quiet_for": "0s", "expire": {"older_than": "0s", "minimum_age": "0s"}})
    scatter(location, spark, days(1))
    changed = Outcome(Operation.COMPACT, Status.FAILED, "snapshot 7 has 2 rows, its parent 3", rows_preserved=False)
    for event in evaluations([rows_preserved(location.table, Operation.COMPACT, {FIRST: changed}, settles=False)]):
        location.instance.report_runless_asset_event(event)
    failed = location.run(FIRST, FIRST, "snapshots_expired", fails=True)
    told = str(failed.get_step_failure_events()[0].step_failure_data.error)
    assert "'compacted' of 2024-01-01 changed rows" in told
    assert "materialize 'compacted'" in told
    assert len(profile.pyiceberg().load_table(location.table.spec.table).snapshots()) == 2
    op = location.definitions.resolve_assets_def(location.table.key_of(Operation.COMPACT)).op.name
    forced = {"ops": {op: {"config": {"force": True}}}}
    location.run(FIRST, FIRST, "compacted", "snapshots_expired", config=forced)
    assert len(profile.pyiceberg().load_table(location.table.spec.table).snapshots()) == 1


def test_deletes_that_pile_up_turn_two_checks_red_and_a_compaction_that_heeds_them_green(locate, spark):
    location = locate(
        properties={"write.delete.mode": "merge-on-read"},
        maintenance={"quiet_for": "0s", "compact": {"options": {"delete-file-threshold": 1}}},
        checks={"delete_ratio": {"max": 0.2}, "delete_files": {"max": 0}},
    )
    location.land(FIRST, "a", rows=10)
    location.run(FIRST, FIRST)
    name = ".".join(["local", *location.table.spec.table])
    spark.sql(f"DELETE FROM {name} WHERE id < 4")
    red = location.tick(COMPACTION)
    assert not location.check("delete_ratio")
    assert not location.check("delete_files")
    told = {one.check_name: one.description for one in red.asset_events if isinstance(one, dg.AssetCheckEvaluation)}
    assert "40% of the rows written to 2024-01-01" in told["delete_ratio"]
    assert "1 delete file applies to 2024-01-01" in told["delete_files"]
    assert location.shown(FIRST)["iceberg/delete_ratio"] == 0.4
    location.run(FIRST, FIRST, "compacted")
    location.tick(COMPACTION, red.cursor)
    assert location.check("delete_ratio")
    assert location.check("delete_files")


def test_a_raw_file_that_the_next_append_would_refuse_turns_the_schema_check_red(locate, spark):
    location = locate()
    first, second = days(2)
    location.land(first, "a")
    location.run(first, first)
    waiting = location.land(second, "b")
    location.tick(COMPACTION)
    assert location.check("schema_as_declared")
    pq.write_table(pa.table({"id": ["one"], "ts": pq.read_table(waiting)["ts"][:1]}), waiting)
    red = location.tick(COMPACTION)
    (told,) = [one for one in red.asset_events if getattr(one, "check_name", "") == "schema_as_declared"]
    assert not told.passed
    assert str(waiting) in told.description
    assert "column 'id' is string" in told.description
    location.land(second, "b")
    location.run(second, second)
    location.tick(COMPACTION, red.cursor)
    assert location.check("schema_as_declared")

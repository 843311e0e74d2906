"""What a person sets in the Launchpad: typed fields, a dry run that turns nothing green, an append that compacts."""

import dagster as dg
import pytest

from iceberg_assets.maintenance import OFFERED
from iceberg_assets.orchestration.checks import evaluations, rows_preserved
from iceberg_assets.spec import Operation, Outcome, Status
from iceberg_assets_tests.maintenance.files_of import live_files, untouched
from iceberg_assets_tests.orchestration.conftest import days

pytestmark = pytest.mark.usefixtures("spark")


def config_of(location, below: str, **given):
    return {"ops": {"__".join([*location.table.key.path, below]): {"config": given}}}


def test_a_dry_run_is_an_observation_and_no_date_turns_green(locate, spark):
    location = locate()
    first, second = days(2)
    for wave in range(5):
        location.land(first, f"wave{wave}")
        location.land(second, f"wave{wave}")
        location.run(first, second)
    spec, profile = location.table.spec, location.table.profile
    state, files = untouched(profile, spec), live_files(spark, spec)
    options = {"dry_run": True, "min-input-files": 2, "sort_order": "id DESC NULLS LAST"}
    location.run(first, second, "compacted", config=config_of(location, "compacted", **options))
    assert untouched(profile, spec) == state
    assert not location.materialized("compacted")
    shown = location.shown(first, "compacted")
    assert shown["iceberg/reason"].startswith("dry run: 5 files of ")
    assert shown["iceberg/would_remove_files"] == 5
    assert {record.data["file"] for record in shown["iceberg/would_remove"].records} < files.keys()
    location.run(first, second, "manifests_rewritten", config=config_of(location, "manifests_rewritten", dry_run=True))
    assert not location.materialized("manifests_rewritten")

    failed = location.run(
        first, first, "compacted", config=config_of(location, "compacted", sort_order="x("), fails=True
    )
    assert "sort_order: expected columns such as" in str(failed.get_step_failure_events()[0].step_failure_data.error)
    del options["dry_run"]
    location.run(first, first, "compacted", config=config_of(location, "compacted", **options))
    assert location.materialized("compacted") == {first.isoformat()}
    assert location.shown(first, "compacted")["iceberg/data_files"] == 1


def test_every_offered_argument_is_a_field_with_its_sentence(locate):
    location = locate()
    for operation in Operation:
        (asset,) = [
            one
            for one in location.definitions.assets or []
            if location.table.key_of(operation) in getattr(one, "keys", ())
        ]
        assert isinstance(asset, dg.AssetsDefinition)
        fields = asset.op.config_schema.config_type.fields
        assert fields.keys() >= {"dry_run", *OFFERED[operation]}
        assert all(field.description for field in fields.values())


def test_an_append_compacts_its_dates_in_its_own_run_where_the_table_says_so(locate):
    policy = {"after_append": True, "options": {"min-input-files": 1}}
    location = locate(maintenance={"quiet_for": "1h", "compact": policy})
    (day,) = days(1)
    location.land(day, "one")
    location.run(day, day)
    shown = location.shown(day)
    assert (shown["iceberg/status"], shown["iceberg/compaction_status"]) == ("done", "nothing_to_do")
    assert "min-input-files 1 still needs two files" in shown["iceberg/compaction_reason"]
    location.land(day, "two")
    location.run(day, day)
    shown = location.shown(day)
    assert (shown["iceberg/compaction_status"], shown["iceberg/data_files"]) == ("done", 1)
    assert shown["dagster/partition_row_count"] == 6
    location.run(day, day)
    assert "iceberg/compaction_status" not in location.shown(day), "nothing was appended"

    changed = Outcome(Operation.COMPACT, Status.FAILED, "rows changed", rows_preserved=False)
    check = rows_preserved(location.table, Operation.COMPACT, {day: changed}, settles=False)
    for event in evaluations([check]):
        location.instance.report_runless_asset_event(event)
    location.land(day, "three")
    location.run(day, day)
    shown = location.shown(day)
    assert (shown["iceberg/status"], shown["iceberg/compaction_status"]) == ("done", "skipped")
    assert "the table is on hold" in shown["iceberg/compaction_reason"]
    assert shown["iceberg/data_files"] == 2

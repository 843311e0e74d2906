"""Procedures by hand: what is foretold is what comes of it, and the words when it cannot be."""

import json
from datetime import timedelta

import pytest
from typer.testing import CliRunner

from iceberg_assets.cli import app
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.maintenance import (
    call_procedure,
    core,
    foretell_call,
    foretell_manifests,
    health_of,
    rewrite_manifests,
)
from iceberg_assets.maintenance.undo import undo
from iceberg_assets.spec import Status
from iceberg_assets.spec.policy import MaintenancePolicy
from iceberg_assets.spec.procedures import PROCEDURES
from iceberg_assets_tests.maintenance.files_of import live_files, live_manifests, untouched
from iceberg_assets_tests.maintenance.test_foretold import FIRST, MERGE_ON_READ, NOW, SECOND, Scene

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def scene(spark, profile, namespace) -> Scene:
    return Scene(spark, profile, namespace)


def foretold_and_called(scene, spec, procedure: str, *, exact: bool = True, **given):
    """Preview and result of a call: the preview touched nothing, and what it named is what went."""
    declared = PROCEDURES[procedure]
    values = declared.parse({name.replace("__", "-"): value for name, value in given.items()})
    state, before = untouched(scene.profile, spec), live_files(scene.spark, spec)
    preview = foretell_call(scene.profile, spec, declared, values, now=NOW)
    assert untouched(scene.profile, spec) == state
    called = call_procedure(lambda: scene.spark, scene.profile, spec, declared, values, now=NOW)
    after = live_files(scene.spark, spec)
    if exact and (preview.removes or procedure.startswith("rewrite")):
        assert dict(preview.removes) == {path: size for path, size in before.items() if path not in after}
    return preview, called


def test_a_condition_as_people_type_it_is_rewritten_where_it_may_match(scene):
    """A file that holds nothing but nulls differs from no value, and Spark's own words are left to Spark."""
    spec = scene.table({}, {})
    nulls = scene.spark.sql(f"SELECT 100L AS id, ts, CAST(NULL AS STRING) AS name FROM {scene.sql(spec)} LIMIT 1")
    nulls.writeTo(scene.sql(spec)).append()
    rows = scene.rows(spec)
    for where, files, certain in (
        ('name = "3"', 0, True),
        ("`ID` >= 0 AND name <> 'it''s \"not\"'", 12, True),
        ("ts >= '2024-01-30'", 13, False),
        ("ts >= TIMESTAMP '2024-03-01 00:00:00+00:00'", 0, False),
    ):
        values = PROCEDURES["rewrite_data_files"].parse({"where": where})
        preview, called = foretold_and_called(scene, spec, "rewrite_data_files", exact=certain, **values)
        assert (called.status, called.details.get("iceberg/removed_files", 0)) == (
            Status.DONE if files else Status.NOTHING_TO_DO,
            files,
        ), (where, called.reason)
        assert any("where narrows this" in note for note in preview.notes) is not certain
        assert scene.rows(spec) == rows
        if files:
            undo(scene.profile, spec)


def test_a_branch_is_rewritten_and_main_is_not(scene):
    spec = scene.table({}, {})
    scene.spark.sql(f"ALTER TABLE {scene.sql(spec)} CREATE BRANCH audit")
    main = health_of(scene.profile, spec).snapshot_id
    declared = PROCEDURES["rewrite_data_files"]
    values = declared.parse({"branch": "audit"})
    assert len(foretell_call(scene.profile, spec, declared, values, now=NOW).removes) == 12
    called = call_procedure(lambda: scene.spark, scene.profile, spec, declared, values, now=NOW)
    assert (called.status, called.details["iceberg/removed_files"]) == (Status.DONE, 12), called.reason
    assert health_of(scene.profile, spec).snapshot_id == main
    _, forwarded = foretold_and_called(scene, spec, "fast_forward", branch="main", to="audit")
    assert forwarded.status is Status.DONE, forwarded.reason
    assert health_of(scene.profile, spec).data_files == 2
    assert not foretold_and_called(scene, spec, "fast_forward", branch="main", to="audit")[0].due


def test_manifests_are_foretold_to_the_path(scene):
    spec = scene.table({}, MERGE_ON_READ)
    for day in (FIRST, SECOND):
        scene.write(spec, [day])
    scene.spark.sql(f"DELETE FROM {scene.sql(spec)} WHERE id % 3 = 0")
    spec = spec.model_copy(
        update={
            "maintenance": spec.maintenance.model_copy(
                update={"manifests": spec.maintenance.manifests.model_copy(update={"min_count": 2})}
            )
        }
    )
    before, rows, state = live_manifests(scene.spark, spec), scene.rows(spec), untouched(scene.profile, spec)
    preview = foretell_manifests(scene.profile, spec)
    for wrong, words in (
        ({"spec_id": 9}, "has no partition spec 9; it has 0"),
        ({"sort_by": ("da",)}, "it has ts_day"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            foretell_manifests(scene.profile, spec, arguments=wrong)
    assert untouched(scene.profile, spec) == state
    assert preview.due
    outcome = rewrite_manifests(lambda: scene.spark, scene.profile, spec, [SECOND]).outcomes[SECOND]
    after = live_manifests(scene.spark, spec)
    assert outcome.status is Status.DONE, outcome.reason
    assert dict(preview.removes) == {path: size for path, size in before.items() if path not in after}
    assert len(after.keys() - before.keys()) == preview.details["iceberg/manifests_after"]
    assert scene.rows(spec) == rows
    assert not foretell_manifests(scene.profile, spec).due


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_a_single_manifest_is_written_without_a_call_and_every_entry_is_as_it_was(scene, version, monkeypatch):
    """Sequence numbers, the snapshot that added a file, and of version 3 the numbers of its rows."""
    spec = scene.table(
        {}, {"format-version": version} | ({} if version == "1" else {"write.delete.mode": "merge-on-read"})
    )
    for _ in range(3):
        scene.write(spec, [FIRST], files=2)
    scene.spark.sql(f"DELETE FROM {scene.sql(spec)} WHERE id = 3")
    of_entry = "snapshot_id, sequence_number, file_sequence_number, data_file"
    numbers = ", _row_id, _last_updated_sequence_number" if version == "3" else ""

    def found() -> tuple[list[str], list[str]]:
        entries = scene.spark.sql(f"SELECT {of_entry} FROM {scene.sql(spec)}.entries WHERE status < 2").collect()
        rows = scene.spark.sql(f"SELECT *{numbers} FROM {scene.sql(spec)}").collect()
        return sorted(map(str, entries)), sorted(map(str, rows))

    before, manifests = found(), live_manifests(scene.spark, spec)
    spec = spec.model_copy(update={"maintenance": MaintenancePolicy.model_validate({"manifests": {"min_count": 2}})})
    monkeypatch.setattr("iceberg_assets.maintenance.manifests.execute", None)
    outcome = rewrite_manifests(lambda: scene.spark, scene.profile, spec, [SECOND]).outcomes[SECOND]
    assert (outcome.status, outcome.rows_preserved) == (Status.DONE, True), outcome.reason
    assert found() == before
    left = live_manifests(scene.spark, spec)
    assert (len(manifests), len(left), len(left.keys() - manifests.keys())) == (
        (5, 1, 1) if version == "1" else (5, 2, 1)
    )


def test_somebodys_compaction_by_the_same_spark_meanwhile_is_no_loss_of_files(scene, monkeypatch):
    """Of a session that others share, an application's id does not tell whose commit it is."""
    spec = scene.table({}, {})
    scene.write(spec, [FIRST], files=1)
    spec = spec.model_copy(update={"maintenance": MaintenancePolicy.model_validate({"manifests": {"min_count": 2}})})
    rows, real = scene.rows(spec), core.rewrite_manifests

    def beside_a_compaction(*given):
        scene.spark.sql(f"CALL local.system.rewrite_data_files(table => '{'.'.join(spec.table)}')")
        real(*given)

    monkeypatch.setattr(core, "rewrite_manifests", beside_a_compaction)
    outcome = rewrite_manifests(lambda: scene.spark, scene.profile, spec, [SECOND]).outcomes[SECOND]
    assert (outcome.status, outcome.rows_preserved) == (Status.DONE, True), outcome.reason
    assert health_of(scene.profile, spec).data_files < 12
    assert scene.rows(spec) == rows


def test_position_deletes_are_foretold_to_the_path(scene):
    spec = scene.table({}, {**MERGE_ON_READ, "write.delete.granularity": "file"})
    scene.spark.sql(f"DELETE FROM {scene.sql(spec)} WHERE id % 3 = 0")
    rows = scene.rows(spec)
    for procedure in ("rewrite_position_delete_files", "rewrite_data_files"):
        preview, called = foretold_and_called(scene, spec, procedure, rewrite__all=True)
        assert preview.due
        assert called.status is Status.DONE, called.reason
        assert scene.rows(spec) == rows
    assert health_of(scene.profile, spec).delete_files == 0, "the rewrite of all data files drops what was deleted"


def test_what_cannot_be_done_is_said_beforehand(scene):
    """In words of our own, before a session is asked for or a lease is taken."""
    spec = scene.table({}, {})
    name = scene.sql(spec)
    scene.spark.sql(f"ALTER TABLE {name} CREATE TAG kept")
    scene.spark.sql(f"ALTER TABLE {name} CREATE BRANCH side")
    scene.spark.sql(f"DELETE FROM {name}.branch_side WHERE name = '1'")
    scene.write(spec, [FIRST], files=1)
    (deleted,) = [ref.snapshot_id for ref in health_of(scene.profile, spec).refs if ref.name == "side"]
    state = untouched(scene.profile, spec)

    def no_session():
        raise AssertionError("a session was asked for")

    def refused(procedure: str, **given: object) -> str:
        declared = PROCEDURES[procedure]
        values = declared.parse({name.replace("__", "-"): value for name, value in given.items()})
        try:
            called = call_procedure(no_session, scene.profile, spec, declared, values, now=NOW)
        except ConfigurationError as error:
            return str(error)
        assert called.status in (Status.FAILED, Status.SKIPPED)
        assert not foretell_call(scene.profile, spec, declared, values, now=NOW).due
        return called.reason

    assert "'kept' is a tag, and only a branch" in refused("rewrite_data_files", branch="kept")
    assert "the table has no column nam; it has id" in refused("rewrite_data_files", where="ID = 1 OR NOT nam = 'x'")
    assert "compression-factor needs strategy: sort" in refused("rewrite_data_files", compression__factor=2)
    assert "sort_order needs strategy: sort" in refused("rewrite_data_files", strategy="binpack", sort_order="id")
    assert "the table has none of its own" in refused("rewrite_data_files", strategy="sort")
    assert "'kept' is a tag, and does not move" in refused("fast_forward", branch="kept", to="main")
    assert "only appends and dynamic overwrites" in refused("cherrypick_snapshot", snapshot_id=deleted)
    for procedure in ("compute_table_stats", "compute_partition_stats"):
        assert "the table has no snapshot 5" in refused(procedure, snapshot_id=5)
    assert "the table has no column nam; it has" in refused("compute_table_stats", columns="id,nam")
    assert untouched(scene.profile, spec) == state
    table = scene.profile.pyiceberg().load_table(spec.table)
    with table.transaction() as change:
        change.set_properties({"self-optimizing.enabled": "true"})
    for procedure in ("rewrite_data_files", "rewrite_position_delete_files", "compute_table_stats"):
        assert "Amoro optimizes it" in refused(procedure)


def test_refs_go_where_it_was_said(scene):
    spec = scene.table({}, {})
    first = health_of(scene.profile, spec).snapshot_id
    scene.write(spec, [FIRST], files=1)
    second = health_of(scene.profile, spec).snapshot_id
    preview, called = foretold_and_called(scene, spec, "rollback_to_snapshot", snapshot_id=str(first))
    assert preview.snapshots == (second,)
    assert "ledger forget" in preview.notes[0]
    assert (called.status, health_of(scene.profile, spec).snapshot_id) == (Status.DONE, first), called.reason

    preview, called = foretold_and_called(scene, spec, "rollback_to_snapshot", snapshot_id=second)
    assert called.status is Status.FAILED
    assert f"snapshot {second} is no ancestor of main" in called.reason
    _, called = foretold_and_called(scene, spec, "cherrypick_snapshot", snapshot_id=second)
    assert called.status is Status.DONE, called.reason
    _, called = foretold_and_called(scene, spec, "cherrypick_snapshot", snapshot_id=second)
    assert "are in main already" in called.reason
    _, called = foretold_and_called(scene, spec, "set_current_snapshot", snapshot_id=first)
    assert called.status is Status.DONE, called.reason
    before = health_of(scene.profile, spec).snapshots[0].committed_at - timedelta(seconds=1)
    _, called = foretold_and_called(scene, spec, "rollback_to_timestamp", timestamp=before.isoformat())
    assert "no ancestor of main is older" in called.reason

    scene.spark.conf.set("spark.wap.id", "")
    scene.spark.sql(f"ALTER TABLE {scene.sql(spec)} SET TBLPROPERTIES ('write.wap.enabled'='true')")
    scene.spark.conf.set("spark.wap.id", "night")
    try:
        scene.write(spec, [SECOND], files=1)
    finally:
        scene.spark.conf.unset("spark.wap.id")
    rows = len(scene.rows(spec))
    _, called = foretold_and_called(scene, spec, "publish_changes", wap_id="night")
    assert called.status is Status.DONE, called.reason
    assert len(scene.rows(spec)) == rows + 2
    for procedure in ("compute_table_stats", "compute_partition_stats"):
        _, called = foretold_and_called(scene, spec, procedure)
        assert called.status is Status.DONE, called.reason


def test_an_append_that_a_rollback_left_behind_is_named_with_its_way_back(scene):
    spec = scene.table({}, {})
    first = health_of(scene.profile, spec).snapshot_id
    scene.write(spec, [FIRST], files=1)
    appended = []

    def append_meanwhile():
        if not appended:
            scene.write(spec, [SECOND], files=1)
            appended.append(health_of(scene.profile, spec).snapshot_id)
        return scene.spark

    declared = PROCEDURES["rollback_to_snapshot"]
    values = declared.parse({"snapshot_id": first})
    called = call_procedure(append_meanwhile, scene.profile, spec, declared, values, now=NOW)
    assert called.status is Status.FAILED
    assert f"call set_current_snapshot {spec.name} snapshot_id={appended[0]}" in called.reason


DECLARED = """
type: iceberg_assets.IcebergTable
attributes:
  table: {table}
  dates: {{column: ts, start: "2024-01-01", end: "2024-02-29"}}
"""


def test_the_command_says_what_it_would_do_and_does_it(scene, project, monkeypatch, tmp_path):
    spec = scene.table({}, {})
    folder = project / "defs" / scene.namespace
    folder.mkdir(parents=True)
    (folder / "defs.yaml").write_text(DECLARED.format(table=spec.name))
    monkeypatch.chdir(project)
    runner = CliRunner()

    def call(*arguments: str, code: int = 0) -> str:
        result = runner.invoke(app, ["call", *arguments])
        assert result.exit_code == code, result.output
        return result.output

    day = ("--date", SECOND.isoformat())
    rewrite = ("rewrite_data_files", spec.name, "sort_order=id", "rewrite-all=true", *day)
    state = untouched(scene.profile, spec)
    (preview,) = json.loads(call(*rewrite, "--force", "--dry-run", "--json"))
    assert untouched(scene.profile, spec) == state
    assert (preview["due"], len(preview["removes"])) == (True, 6)
    quiet = call("rewrite_data_files", spec.name, *day, code=1)
    assert "skipped" in quiet
    (done,) = json.loads(call(*rewrite, "--force", "--json"))
    assert (done["status"], done["details"]["iceberg/removed_data_files"]) == ("done", 6)
    assert "nothing_to_do" in call("rewrite_manifests", spec.name)
    assert "done: " in call("rewrite_manifests", spec.name, "use_caching=true")
    head = json.loads(call("set_current_snapshot", spec.name, "ref=main", "--dry-run", "--json"))
    assert head[0]["due"] is False
    for wrong, words in (
        (("rewrite_data_file", spec.name), "did you mean 'rewrite_data_files'?"),
        (("rewrite_data_files", spec.name, "min-input-file=2"), "did you mean 'min-input-files'?"),
        (("rewrite_data_files", spec.name, "sort_order=idd"), "the table has no column idd"),
        (("rewrite_data_files", spec.name, "partial-progress.enabled=true"), "a date is one commit"),
        (("rollback_to_snapshot", spec.name), "rollback_to_snapshot needs snapshot_id"),
        (("expire_snapshots", spec.name, "older_than=2024-01-01T00:00:00"), "expected a zone with it"),
        (("remove_orphan_files", spec.name, "older_than=1h"), "expected at least 24h"),
        (("expire_snapshots", spec.name, *day), "expire_snapshots is about the whole table: leave --date out"),
        (("rewrite_data_files", spec.name, "where=id = 1", "--force"), "--force is of whole dates"),
    ):
        assert words in call(*wrong, code=2)

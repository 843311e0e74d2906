"""What an expiry says beforehand is what it does, and who stands in its way is named."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from iceberg_assets.maintenance import core, expire_snapshots, foretell_expiry
from iceberg_assets.maintenance import expire as operation
from iceberg_assets.maintenance.rewrite import AUDIT_PREFIX
from iceberg_assets.spec import Status, TableSpec
from iceberg_assets_tests.maintenance.files_of import untouched
from iceberg_assets_tests.maintenance.test_foretold import FIRST, MERGE_ON_READ, SECOND, Scene
from iceberg_assets_tests.orphans.reach import files_of, plain, reachable

pytestmark = pytest.mark.usefixtures("spark")

AT_ONCE = {"older_than": "0s", "minimum_age": "0s"}


@pytest.fixture
def scene(spark, profile, namespace) -> Scene:
    return Scene(spark, profile, namespace)


def metadata_of(scene: Scene, spec: TableSpec) -> tuple[str, dict[str, Any]]:
    location = scene.profile.pyiceberg().load_table(spec.table).metadata_location
    return location, json.loads(Path(plain(location)).read_bytes())


def ids(metadata: dict[str, Any]) -> set[int]:
    return {one["snapshot-id"] for one in metadata["snapshots"]}


def on_disk(scene: Scene, spec: TableSpec) -> set[str]:
    root = Path(plain(scene.profile.pyiceberg().load_table(spec.table).location()))
    return {os.path.realpath(path) for path in root.rglob("*") if path.is_file()}


def policy(spec: TableSpec, **expire: object) -> TableSpec:
    declared = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return TableSpec.model_validate({**declared, "table": spec.table, "maintenance": {"expire": AT_ONCE | expire}})


def expired_as_foretold(scene: Scene, spec: TableSpec, dates: Sequence[Any] = (SECOND,)) -> tuple[Any, Any]:
    """Preview and outcome: the preview touched nothing, and the snapshots and files it named are those that went."""
    now, state, (_, before) = datetime.now(UTC), untouched(scene.profile, spec), metadata_of(scene, spec)
    there = on_disk(scene, spec)
    preview = foretell_expiry(scene.profile, spec, now=now)
    assert untouched(scene.profile, spec) == state
    rows = scene.rows(spec)
    reached_by = {one["snapshot-id"]: files_of(one) for one in before["snapshots"]}
    outcome = expire_snapshots(lambda: scene.spark, scene.profile, spec, dates, now=now).outcomes[dates[0]]
    location, after = metadata_of(scene, spec)
    assert set(preview.snapshots) == ids(before) - ids(after)
    gone = {path for path in there - on_disk(scene, spec) if not path.endswith(".crc")}
    assert {os.path.realpath(plain(path)) for path in preview.removes} == gone
    # By the specification: what the snapshots that went reached, and nothing reaches any more.
    reached = {os.path.realpath(plain(path)) for one in preview.snapshots for path in reached_by[one]}
    stats = {os.path.realpath(plain(one["statistics-path"])) for one in before.get("statistics", ())}
    assert gone - stats == reached - reachable(location)
    assert all(size == len(state[1][plain(path)]) for path, size in preview.removes.items())
    assert scene.rows(spec) == rows
    return preview, outcome


@pytest.mark.parametrize("way", ["by the library", "in calls of two"])
def test_snapshots_and_the_files_only_they_hold_are_foretold(scene, monkeypatch, way):
    """With deletes, a rewrite, statistics, refs, staged rows, and what a killed maintainer left."""
    if way == "by the library":
        monkeypatch.delattr(operation, "_statement")
    else:
        monkeypatch.setattr(operation, "_FEW", 0)
        monkeypatch.setattr(operation, "_AT_ONCE", 2)
    spec = policy(scene.table({}, {**MERGE_ON_READ, "write.wap.enabled": "true"}))
    name = scene.sql(spec)
    scene.spark.sql(f"CALL local.system.compute_table_stats(table => '{'.'.join(spec.table)}')")
    scene.write(spec, [FIRST], files=1)
    scene.spark.sql(f"ALTER TABLE {name} CREATE TAG kept")
    scene.spark.sql(f"DELETE FROM {name} WHERE id = 3")
    scene.spark.sql(f"ALTER TABLE {name} CREATE BRANCH {AUDIT_PREFIX}7")
    scene.spark.sql(f"ALTER TABLE {name} CREATE BRANCH audit")
    for _ in range(3):
        scene.write(spec, [FIRST], files=1)
    scene.spark.conf.set("spark.wap.id", "to-be-audited")
    try:
        scene.write(spec, [SECOND], files=1)
    finally:
        scene.spark.conf.unset("spark.wap.id")
    scene.spark.sql(f"CALL local.system.rewrite_data_files(table => '{'.'.join(spec.table)}')")
    scene.spark.sql(f"DELETE FROM {name} WHERE id = 5")
    table = scene.profile.pyiceberg().load_table(spec.table)
    (statistics,) = table.metadata.statistics
    with table.update_statistics() as shared:
        shared.set_statistics(statistics.model_copy(update={"snapshot_id": table.metadata.current_snapshot_id}))
    waiting = policy(spec, minimum_age="1h")
    notes = foretell_expiry(scene.profile, waiting, now=datetime.now(UTC)).notes
    assert [note for note in notes if note.startswith("staged, not published, and kept: ")]
    preview, outcome = expired_as_foretold(scene, spec)
    assert outcome.status is Status.DONE, outcome.reason
    assert len(preview.snapshots) > 4
    assert len(preview.removes) > 4
    for word in ("tag kept holds back 1 snapshot", "branch audit holds back 1 snapshot", "staged, never published"):
        assert word in outcome.reason
        assert any(word in note for note in preview.notes)
    again, repeated = expired_as_foretold(scene, spec)
    assert (again.due, repeated.status) == (False, Status.NOTHING_TO_DO)
    assert "tag kept holds back 1 snapshot" in again.reason


def test_files_that_the_oldest_snapshot_to_stay_has_removed_go_with_those_before_it(scene):
    """Of a table without refs: Iceberg's library leaves them until that snapshot itself goes, if it may."""
    spec = policy(scene.table({}, {}), retain_last=2)
    for _ in range(5):
        scene.write(spec, [FIRST], files=1)
    scene.spark.sql(f"CALL local.system.rewrite_data_files(table => '{'.'.join(spec.table)}')")
    scene.write(spec, [FIRST], files=1)
    preview, outcome = expired_as_foretold(scene, spec)
    assert outcome.status is Status.DONE, outcome.reason
    assert len([path for path in preview.removes if path.endswith(".parquet")]) >= 5


def test_what_a_branch_that_was_made_meanwhile_keeps_is_not_expired(scene, monkeypatch):
    """Iceberg's library expires what it is given by id, whatever keeps it by then."""
    spec = policy(scene.table({}, {}))
    for _ in range(3):
        scene.write(spec, [FIRST], files=1)
    _, before = metadata_of(scene, spec)
    order = [one["snapshot-id"] for one in sorted(before["snapshots"], key=lambda one: one["sequence-number"])]
    real = core.expire

    def beside_a_branch(*given):
        change = f"CREATE BRANCH late AS OF VERSION {order[1]} WITH SNAPSHOT RETENTION 9 SNAPSHOTS"
        scene.spark.sql(f"ALTER TABLE {scene.sql(spec)} {change}")
        real(*given)

    monkeypatch.setattr(core, "expire", beside_a_branch)
    outcome = expire_snapshots(lambda: scene.spark, scene.profile, spec, [SECOND], now=datetime.now(UTC))
    assert outcome.outcomes[SECOND].reason == "1 of 4 snapshots expired, 3 were to go"
    assert ids(metadata_of(scene, spec)[1]) == {order[0], order[1], order[3]}


def test_an_old_manifest_that_cannot_be_read_is_said(scene):
    """Iceberg's library would leave the files that it lists on disk, and say nothing of it."""
    spec = policy(scene.table({}, {}))
    scene.write(spec, [FIRST], files=1)
    table = scene.profile.pyiceberg().load_table(spec.table)
    old = {one.manifest_path for one in table.metadata.snapshots[0].manifests(table.io)}
    name = ".".join(spec.table)
    scene.spark.sql(f"CALL local.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))")
    scene.spark.sql(f"CALL local.system.rewrite_manifests('{name}')")
    scene.write(spec, [FIRST], files=1)
    for path in old:
        Path(path.removeprefix("file:")).unlink()
    rows = scene.rows(spec)
    outcome = expire_snapshots(lambda: scene.spark, scene.profile, spec, [SECOND], now=datetime.now(UTC))
    assert outcome.outcomes[SECOND].status is Status.PARTIAL, outcome.outcomes[SECOND].reason
    assert scene.rows(spec) == rows


def test_what_a_reader_has_still_to_read_is_kept(scene):
    """A stream that stands at a tag, or lags by so much, finds every snapshot since (apache/iceberg#17456)."""
    spec = scene.table({}, {})
    name = scene.sql(spec)
    for number in range(4):
        scene.write(spec, [FIRST], files=1)
        if number == 1:
            scene.spark.sql(f"ALTER TABLE {name} CREATE TAG reader_orders")
    _, before = metadata_of(scene, spec)
    order = [one["snapshot-id"] for one in sorted(before["snapshots"], key=lambda one: one["timestamp-ms"])]
    assert not foretell_expiry(scene.profile, policy(spec, protect={"lag": "1d"}), now=datetime.now(UTC)).due
    guarded = policy(spec, protect={"tags": ["reader_*"]})
    preview, outcome = expired_as_foretold(scene, guarded)
    assert preview.snapshots == tuple(order[:2])
    assert "a reader at tag reader_orders: all since" in outcome.reason
    # A retention of the branch's own goes before any cut-off: then nothing may be called.
    retention = "RETAIN 90 DAYS WITH SNAPSHOT RETENTION 1 SNAPSHOTS 1 DAYS"
    scene.spark.sql(f"ALTER TABLE {name} REPLACE BRANCH main AS OF VERSION {order[-1]} {retention}")
    later = datetime.now(UTC) + timedelta(days=2)
    state = untouched(scene.profile, spec)
    outcome = expire_snapshots(lambda: scene.spark, scene.profile, guarded, [SECOND], now=later).outcomes[SECOND]
    assert (outcome.status, outcome.green) == (Status.SKIPPED, False)
    assert "by the retention of main" in outcome.reason
    assert untouched(scene.profile, spec) == state

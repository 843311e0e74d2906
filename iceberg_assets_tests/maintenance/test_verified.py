"""Maintenance never changes rows: where a rewrite does, it is seen and taken back, but never over somebody's commit."""

import functools
import re
import time
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from iceberg_assets.errors import ServiceError
from iceberg_assets.maintenance import (
    LeaseTakenError,
    UndoRefusedError,
    call_procedure,
    compact,
    expire_snapshots,
    last_maintenance,
    lease,
    maintained,
    measure,
    release,
    rewrite,
    undo,
)
from iceberg_assets.maintenance.measure import replacements
from iceberg_assets.maintenance.rewrite import AUDIT_PREFIX
from iceberg_assets.spec import Outcome, Status, TableSpec
from iceberg_assets.spec.policy import MaintenancePolicy
from iceberg_assets.spec.procedures import PROCEDURES
from iceberg_assets_tests.maintenance.test_foretold import NOW, SECOND, Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRONG = {
    "a row lost": "SELECT * FROM {table} WHERE name <> '3'",
    "values swapped between two rows": "SELECT id, ts, CASE name WHEN '1' THEN '2' WHEN '2' THEN '1' ELSE name END AS "
    "name FROM {table}",
}


class Sabotaged(Scene):
    """A table in one partition, whose next rewrites put files of other rows in the place of its own."""

    def make(self, verify: str, **properties: str) -> TableSpec:
        self.spec = self.table({"verify": verify, "options": {"min-input-files": 2}}, properties, by="")
        return self.spec

    def compact(self) -> Outcome:
        return compact(lambda: self.spark, self.profile, self.spec, [SECOND], now=NOW).outcomes[SECOND]

    def rewritten_as(self, wrong: str, *then: str) -> Callable[..., Sequence[Any]]:
        """In the place of the engine: a rewrite into the rows of a query, and then these statements."""
        self.spark.sql(
            f"CREATE TABLE local.{self.namespace}.wrong USING iceberg AS SELECT /*+ COALESCE(1) */ * FROM "
            f"({WRONG[wrong].format(table=self.sql(self.spec))})"
        )
        honest = rewrite.execute

        def execute(spark: "SparkSession", statement: str) -> Sequence[Any]:
            if "rewrite_data_files" not in statement:
                return honest(spark, statement)
            table, whole = self._files("t")
            change = table.newRewrite()
            for file in whole:
                change = change.deleteFile(file)
            for file in self._files("wrong")[1]:
                change = change.addFile(file)
            branch = re.search(r"branch => '(\w+)'", statement)
            (change.toBranch(branch[1]) if branch else change).commit()
            for one in then:
                spark.sql(one)
            return []

        return execute

    def _files(self, name: str) -> tuple[Any, list[Any]]:
        util = self.spark._jvm.org.apache.iceberg.spark.Spark3Util
        table = util.loadIcebergTable(self.spark._jsparkSession, f"local.{self.namespace}.{name}")
        tasks, files = table.newScan().planFiles().iterator(), []
        while tasks.hasNext():
            files.append(tasks.next().file())
        return table, files

    @property
    def head(self) -> int:
        return self.profile.pyiceberg().load_table(self.spec.table).metadata.current_snapshot_id

    def branches(self) -> set[str]:
        return set(self.profile.pyiceberg().load_table(self.spec.table).metadata.refs) - {"main"}


@pytest.fixture
def scene(spark, profile, namespace) -> Sabotaged:
    return Sabotaged(spark, profile, namespace)


@pytest.mark.parametrize(
    ("verify", "wrong"),
    [
        ("rows", "a row lost"),
        ("hash", "a row lost"),
        ("hash", "values swapped between two rows"),
        ("branch", "values swapped between two rows"),
    ],
)
def test_a_rewrite_that_changes_rows_is_seen_and_taken_back(scene, monkeypatch, verify, wrong):
    spec = scene.make(verify)
    rows, head = scene.rows(spec), scene.head
    with monkeypatch.context() as patched:
        patched.setattr(rewrite, "execute", scene.rewritten_as(wrong))
        outcome = scene.compact()
    assert (outcome.status, outcome.rows_preserved) == (Status.FAILED, False)
    assert outcome.reason.startswith("rows changed")
    assert (scene.rows(spec), scene.head, scene.branches()) == (rows, head, set())
    if verify == "branch":
        moves = [one.snapshot_id for one in scene.profile.pyiceberg().load_table(spec.table).history()]
        assert moves == [head], "main never was on the wrong rows"
    assert scene.compact().status is Status.DONE, "nothing is on hold"


def test_rows_are_compared_also_where_the_catalog_was_away_after_the_rewrite(scene, monkeypatch):
    """A run that fails there would leave them uncompared for good: the next one finds nothing to do."""
    spec, away, real = scene.make("rows"), iter([True, True]), measure.load

    def load(*given: Any) -> Any:
        if next(away, False):
            raise ServiceError("the catalog is away")
        return real(*given)

    rows = scene.rows(spec)
    with monkeypatch.context() as patched:
        patched.setattr(rewrite, "execute", scene.rewritten_as("a row lost"))
        patched.setattr(measure, "load", load)
        patched.setattr(measure, "_PAUSES", (0, 0, 0))
        outcome = scene.compact()
    assert (outcome.status, outcome.rows_preserved) == (Status.FAILED, False), outcome.reason
    assert scene.rows(spec) == rows


@pytest.mark.parametrize("meanwhile", ["nobody commits", "somebody appends"])
def test_what_a_killed_rewrite_left_is_compared_before_the_next_operation_of_any_kind(scene, monkeypatch, meanwhile):
    """An expiry would have taken away what the rows could be taken back to."""
    spec = scene.make("rows")
    at_once = {"older_than": "0s", "minimum_age": "0s", "retain_last": 1}
    expiring = spec.model_copy(
        update={"maintenance": MaintenancePolicy.model_validate({**spec.maintenance.model_dump(), "expire": at_once})}
    )
    rows = scene.rows(spec)

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(maintained, "lease", functools.partial(lease.lease, lasts=timedelta(seconds=1)))
        patched.setattr(rewrite, "execute", scene.rewritten_as("a row lost"))
        patched.setattr(rewrite, "replacements", killed)
        with pytest.raises(KeyboardInterrupt):
            scene.compact()
    assert scene.rows(spec) != rows
    if meanwhile == "somebody appends":
        scene.write(spec, [SECOND], files=1)
    time.sleep(1)
    outcome = expire_snapshots(lambda: scene.spark, scene.profile, expiring, [SECOND], now=NOW).outcomes[SECOND]
    assert (outcome.status, outcome.rows_preserved) == (Status.FAILED, False), outcome.reason
    if meanwhile == "nobody commits":
        assert (scene.rows(spec), "main was put back" in outcome.reason) == (rows, True)
        assert scene.compact().status is Status.DONE, "nothing is on hold"
    else:
        assert "the table is on hold: a rewrite changed rows: snapshot" in outcome.reason
        assert scene.compact().status is Status.SKIPPED


def test_what_others_committed_after_it_is_kept_and_the_table_is_on_hold_until_a_person_says(scene, monkeypatch):
    spec = scene.make("rows")
    expected = [row for row in scene.rows(spec) if row[2] != "3"]
    append = f"INSERT INTO {scene.sql(spec)} VALUES (99, TIMESTAMP '2024-01-31 02:00:00+00:00', 'new')"
    parent = scene.head
    with monkeypatch.context() as patched:
        patched.setattr(rewrite, "execute", scene.rewritten_as("a row lost", append))
        outcome = scene.compact()
    assert (outcome.status, outcome.rows_preserved) == (Status.FAILED, False)
    assert f"rollback_to_snapshot {spec.name} snapshot_id={parent}" in outcome.reason
    assert f"iceberg-assets hold {spec.name} --release" in outcome.reason
    assert len(scene.rows(spec)) == len(expected) + 1, "nobody's append is dropped"

    waiting = scene.compact()
    assert (waiting.status, waiting.retryable) == (Status.SKIPPED, True)
    assert "on hold: a rewrite changed rows: snapshot" in waiting.reason
    expiry = expire_snapshots(lambda: scene.spark, scene.profile, spec, [SECOND], now=NOW).outcomes[SECOND]
    assert (expiry.status, expiry.retryable) == (Status.SKIPPED, True), "it would take the snapshot to go back to"
    with pytest.raises(
        UndoRefusedError, match=r"append by .* would drop its changes; the maintenance below it is snap"
    ):
        undo(scene.profile, spec)

    back = PROCEDURES["rollback_to_snapshot"]
    called = call_procedure(
        lambda: scene.spark, scene.profile, spec, back, back.parse({"snapshot_id": str(parent)}), now=NOW
    )
    assert called.status is Status.DONE, "what a person does by hand is what the table waits for"
    assert release(scene.profile, spec).holder in waiting.reason
    assert scene.compact().status is Status.DONE


def test_a_table_of_version_3_is_not_put_back_without_a_condition(scene, monkeypatch):
    spec = scene.make("rows", **{"format-version": "3"})
    parent = scene.head
    with monkeypatch.context() as patched:
        patched.setattr(rewrite, "execute", scene.rewritten_as("a row lost"))
        outcome = scene.compact()
    assert "nothing was taken back, since a table of format version 3 cannot be put back" in outcome.reason
    assert release(scene.profile, spec) is not None, "it was on hold"
    with pytest.raises(UndoRefusedError, match=f"while nobody writes: .* snapshot_id={parent}"):
        undo(scene.profile, spec)


@pytest.mark.parametrize("verify", ["hash", "branch"])
def test_an_honest_rewrite_is_done_and_what_a_killed_one_left_is_cleared_away(scene, verify):
    spec = scene.make(verify)
    rows = scene.rows(spec)
    scene.spark.sql(f"ALTER TABLE {scene.sql(spec)} CREATE BRANCH {AUDIT_PREFIX}0")
    outcome = scene.compact()
    assert (outcome.status, outcome.rows_preserved) == (Status.DONE, True), outcome.reason
    assert outcome.details["iceberg/rows_hashed"] == len(rows)
    assert (scene.rows(spec), scene.branches()) == (rows, set())

    last = last_maintenance(scene.profile, spec)
    assert re.search(r"replace by local-\d+: 1 data files added, 6 removed", last.words)
    with lease.lease(scene.profile, spec, "compacted"), pytest.raises(LeaseTakenError):
        undo(scene.profile, spec)
    assert undo(scene.profile, spec) == last
    assert (scene.head, scene.rows(spec)) == (last.parent_id, rows)
    with pytest.raises(UndoRefusedError, match="append by"):
        undo(scene.profile, spec)


@pytest.mark.parametrize(("moves", "status"), [(1, Status.DONE), (2, Status.SKIPPED)])
def test_where_main_moves_under_an_audit_it_is_begun_anew_once(scene, monkeypatch, moves, status):
    spec = scene.make("branch")
    left = list(range(moves))

    def compared_slowly(*given: Any, **more: Any) -> Any:
        if left:
            left.pop()
            scene.write(spec, [SECOND], files=1)
        return replacements(*given, **more)

    monkeypatch.setattr(rewrite, "replacements", compared_slowly)
    outcome = scene.compact()
    assert (outcome.status, outcome.retryable) == (status, status is Status.SKIPPED), outcome.reason
    assert scene.branches() == set()
    assert len(scene.rows(spec)) == 24 + 2 * moves


def test_rows_are_counted_where_delete_files_hide_some(spark, profile, namespace):
    spark.sql(f"CREATE NAMESPACE local.{namespace}")
    table = f"local.{namespace}.deleted"
    spark.sql(
        f"CREATE TABLE {table} (id INT) USING iceberg TBLPROPERTIES "
        "('write.delete.mode'='merge-on-read', 'format-version'='2')"
    )
    spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id FROM range(10)")
    spark.sql(f"DELETE FROM {table} WHERE id = 3")
    spec = TableSpec.model_validate(
        {"table": f"{namespace}.deleted", "dates": {"column": "id", "start": date(2024, 1, 1)}}
    )
    before = profile.pyiceberg().load_table(spec.table).current_snapshot()
    spark.sql(f"CALL local.system.rewrite_data_files(table => '{spec.name}', options => map('rewrite-all','true'))")
    (found,) = replacements(spark, profile, spec, before.snapshot_id, None)
    assert (found.rows_before, found.rows_after) == (9, 9)
    # A column that the parent does not know yet cannot confine what is counted of it.
    spark.sql(f"DELETE FROM {table} WHERE id = 4")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN note STRING")
    before = profile.pyiceberg().load_table(spec.table).current_snapshot()
    spark.sql(f"CALL local.system.rewrite_data_files(table => '{spec.name}', options => map('rewrite-all','true'))")
    (found,) = replacements(spark, profile, spec, before.snapshot_id, "note IS NULL", hashed=True)
    assert (found.rows_before, found.rows_after, found.same_content) == (8, 8, None)

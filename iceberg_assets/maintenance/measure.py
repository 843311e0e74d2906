"""What a commit of ours did, told from the table's metadata, and how it is taken back."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from iceberg_assets.profiles import Profile
from iceberg_assets.spark import quote
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.target import existing_target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Replacement:
    """A ``replace`` snapshot that this session committed, beside its parent.

    Attributes:
        removed_files: data files it took out; ``added_files``: those it put in.
        rows_before: live rows of the parent; ``rows_after``: of the replacement.
    """

    snapshot_id: int
    parent_id: int
    removed_files: int
    added_files: int
    rows_before: int
    rows_after: int

    @property
    def rows_preserved(self) -> bool:
        """Maintenance never changes rows."""
        return self.rows_before == self.rows_after


def load(profile: Profile, spec: TableSpec) -> Table:
    """The table as it is now.

    Raises:
        TableDroppedError: it is not there any more.
    """
    return existing_target(profile, spec)


def replacements(
    spark: "SparkSession",
    profile: Profile,
    spec: TableSpec,
    since: int | None,
    where: str | None,
    branch: str = MAIN_BRANCH,
) -> list[Replacement]:
    """The ``replace`` snapshots of this session in a branch after ``since``, oldest first.

    Args:
        since: the id of the branch's head before; None: it had none.
        where: the rows that the rewrite was confined to; they are counted where the summaries do not tell.
    """
    table = load(profile, spec)
    application = spark.conf.get("spark.app.id")
    ours = [
        snapshot
        for snapshot in _ancestors(table, branch, since)
        if _summary(snapshot, "operation") == "replace" and _summary(snapshot, "app-id") == application
    ]
    return [_compare(spark, profile, spec, table, snapshot, where) for snapshot in reversed(ours)]


def _ancestors(table: Table, branch: str, until: int | None) -> Iterator[Snapshot]:
    snapshot = table.snapshot_by_name(branch)
    while snapshot is not None and snapshot.snapshot_id != until:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = table.snapshot_by_id(parent) if parent is not None else None


def _summary(snapshot: Snapshot, key: str) -> str | None:
    if snapshot.summary is None:
        return None
    return snapshot.summary.operation.value if key == "operation" else snapshot.summary.get(key)


def _compare(
    spark: "SparkSession", profile: Profile, spec: TableSpec, table: Table, snapshot: Snapshot, where: str | None
) -> Replacement:
    parent = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id is not None else None
    if parent is None:  # A replacement replaces something: without its parent nothing can be compared.
        raise LookupError(f"the parent of snapshot {snapshot.snapshot_id} of {spec.name} is gone")
    before, after = _live_rows(parent), _live_rows(snapshot)
    if before is None or after is None:
        before, after = (_count(spark, profile, spec, one.snapshot_id, where) for one in (parent, snapshot))
    return Replacement(
        snapshot_id=snapshot.snapshot_id,
        parent_id=parent.snapshot_id,
        removed_files=int(_summary(snapshot, "deleted-data-files") or 0),
        added_files=int(_summary(snapshot, "added-data-files") or 0),
        rows_before=before,
        rows_after=after,
    )


def _live_rows(snapshot: Snapshot) -> int | None:
    """Rows by the summary; None where it does not tell: no total, or delete files that hide some of them."""
    total, deletes = _summary(snapshot, "total-records"), _summary(snapshot, "total-delete-files")
    return int(total) if total is not None and deletes == "0" else None


def _count(spark: "SparkSession", profile: Profile, spec: TableSpec, snapshot_id: int, where: str | None) -> int:
    table = quote(profile.catalog.name, *spec.table)
    return spark.read.option("versionAsOf", snapshot_id).table(table).where(where or "true").count()


def roll_back(profile: Profile, spec: TableSpec, replacement: Replacement) -> bool:
    """Put main back to the replacement's parent, on the condition that main still is the replacement.

    Spark's ``rollback_to_snapshot`` would refresh, try again and drop an append that came in between.

    Returns:
        False where main moved on: then nothing was changed.
    """
    table = load(profile, spec)
    current = table.current_snapshot()
    if current is None or current.snapshot_id != replacement.snapshot_id:
        return False
    try:
        table.manage_snapshots().rollback_to_snapshot(replacement.parent_id).commit()
    except CommitFailedException:
        return False
    return True

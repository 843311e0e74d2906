"""What a commit of ours did, told from the table's metadata, and from its rows where that does not tell."""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING

from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from iceberg_assets.errors import TableDroppedError
from iceberg_assets.health.entries import manifests_of, read_entries
from iceberg_assets.maintenance.content import content
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, quote
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.target import existing_target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


COUNTS_OF_FILES = ("added-data-files", "added-delete-files", "deleted-data-files", "removed-delete-files")
"""Figures of a summary: the files that a commit put in or took out."""

_PAUSES = (1, 4, 10, 15)
"""Seconds."""


@dataclass(frozen=True)
class Replacement:
    """A ``replace`` snapshot that this session committed, beside its parent.

    Attributes:
        removed_files: data files it took out; ``added_files``: those it put in.
        rows_before: live rows of the parent; ``rows_after``: of the replacement.
        same_content: whether the two hold the same rows; None: they were counted and not hashed.
        other_files: where manifests alone were rewritten, what of the files is not as it was, in words.
    """

    snapshot_id: int
    parent_id: int
    removed_files: int
    added_files: int
    rows_before: int
    rows_after: int
    same_content: bool | None = None
    other_files: str = ""

    @property
    def rows_preserved(self) -> bool:
        """Maintenance never changes rows."""
        return self.rows_before == self.rows_after and self.same_content is not False and not self.other_files

    @property
    def difference(self) -> str:
        """What is not as it was, in words."""
        if self.other_files:
            return f"snapshot {self.snapshot_id} {self.other_files}"
        counted = (
            f"snapshot {self.snapshot_id} has {self.rows_after} rows, its parent {self.parent_id} {self.rows_before}"
        )
        return f"{counted}, and not the same ones" if self.same_content is False else counted


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
    *,
    hashed: bool = False,
) -> list[Replacement]:
    """The ``replace`` snapshots of this session in a branch after ``since``, oldest first.

    Where catalog or store do not answer it asks again for half a minute: what was rewritten is committed.

    Args:
        since: the id of the branch's head before; None: it had none.
        where: the rows that the rewrite was confined to; they are counted where the summaries do not tell.
        hashed: also compare what is in these rows, all columns of each. Between two schemas there is no comparison:
            where somebody changed it just before the rewrite, the rows are counted, those of the whole table.
    """
    given = spark, profile, spec, since, where, branch, hashed
    for pause in _PAUSES:
        try:
            return _replacements(*given)
        except (TableDroppedError, LookupError):
            raise
        except Exception:  # noqa: BLE001 (each engine has its own words for a service that is away)
            time.sleep(pause)
    return _replacements(*given)


def _replacements(
    spark: "SparkSession",
    profile: Profile,
    spec: TableSpec,
    since: int | None,
    where: str | None,
    branch: str,
    hashed: bool,
) -> list[Replacement]:
    table = load(profile, spec)
    application = spark.conf.get("spark.app.id")
    ours = [
        snapshot
        for snapshot in _ancestors(table, branch, since)
        if summary_of(snapshot, "operation") == "replace" and summary_of(snapshot, "app-id") == application
    ]
    return [_compare(lambda: spark, profile, spec, table, one, where, hashed) for one in reversed(ours)]


def replacements_since(
    spark: Session, profile: Profile, spec: TableSpec, since: datetime, *, hashed: bool
) -> list[Replacement]:
    """The ``replace`` snapshots in main from a moment on, whoever committed them, oldest first.

    One whose parent is expired is left out: there is nothing to compare it with.

    Args:
        spark: called only where the summaries do not tell how many rows there are.
        hashed: also compare what is in all rows of the table.
    """
    table, first = load(profile, spec), int(since.timestamp() * 1000)
    found = [
        one
        for one in takewhile(lambda one: one.timestamp_ms >= first, _ancestors(table, MAIN_BRANCH, None))
        if summary_of(one, "operation") == "replace"
        and one.parent_snapshot_id is not None
        and table.snapshot_by_id(one.parent_snapshot_id) is not None
    ]
    return [_compare(spark, profile, spec, table, one, None, hashed) for one in reversed(found)]


def _ancestors(table: Table, branch: str, until: int | None) -> Iterator[Snapshot]:
    snapshot = table.snapshot_by_name(branch)
    while snapshot is not None and snapshot.snapshot_id != until:
        yield snapshot
        parent = snapshot.parent_snapshot_id
        snapshot = table.snapshot_by_id(parent) if parent is not None else None


def summary_of(snapshot: Snapshot, key: str) -> str | None:
    """A figure of a snapshot's summary, ``operation`` included; None: it has none."""
    if snapshot.summary is None:
        return None
    return snapshot.summary.operation.value if key == "operation" else snapshot.summary.get(key)


def _compare(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    table: Table,
    snapshot: Snapshot,
    where: str | None,
    hashed: bool,
) -> Replacement:
    parent = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id is not None else None
    if parent is None:  # A replacement replaces something: without its parent nothing can be compared.
        raise LookupError(f"the parent of snapshot {snapshot.snapshot_id} of {spec.name} is gone")
    before, after, same, others = _live_rows(parent), _live_rows(snapshot), None, ""
    if parent.schema_id != snapshot.schema_id:
        # The parent may lack a column that the condition names.
        where = None
    pair = (_rows(spark(), profile, spec, one.snapshot_id, where) for one in (parent, snapshot))
    if not any(summary_of(snapshot, key) for key in COUNTS_OF_FILES):
        # Manifests alone: totals are copied from the summary before, and tell nothing.
        before = after = int(summary_of(snapshot, "total-records") or 0)
        others = _other_files(table, parent.snapshot_id, snapshot.snapshot_id)
    elif hashed and parent.schema_id == snapshot.schema_id:
        was, now = (content(one) for one in pair)
        before, after, same = was.rows, now.rows, was == now
    elif before is None or after is None:
        before, after = (one.count() for one in pair)
    return Replacement(
        snapshot_id=snapshot.snapshot_id,
        parent_id=parent.snapshot_id,
        removed_files=int(summary_of(snapshot, "deleted-data-files") or 0),
        added_files=int(summary_of(snapshot, "added-data-files") or 0),
        rows_before=before,
        rows_after=after,
        same_content=same,
        other_files=others,
    )


def _other_files(table: Table, parent_id: int, snapshot_id: int) -> str:
    before, after = live_files(table, parent_id), live_files(table, snapshot_id)
    if after == before:
        return ""
    lost, came = sorted((before - after).elements()), sorted((after - before).elements())
    counts = f"lacks {len(lost)} files of its parent {parent_id} and has {len(came)} more"
    return f"{counts}: {', '.join([*lost, *came][:5])}"


def _live_rows(snapshot: Snapshot) -> int | None:
    """Rows by the summary; None where it does not tell: no total, or delete files that hide some of them."""
    total, deletes = summary_of(snapshot, "total-records"), summary_of(snapshot, "total-delete-files")
    return int(total) if total is not None and deletes == "0" else None


def _rows(spark: "SparkSession", profile: Profile, spec: TableSpec, snapshot_id: int, where: str | None) -> "DataFrame":
    table = quote(profile.catalog.name, *spec.table)
    return spark.read.option("versionAsOf", snapshot_id).table(table).where(where or "true")


def live_files(table: Table, snapshot_id: int) -> Counter[str]:
    """The paths of the data and delete files that a snapshot's manifests list as live, each as often as it is there."""
    snapshot = table.snapshot_by_id(snapshot_id)
    manifests = manifests_of(snapshot, table.io) if snapshot else []
    return Counter(entry.path for one in manifests for entry in read_entries(table.io, one, None))

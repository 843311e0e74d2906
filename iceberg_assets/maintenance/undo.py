"""A commit of maintenance taken back: never over what somebody committed after it."""

from dataclasses import dataclass

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from iceberg_assets.errors import IcebergAssetsError, in_brief
from iceberg_assets.maintenance.lease import Lease, require_idle
from iceberg_assets.maintenance.measure import Replacement, load, summary_of
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.target import PYICEBERG_WRITES


class UndoRefusedError(IcebergAssetsError):
    """The last maintenance cannot be taken back; nothing was changed."""


@dataclass(frozen=True)
class Undo:
    """The last maintenance of a table, and where main goes without it.

    Attributes:
        snapshot_id: main's head, a snapshot that replaced files and no rows; ``parent_id``: the one before.
        words: what the snapshot did, by its summary.
    """

    snapshot_id: int
    parent_id: int
    words: str


def take_back(profile: Profile, spec: TableSpec, held: Lease, broken: Replacement, difference: str) -> str:
    """Take a rewrite back that changed rows; where that cannot be done, put the table on hold.

    Args:
        difference: between the replacement and its parent, in words.

    Returns:
        What was done, in words; with the two ways out where a person has to choose.
    """
    # A catalog that fails now must not hide that rows changed.
    try:
        if roll_back(profile, spec, broken.snapshot_id, broken.parent_id):
            held.uncompared_since = None
            return f"rows changed: {difference}; main was put back to {broken.parent_id}"
        why = _why_not(profile, spec)
    except Exception as error:  # noqa: BLE001
        why = in_brief(error)
    hold = (
        f"a rewrite changed rows: {difference}. Either iceberg-assets call rollback_to_snapshot {spec.name} "
        f"snapshot_id={broken.parent_id} and write again what was committed since, or keep the rows as they are; then "
        f"iceberg-assets hold {spec.name} --release"
    )
    try:
        held.hold_table(hold)
    except Exception as error:  # noqa: BLE001
        return f"nothing was taken back, since {why}, and the table is not on hold, since {in_brief(error)}: {hold}"
    return f"nothing was taken back, since {why}; the table is on hold: {hold}"


def roll_back(profile: Profile, spec: TableSpec, snapshot_id: int, parent_id: int) -> bool:
    """Put main back from a snapshot to its parent, on the condition that main still is on that snapshot.

    Spark's ``rollback_to_snapshot`` would refresh, try again and drop an append that came in between. PyIceberg's has
    the condition, and does not write format version 3.

    Returns:
        False where main moved on, or the table is of version 3: then nothing was changed.
    """
    table = load(profile, spec)
    if table.metadata.current_snapshot_id != snapshot_id or table.metadata.format_version > PYICEBERG_WRITES:
        return False
    try:
        table.manage_snapshots().rollback_to_snapshot(parent_id).commit()
    except CommitFailedException:
        return False
    return True


def _why_not(profile: Profile, spec: TableSpec) -> str:
    version = load(profile, spec).metadata.format_version
    if version > PYICEBERG_WRITES:
        return f"a table of format version {version} cannot be put back on the condition that nobody commits meanwhile"
    return "others have committed after it"


def last_maintenance(profile: Profile, spec: TableSpec) -> Undo:
    """What :func:`undo` would take back.

    Main's head has to be a ``replace`` snapshot, whoever committed it: by Iceberg's specification it changes files and
    no rows, so that nobody's rows go with it. A snapshot does not say more of who made it than the application's id.

    Raises:
        UndoRefusedError: it is something else, or cannot be gone back from; says what and why.
    """
    table = load(profile, spec)
    head = table.current_snapshot()
    if head is None:
        raise UndoRefusedError(f"{spec.name} has no snapshot: nothing was maintained")
    if summary_of(head, "operation") != "replace":
        raise UndoRefusedError(
            f"main of {spec.name} is on {_words(head)}, which is no maintenance: to go back over it would drop its "
            f"changes{_below(table, head)}"
        )
    parent = head.parent_snapshot_id
    if parent is None or table.snapshot_by_id(parent) is None:
        raise UndoRefusedError(f"{_words(head)} cannot be taken back: its parent, snapshot {parent}, is expired")
    if table.metadata.format_version > PYICEBERG_WRITES:
        raise UndoRefusedError(
            f"{spec.name} is of format version {table.metadata.format_version}, which cannot be put back here on the "
            f"condition that nobody commits meanwhile; while nobody writes: iceberg-assets call rollback_to_snapshot "
            f"{spec.name} snapshot_id={parent}"
        )
    return Undo(head.snapshot_id, parent, _words(head))


def undo(profile: Profile, spec: TableSpec) -> Undo:
    """Put main back to where it was before the last maintenance.

    Raises:
        UndoRefusedError: that is not possible any more, or somebody committed meanwhile.
        LeaseTakenError: the table is being maintained. One on hold is not: a person is what it waits for.
    """
    require_idle(profile, spec)
    found = last_maintenance(profile, spec)
    if not roll_back(profile, spec, found.snapshot_id, found.parent_id):
        raise UndoRefusedError(f"somebody committed to main of {spec.name} meanwhile; nothing was changed")
    return found


def _words(snapshot: Snapshot) -> str:
    counts = {
        "added-data-files": "data files added",
        "deleted-data-files": "removed",
        "added-delete-files": "delete files added",
        "removed-delete-files": "delete files removed",
        "added-records": "rows added",
        "deleted-records": "removed",
    }
    found = [f"{number} {noun}" for key, noun in counts.items() if (number := summary_of(snapshot, key))]
    by = summary_of(snapshot, "app-id") or summary_of(snapshot, "engine-name") or "an engine that does not say"
    operation = summary_of(snapshot, "operation")
    return f"snapshot {snapshot.snapshot_id} ({operation} by {by}: {', '.join(found) or 'manifests alone'})"


def _below(table: Table, head: Snapshot) -> str:
    """The maintenance that the head was committed over, if it was."""
    parent = table.snapshot_by_id(head.parent_snapshot_id) if head.parent_snapshot_id is not None else None
    if parent is None or summary_of(parent, "operation") != "replace":
        return ""
    return f"; the maintenance below it is {_words(parent)}"

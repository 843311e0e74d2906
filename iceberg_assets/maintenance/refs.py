"""Where main, or another branch, would be moved to by a rollback, a pick, a publication or a fast-forward. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from iceberg_assets.health import Snapshot, TableHealth
from iceberg_assets.health.expiry import whole_milliseconds
from iceberg_assets.maintenance.preview import Preview
from iceberg_assets.spec.procedure import Value


@dataclass(frozen=True)
class Move:
    """A branch that would move.

    Attributes:
        head: the snapshot that it would be on; None: a new one that ``source`` is picked into.
        refusal: why it cannot; empty: it can, or is there already.
    """

    branch: str
    head: int | None
    source: int | None = None
    refusal: str = ""


_Rule = Callable[[TableHealth, Mapping[str, Value], datetime], Move]


def foretell_move(
    procedure: str, health: TableHealth, values: Mapping[str, Value], now: datetime
) -> tuple[Move, Preview]:
    """What a procedure that moves a branch would do.

    Args:
        values: its arguments, as ``Procedure.parse`` gives them.
        now: that ages are counted from.
    """
    move = MOVES[procedure](health, values, now)
    before = _head(health, move.branch)
    if move.refusal:
        return move, Preview(procedure, False, move.refusal)
    if move.head is not None and move.head == before:
        return move, Preview(procedure, False, f"{move.branch} is on snapshot {before} already")
    stays = set() if move.head is None else {one.id for one in _ancestry(health, move.head)}
    leaving = tuple(one.id for one in _ancestry(health, before) if one.id not in stays) if move.head is not None else ()
    target = f"to {move.head}" if move.head is not None else f"to a new snapshot with the changes of {move.source}"
    lost = f", {len(leaving)} snapshots leave it" if leaving else ""
    replaces = any(one.id == move.source and one.operation != "append" for one in health.snapshots)
    notes = (
        ("raw files that these brought can come again: iceberg-assets ledger forget TABLE --after-rollback",)
        if leaving and move.branch == "main"
        else ("Iceberg refuses it where main changed a partition that it replaces",)
        if replaces
        else ()
    )
    details = {"iceberg/head_before": str(before), "iceberg/head_after": str(move.head or "new")}
    reason = f"{move.branch} would move from snapshot {before} {target}{lost}"
    return move, Preview(procedure, True, reason, snapshots=leaving, details=details, notes=notes)


def _rollback_to_snapshot(health: TableHealth, values: Mapping[str, Value], _: datetime) -> Move:
    wanted = int(str(values["snapshot_id"]))
    if wanted in {one.id for one in _ancestry(health, health.snapshot_id)}:
        return Move("main", wanted)
    return Move("main", None, refusal=f"snapshot {wanted} is no ancestor of main: {_known(health)}")


def _rollback_to_timestamp(health: TableHealth, values: Mapping[str, Value], now: datetime) -> Move:
    given = values["timestamp"]
    moment = now - given if isinstance(given, timedelta) else given
    assert isinstance(moment, datetime)
    # SetSnapshotOperation: by time and not by ancestry, which differ where clocks do; and in whole milliseconds.
    moment = whole_milliseconds(moment)
    before = (one for one in _ancestry(health, health.snapshot_id) if one.committed_at < moment)
    found = max(before, key=lambda one: one.committed_at, default=None)
    if found is None:
        return Move("main", None, refusal=f"no ancestor of main is older than {moment:%Y-%m-%d %H:%M:%S %Z}")
    return Move("main", found.id)


def _set_current(health: TableHealth, values: Mapping[str, Value], _: datetime) -> Move:
    if ("snapshot_id" in values) == ("ref" in values):
        return Move("main", None, refusal="either snapshot_id or ref has to be given, and not both")
    if "ref" in values:
        head = _head(health, str(values["ref"]))
        return Move("main", head, refusal="" if head else f"there is no ref '{values['ref']}': {_refs(health)}")
    return _existing(health, "main", int(str(values["snapshot_id"])))


def _cherrypick(health: TableHealth, values: Mapping[str, Value], _: datetime) -> Move:
    return _pick(health, int(str(values["snapshot_id"])))


def _publish(health: TableHealth, values: Mapping[str, Value], _: datetime) -> Move:
    wap_id = str(values["wap_id"])
    staged = [one for one in health.snapshots if one.summary.get("wap.id") == wap_id]
    if len(staged) != 1:
        found = f"{len(staged)} snapshots are" if staged else "no snapshot is"
        return Move("main", None, refusal=f"{found} staged with wap.id '{wap_id}', and one has to be")
    return _pick(health, staged[0].id)


def _pick(health: TableHealth, wanted: int) -> Move:
    move = _existing(health, "main", wanted)
    if move.refusal:
        return move
    (picked,) = (one for one in health.snapshots if one.id == wanted)
    if refusal := _not_to_pick(picked, list(_ancestry(health, health.snapshot_id))):
        return Move("main", None, refusal=refusal)
    # CherryPickOperation: it fast-forwards where the snapshot continues main's head.
    return move if picked.parent_id == health.snapshot_id else Move("main", None, source=wanted)


def _not_to_pick(picked: Snapshot, own: Sequence[Snapshot]) -> str:
    """Why a snapshot cannot be picked: the rules of CherryPickOperation; empty: it can.

    Args:
        own: main's head and its ancestors.
    """
    known = {one.id for one in own}
    if picked.id in known or any(one.summary.get("source-snapshot-id") == str(picked.id) for one in own):
        return f"the changes of snapshot {picked.id} are in main already"
    overwrites = picked.summary.get("replace-partitions") == "true"
    applied = picked.operation == "append" or overwrites
    # What was staged with an id is published once, by whichever snapshot.
    wap_id, ways = picked.summary.get("wap.id"), ("wap.id", "published-wap-id")
    if applied and wap_id and any(one.summary.get(way) == wap_id for one in own for way in ways):
        return f"changes that were staged with wap.id '{wap_id}' are in main already"
    if not applied and picked.parent_id != (own[0].id if own else None):
        kind = f"snapshot {picked.id} is of operation {picked.operation or 'unknown'} and does not continue main's head"
        return f"{kind}: then only appends and dynamic overwrites can be picked"
    if overwrites and picked.parent_id is not None and picked.parent_id not in known:
        return f"snapshot {picked.id} overwrites what main does not have: it was not made from it"
    return ""


def _fast_forward(health: TableHealth, values: Mapping[str, Value], _: datetime) -> Move:
    branch, to = str(values["branch"]), str(values["to"])
    head, target = _head(health, branch), _head(health, to)
    if any(one.name == branch and one.kind == "tag" for one in health.refs):
        return Move(branch, None, refusal=f"'{branch}' is a tag, and does not move")
    if target is None:
        return Move(branch, None, refusal=f"there is no branch '{to}': {_refs(health)}")
    if head is not None and head not in {one.id for one in _ancestry(health, target)}:
        return Move(
            branch, None, refusal=f"'{branch}' has moved on since '{to}' was made: its head is no ancestor of it"
        )
    return Move(branch, target)


MOVES: Mapping[str, _Rule] = {
    "rollback_to_snapshot": _rollback_to_snapshot,
    "rollback_to_timestamp": _rollback_to_timestamp,
    "set_current_snapshot": _set_current,
    "cherrypick_snapshot": _cherrypick,
    "publish_changes": _publish,
    "fast_forward": _fast_forward,
}
"""By procedure: the rule that says where its branch goes."""


def _existing(health: TableHealth, branch: str, wanted: int) -> Move:
    if any(one.id == wanted for one in health.snapshots):
        return Move(branch, wanted)
    return Move(branch, None, refusal=f"the table has no snapshot {wanted}: {_known(health)}")


def _head(health: TableHealth, ref: str) -> int | None:
    return next((one.snapshot_id for one in health.refs if one.name == ref), None)


def _ancestry(health: TableHealth, head: int | None) -> Iterator[Snapshot]:
    by_id = {one.id: one for one in health.snapshots}
    while head is not None and head in by_id:
        yield by_id[head]
        head = by_id[head].parent_id


def _known(health: TableHealth) -> str:
    newest = ", ".join(str(one.id) for one in list(_ancestry(health, health.snapshot_id))[:5])
    return f"the newest of main are {newest}"


def _refs(health: TableHealth) -> str:
    return f"there are {', '.join(sorted(one.name for one in health.refs))}"

"""Which snapshots ``expire_snapshots`` would remove: the rule of Iceberg's ``RemoveSnapshots``, in pure functions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from iceberg_assets.health.facts import Ref, Snapshot, TableHealth
from iceberg_assets.health.properties import age, whole_number
from iceberg_assets.spec.policy import Expire, Protect

_DEFAULT_AGE_MS = 5 * 86_400_000
_FOR_EVER_MS = 2**63 - 1
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def expire_arguments(
    health: TableHealth, policy: Expire, now: datetime, keep_from: datetime | None = None
) -> tuple[datetime, int]:
    """The arguments ``older_than``, in whole milliseconds, and ``retain_last`` of the CALL.

    What the policy leaves open is the table's ``history.expire.*``, else Iceberg's 5 days and 1 snapshot.

    Args:
        health: of which the properties count.
        policy: the table's.
        now: with a zone.
        keep_from: commit time of a snapshot that must stay, with all after it.

    Raises:
        ConfigurationError: such a property is no number.
    """
    properties, kept_for = health.properties, policy.older_than
    if kept_for is None:
        kept_for = age(whole_number(properties, "history.expire.max-snapshot-age-ms", _DEFAULT_AGE_MS))
    older_than = now - max(kept_for, policy.minimum_age, policy.protect.lag)
    readers = (snapshot.committed_at for snapshot in protected_by(health, policy.protect).values())
    older_than = min([older_than, *readers, *([keep_from] if keep_from is not None else [])])
    retain_last = policy.retain_last or max(1, whole_number(properties, "history.expire.min-snapshots-to-keep", 1))
    return whole_milliseconds(older_than), retain_last


def expirable(
    health: TableHealth, policy: Expire, now: datetime, keep_from: datetime | None = None
) -> tuple[Snapshot, ...]:
    """The snapshots that would go, oldest first.

    A branch keeps its head, its last so many ancestors and those after the cut-off, by its own retention where it has
    one; a tag keeps its snapshot; a ref other than main that is past its own age goes and keeps nothing. What no ref
    leads to goes when it is older than the cut-off.
    """
    older_than, retain_last = expire_arguments(health, policy, now, keep_from)
    now = whole_milliseconds(now)
    by_id = {snapshot.id: snapshot for snapshot in health.snapshots}
    kept: set[int] = set()
    reached: set[int] = set()
    for ref in _standing_refs(health, by_id, now):
        reached.add(ref.snapshot_id)
        kept.add(ref.snapshot_id)
        if ref.kind == "tag":
            continue
        ancestors = list(_ancestry(ref.snapshot_id, by_id))
        reached.update(snapshot.id for snapshot in ancestors)
        cutoff = older_than
        if ref.max_snapshot_age_ms is not None:
            cutoff = now - age(ref.max_snapshot_age_ms)
        at_least = ref.min_snapshots_to_keep or retain_last
        for position, snapshot in enumerate(ancestors):
            if position >= at_least and snapshot.committed_at < cutoff:
                break
            kept.add(snapshot.id)
    gone = (
        snapshot
        for snapshot in health.snapshots
        if snapshot.id not in kept and (snapshot.id in reached or snapshot.committed_at < older_than)
    )
    return tuple(sorted(gone, key=lambda snapshot: (snapshot.committed_at, snapshot.sequence_number)))


def protected_by(health: TableHealth, protect: Protect) -> Mapping[str, Snapshot]:
    """By name of a tag or branch at which a reader stands: the snapshot from which on everything stays."""
    by_id = {snapshot.id: snapshot for snapshot in health.snapshots}
    return {
        ref.name: by_id[ref.snapshot_id]
        for ref in health.refs
        if ref.snapshot_id in by_id and any(fnmatchcase(ref.name, pattern) for pattern in protect.tags)
    }


def against_protection(
    health: TableHealth,
    policy: Expire,
    going: Sequence[Snapshot],
    now: datetime,
    keep_from: datetime | None = None,
) -> str | None:
    """Why ``expire_snapshots`` cannot be called: what goes by it has to stay.

    A branch's own retention goes before the cut-off, and a tag past its own age goes with its snapshot; so does what
    is asked for by its id.
    """
    kept = [snapshot.committed_at for snapshot in protected_by(health, policy.protect).values()]
    since = min([now - max(policy.minimum_age, policy.protect.lag), *kept, *([keep_from] if keep_from else [])])
    if not (lost := [one for one in going if one.committed_at >= since]):
        return None
    refs = [ref.name for ref in health.refs if (ref.max_snapshot_age_ms, ref.max_ref_age_ms) != (None, None)]
    return (
        f"{len(lost)} snapshots since {since:%Y-%m-%d %H:%M:%S %Z} have to stay for minimum_age, readers or appends "
        f"under way, and would go by their ids or by the retention of {', '.join(refs) or 'the table'}: nothing was "
        "expired. Give it a longer one, shorten maintenance.expire.minimum_age or protect.lag, or wait for the readers"
    )


def unpublished(health: TableHealth) -> tuple[Snapshot, ...]:
    """Snapshots that were staged with a ``wap.id`` and that neither main nor any other ref has, oldest first."""
    by_id = {snapshot.id: snapshot for snapshot in health.snapshots}
    reached = {one.id: one for ref in health.refs for one in _ancestry(ref.snapshot_id, by_id)}
    published = {one.summary.get("published-wap-id") for one in reached.values()}
    return tuple(
        one
        for one in sorted(health.snapshots, key=lambda one: one.committed_at)
        if one.id not in reached and (wap := one.summary.get("wap.id")) and wap not in published
    )


def steps(going: Sequence[Snapshot], older_than: datetime, most: int) -> Iterator[datetime]:
    """Cut-offs of several calls that expire at most so many snapshots each, the last one being ``older_than``.

    Snapshots of one millisecond go together, since a cut-off cannot part them; so do those that go by a retention of
    their own.
    """
    moments = [one.committed_at for one in going if one.committed_at < older_than]
    yield from sorted(set(moments[most::most]) - set(moments[:1]))
    yield older_than


def pinned_by(health: TableHealth, policy: Expire, now: datetime) -> Mapping[str, tuple[Snapshot, ...]]:
    """By name of a tag, or of another branch than main: the snapshots that would go if main were the only ref.

    A snapshot that several refs hold is listed under each. Refs that hold nothing back are left out.
    """
    main = tuple(ref for ref in health.refs if ref.name == "main")
    free = expirable(replace(health, refs=main), policy, now)
    pins = {}
    for ref in health.refs:
        if ref.name != "main":
            going = {one.id for one in expirable(replace(health, refs=(*main, ref)), policy, now)}
            pins[ref.name] = tuple(one for one in free if one.id not in going)
    return {name: held for name, held in pins.items() if held}


def _standing_refs(health: TableHealth, by_id: Mapping[int, Snapshot], now: datetime) -> Iterator[Ref]:
    """Main, and the refs that their own age, or the table's ``history.expire.max-ref-age-ms``, leaves standing."""
    default = whole_number(health.properties, "history.expire.max-ref-age-ms", _FOR_EVER_MS)
    for ref in health.refs:
        snapshot = by_id.get(ref.snapshot_id)
        young = snapshot and now - snapshot.committed_at <= age(ref.max_ref_age_ms or default)
        if ref.name == "main" or young:
            yield ref


def _ancestry(snapshot_id: int | None, by_id: Mapping[int, Snapshot]) -> Iterator[Snapshot]:
    while snapshot_id is not None and snapshot_id in by_id:
        yield by_id[snapshot_id]
        snapshot_id = by_id[snapshot_id].parent_id


def whole_milliseconds(moment: datetime) -> datetime:
    """Iceberg's clock: what it compares has no smaller part."""
    return moment - (moment - EPOCH) % timedelta(milliseconds=1)

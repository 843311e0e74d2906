"""Snapshots expired, with regard for branches, tags, readers, running rewrites and unfinished appends."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from types import MappingProxyType
from typing import cast

from pyiceberg.table import Table

from iceberg_assets.errors import TableUnreadableError
from iceberg_assets.health import TableHealth
from iceberg_assets.health.entries import naming_the_table
from iceberg_assets.health.expiry import (
    EPOCH,
    against_protection,
    expirable,
    expire_arguments,
    pinned_by,
    protected_by,
    steps,
    unpublished,
)
from iceberg_assets.health.facts import Snapshot
from iceberg_assets.maintenance import core
from iceberg_assets.maintenance.engine import EngineError, execute, refused
from iceberg_assets.maintenance.garbage import forbidden
from iceberg_assets.maintenance.lease import Lease
from iceberg_assets.maintenance.maintained import Maintained, health_of, on_the_table, without_leftovers
from iceberg_assets.maintenance.measure import COUNTS_OF_FILES, load
from iceberg_assets.maintenance.preview import Preview
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, call, quote
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec
from iceberg_assets.spec.units import format_count
from iceberg_assets.tables import protected_since
from iceberg_assets.tables.unreferenced import files_of

_NAME = "expire_snapshots"
_AT_ONCE = 2_000
"""So many snapshots are expired by one call: what a driver has to hold does not grow with how many there are."""
_FEW = 10_000
"""So few files and entries of manifest lists the driver looks through sooner than Spark has planned a job for it."""


@dataclass(frozen=True)
class _Expiry:
    """What would be expired of the table as it is, and what is said of the rest.

    Attributes:
        obstacle: why nothing may go.
        notes: who holds what back.
    """

    cut_off: datetime
    retain_last: int
    going: tuple[Snapshot, ...]
    obstacle: str | None
    notes: tuple[str, ...]


def expire_snapshots(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    days: Sequence[date],
    *,
    now: datetime,
    gc_handling: bool = False,
    arguments: Mapping[str, object] = MappingProxyType({}),
) -> Maintained:
    """Expire what the policy lets go, once for all dates.

    Unfinished appends are recovered first: once the snapshot with their token is gone, a stalled second pick of the
    same rows would be accepted. Many snapshots go in several calls, the oldest first; a small table's are expired by
    Iceberg's library without a call of Spark's procedure.

    Args:
        gc_handling: also where the table's ``gc.enabled`` is false: it is switched on meanwhile.
        arguments: further ones of the CALL; with ``snapshot_ids`` just these go.
    """
    only = _ids_of(arguments)

    def left_alone(before: TableHealth) -> Outcome | None:
        if not gc_handling and (reason := forbidden(before)):
            return _outcome(Status.SKIPPED, reason)
        foreseen = _foresee(spec, without_leftovers(before), now, _kept_for_appends(profile, spec), only)
        if foreseen.obstacle:
            return replace(_outcome(Status.SKIPPED, foreseen.obstacle), retryable=True)
        return None if foreseen.going else _outcome(Status.NOTHING_TO_DO, _kept(before, foreseen))

    def operate(before: TableHealth, _held: Lease) -> Outcome:
        foreseen = _foresee(spec, before, now, _kept_for_appends(profile, spec), only)
        refusal = None
        try:
            # Whether the session is a remote one is known once it has begun.
            session = spark()
            by_library = not arguments and foreseen.going and is_small(before) and core.at_hand()
            if by_library and _is_readable(load(profile, spec)):
                core.expire(session, profile, spec, foreseen.cut_off, foreseen.retain_last)
            else:
                for cut_off in steps(foreseen.going, foreseen.cut_off, _AT_ONCE):
                    execute(session, _statement(profile, spec, cut_off, foreseen.retain_last, arguments))
        except EngineError as error:
            refusal = error
        left = {snapshot.id for snapshot in health_of(profile, spec).snapshots}
        gone = [snapshot for snapshot in before.snapshots if snapshot.id not in left]
        if refusal and not gone:
            return refused(Operation.EXPIRE_SNAPSHOTS, refusal)
        said = f"{len(gone)} of {len(before.snapshots)} snapshots expired, {len(foreseen.going)} were to go"
        done = not refusal and not any(one.id in left for one in foreseen.going)
        return replace(
            _outcome(
                Status.DONE if done else Status.PARTIAL,
                "; ".join([said, *([str(refusal)] if refusal else []), *foreseen.notes]),
            ),
            productive=bool(gone),
            details={"iceberg/expired_snapshots": len(gone), "iceberg/expirable_snapshots": len(foreseen.going)},
        )

    expiry = Operation.EXPIRE_SNAPSHOTS
    return on_the_table(spark, profile, spec, days, expiry, operate, left_alone=left_alone, gc_handling=gc_handling)


def foretell_expiry(
    profile: Profile, spec: TableSpec, *, now: datetime, arguments: Mapping[str, object] = MappingProxyType({})
) -> Preview:
    """What :func:`expire_snapshots` would do, with the files that only those snapshots hold. Needs no Spark.

    Unfinished appends are left as they are, and not asked about: what an expiry keeps for them is a note.
    """
    health = without_leftovers(health_of(profile, spec))
    if reason := forbidden(health):
        return Preview(_NAME, False, reason)
    only = _ids_of(arguments)
    foreseen = _foresee(spec, health, now, None, only)
    notes = foreseen.notes
    if spec.source:
        notes += ("appends that are under way when it runs may keep more",)
    if foreseen.obstacle or not foreseen.going:
        return Preview(_NAME, False, foreseen.obstacle or _kept(health, foreseen), notes=notes)
    going = frozenset(snapshot.id for snapshot in foreseen.going)
    which = "that were named" if only else f"before {foreseen.cut_off:%Y-%m-%d %H:%M:%S %Z}"
    with naming_the_table(spec.name):
        removes = _only_held_by(load(profile, spec), going)
    return Preview(
        _NAME,
        True,
        f"{len(going)} of {len(health.snapshots)} snapshots {which} would go, "
        f"and {format_count(len(removes), 'file')} that only they hold",
        removes,
        tuple(snapshot.id for snapshot in foreseen.going),
        {"iceberg/expirable_snapshots": len(going)},
        notes,
    )


def is_small(health: TableHealth) -> bool:
    """Whether the driver can look through all that the snapshots reach, which their summaries tell of."""
    told = [one.summary.get(key, "0") for one in health.snapshots for key in COUNTS_OF_FILES]
    # A snapshot that does not say, or says no number, may have changed any number of files.
    if not all(one.operation for one in health.snapshots) or not all(map(str.isdecimal, told)):
        return False
    held = len(health.files) + len(health.deletes) + len(health.snapshots) * (1 + len(health.manifests))
    return health.snapshot_id is not None and held + sum(map(int, told)) <= _FEW


def _is_readable(table: Table) -> bool:
    """Whether all manifests are: of one that is not the library says nothing, and leaves what it lists for orphans."""
    read = set[str]()
    try:
        for snapshot in table.metadata.snapshots:
            for _ in files_of(table, snapshot, read):
                pass
    except (OSError, TableUnreadableError):
        return False
    return True


def _kept_for_appends(profile: Profile, spec: TableSpec) -> datetime | None:
    return protected_since(profile, spec) if spec.source else None


def _ids_of(arguments: Mapping[str, object]) -> frozenset[int]:
    return frozenset(cast("Sequence[int]", arguments.get("snapshot_ids", ())))


def _foresee(
    spec: TableSpec, health: TableHealth, now: datetime, keep_from: datetime | None, only: frozenset[int]
) -> _Expiry:
    """Args: only: the snapshots that are to go, whatever their age; none: what the policy lets go."""
    policy = spec.maintenance.expire
    if only:
        # Iceberg takes its own cut-off beside them otherwise.
        policy = policy.model_copy(update={"older_than": now - EPOCH})
    going = expirable(health, policy, now, keep_from)
    going += tuple(one for one in health.snapshots if one.id in only and one not in going)
    return _Expiry(
        *expire_arguments(health, policy, now, keep_from),
        going,
        _not_these(health, only) or against_protection(health, policy, going, now, keep_from),
        tuple(_notes(spec, health, now, {one.id for one in going}, keep_from)),
    )


def _not_these(health: TableHealth, only: frozenset[int]) -> str | None:
    """Why snapshots cannot go that were asked for by their ids."""
    if unknown := sorted(only - {one.id for one in health.snapshots}):
        return f"the table has no snapshot {', '.join(map(str, unknown))}: nothing was expired"
    heads = [f"{one.snapshot_id} ({one.kind} {one.name})" for one in health.refs if one.snapshot_id in only]
    return f"refs are at snapshots that were to go: {', '.join(heads)}; nothing was expired" if heads else None


def _notes(
    spec: TableSpec, health: TableHealth, now: datetime, going: set[int], keep_from: datetime | None
) -> Iterator[str]:
    """Who holds snapshots back, and what was staged and never published."""
    policy = spec.maintenance.expire
    kinds = {ref.name: ref.kind for ref in health.refs}
    for name, snapshot in protected_by(health, policy.protect).items():
        yield f"a reader at {kinds[name]} {name}: all since {snapshot.committed_at:%Y-%m-%d %H:%M:%S %Z} is kept"
    if keep_from is not None:
        yield f"appends under way: all since {keep_from:%Y-%m-%d %H:%M:%S %Z} is kept"
    for name, held in pinned_by(health, policy, now).items():
        yield f"{kinds[name]} {name} holds back {format_count(len(held), 'snapshot')} ({_ids(held)})"
    staged = unpublished(health)
    if kept := [one for one in staged if one.id not in going]:
        yield f"staged, not published, and kept: {_ids(kept)}"
    if lost := [one for one in staged if one.id in going]:
        yield f"staged, never published, and older than the cut-off: {_ids(lost)}"


def _ids(snapshots: Sequence[Snapshot]) -> str:
    more = f" and {len(snapshots) - 5} more" if len(snapshots) > 5 else ""
    return ", ".join(str(one.id) for one in snapshots[:5]) + more


def _kept(health: TableHealth, foreseen: _Expiry) -> str:
    kept = f"{len(health.snapshots)} snapshots, none to go before {foreseen.cut_off:%Y-%m-%d %H:%M:%S %Z}"
    return "; ".join([f"{kept}, {foreseen.retain_last} kept in any case", *foreseen.notes])


def _only_held_by(table: Table, going: frozenset[int]) -> dict[str, int]:
    """Path and bytes of the files that these snapshots reach and no other does."""
    snapshots, kept, read = table.metadata.snapshots, set[str](), set[str]()
    for snapshot in snapshots:
        if snapshot.snapshot_id not in going:
            kept.update(path for path, _ in files_of(table, snapshot, read))
    held = {
        path: size
        for snapshot in snapshots
        if snapshot.snapshot_id in going
        for path, size in files_of(table, snapshot, read)
        if path not in kept
    }
    statistics = (*table.metadata.statistics, *table.metadata.partition_statistics)
    # A statistics file may be registered for several snapshots.
    kept.update(one.statistics_path for one in statistics if one.snapshot_id not in going)
    held |= {one.statistics_path: one.file_size_in_bytes for one in statistics if one.statistics_path not in kept}
    return {path: len(table.io.new_input(path)) if size is None else size for path, size in held.items()}


def _statement(
    profile: Profile, spec: TableSpec, cut_off: datetime, retain_last: int, arguments: Mapping[str, object]
) -> str:
    return call(
        profile.catalog.name,
        _NAME,
        table=quote(*spec.table),
        older_than=cut_off,
        retain_last=retain_last,
        # The paths to delete come to the driver partition by partition.
        stream_results=True,
        **arguments,
    )


def _outcome(status: Status, reason: str) -> Outcome:
    return Outcome(Operation.EXPIRE_SNAPSHOTS, status, reason)

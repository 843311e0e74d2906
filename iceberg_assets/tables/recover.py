"""Recover: find out what became of the claims that have no end, from the metadata of the table alone.

The first step of an append, and of an expiry. Needs no JVM.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import (
    AssertRefSnapshotId,
    AssertTableUUID,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    TableRequirement,
    TableUpdate,
)

from iceberg_assets.errors import ClaimInDoubtError
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, quote
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.claims import CLAIM_DEADLINE, Claim, Event, LedgerState
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.lineage import Lineage
from iceberg_assets.tables.target import PYICEBERG_WRITES, load_target, sql_name

Clock = Callable[[], datetime]

# Each round ends something; more of them are needed only while others commit in between.
_ROUNDS = 10


def utc_now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Recovered:
    """The ledger and the table's metadata, read in this order, with no claim left that anything can be said about."""

    ledger: Ledger
    state: LedgerState
    lineage: Lineage


@dataclass(frozen=True)
class Decisions:
    """What is now known about claims: those found in main, with their snapshots, and the hopeless ones."""

    confirm: tuple[tuple[Claim, int], ...]
    abandon: tuple[Claim, ...]


def watched(state: LedgerState, lineage: Lineage, now: datetime) -> list[Claim]:
    """The claims whose rows may still come into main.

    These are the open ones, and abandoned ones for as long as their runner may merely be slow, or their staged snapshot
    can still be picked.
    """
    slow = [claim for claim, at in state.abandoned if now - at < CLAIM_DEADLINE or claim.id in lineage.staged]
    return [*state.open, *slow]


def in_doubt(claim: Claim, lineage: Lineage) -> bool:
    """Whether the snapshots are gone that would tell if a claim is in main.

    Where another claim with the same token is there, it is not, and can no longer get in.
    """
    return not (
        lineage.picked(claim) is not None
        or lineage.carrying(claim.n) is not None
        or lineage.complete_since(claim.n - 1)
        or lineage.complete_since_staging(claim)
    )


def decide(spec: TableSpec, state: LedgerState, lineage: Lineage, now: datetime) -> Decisions:
    """What became of each watched claim.

    Raises:
        ClaimInDoubtError: the snapshots that would tell are gone.
    """
    confirm, abandon = [], []
    for claim in watched(state, lineage, now):
        snapshot = lineage.picked(claim)
        if snapshot is not None:
            confirm.append((claim, snapshot))
            continue
        if in_doubt(claim, lineage):
            raise ClaimInDoubtError(_in_doubt(spec, claim))
        lost = lineage.carrying(claim.n) is not None
        # What has lost goes at once, lest it be picked after all where somebody expires the token's snapshot.
        if claim in state.open and (now >= claim.deadline or (lost and claim.id in lineage.staged)):
            abandon.append(claim)
    return Decisions(tuple(confirm), tuple(abandon))


def recover(
    profile: Profile,
    spec: TableSpec,
    *,
    now: Clock = utc_now,
    on_step: Callable[[str], None] = lambda _: None,
    spark: Session | None = None,
    days: Collection[date] | None = (),
) -> Recovered | None:
    """Confirm claims that are in main, abandon the hopeless ones, and clear away what ended ones left behind.

    Hopeless is a claim whose time is up, or that is staged while another one with its token is in main. Any other claim
    is left alone: its token decides who gets in. ``spark`` drops branches where PyIceberg cannot (format version 3);
    without it they wait for the next append. ``days`` are the dates whose files are wanted in the state, None: all.

    Returns:
        What is known then, or None where the table is not made yet.

    Raises:
        ClaimInDoubtError: names the claim and its files.
    """
    for _ in range(_ROUNDS):
        table = load_target(profile, spec)
        if table is None:
            return None
        ledger = Ledger(profile, spec, str(table.metadata.table_uuid))
        # The ledger before the metadata: a claim that we know of and that was picked is then seen in main.
        state, table = ledger.read(days), load_target(profile, spec)
        if table is None or str(table.metadata.table_uuid) != ledger.table_uuid:
            continue
        lineage = Lineage(table.metadata)
        try:
            decisions = decide(spec, state, lineage, now())
        except ClaimInDoubtError:
            decisions = decide(spec, ledger.read(), lineage, now())  # It names the files, whatever their dates.
        for claim, snapshot in decisions.confirm:
            ledger.confirm(claim, snapshot, now())
            on_step("confirmed")
        for claim in decisions.abandon:
            ledger.abandon(claim, now())
            on_step("abandoned")
        if decisions.confirm or decisions.abandon:
            continue
        if clear_away(profile, spec, table, state, spark):
            return Recovered(ledger, state, lineage)
    return Recovered(ledger, state, lineage)


def clear_away(
    profile: Profile, spec: TableSpec, table: Table, state: LedgerState, spark: Session | None = None
) -> bool:
    """Drop the branches of ended claims, and expire by id what was staged for those given up.

    It is one commit, made only if main is still what we looked at: a stalled runner's pick that comes first is never
    undone, one that comes later finds no snapshot. The data files are orphans from then on, and go with these.

    Returns:
        False if others committed in between: look again.
    """
    lineage = Lineage(table.metadata)
    given_up = [claim for claim, end in state.ends.items() if end is not Event.CONFIRMED]
    left = lineage.leftovers(state.ends, given_up)
    if left.branches or left.snapshots:
        profile.require_writable()
    if table.metadata.format_version > PYICEBERG_WRITES:
        if spark:
            for branch in left.branches:
                spark().sql(f"ALTER TABLE {sql_name(profile, spec)} DROP BRANCH IF EXISTS {quote(branch)}")
        return True
    requirements: list[TableRequirement] = [
        AssertTableUUID(uuid=table.metadata.table_uuid),
        *(
            AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": head})
            for name, head in [(MAIN_BRANCH, lineage.head), *left.branches.items()]
        ),
    ]
    updates: list[TableUpdate] = [RemoveSnapshotRefUpdate.model_validate({"ref-name": name}) for name in left.branches]
    if left.snapshots:
        updates.append(RemoveSnapshotsUpdate.model_validate({"snapshot-ids": sorted(left.snapshots)}))
    if not updates:
        return True
    try:
        profile.pyiceberg().commit_table(table, tuple(requirements), tuple(updates))
    except (CommitFailedException, NoSuchTableError, ValueError):
        # ValueError: another one has removed a snapshot of the list already.
        return False
    return True


def require_whole(spec: TableSpec, recovered: Recovered) -> None:
    """Go on only by a ledger that accounts for every batch of main: any other would bring the same files again.

    Raises:
        ClaimInDoubtError: says how to get the ledger back, or to do without it.
    """
    if lost := unaccounted(spec, recovered.ledger, recovered.state, recovered.lineage):
        raise ClaimInDoubtError(lost)


def unaccounted(spec: TableSpec, ledger: Ledger, state: LedgerState, lineage: Lineage) -> str:
    """What to say where main holds batches that no claim of the ledger accounts for; empty: there are none."""

    def without_claim(known: LedgerState) -> frozenset[int]:
        return lineage.tokens - {claim.n for claim in known.claims.values()} - set(range(known.batches))

    # The ledger was read before main: a batch that came in between has its claim by now.
    batches = without_claim(state) and without_claim(ledger.read(()))
    if not batches:
        return ""
    name = ".".join(ledger.name)
    return (
        f"{spec.name}: main holds {len(batches)} batches that the ledger {name} does not know: it was dropped, or the "
        "table renamed without it. Nothing is appended or expired until that is settled. Give the old ledger that name "
        "(ALTER TABLE … RENAME TO, or CALL system.register_table with its newest metadata file). Where it is gone: "
        f"iceberg-assets ledger adopt {spec.name} for the dates whose files are in the table"
    )


def protected_since(profile: Profile, spec: TableSpec) -> datetime | None:
    """The commit time of the oldest main snapshot that an expiry has to keep, with all after it; None: no such.

    Kept is the snapshot with the token of each claim whose runner may still pick it: once that is gone Iceberg accepts
    a second pick of the token. Where the token is not in main yet, kept is all that its absence is read from.
    Recovery runs first.

    Raises:
        ClaimInDoubtError: recovery stopped, or the ledger was lost.
    """
    recovered = recover(profile, spec)
    if recovered is None:
        return None
    require_whole(spec, recovered)
    claims = watched(recovered.state, recovered.lineage, utc_now())
    moments = [moment for claim in claims if (moment := recovered.lineage.since(claim.n)) is not None]
    return datetime.fromtimestamp(min(moments) / 1000, UTC) if moments else None


def _in_doubt(spec: TableSpec, claim: Claim) -> str:
    files = "\n  ".join(file.path for file in claim.files)
    return (
        f"{spec.name}: it cannot be told whether claim {claim.id} (token {claim.token}) is in the table: snapshots of "
        f"main since the batch before it are gone. Nothing is appended until that is settled. Look for rows of these "
        f"files in the table, then say what you found with: iceberg-assets ledger resolve {spec.name} {claim.id} "
        f"--in, or --not-in:\n  {files}"
    )

"""What the table's own metadata tells about claims: the ancestors of main, tokens, staged snapshots and branches."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Snapshot

from iceberg_assets.tables.claims import BRANCH_PREFIX, CLAIM_PROPERTY, Claim, token

# Iceberg's own keys: a pick that is a fast-forward keeps the staged snapshot with its wap.id, any other one makes a
# new snapshot with the other two (org.apache.iceberg.SnapshotSummary, CherryPickOperation).
_STAGED_TOKEN, _PICKED_TOKEN, _SOURCE = "wap.id", "published-wap-id", "source-snapshot-id"


@dataclass(frozen=True)
class Leftovers:
    """What ended claims left behind.

    Attributes:
        branches: branch names, and the snapshot that each was seen to point to.
        snapshots: ids of snapshots that nothing else reaches.
    """

    branches: Mapping[str, int]
    snapshots: frozenset[int]


@dataclass(frozen=True)
class Lineage:
    """One version of the table's metadata, read for claims."""

    metadata: TableMetadata

    @property
    def table_uuid(self) -> str:
        """Of the table as it is now."""
        return str(self.metadata.table_uuid)

    @cached_property
    def ancestors(self) -> tuple[Snapshot, ...]:
        """Main's snapshots that are still there, newest first."""
        return tuple(self._ancestors_of(self.metadata.current_snapshot_id))

    @cached_property
    def staged(self) -> Mapping[str, frozenset[int]]:
        """By claim id: the snapshots that carry it."""
        found: dict[str, set[int]] = {}
        for snapshot in self.metadata.snapshots:
            if claim := said(snapshot, CLAIM_PROPERTY):
                found.setdefault(claim, set()).add(snapshot.snapshot_id)
        return {claim: frozenset(ids) for claim, ids in found.items()}

    def picked(self, claim: Claim) -> int | None:
        """The snapshot of main with the claim's rows, if one is there.

        A branch's head is no evidence: before anything is staged it points into main.
        """
        staged = self.staged.get(claim.id, frozenset())
        for snapshot in self.ancestors:
            if snapshot.snapshot_id in staged or said(snapshot, _SOURCE) in {str(id_) for id_ in staged}:
                return snapshot.snapshot_id
        return None

    def carrying(self, n: int) -> Snapshot | None:
        """The snapshot of main that carries the n-th token."""
        wanted = token(self.table_uuid, n)
        return next(
            (one for one in self.ancestors if wanted in (said(one, _STAGED_TOKEN), said(one, _PICKED_TOKEN))), None
        )

    @cached_property
    def tokens(self) -> frozenset[int]:
        """The numbers of the tokens that main's snapshots carry."""
        prefix = f"{self.table_uuid}/"
        carried = (said(one, key) or "" for one in self.ancestors for key in (_STAGED_TOKEN, _PICKED_TOKEN))
        return frozenset(int(found.removeprefix(prefix)) for found in carried if found.startswith(prefix))

    def complete_since(self, n: int) -> bool:
        """Whether main still holds every snapshot since the one with the n-th token, or since its own first."""
        return self.whole or self.carrying(n) is not None

    @property
    def whole(self) -> bool:
        """Whether main still holds every snapshot that it was made of, down to the table's first."""
        return not self.ancestors or _is_first(self.ancestors[-1])

    def complete_since_staging(self, claim: Claim) -> bool:
        """Whether main still holds every snapshot since the one that the claim's rows were staged upon.

        A pick comes after the staging. Expiry by Spark leaves the oldest snapshot the id of its parent.
        """
        bases = {self._snapshots[id_].parent_snapshot_id for id_ in self.staged.get(claim.id, ())} - {None}
        return any({one.snapshot_id, one.parent_snapshot_id} & bases for one in self.ancestors)

    def since(self, n: int) -> int | None:
        """The earliest commit time, in epoch milliseconds, among the n-th token's snapshot and all after it.

        Without such a snapshot that of the token before, from where the n-th is looked for; else of all.
        """
        start = self.carrying(n) or self.carrying(n - 1)
        end = self.ancestors.index(start) + 1 if start else len(self.ancestors)
        return min((snapshot.timestamp_ms for snapshot in self.ancestors[:end]), default=None)

    def leftovers(self, ended: Iterable[str], given_up: Iterable[str]) -> Leftovers:
        """What can go.

        Args:
            ended: ids of claims that will not need their branch again.
            given_up: those of them whose rows are not in the table, so that their staged snapshots have to go as well.
        """
        names = {f"{BRANCH_PREFIX}{claim}" for claim in ended}
        branches = {name: ref.snapshot_id for name, ref in self.metadata.refs.items() if name in names}
        reached = {
            snapshot.snapshot_id
            for name, ref in self.metadata.refs.items()
            if name not in branches
            for snapshot in self._ancestors_of(ref.snapshot_id)
        }
        own = {snapshot.snapshot_id for head in branches.values() for snapshot in self._ancestors_of(head)}
        staged = {id_ for claim in given_up for id_ in self.staged.get(claim, ())}
        return Leftovers(branches, frozenset((own | staged) - reached))

    def _ancestors_of(self, snapshot_id: int | None) -> Iterable[Snapshot]:
        while snapshot_id is not None and (snapshot := self._snapshots.get(snapshot_id)) is not None:
            yield snapshot
            snapshot_id = snapshot.parent_snapshot_id

    @cached_property
    def _snapshots(self) -> Mapping[int, Snapshot]:
        return {snapshot.snapshot_id: snapshot for snapshot in self.metadata.snapshots}

    @property
    def head(self) -> int | None:
        """The snapshot that main points to."""
        main = self.metadata.refs.get(MAIN_BRANCH)
        return main.snapshot_id if main else None


def said(snapshot: Snapshot, key: str) -> str | None:
    """A value of the snapshot's summary."""
    return snapshot.summary.get(key) if snapshot.summary else None


def _is_first(snapshot: Snapshot) -> bool:
    """Whether a snapshot is the first that its table ever had, rather than the oldest that was not expired.

    No parent is not enough: PyIceberg takes the parent's id from the child when it expires the parent. The first one
    holds the files that it added and no other.
    """
    added, total = said(snapshot, "added-data-files"), said(snapshot, "total-data-files")
    return snapshot.parent_snapshot_id is None and total is not None and total == (added or "0")

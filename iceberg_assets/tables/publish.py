"""The claim protocol: bring a frozen list of files into main exactly once, however often and by how many it is tried.

The ledger says who is about to add which files, but no safety rests on it alone: rows are staged on a branch of their
own, and enter main by ``cherrypick_snapshot`` under the token ``<table uuid>/<n>`` as ``wap.id``. Iceberg refuses a
second snapshot with a token that an ancestor of main carries, so of several runners with the same n one gets in.

A batch that replaces dates has a deletion on its branch as well. That cannot be picked, so main is moved forward to the
branch, which Iceberg refuses once main has moved elsewhere.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from iceberg_assets.errors import ClaimInDoubtError, IcebergAssetsError
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import call, quote
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.claims import CLAIM_DEADLINE, Claim, Content, Entry, Event, LedgerState
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.recover import Clock, Recovered, clear_away, recover, require_whole
from iceberg_assets.tables.replace import going, rows_of
from iceberg_assets.tables.source import RawFile
from iceberg_assets.tables.staging import compare, move_ref, newest, stage
from iceberg_assets.tables.target import dropped, load_target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = ("recovered", "frozen", "claimed", "reread", "branched", "staged", "checked", "picked", "confirmed", "cleared")
"""What ``on_step`` is told, each right after it happened; in between, a crash leaves what the step before left."""

# A round is lost to another runner's batch, which is then in the table: this many in a row mean something else.
_ROUNDS = 20
# A replacement that main moved under is computed anew so often; who writes to main all the time has to pause.
_ANEW = 1


@dataclass(frozen=True)
class Published:
    """What one batch came to.

    Attributes:
        files: those that this call brought in; the others were in already.
        snapshot_id: of main, with their rows; None where all were in already.
        replaced: the entries whose rows went.
    """

    files: tuple[RawFile, ...]
    snapshot_id: int | None
    replaced: tuple[Entry, ...] = ()


class _LostToAnotherError(Exception):
    """Another claim with the same token is in main."""


class _MainMovedError(Exception):
    """Somebody else has committed to main since the rows to be replaced were looked at."""


def moved(claim: Claim, state: LedgerState) -> bool:
    """Whether the ledger has moved on since the claim's number and files were read from it.

    The token alone does not tell: its snapshot in main may have been expired before the claim was written.
    """
    if state.batches != claim.n:
        return True
    return not claim.replaces and any(file.path in state.confirmed for file in claim.files)


@dataclass(frozen=True)
class Publisher:
    """Publishes batches of one table, on one session.

    Attributes:
        now: the clock that deadlines are held against.
        on_step: told each of :data:`STEPS`.
        replaces: the rows that came from the files' dates earlier go in the same commit.
        counted: for that, the contents of files that the ledger has none of.
    """

    spark: "SparkSession"
    profile: Profile
    spec: TableSpec
    now: Clock
    on_step: Callable[[str], None]
    replaces: bool = False
    counted: Mapping[RawFile, Content] = field(default_factory=dict)

    def publish(self, contents: Mapping[RawFile, Content]) -> Published:
        """Append the files' rows to main, each file once.

        Args:
            contents: the files, and what each must bring: at least one row.

        Raises:
            ClaimInDoubtError: see :func:`recover`; or main keeps refusing our token, and no claim accounts for that.
            SourceError: a file changed while it was read, or was replaced since it was appended; or the dates cannot
                be replaced exactly.
            IcebergAssetsError: the claim ran out of time, somebody took it for dead or dropped the table, or main
                keeps moving under a replacement.
        """
        days, anew = {file.day for file in contents}, 0
        for _ in range(_ROUNDS):
            # (1) What became of the claims before us.
            recovered = self._recovered(days)
            ledger, before = recovered.ledger, recovered.state
            self.on_step("recovered")
            # (2) Freeze what is not in the table, or what goes.
            gone = going(before, days, self.counted) if self.replaces else ()
            files = tuple(contents) if self.replaces else before.unseen(tuple(contents))
            if not files:
                return Published((), None)
            self.on_step("frozen")
            # (3) Claim it. Had the ledger moved in between, the list or the token would be old.
            claim = ledger.claim(before.batches, files, self.now(), contents, replaces=self.replaces)
            self.on_step("claimed")
            if moved(claim, ledger.read(claim.days)):
                ledger.withdraw(claim, self.now())
                continue
            self.on_step("reread")
            try:
                # (4) Stage it on a branch of its own.
                going_rows = rows_of(gone, claim.days, self.counted) if claim.replaces else {}
                staged = stage(self.spark, self.profile, self.spec, claim, going_rows, self.on_step)
                compare(self.profile, self.spec, claim, staged, sum(contents[file].rows for file in files))
            except Exception:
                # Once a claim is lost, anybody may clear away what was staged for it, also under our hands.
                lost = moved(claim, ledger.read(claim.days))
                self._give_up(ledger, claim)
                if lost:
                    continue
                raise
            self.on_step("staged")
            try:
                # (5) Pick it, if it is still ours.
                self._check_ours(ledger, claim)
                self.on_step("checked")
                if self.replaces:
                    self._check_main_unmoved(claim, recovered.lineage.head)
                snapshot = self._pick(ledger, claim, staged)
            except _LostToAnotherError:
                self._give_up(ledger, claim)
                continue
            except _MainMovedError:
                self._give_up(ledger, claim)
                if anew == _ANEW:
                    raise IcebergAssetsError(
                        f"{self.spec.name}: others committed to main during both tries to replace "
                        f"{', '.join(map(str, sorted(days)))}; nothing was replaced. Pause what writes to or maintains "
                        "the table, then try again"
                    ) from None
                anew += 1
                continue
            self.on_step("picked")
            # (6) Confirm it, and drop the branch: ours, and those of claims that have lost to it.
            ledger.confirm(claim, snapshot, self.now())
            self.on_step("confirmed")
            with suppress(ClaimInDoubtError):  # Of another claim: it stops the next append, and does not undo ours.
                recover(self.profile, self.spec, now=self.now, spark=lambda: self.spark)
            self.on_step("cleared")
            ledger.fold()
            return Published(files, snapshot, gone)
        raise ClaimInDoubtError(
            f"{self.spec.name}: {_ROUNDS} times in a row another batch was faster, the last time with token "
            f"{claim.token}. If no other runner appends to this table, a snapshot of main carries that token without a "
            f"claim in {'.'.join(ledger.name)}: somebody has changed one of the two"
        )

    def _recovered(self, days: Collection[date]) -> Recovered:
        recovered = recover(
            self.profile,
            self.spec,
            now=self.now,
            on_step=self.on_step,
            spark=lambda: self.spark,
            days=None if self.replaces else days,
        )
        if recovered is None:
            raise dropped(self.spec)
        require_whole(self.spec, recovered)
        return recovered

    def _check_ours(self, ledger: Ledger, claim: Claim) -> None:
        """Go on only with a claim that nobody took for dead, and that leaves time to pick it.

        Raises:
            _LostToAnotherError: another batch was confirmed since the claim was written.
            IcebergAssetsError: the claim was taken for dead, or there is too little time left.
        """
        state = ledger.read(claim.days)
        if moved(claim, state):
            raise _LostToAnotherError
        if claim.id not in (other.id for other in state.open):
            raise IcebergAssetsError(
                f"{self.spec.name}: another runner took the append of {len(claim.files)} files for dead after "
                f"{CLAIM_DEADLINE}, and may have appended them; try again to see"
            )
        if claim.deadline - self.now() < CLAIM_DEADLINE / 10:
            self._give_up(ledger, claim)
            raise IcebergAssetsError(
                f"{self.spec.name}: staging {len(claim.files)} files took nearly {CLAIM_DEADLINE}; append fewer dates "
                "at a time"
            )

    def _check_main_unmoved(self, claim: Claim, head: int | None) -> None:
        """Go on only if main is what the rows to be replaced were looked up in: a rollback would be undone.

        Raises:
            _LostToAnotherError: another claim with the token is in main.
            _MainMovedError: anything else is.
        """
        lineage = newest(self.profile, self.spec)
        if lineage.carrying(claim.n) is not None:
            raise _LostToAnotherError
        if lineage.head != head:
            raise _MainMovedError

    def _pick(self, ledger: Ledger, claim: Claim, staged: int) -> int:
        """Take the staged snapshot into main; returns main's snapshot with its rows.

        What happened is read from the metadata, also after an error: a reply may have been lost.

        Raises:
            _LostToAnotherError: Iceberg refused the token.
            _MainMovedError: Iceberg refused to move main forward.
        """
        failure: Exception | None = None
        try:
            catalog, table = self.profile.catalog.name, quote(*self.spec.table)
            if claim.replaces:
                statement = call(catalog, "fast_forward", table=table, branch="main", to=claim.branch)
            else:
                statement = call(catalog, "cherrypick_snapshot", table=table, snapshot_id=staged)
            move_ref(self.spark, statement)
        except Exception as error:  # noqa: BLE001 - raised below, unless the metadata knows better
            failure = error
        lineage = newest(self.profile, self.spec)
        if (snapshot := lineage.picked(claim)) is not None:
            return snapshot
        # Another runner's recovery may have confirmed it for us, and cleared the staged snapshot away.
        state = ledger.read(claim.days)
        if state.ends.get(claim.id) is Event.CONFIRMED and (found := state.snapshots[claim.id]) is not None:
            return found
        if lineage.carrying(claim.n) is not None or moved(claim, state):
            raise _LostToAnotherError from failure
        if claim.replaces and failure and "not an ancestor" in str(failure):
            raise _MainMovedError from failure
        # The claim stays open: should the pick arrive late after all, recovery finds it.
        raise failure or IcebergAssetsError(
            f"{self.spec.name}: snapshot {staged} was picked, and is not in main any more: somebody rolled it back"
        )

    def _give_up(self, ledger: Ledger, claim: Claim) -> None:
        ledger.withdraw(claim, self.now())
        self._clear(ledger)

    def _clear(self, ledger: Ledger) -> None:
        """Once; where others commit in between, what is left goes with the next recovery."""
        table = load_target(self.profile, self.spec)
        if table is not None:
            clear_away(self.profile, self.spec, table, ledger.read(()), lambda: self.spark)

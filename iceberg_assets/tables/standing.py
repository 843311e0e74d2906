"""Whether what the ledger says is in the table still is, as far as the table's own metadata tells."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.claims import CLAIM_DEADLINE, Claim, Entry, Event, LedgerState
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.lineage import Lineage
from iceberg_assets.tables.recover import in_doubt, unaccounted, utc_now, watched
from iceberg_assets.tables.target import load_target

# Iceberg takes the times of snapshots from the clocks of different machines; it tolerates as much itself.
_CLOCKS = timedelta(minutes=1)


class Standing(StrEnum):
    """Where the snapshot is that brought a file's rows."""

    IN_MAIN = "in main"
    ROLLED_BACK = "rolled back"
    EXPIRED = "expired"


def standing(claim: Claim, end: Event, snapshot_id: int | None, lineage: Lineage) -> Standing:
    """Whether a confirmed batch is in main.

    An expired snapshot is not a rolled-back one: its rows are in the snapshots after it. Rolled back is one that main
    would have to hold, because it came after the oldest that main does hold, or because main holds all that it was
    made of. Of older ones nothing can be told.
    """
    if snapshot_id is None or snapshot_id in {one.snapshot_id for one in lineage.ancestors}:
        return Standing.IN_MAIN
    if lineage.whole:
        return Standing.ROLLED_BACK
    oldest, known = lineage.ancestors[-1], lineage.metadata.snapshot_by_id(snapshot_id)
    if known is not None:
        # Format version 1 has no sequence numbers.
        order = (known.sequence_number or 0, known.timestamp_ms) > (oldest.sequence_number or 0, oldest.timestamp_ms)
        return Standing.ROLLED_BACK if order else Standing.EXPIRED
    claimed = claim.deadline - CLAIM_DEADLINE
    since = datetime.fromtimestamp(oldest.timestamp_ms / 1000, UTC)
    # An adopted file's snapshot is older than its claim, by nobody knows how much.
    after = end is Event.CONFIRMED and claimed - _CLOCKS > since
    return Standing.ROLLED_BACK if after else Standing.EXPIRED


def standing_of(entry: Entry, lineage: Lineage) -> Standing:
    """Whether the batch that brought a file is in main."""
    return standing(entry.claim, entry.end, entry.snapshot_id, lineage)


@dataclass(frozen=True)
class Completeness:
    """What is wrong between a ledger and its table.

    Attributes:
        batches: how many are confirmed or adopted.
        rolled_back: files that the ledger has, of batches that main has no more.
        doubtful: claims that nobody can tell about.
        unaccounted: what to say of batches of main that the ledger does not know; empty: it knows all.
    """

    batches: int
    rolled_back: tuple[Entry, ...]
    doubtful: tuple[Claim, ...]
    unaccounted: str


def completeness(profile: Profile, spec: TableSpec) -> Completeness | None:
    """Hold the ledger against main; None where there is no table yet. Writes nothing, needs no JVM."""
    looked = look(profile, spec, files=False)
    if looked is None:
        return None
    ledger, state, lineage = looked
    standings = {
        id_: standing(state.claims[id_], state.ends[id_], snapshot, lineage)
        for id_, snapshot in state.snapshots.items()
    }
    rolled_back: Iterable[Entry] = ()
    if Standing.ROLLED_BACK in standings.values():
        # Some of their files may be forgotten or replaced: only now these have to be read.
        rolled_back = (one for one in ledger.read().entries if standing_of(one, lineage) is Standing.ROLLED_BACK)
    return Completeness(
        len(standings),
        tuple(rolled_back),
        doubtful(state, lineage, utc_now()),
        unaccounted(spec, ledger, state, lineage),
    )


def doubtful(state: LedgerState, lineage: Lineage, now: datetime) -> tuple[Claim, ...]:
    """The claims that somebody has to resolve."""
    return tuple(claim for claim in watched(state, lineage, now) if in_doubt(claim, lineage))


def look(profile: Profile, spec: TableSpec, *, files: bool = True) -> tuple[Ledger, LedgerState, Lineage] | None:
    """The ledger and, read after it, the table's metadata, as they are; None where there is no table yet.

    Args:
        files: read the file rows too; else claims and their ends only.
    """
    table = load_target(profile, spec)
    if table is None:
        return None
    ledger = Ledger(profile, spec, str(table.metadata.table_uuid))
    state = ledger.read(None if files else ())
    return ledger, state, Lineage(table.refresh().metadata)

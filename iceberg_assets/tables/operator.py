"""What a person tells the ledger: these files are in already, these are not any more, this claim is in or is not.

Each function decides first and refuses what the metadata contradicts; only with ``do`` it then writes. Needs no JVM.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from iceberg_assets.errors import ConfigurationError, LedgerError
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.claims import CLAIM_PROPERTY, Claim, Content, Entry, Event, LedgerState
from iceberg_assets.tables.footers import date_column, read_footers
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.lineage import Lineage, said
from iceberg_assets.tables.recover import clear_away, recover, utc_now, watched
from iceberg_assets.tables.source import RawFile, landed
from iceberg_assets.tables.standing import Standing, doubtful, look, standing_of
from iceberg_assets.tables.target import load_target

_NAMED = 5


@dataclass(frozen=True)
class Shown:
    """A ledger and what can be told about it.

    Attributes:
        entries: the files that are in, by date and path, each with its standing.
        open: claims without an end.
        abandoned: claims that were taken for dead, and when.
        doubtful: those of both that somebody has to resolve.
    """

    entries: tuple[tuple[Entry, Standing], ...]
    open: tuple[Claim, ...]
    abandoned: tuple[tuple[Claim, datetime], ...]
    doubtful: tuple[Claim, ...]


def show(profile: Profile, spec: TableSpec, days: Collection[date] | None = None) -> Shown | None:
    """What the ledger says of these dates, or of all; None where there is no table yet."""
    looked = look(profile, spec)
    if looked is None:
        return None
    _, state, lineage = looked
    entries = sorted(state.entries, key=lambda entry: (entry.file.day, entry.file.path))
    return Shown(
        tuple((entry, standing_of(entry, lineage)) for entry in entries if days is None or entry.file.day in days),
        state.open,
        state.abandoned,
        doubtful(state, lineage, utc_now()),
    )


def adopt(profile: Profile, spec: TableSpec, days: Sequence[date], *, do: bool) -> Mapping[date, Sequence[RawFile]]:
    """Record the raw files that lie under the dates as in: for a table that was loaded by other means.

    No row is read. What a footer's statistics tell about a file's dates is recorded, so that these can be replaced.

    Returns:
        The files, by date.

    Raises:
        ConfigurationError: the table does not exist, or has no snapshot and so no row.
        LedgerError: a file is in the ledger already, or a claim on it is open; or there is no file.
    """
    ledger, state, lineage = _settled(profile, spec)
    if lineage.head is None:
        raise ConfigurationError(f"{spec.name} has no snapshot, so there are no rows to adopt: materialize the dates")
    files = {day: found for day in days if (found := landed(spec, day, profile.store))}
    if not files:
        raise LedgerError(f"{spec.name}: no raw file lies under these dates: see source.path, {_source(spec)}")
    claimed = {file.path for claim in watched(state, lineage, utc_now()) for file in claim.files}
    taken = [
        file.path
        for of_day in files.values()
        for file in of_day
        if file.path in state.confirmed or file.path in claimed
    ]
    if taken:
        dates = sorted({str(day) for day, of_day in files.items() if any(file.path in taken for file in of_day)})
        raise LedgerError(
            f"{spec.name}: {_some(taken)} are in the ledger already, or about to be. Leave their dates out: "
            f"{_some(dates)}; what else landed there is for an append"
        )
    if do:
        every = [file for of_day in files.values() for file in of_day]
        n = max([state.batches, *(carried + 1 for carried in lineage.tokens)])
        ledger.adopt(every, _told(profile, spec, every), utc_now(), lineage.head, n)
    return files


def _told(profile: Profile, spec: TableSpec, files: Sequence[RawFile]) -> Mapping[RawFile, Content]:
    """What footers tell. A file that is no Parquet any more tells nothing; its rows are in the table all the same."""
    footers, _ = read_footers(files, dates_of=date_column(spec), store=profile.store)
    return {
        footer.file: Content(footer.rows, frozenset(day for day, _ in footer.dates))
        for footer in footers
        if footer.dates is not None
    }


def forget_rolled_back(profile: Profile, spec: TableSpec, *, do: bool) -> tuple[Sequence[Entry], Sequence[Entry]]:
    """Let go of the files whose batches a rollback took out of main, so that the next append brings them again.

    Returns:
        The entries that go, and those of which the metadata cannot tell because their snapshots are expired.

    Raises:
        LedgerError: a claim on one of the files may still get in.
    """
    ledger, state, lineage = _settled(profile, spec)
    # What a later claim replaced comes back with that claim's end, so it is looked at too.
    standings = [(entry, standing_of(entry, lineage)) for entry in (*state.entries, *state.superseded)]
    going = [entry for entry, found in standings if found is Standing.ROLLED_BACK]
    untold = [entry for entry in state.entries if standing_of(entry, lineage) is Standing.EXPIRED]
    _forget(spec, ledger, state, lineage, going, do)
    return going, untold


def forget(
    profile: Profile,
    spec: TableSpec,
    *,
    days: Collection[date] = (),
    files: Collection[str] = (),
    rows_are_gone: bool = False,
    do: bool,
) -> Sequence[tuple[Entry, Standing]]:
    """Let go of these dates' or these files' entries, so that the next append brings them again.

    Args:
        rows_are_gone: somebody has made sure that the table does not hold the rows, whatever the metadata says.

    Raises:
        LedgerError: nothing is known of a date or file; or a batch is in main, or may be, and nobody has made sure; or
            a claim on one of the files may still get in.
    """
    ledger, state, lineage = _settled(profile, spec)
    every = (*state.entries, *state.superseded)
    going = [entry for entry in every if entry.file.day in days or entry.file.path in files]
    known = {str(entry.file.day) for entry in going} | {entry.file.path for entry in going}
    if unknown := [name for name in [*map(str, days), *files] if name not in known]:
        raise LedgerError(f"{spec.name}: the ledger has nothing of {_some(unknown)}; see ledger show {spec.name}")
    told = [(entry, standing_of(entry, lineage)) for entry in going]
    unsure = [f"{entry.file.path} ({found})" for entry, found in told if found is not Standing.ROLLED_BACK]
    if unsure and not rows_are_gone:
        raise LedgerError(
            f"{spec.name}: the rows of {_some(unsure)} are in the table, or its metadata does not tell. Once "
            "forgotten, they are appended a second time. Look for them; if they are gone, say so: --rows-are-gone"
        )
    _forget(spec, ledger, state, lineage, going, do)
    return told


def _forget(
    spec: TableSpec, ledger: Ledger, state: LedgerState, lineage: Lineage, going: Sequence[Entry], do: bool
) -> None:
    paths = {entry.file.path for entry in going}
    for claim in watched(state, lineage, utc_now()):
        if held := sorted(paths.intersection(file.path for file in claim.files)):
            raise LedgerError(
                f"{spec.name}: claim {claim.id} on {_some(held)} may still get in until {claim.deadline:%F %T %Z}: let "
                "its run end, or wait that long"
            )
    if do and going:
        ledger.forget(going, utc_now())


@dataclass(frozen=True)
class Evidence:
    """What the metadata tells about a claim.

    Attributes:
        end: how it ended, None: it is open.
        staged: snapshots that hold its rows but are not in main.
        picked: main's snapshot with its rows.
        token_in_main: the snapshot that carries its token, if it is another claim's.
        oldest: main's oldest snapshot; what came before is not told.
        doubtful: nothing of that decides.
    """

    claim: Claim
    end: Event | None
    staged: tuple[int, ...]
    picked: int | None
    token_in_main: int | None
    oldest: tuple[int, datetime] | None
    doubtful: bool

    def __str__(self) -> str:
        since = f"snapshot {self.oldest[0]} of {self.oldest[1]:%F %T %Z} on" if self.oldest else "its beginning on"
        lines = [
            f"claim {self.claim.id}, token {self.claim.token}, {self.end or 'open'}, "
            f"deadline {self.claim.deadline:%F %T %Z}",
            f"  staged snapshots left: {', '.join(map(str, self.staged)) or 'none'}",
            f"  in main by its id: {self.picked or 'no'}",
            f"  another claim with its token in main: {self.token_in_main or 'no'}",
            f"  main is known from {since}",
            *(f"  file {file.path} ({file.size} bytes)" for file in self.claim.files),
        ]
        return "\n".join(lines)


def evidence(profile: Profile, spec: TableSpec, claim_id: str) -> Evidence:
    """What can be told about a claim; it may be named by the first characters of its id.

    Raises:
        ConfigurationError: the table does not exist.
        LedgerError: there is no such claim, or several.
    """
    _, state, lineage = _looked(profile, spec)
    found = [claim for id_, claim in state.claims.items() if id_.startswith(claim_id)]
    if len(found) != 1:
        open_ = ", ".join(claim.id for claim in state.open) or "none"
        raise LedgerError(f"{spec.name}: {len(found)} claims begin with '{claim_id}'; open are {open_}")
    (claim,) = found
    carrying = lineage.carrying(claim.n)
    foreign = carrying is not None and said(carrying, CLAIM_PROPERTY) != claim.id
    picked = lineage.picked(claim)
    oldest = lineage.ancestors[-1] if lineage.ancestors else None
    return Evidence(
        claim,
        state.ends.get(claim.id),
        tuple(sorted(lineage.staged.get(claim.id, frozenset()) - {one.snapshot_id for one in lineage.ancestors})),
        picked,
        carrying.snapshot_id if carrying and foreign and picked is None else None,
        (oldest.snapshot_id, datetime.fromtimestamp(oldest.timestamp_ms / 1000, utc_now().tzinfo)) if oldest else None,
        claim in doubtful(state, lineage, utc_now()),
    )


def resolve(profile: Profile, spec: TableSpec, claim_id: str, *, is_in: bool) -> Event:
    """Settle a claim in doubt as a person found it; returns how it ended.

    Not in: what is staged for it goes as well, so that a runner that wakes up finds nothing to pick. Should it have
    been faster, the claim is confirmed after all.

    Raises:
        ConfigurationError: the table does not exist.
        LedgerError: the claim is not in doubt: metadata or its own end settle it; or main has no snapshot.
    """
    shown = evidence(profile, spec, claim_id)
    if not shown.doubtful:
        raise LedgerError(f"{spec.name}: this claim is not in doubt, the next append settles it by itself:\n{shown}")
    ledger, _, lineage = _looked(profile, spec)
    if is_in:
        # Its own snapshot is gone; main's newest holds its rows.
        if lineage.head is None:
            raise LedgerError(f"{spec.name} has no snapshot that could hold the claim's rows: say --not-in")
        ledger.confirm(shown.claim, lineage.head, utc_now())
        return Event.CONFIRMED
    ledger.withdraw(shown.claim, utc_now())
    for _ in range(_NAMED):
        table = load_target(profile, spec)
        if table is None or clear_away(profile, spec, table, ledger.read(())):
            break
    _, _, lineage = _looked(profile, spec)
    if (snapshot := lineage.picked(shown.claim)) is not None:
        ledger.confirm(shown.claim, snapshot, utc_now())
        return Event.CONFIRMED
    return Event.WITHDRAWN


def _settled(profile: Profile, spec: TableSpec) -> tuple[Ledger, LedgerState, Lineage]:
    """The ledger and the metadata once nothing is left that recovery can tell."""
    recovered = recover(profile, spec, days=None)
    if recovered is None:
        raise ConfigurationError(f"{spec.name} does not exist: there is nothing that its ledger could be about")
    return recovered.ledger, recovered.state, recovered.lineage


def _looked(profile: Profile, spec: TableSpec) -> tuple[Ledger, LedgerState, Lineage]:
    looked = look(profile, spec)
    if looked is None:
        raise ConfigurationError(f"{spec.name} does not exist: there is nothing that its ledger could be about")
    return looked


def _source(spec: TableSpec) -> str:
    assert spec.source is not None
    return spec.source.path


def _some(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

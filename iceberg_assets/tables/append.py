"""Append the raw files of some dates: good dates together in one batch, bad ones told apart and left out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from time import monotonic

from iceberg_assets.errors import ClaimInDoubtError, IcebergAssetsError, RawStoreError, SourceError, in_brief
from iceberg_assets.profiles import Profile, brief_of, naming_the_service, of_service
from iceberg_assets.spark import Session
from iceberg_assets.spec import Status, TableSpec
from iceberg_assets.tables.claims import Content, LedgerState
from iceberg_assets.tables.count import contents_of, count_rows, late_rows
from iceberg_assets.tables.create import check_places, ensure_table
from iceberg_assets.tables.declared import check_table
from iceberg_assets.tables.evolve import changes, evolve
from iceberg_assets.tables.fields import fields_of
from iceberg_assets.tables.fit import Problem, in_words
from iceberg_assets.tables.footers import Footer
from iceberg_assets.tables.intake import Inspected, Judged, arrived, inspect, judge
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.location_provider import provider_notes
from iceberg_assets.tables.publish import Publisher
from iceberg_assets.tables.recover import Clock, recover, utc_now
from iceberg_assets.tables.replace import count_unknown
from iceberg_assets.tables.source import RawFile
from iceberg_assets.tables.target import dropped, existing_target, load_target

# Each is lost to another run that makes or evolves the table at the same moment.
_ROUNDS = 3


@dataclass(frozen=True)
class AppendOutcome:
    """What an append did for one date.

    Attributes:
        day: the date that the files landed under.
        reason: one sentence with the numbers behind the status.
        files: that were appended now.
        rows: that they brought, whatever date these fall on.
        late: those of them that fall on other dates, by these.
        snapshot_id: of main, with the rows; None where there were none.
        seconds: of the call up to this outcome.
        problems: what the footers show to be wrong, by file and column; of a failed date.
        notes: what was left out, filled in or moved, and why, and which properties the table has not as declared; part
            of the reason.
    """

    day: date
    status: Status
    reason: str
    files: int = 0
    rows: int = 0
    late: Mapping[date, int] = field(default_factory=dict)
    snapshot_id: int | None = None
    seconds: float = 0.0
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def append(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    days: Sequence[date],
    *,
    replaces: bool = False,
    now: Clock = utc_now,
    on_step: Callable[[str], None] | None = None,
) -> Mapping[date, AppendOutcome]:
    """Bring the raw files that landed under the dates into the table, each exactly once.

    The table is made where it is missing. A date whose files are bad fails alone; the others are one batch.

    With ``replaces`` all files of the dates come in, and in the same commit the rows that the dates' files brought
    earlier go. A date fails where that cannot be exact, see ``replace.going``.

    ``spark`` is asked for a session only once there are files that fit, so that finding nothing new starts no JVM.
    ``now`` is the clock: its today is the last partition where the declaration names no end. ``on_step`` is told each
    step of the claim protocol right after it happened, see ``publish.STEPS``.

    Returns:
        An outcome for each date.

    Raises:
        ConfigurationError: the declaration does not fit the columns, or this place may not write to the profile.
            Nothing was touched.
        ClaimInDoubtError: an earlier append has to be settled by a person first.
        ServiceError: the catalog or the store refused, or did not answer.
    """
    with naming_the_service(profile):
        return _Append(spark, profile, spec, replaces, now, on_step or (lambda _: None)).run(days)


class _Append:
    """One call of :func:`append`, with the outcomes so far."""

    def __init__(
        self,
        spark: Session,
        profile: Profile,
        spec: TableSpec,
        replaces: bool,
        now: Clock,
        on_step: Callable[[str], None],
    ) -> None:
        # Once: giving the session looks at the machine's Java each time.
        self.spark: Session = cache(spark)
        self.profile, self.spec, self.replaces = profile, spec, replaces
        self.now, self.on_step = now, on_step
        self.started = monotonic()
        self.outcomes: dict[date, AppendOutcome] = {}
        self.notes: dict[date, tuple[str, ...]] = {}
        self.standing: tuple[str, ...] = ()

    def run(self, days: Iterable[date]) -> Mapping[date, AppendOutcome]:
        self.profile.require_writable()
        check_places(self.profile, self.spec)
        self.profile.prepare()
        if (table := load_target(self.profile, self.spec)) is not None:
            self.standing = check_table(self.spec, table)
        self.standing += provider_notes(self.profile, self.spec, table.properties if table else self.spec.properties)
        pending = self.unseen(sorted(set(days)))
        if pending and (fitting := self.fitting(pending)):
            self.together_else_alone(fitting)
        return dict(sorted(self.outcomes.items()))

    def unseen(self, days: Sequence[date]) -> dict[date, tuple[RawFile, ...]]:
        """By date: the files whose rows are not in the table. Needs no Spark."""
        recovered = recover(
            self.profile, self.spec, now=self.now, on_step=self.on_step, spark=self.spark, days=tuple(days)
        )
        state = recovered.state if recovered else LedgerState()
        pending = {}
        for day in days:
            try:
                arrival = arrived(
                    self.spec, self.partition(day), state, self.now(), again=self.replaces, store=self.profile.store
                )
            except SourceError as error:
                self.failed(day, error)
                continue
            self.notes[day] = arrival.notes
            if arrival.new:
                pending[day] = arrival.new
            elif arrival.known:
                self.ended(day, Status.NOTHING_TO_DO, f"all {arrival.known} files are in the table already")
            else:
                self.ended(day, Status.NOTHING_TO_DO, "no file to append")
        return pending

    def partition(self, day: date) -> date:
        first, last = self.spec.dates.start, self.spec.dates.last(self.now())
        if not first <= day <= last:
            raise SourceError(f"{day} lies outside the partitions {first} to {last}: see dates.start and dates.end")
        return day

    def fitting(self, pending: Mapping[date, tuple[RawFile, ...]]) -> dict[date, tuple[Footer, ...]]:
        """By date: the footers of files with rows, of the dates whose footers fit the table."""
        table = load_target(self.profile, self.spec)
        columns = fields_of(table.schema()) if table else ()
        store = self.profile.store
        inspected = {
            day: inspect(self.spec, files, columns, keep=self.replaces, store=store) for day, files in pending.items()
        }
        try:
            judged = self.prepared(inspected)
        except SourceError as error:
            for day in inspected:
                self.failed(day, error)
            return {}
        for day, problems in judged.problems.items():
            self.ended(day, Status.FAILED, in_words(problems), problems=problems)
        empty: list[RawFile] = []
        fitting = {}
        for day, notes in judged.notes.items():
            footers = inspected[day].footers
            self.notes[day] = (*self.notes[day], *notes)
            empty += [footer.file for footer in footers if not footer.rows]
            if with_rows := tuple(footer for footer in footers if footer.rows):
                fitting[day] = with_rows
            elif self.replaces:
                self.failed(
                    day, SourceError(f"none of its {len(footers)} files has a row to replace earlier ones with")
                )
            else:
                self.ended(day, Status.NOTHING_TO_DO, f"{len(footers)} new files without a row")
        if empty:
            table = existing_target(self.profile, self.spec)
            Ledger(self.profile, self.spec, str(table.metadata.table_uuid)).confirm_empty(empty, self.now())
        return fitting

    def prepared(self, inspected: Mapping[date, Inspected]) -> Judged:
        """Judge the dates, and give the table what those that fit need; where others changed it meanwhile, again.

        Raises:
            SourceError: the table's columns could not be changed.
        """
        failure: Exception | None = None
        for _ in range(_ROUNDS):
            table = load_target(self.profile, self.spec)
            columns = None if table is None else fields_of(table.schema())
            judged = judge(self.spec, inspected, columns, self.profile.store)
            if not any(inspected[day].footers for day in judged.notes):
                return judged
            if ensure_table(self.spark(), self.profile, self.spec, judged.columns):
                return judged
            if columns is None:
                continue
            wanted = tuple(changes(columns, judged.columns))
            try:
                evolve(self.spark(), self.profile, self.spec, wanted)
            except Exception as error:  # noqa: BLE001 - another run may have made the same change
                failure = error
                continue
            return judged
        said = in_brief(failure) if failure else "others keep making it anew"
        raise SourceError(f"{self.spec.name}: its columns could not be changed: {said}")

    def together_else_alone(self, pending: Mapping[date, tuple[Footer, ...]]) -> None:
        """One batch; if that fails, a batch for each date, so that only the bad one fails."""
        try:
            self.batch(pending)
        except ClaimInDoubtError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the engine raises becomes the date's reason
            if load_target(self.profile, self.spec) is None:
                # The engine's own words are about whatever statement came next.
                for day in pending.keys() - self.outcomes.keys():
                    self.failed(day, dropped(self.spec))
                return
            if len(pending) == 1:
                self.failed(next(iter(pending)), error)
                return
            for day, footers in pending.items():
                if day not in self.outcomes:
                    self.together_else_alone({day: footers})

    def batch(self, pending: Mapping[date, tuple[Footer, ...]]) -> None:
        """Count, judge each date by its counts, publish the good ones."""
        footers = [footer for of_day in pending.values() for footer in of_day]
        counts = count_rows(self.spark(), self.profile, self.spec, footers)
        good = []
        for day in pending:
            try:
                late_rows(self.spec, day, [count for count in counts if count.file.day == day], self.now())
                good.append(day)
            except SourceError as error:
                self.failed(day, error)
        contents = {file: content for file, content in contents_of(counts).items() if file.day in good}
        if not contents:
            return
        published = self.publisher().publish(contents)
        taken = set(published.files)
        for day in good:
            brought = [count for count in counts if count.file.day == day and count.file in taken]
            number = len({count.file for count in brought})
            total = sum(count.rows for count in brought)
            if not brought:
                self.ended(day, Status.NOTHING_TO_DO, "another run has appended these files")
                continue
            late = late_rows(self.spec, day, brought, self.now())
            said = f"{number} files, {total} rows" + (f", {sum(late.values())} of other dates" if late else "")
            if gone := [entry for entry in published.replaced if entry.file.day == day]:
                said += f", in place of those of {len(gone)} files"
            self.ended(day, Status.DONE, said, files=number, rows=total, late=late, snapshot_id=published.snapshot_id)

    def publisher(self) -> Publisher:
        """One that knows the rows of every file, where dates are replaced."""
        counted: Mapping[RawFile, Content] = {}
        if self.replaces:
            recovered = recover(self.profile, self.spec, now=self.now, spark=self.spark, days=None)
            state = recovered.state if recovered else LedgerState()
            counted = count_unknown(self.spark(), self.profile, self.spec, state)
        return Publisher(self.spark(), self.profile, self.spec, self.now, self.on_step, self.replaces, counted)

    def failed(self, day: date, error: Exception) -> None:
        if isinstance(error, IcebergAssetsError):
            whose = f"profile '{self.profile.name}', store: " if isinstance(error, RawStoreError) else ""
            said = whose + str(error).replace("\n", " ")
        else:
            said = of_service(self.profile, error) or brief_of(self.profile, error)
        self.ended(day, Status.FAILED, said)

    def ended(
        self,
        day: date,
        status: Status,
        reason: str,
        *,
        files: int = 0,
        rows: int = 0,
        late: Mapping[date, int] | None = None,
        snapshot_id: int | None = None,
        problems: tuple[Problem, ...] = (),
    ) -> None:
        seconds, notes = monotonic() - self.started, (*self.notes.get(day, ()), *self.standing)
        said = "; ".join([reason, *notes])
        self.outcomes[day] = AppendOutcome(
            day, status, said, files, rows, late or {}, snapshot_id, seconds, problems, notes
        )

"""Which files of a date are to be appended, and whether they fit the table: settled before Spark reads any of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from iceberg_assets.errors import SourceError
from iceberg_assets.profiles import Store
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.claims import LedgerState
from iceberg_assets.tables.fields import Field
from iceberg_assets.tables.fit import Problem, fit, unreadable
from iceberg_assets.tables.footers import Footer, UnreadableFile, date_column, read_footers
from iceberg_assets.tables.nulls import nulls, required_in
from iceberg_assets.tables.quarantine import quarantine
from iceberg_assets.tables.source import RawFile, landed, raw_files

_NAMED = 3


@dataclass(frozen=True)
class Arrival:
    """What has landed under a date.

    Attributes:
        known: files that are in the table already.
        new: files that are not, and can be read.
        notes: about others: still being written, or gone since they were appended.
    """

    known: int
    new: tuple[RawFile, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inspected:
    """The footers of a date's new files.

    Attributes:
        problems: files without a footer.
        notes: about files moved to quarantine.
    """

    footers: tuple[Footer, ...]
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """Whether the files of some dates fit the table.

    Attributes:
        columns: what the table must have for those that do.
        problems: of the dates that do not; the others have none.
        notes: columns left out or filled with nulls, by date.
    """

    columns: tuple[Field, ...]
    problems: Mapping[date, tuple[Problem, ...]]
    notes: Mapping[date, tuple[str, ...]]


def arrived(
    spec: TableSpec,
    day: date,
    state: LedgerState,
    now: datetime,
    *,
    again: bool = False,
    store: Store | None = None,
) -> Arrival:
    """List a date's files against the ledger.

    Args:
        state: with the files of the date.
        now: what ``source.still_for`` is counted back from.
        again: take the files that are in the table for new ones, too.
        store: the profile's, where the files lie in one.

    Raises:
        SourceError: nothing ever landed under the date, a file was replaced after it was appended, or one that is to
            come in again is still being written.
    """
    assert spec.source is not None
    of_day = {path for path, file in state.confirmed.items() if file.day == day}
    files = landed(spec, day, store) if of_day else raw_files(spec, day, store)
    unseen = files if again else state.unseen(files)
    stillness = spec.source.stillness
    growing = [file for file in unseen if stillness and file.modified and now - file.modified < stillness]
    if again and growing:
        # What the date has now would go, and not all of it come back.
        raise SourceError(f"{'; '.join(_some(growing, 'still being written'))}: replace {day} once they are complete")
    gone = sorted(of_day - {file.path for file in files})
    notes = [
        *_some(growing, "still being written, left for later"),
        *_some(gone, "gone from the raw folder since appended; the rows stay"),
    ]
    return Arrival(len(files) - len(unseen), tuple(file for file in unseen if file not in growing), tuple(notes))


def _some(files: Sequence[RawFile | str], what: str) -> list[str]:
    if not files:
        return []
    named = ", ".join(file if isinstance(file, str) else file.path for file in files[:_NAMED])
    return [f"{len(files)} files {what}: {named}{', …' if len(files) > _NAMED else ''}"]


def inspect(
    spec: TableSpec,
    files: Sequence[RawFile],
    table: Sequence[Field],
    *,
    keep: bool = False,
    store: Store | None = None,
) -> Inspected:
    """Read the footers of a date's files; files without one are moved to quarantine where the table says so.

    Args:
        table: its columns, to look for nulls in those that are required; none where it is not made yet.
        keep: move nothing: a file without a footer is a problem whatever the table says.
    """
    assert spec.source is not None
    footers, bad = read_footers(files, [column.name for column in required_in(table)], date_column(spec), store)
    if keep or spec.source.bad_files == "fail":
        return Inspected(footers, unreadable(bad))
    moved, stuck = [], []
    for file in bad:
        if not file.opened:
            stuck.append(file)
            continue
        try:
            moved.append(f"{file.file.path} {file}, now {quarantine(spec, file.file.path)}")
        except SourceError as error:
            stuck.append(UnreadableFile(file.file, str(error)))
    return Inspected(footers, unreadable(stuck), tuple(_some(moved, "moved to quarantine")))


def judge(
    spec: TableSpec,
    inspected: Mapping[date, Inspected],
    table: Sequence[Field] | None,
    store: Store | None = None,
) -> Judged:
    """Compare all dates' files with the table, or with each other where the table is not made yet.

    What a bad date brings does not count for the others.
    """
    assert spec.source is not None
    columns = tuple(table or ())
    policy = spec.source.new_columns if table is not None else "evolve"
    derived = spec.derive if table is not None else ()
    required = required_in(columns)
    problems, notes = {}, {}
    for day, one in inspected.items():
        found = fit(one.footers, columns, policy, derived)
        if wrong := (*one.problems, *found.problems, *nulls(one.footers, required, store)):
            problems[day] = wrong
        else:
            columns = found.columns
            notes[day] = (*one.notes, *found.notes)
    return Judged(columns, problems, notes)

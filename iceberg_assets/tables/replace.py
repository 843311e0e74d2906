"""Replace dates: what the ledger says goes, whether that is exact, and the deletion of it on a claim's branch.

A row does not say which file it came from. So the rows of a date's files can be told from all others where they are the
only ones of that date and none of them lies elsewhere, or where this holds of several dates together.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING

from iceberg_assets.errors import SourceError
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.claims import Claim, Content, Entry, LedgerState
from iceberg_assets.tables.count import contents_of, count_rows
from iceberg_assets.tables.footers import date_column, read_footers
from iceberg_assets.tables.source import RawFile, raw_files
from iceberg_assets.tables.target import existing_target, of_dates, sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NAMED = 5


def going(state: LedgerState, days: Collection[date], counted: Mapping[RawFile, Content]) -> tuple[Entry, ...]:
    """The entries whose rows go when the dates are replaced together.

    Args:
        state: of the whole ledger.
        counted: contents of files that the ledger has none of.

    Raises:
        SourceError: rows of these dates' files fell on other dates, or rows of other dates' files on these; names
            them, and the dates that have to be replaced together.
    """
    problems, together = [], set(days)
    for entry in state.entries:
        content = entry.content or counted.get(entry.file)
        inside = entry.file.day in days
        if content is None:
            problems.append(f"{entry.file.path}: which dates its rows fall on is not known")
        elif inside and (elsewhere := content.dates - set(days)):
            problems.append(f"{entry.file.path}: some of its rows fell on {_list(elsewhere)}")
            together |= elsewhere
        elif not inside and (here := content.dates & set(days)):
            problems.append(f"{entry.file.path}, landed under {entry.file.day}, has rows on {_list(here)}")
            together.add(entry.file.day)
    if problems:
        more = f"; and {len(problems) - _NAMED} more files" if len(problems) > _NAMED else ""
        wider = f" Replace {_list(together)} together, or delete" if together != set(days) else " Delete"
        raise SourceError(
            f"{_list(days)} cannot be replaced exactly: {'; '.join(problems[:_NAMED])}{more}.{wider} the rows by SQL "
            f"and let go of the files with: iceberg-assets ledger forget TABLE --date … --rows-are-gone"
        )
    return tuple(entry for entry in state.entries if entry.file.day in days)


def count_unknown(
    spark: "SparkSession", profile: Profile, spec: TableSpec, state: LedgerState
) -> Mapping[RawFile, Content]:
    """The contents of the files that the ledger has none of, counted in those that are still as they were appended."""
    unknown = {entry.file for entry in state.entries if entry.content is None}
    still_there = [
        file for day in {file.day for file in unknown} for file in _landed(profile, spec, day) if file in unknown
    ]
    footers, _ = read_footers(still_there, dates_of=date_column(spec), store=profile.store)
    return contents_of(count_rows(spark, profile, spec, footers)) if footers else {}


def delete_dates(
    spark: "SparkSession", profile: Profile, spec: TableSpec, claim: Claim, rows: Mapping[date, int]
) -> None:
    """Delete the dates' rows on the claim's branch, if they are as many as the ledger knows of.

    Args:
        rows: by date: how many its earlier files brought.

    Raises:
        SourceError: there are more or fewer: somebody has written or deleted rows past the ledger.
    """
    table = existing_target(profile, spec)
    branch = sql_name(profile, spec, f"branch_{claim.branch}")
    where = of_dates(spec, table.schema(), rows)
    found = spark.table(branch).where(where).count()
    known = sum(rows.values())
    if found != known:
        raise SourceError(
            f"{_list(rows)} cannot be replaced exactly: the table holds {found} rows of it, and the ledger knows of "
            f"{known} from raw files: somebody wrote or deleted rows past the ledger. Look at them; delete the rows by "
            f"SQL, let go of the files with: iceberg-assets ledger forget TABLE --date … --rows-are-gone, then append"
        )
    if found:
        spark.sql(f"DELETE FROM {branch} WHERE {where}")  # noqa: S608 - every part is quoted


def rows_of(entries: Iterable[Entry], days: Collection[date], counted: Mapping[RawFile, Content]) -> dict[date, int]:
    """By date: how many rows its files brought."""
    rows = dict.fromkeys(days, 0)
    for entry in entries:
        content = entry.content or counted[entry.file]
        rows[entry.file.day] += content.rows
    return rows


def _landed(profile: Profile, spec: TableSpec, day: date) -> tuple[RawFile, ...]:
    try:
        return raw_files(spec, day, profile.store)
    except SourceError:
        return ()


def _list(days: Iterable[date]) -> str:
    return ", ".join(day.isoformat() for day in sorted(days))

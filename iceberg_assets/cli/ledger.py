"""``ledger``: what is in a table and from which file, and how a person corrects what is said about it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from datetime import date as Date  # noqa: N812 - the options are named date
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from iceberg_assets.cli.common import (
    DatesOption,
    JsonOption,
    ProfileOption,
    RequiredTable,
    app,
    chosen_with_source,
    dates_of,
    print_json,
    print_table,
)
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles.place import one_spelling
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables import operator
from iceberg_assets.tables.claims import Claim, Entry
from iceberg_assets.tables.operator import Shown
from iceberg_assets.tables.standing import Standing

ledger = typer.Typer(no_args_is_help=True, help="Which raw files are in a table. None of this starts a JVM.")
app.add_typer(ledger, name="ledger")

YesOption = Annotated[bool, typer.Option("--yes", help="Do it; without this it is only said what would be done.")]


@ledger.command()
def show(
    table: RequiredTable, date: DatesOption = None, profile: ProfileOption = None, as_json: JsonOption = False
) -> None:
    """What is in, from which file, since when and in which snapshot; claims that are open, abandoned or in doubt."""
    spec, found = chosen_with_source(table, profile)
    shown = operator.show(found, spec, dates_of(spec, date) or None)
    if as_json:
        print_json(None if shown is None else _record(shown))
    elif shown is None:
        typer.echo(f"{spec.name} does not exist yet: {spec.way_into_being}")
    else:
        _show(spec, shown)


@ledger.command()
def adopt(
    table: RequiredTable,
    date: DatesOption = None,
    every: Annotated[bool, typer.Option("--all", help="All dates that have raw files.")] = False,
    yes: YesOption = False,
    profile: ProfileOption = None,
) -> None:
    """Record raw files as in whose rows were loaded by other means, so that they are not appended again.

    Make sure of that first: the files' rows are not compared with the table's.
    """
    spec, found = chosen_with_source(table, profile)
    days = dates_of(spec, [f"{spec.dates.start}..{spec.dates.last(datetime.now(UTC))}"] if every else date)
    if bool(date) == every:
        raise ConfigurationError("name the dates with --date, or take all of them with --all")
    files = operator.adopt(found, spec, days, do=yes)
    number = sum(map(len, files.values()))
    typer.echo(f"{spec.name}: {_would(yes, 'adopt')} {number} files of {len(files)} dates, {_range(files)}")
    _hint(yes)


@ledger.command()
def forget(
    table: RequiredTable,
    after_rollback: Annotated[
        bool, typer.Option("--after-rollback", help="The files whose snapshot a rollback took out of main.")
    ] = False,
    date: DatesOption = None,
    file: Annotated[list[str] | None, typer.Option("--file", help="A raw file's path.")] = None,
    rows_are_gone: Annotated[
        bool, typer.Option("--rows-are-gone", help="You have looked: the table does not hold their rows.")
    ] = False,
    yes: YesOption = False,
    profile: ProfileOption = None,
) -> None:
    """Let go of files whose rows are not in the table any more, so that the next append brings them again."""
    spec, found = chosen_with_source(table, profile)
    if after_rollback == bool(date or file):
        raise ConfigurationError("say which: --after-rollback, or --date and --file")
    if after_rollback:
        going, untold = operator.forget_rolled_back(found, spec, do=yes)
        told = [(entry, Standing.ROLLED_BACK) for entry in going]
        if untold:
            typer.echo(
                f"{len(untold)} files came with snapshots that are expired: the metadata does not tell whether their "
                "rows are in. They are taken to be; if you know better: --date or --file, with --rows-are-gone"
            )
    else:
        paths = [str(Path(path).absolute()) if "://" not in path else one_spelling(path) for path in file or ()]
        told = list(
            operator.forget(found, spec, days=dates_of(spec, date), files=paths, rows_are_gone=rows_are_gone, do=yes)
        )
    if told:
        print_table(_files(told))
    typer.echo(f"{spec.name}: {_would(yes, 'forget')} {len(told)} files")
    _hint(yes or not told)


@ledger.command()
def resolve(
    table: RequiredTable,
    claim: Annotated[str, typer.Argument(help="Its id, or the first characters of it.")],
    is_in: Annotated[bool | None, typer.Option("--in/--not-in", help="What you found.")] = None,
    profile: ProfileOption = None,
) -> None:
    """Settle a claim in doubt. Without --in or --not-in: the evidence, and nothing is written."""
    spec, found = chosen_with_source(table, profile)
    shown = operator.evidence(found, spec, claim)
    typer.echo(str(shown))
    if is_in is not None:
        typer.echo(f"{spec.name}: claim {shown.claim.id} is {operator.resolve(found, spec, claim, is_in=is_in)}")
    elif shown.doubtful:
        typer.echo("Look for rows of these files in the table, then say what you found: --in, or --not-in")
    else:
        typer.echo("It is not in doubt: the next append settles it by itself")


def _show(spec: TableSpec, shown: Shown) -> None:
    typer.echo(
        f"{spec.name}: {len(shown.entries)} files in, {len(shown.open)} claims open, {len(shown.abandoned)} abandoned, "
        f"{len(shown.doubtful)} in doubt"
    )
    if shown.entries:
        print_table(_files(shown.entries))
    for claim in shown.open:
        typer.echo(_claim(claim, "in doubt" if claim in shown.doubtful else "open"))
    for claim, at in shown.abandoned:
        typer.echo(_claim(claim, "in doubt" if claim in shown.doubtful else f"abandoned at {at:%F %T %Z}"))
    for claim in shown.doubtful:
        typer.echo(f"to settle it: iceberg-assets ledger resolve {spec.name} {claim.id}")


def _claim(claim: Claim, state: str) -> str:
    return (
        f"claim {claim.id}: {state}, {len(claim.files)} files, token {claim.token}, deadline {claim.deadline:%F %T %Z}"
    )


def _files(told: Iterable[tuple[Entry, Standing]]) -> Table:
    shown = Table("date", "file", "rows", "since", "snapshot")
    for entry, standing in told:
        rows = "unknown" if entry.content is None else f"{entry.content.rows:,}"
        snapshot = "no rows" if entry.snapshot_id is None else f"{entry.snapshot_id} {standing}"
        since = f"{entry.end} {entry.at:%F %T}"
        shown.add_row(entry.file.day.isoformat(), entry.file.path, rows, since, snapshot)
    return shown


def _record(shown: Shown) -> dict[str, Any]:
    return {
        "files": [
            {
                "date": entry.file.day.isoformat(),
                "path": entry.file.path,
                "bytes": entry.file.size,
                "rows": entry.content.rows if entry.content else None,
                "claim": entry.claim.id,
                "event": entry.end.value,
                "at": entry.at.isoformat(),
                # As text: a JSON reader may round numbers of 64 bits.
                "snapshot_id": None if entry.snapshot_id is None else str(entry.snapshot_id),
                "standing": standing.value,
            }
            for entry, standing in shown.entries
        ],
        "open": [_claim_record(claim) for claim in shown.open],
        "abandoned": [_claim_record(claim) | {"at": at.isoformat()} for claim, at in shown.abandoned],
        "in_doubt": [_claim_record(claim) for claim in shown.doubtful],
    }


def _claim_record(claim: Claim) -> dict[str, Any]:
    return {
        "claim": claim.id,
        "token": claim.token,
        "deadline": claim.deadline.isoformat(),
        "files": [file.path for file in claim.files],
    }


def _range(days: Iterable[Date]) -> str:
    ordered = sorted(days)
    return f"{ordered[0]} to {ordered[-1]}"


def _would(yes: bool, verb: str) -> str:
    return {"adopt": "adopted", "forget": "forgot"}[verb] if yes else f"would {verb}"


def _hint(done: bool) -> None:
    if not done:
        typer.echo("Nothing was written. To do it: the same with --yes")

"""``maintain``: the whole-catalog job, over tables that nobody declared one by one."""

import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from iceberg_assets.cli.common import JsonOption, ProfileOption, app, elsewhere, print_json, print_table
from iceberg_assets.cli.interrupt import interruptible
from iceberg_assets.health import ManifestCache
from iceberg_assets.history import Who
from iceberg_assets.job import (
    Begun,
    Ended,
    Event,
    Left,
    Summary,
    Surveyed,
    Verdict,
    attempts_of,
    find,
    read_settings,
    reported,
    run,
    survey,
)
from iceberg_assets.profiles import load_profile
from iceberg_assets.spark import session
from iceberg_assets.spec.table import format_identifier


@app.command()
def maintain(
    file: Annotated[Path, typer.Argument(help="The job's settings: HOCON, JSON, or YAML.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what each table would get; needs no Spark.")] = False,
    cache: Annotated[
        Path | None,
        typer.Option("--manifest-cache", help="Keep what was read of manifests in this file, for the next time."),
    ] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Maintain the tables of a whole catalog, by one file of settings.

    Ends with 1 where a table failed, was done in part, is on hold or could not be read, after all the others had their
    turn; with 130 after Ctrl-C and 143 after SIGTERM, when the operations at hand have ended.
    """
    settings, found = read_settings(file), load_profile(profile)
    selection = find(found, settings)
    known = ManifestCache(cache) if cache else None
    if dry_run:
        now, history = datetime.now(UTC), attempts_of(found)
        looks = (
            survey(found, settings, one, history=history(one.name), now=now, cache=known) for one in selection.objects
        )
        _foretell(looks, selection.notes, as_json)
        return
    landing_places, profiles = elsewhere()
    summary, who = Summary(), Who.here(found)
    with interruptible() as interruption:
        events = run(
            found,
            settings,
            selection.objects,
            spark=lambda: session(found),
            stop=interruption.asked,
            history=attempts_of(found),
            cache=known,
            landing_places=landing_places,
            profiles=profiles,
        )
        if not as_json:
            _print_notes(selection.notes)
        told = reported(events, summary, found, settings, who, lambda said: typer.echo(said, err=True))
        for event in _shown(told, len(selection.objects)):
            if isinstance(event, Ended) and not as_json:
                typer.echo(_words(event))
    if as_json:
        stopped = interruption.by and interruption.by.name
        tables = list(summary.records())
        print_json({"notes": selection.notes, "interrupted": stopped, "counts": summary.counts, "tables": tables})
    else:
        _print_end(summary, len(selection.objects))
    if code := interruption.exit_code or int(bool(summary.bad)):
        raise typer.Exit(code)


def _shown(events: Iterator[Event], tables: int) -> Iterator[Event]:
    """The same events; on a terminal with a bar of how far it is, and which tables are at hand."""
    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        bar, at_hand = progress.add_task("", total=tables), dict[str, None]()
        for event in events:
            match event:
                case Begun(table):
                    at_hand[format_identifier(table)] = None
                case Left(table):
                    at_hand.pop(format_identifier(table), None)
            over = isinstance(event, Left) or (isinstance(event, Surveyed) and event.verdict != "due")
            progress.update(bar, advance=int(over), description=", ".join(at_hand))
            yield event


def _words(ended: Ended) -> str:
    seconds = (ended.ended - ended.began).total_seconds()
    return f"{ended.name} {ended.operation.value}: {ended.status.value}, {seconds:.1f} s: {ended.reason}"


def _print_end(summary: Summary, listed: int) -> None:
    for verdict in ("planned", "waiting", "skipped", "unfinished"):
        for name, one in summary.tables.items():
            if one.verdict == verdict:
                typer.echo(f"{name} {verdict}: {one.reason}")
    not_seen = listed - summary.counts.total()
    typer.echo(f"{listed} tables and views: {summary.counted}{f', {not_seen} not looked at' if not_seen else ''}")
    for line in summary.complaints():
        typer.echo(line, err=True)


def _foretell(looks: Iterator[Surveyed], notes: tuple[str, ...], as_json: bool) -> None:
    """What each table would get."""
    # Those that there are none of, too: a program that asks for failed gets a number.
    counts = Counter[str](dict.fromkeys(get_args(Verdict), 0))
    if as_json:
        records = [_record(look) for look in _counted(looks, counts)]
        print_json({"notes": notes, "counts": counts, "tables": records})
    else:
        _print_foretold(looks, notes, counts)
    if counts["failed"]:
        raise typer.Exit(1)


def _counted(looks: Iterator[Surveyed], counts: Counter[str]) -> Iterator[Surveyed]:
    for look in looks:
        counts[look.verdict] += 1
        yield look


def _print_foretold(looks: Iterator[Surveyed], notes: tuple[str, ...], counts: Counter[str]) -> None:
    _print_notes(notes)
    shown = Table("table", "", "operations", "why")
    for look in _counted(looks, counts):
        if look.verdict != "nothing_to_do":
            shown.add_row(look.name, look.verdict, ", ".join(look.operations), look.reason)
    print_table(shown)
    typer.echo(
        f"{counts.total()} tables and views: {counts['due']} due, {counts['waiting']} waiting, "
        f"{counts['nothing_to_do']} with nothing to do, {counts['skipped']} skipped, {counts['failed']} failed"
    )


def _print_notes(notes: tuple[str, ...]) -> None:
    for note in notes:
        typer.echo(f"note: {note}")


def _record(look: Surveyed) -> dict[str, Any]:
    return {
        "table": look.name,
        "verdict": look.verdict,
        "operations": [operation.value for operation in look.operations],
        "reason": look.reason,
    }

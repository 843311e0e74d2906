"""``maintain``: the whole-catalog job, over tables that nobody declared one by one."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from iceberg_assets.cli.common import JsonOption, ProfileOption, app, print_json, print_table
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import ManifestCache
from iceberg_assets.job import Surveyed, find, read_settings, survey
from iceberg_assets.profiles import load_profile


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
    """What the tables of a whole catalog need, by one file of settings.

    Ends with 1 where a table could not be looked at, after all the others were.
    """
    if not dry_run:
        raise ConfigurationError("maintain: what is there so far is --dry-run")
    settings, found = read_settings(file), load_profile(profile)
    selection = find(found, settings)
    now = datetime.now(UTC)
    known = ManifestCache(cache) if cache else None
    looks = (survey(found, settings, one, history=(), now=now, cache=known) for one in selection.objects)
    counts = Counter[str]()
    if as_json:
        records = [_record(look) for look in _counted(looks, counts)]
        print_json({"notes": selection.notes, "history": "unknown", "counts": counts, "tables": records})
    else:
        _print(looks, selection.notes, counts)
    if counts["failed"]:
        raise typer.Exit(1)


def _counted(looks: Iterator[Surveyed], counts: Counter[str]) -> Iterator[Surveyed]:
    for look in looks:
        counts[look.verdict] += 1
        yield look


def _print(looks: Iterator[Surveyed], notes: tuple[str, ...], counts: Counter[str]) -> None:
    for note in notes:
        typer.echo(f"note: {note}")
    shown = Table("table", "", "operations", "why")
    for look in _counted(looks, counts):
        if look.verdict != "nothing_to_do":
            shown.add_row(look.name, look.verdict, ", ".join(look.operations), look.reason)
    print_table(shown)
    typer.echo(
        f"{counts.total()} tables and views: {counts['due']} due, {counts['waiting']} waiting, "
        f"{counts['nothing_to_do']} with nothing to do, {counts['skipped']} skipped, {counts['failed']} failed"
    )
    typer.echo("Earlier attempts are not known: orphans count as never looked for.")


def _record(look: Surveyed) -> dict[str, Any]:
    return {
        "table": look.name,
        "verdict": look.verdict,
        "operations": [operation.value for operation in look.operations],
        "reason": look.reason,
    }

"""``quarantine``: the raw files that were moved out of the way because they are not Parquet, and their way back."""

from pathlib import Path
from typing import Annotated

import typer

from iceberg_assets.cli.common import JsonOption, ProfileOption, RequiredTable, app, chosen_with_source, print_json
from iceberg_assets.tables.quarantine import quarantined
from iceberg_assets.tables.quarantine import restore as restore_file

group = typer.Typer(no_args_is_help=True, help="Raw files moved out of the way (source.bad_files: quarantine).")
app.add_typer(group, name="quarantine")


@group.command("list")
def list_(table: RequiredTable, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """The files in quarantine, one a line."""
    spec, _ = chosen_with_source(table, profile)
    files = [str(path) for path in quarantined(spec)]
    if as_json:
        print_json(files)
    else:
        typer.echo("\n".join(files) or f"nothing of {table} is in quarantine")


@group.command()
def restore(
    table: RequiredTable,
    file: Annotated[Path, typer.Argument(help="As list shows it, once it is repaired.")],
    profile: ProfileOption = None,
) -> None:
    """Move a file back to where it landed; the next append of its date takes it."""
    spec, _ = chosen_with_source(table, profile)
    typer.echo(f"restored {restore_file(spec, file.absolute())}")

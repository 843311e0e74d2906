"""``quarantine``: the raw files that were moved out of the way because they are not Parquet, and their way back."""

from pathlib import Path
from typing import Annotated

import typer

from iceberg_assets.cli.common import JsonOption, app, chosen, print_json
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.quarantine import quarantined
from iceberg_assets.tables.quarantine import restore as restore_file

group = typer.Typer(no_args_is_help=True, help="Raw files moved out of the way (source.bad_files: quarantine).")
app.add_typer(group, name="quarantine")

RequiredTable = Annotated[str, typer.Argument(help="namespace.table")]


@group.command("list")
def list_(table: RequiredTable, as_json: JsonOption = False) -> None:
    """The files in quarantine, one a line."""
    files = [str(path) for path in quarantined(_with_source(table))]
    if as_json:
        print_json(files)
    else:
        typer.echo("\n".join(files) or f"nothing of {table} is in quarantine")


@group.command()
def restore(
    table: RequiredTable, file: Annotated[Path, typer.Argument(help="As list shows it, once it is repaired.")]
) -> None:
    """Move a file back to where it landed; the next append of its date takes it."""
    typer.echo(f"restored {restore_file(_with_source(table), file.absolute())}")


def _with_source(table: str) -> TableSpec:
    ((spec, _),) = chosen(table, None)
    if spec.source is None:
        raise ConfigurationError(f"{spec.name} has no source: somebody else writes it")
    return spec

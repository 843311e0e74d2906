"""``quarantine``: files that were moved out of the way, and their way back.

Raw files that are not Parquet, and orphans that are set aside before they are deleted.
"""

from pathlib import Path
from typing import Annotated

import typer
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from iceberg_assets.cli.common import JsonOption, ProfileOption, RequiredTable, app, known, print_json
from iceberg_assets.errors import OrphansError
from iceberg_assets.health.pointers import open_catalog
from iceberg_assets.maintenance.orphans import files_aside, put_back
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.quarantine import quarantined
from iceberg_assets.tables.quarantine import restore as restore_file

group = typer.Typer(
    no_args_is_help=True,
    help="Files moved out of the way: raw files (source.bad_files), orphans (maintenance.orphans.quarantine).",
)
app.add_typer(group, name="quarantine")


@group.command("list")
def list_(table: RequiredTable, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """The files in quarantine, one a line."""
    spec, found = known(table, profile)
    files = [*_raw_files(spec), *_orphans(_made(found, spec))]
    if as_json:
        print_json(files)
    else:
        typer.echo("\n".join(files) or f"nothing of {table} is in quarantine")


@group.command()
def restore(
    table: RequiredTable,
    file: Annotated[str, typer.Argument(help="As list shows it; a raw file once it is repaired.")],
    profile: ProfileOption = None,
) -> None:
    """Move a file back to where it was. The next append of its date takes a raw file."""
    spec, found = known(table, profile)
    typer.echo(f"restored {_restore(spec, found, file)}")


def _restore(spec: TableSpec, profile: Profile, file: str) -> str:
    profile.require_writable()
    made = _made(profile, spec)
    if made is not None and (spec.source is None or file in _orphans(made)):
        return put_back(made, file)
    if spec.source is None:
        raise OrphansError(f"there is no table {spec.name}, and so nothing of it in quarantine")
    return str(restore_file(spec, Path(file).absolute()))


def _made(profile: Profile, spec: TableSpec) -> Table | None:
    """The table; None where it is not made yet, nor perhaps its catalog."""
    try:
        return open_catalog(profile).load_table(spec.table)
    except NoSuchTableError:
        return None


def _raw_files(spec: TableSpec) -> list[str]:
    return [str(path) for path in quarantined(spec)] if spec.source else []


def _orphans(table: Table | None) -> list[str]:
    return [one.file.path for one in files_aside(table)] if table else []

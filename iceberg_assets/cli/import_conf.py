"""``import-conf``: the HOCON settings of a Spark application made into a profile and a table."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from iceberg_assets.cli.common import app
from iceberg_assets.conf import bring, write
from iceberg_assets.profiles import project_root


@app.command("import-conf")
def import_conf(
    file: Annotated[Path, typer.Argument(help="The application's settings, such as application.conf.")],
    profile_file: Annotated[
        list[Path] | None,
        typer.Option(help="Laid over them, such as application.docker.conf; each becomes a profile of its name."),
    ] = None,
    date_column: Annotated[
        str | None, typer.Option(help="That rows' dates are read from; else the one that it partitions by date.")
    ] = None,
    start: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="The first date; else that of this year.")
    ] = None,
    to: Annotated[Path | None, typer.Option(help="The project that it is for; else the one in this folder.")] = None,
) -> None:
    """Make profiles/<name>.yaml and a table's defs.yaml of an application's HOCON. What is there is not written over.

    Variables stay variables, with their defaults; secrets in clear are left where they are. What has no counterpart is
    told, and stands in the profile as a comment.
    """
    root, first = to or project_root(), (start or datetime.now(UTC).replace(month=1, day=1)).date()
    stacks = [[file, one] for one in profile_file or []] or [[file]]
    brought = [bring(stack, root, date_column=date_column, start=first) for stack in stacks]
    written = write(brought)
    for line in dict.fromkeys(note for one in brought for note in one.notes):
        typer.echo(f"note: {line}", err=True)
    for line in dict.fromkeys(key for one in brought for key in one.left):
        typer.echo(f"without a counterpart: {line}", err=True)
    for made in dict.fromkeys(path for one in brought for path in one.files):
        typer.echo(f"{made}{'' if made in written else ' is there already, and says the same'}")

"""``sql``: one statement over the tables of a profile."""

from typing import Annotated

import typer
from rich.table import Table

from iceberg_assets.cli.common import JsonOption, ProfileOption, app, print_json, print_table
from iceberg_assets.profiles import load_profile, project_root
from iceberg_assets.spark import query


@app.command()
def sql(
    command: Annotated[str, typer.Option("-c", "--command", help="One Spark SQL statement.")],
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one Spark SQL statement; tables are those of the profile's catalog."""
    result = query(load_profile(profile, project_root()), command)
    if as_json:
        print_json([dict(zip(result.columns, row, strict=True)) for row in result.rows])
        return
    shown = Table(*result.columns)
    for row in result.rows:
        shown.add_row(*("NULL" if value is None else str(value) for value in row))
    print_table(shown)

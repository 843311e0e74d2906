"""``append``: bring raw files into a table, or replace bad days, without Dagster."""

from typing import Annotated

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
from iceberg_assets.spark import session
from iceberg_assets.spec import Status
from iceberg_assets.tables import append as append_dates


@app.command()
def append(
    table: RequiredTable,
    date: DatesOption = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="In the same commit, the rows go that the dates' files brought earlier."),
    ] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Append the raw files that landed under the dates, each exactly once. Ends with 1 where a date failed."""
    spec, found = chosen_with_source(table, profile)
    if not (days := dates_of(spec, date)):
        raise ConfigurationError("name the dates: --date 2013-01-31, or --date 2013-01-01..2013-01-31")
    outcomes = append_dates(lambda: session(found), found, spec, days, replaces=replace)
    if as_json:
        print_json(
            [
                {
                    "date": day.isoformat(),
                    "status": one.status.value,
                    "reason": one.reason,
                    "files": one.files,
                    "rows": one.rows,
                    "late": {late.isoformat(): rows for late, rows in one.late.items()},
                    "snapshot_id": None if one.snapshot_id is None else str(one.snapshot_id),
                }
                for day, one in outcomes.items()
            ]
        )
    else:
        shown = Table("date", "status", "files", "rows", "what")
        for day, one in outcomes.items():
            shown.add_row(day.isoformat(), one.status.value, f"{one.files:,}", f"{one.rows:,}", one.reason)
        print_table(shown)
    if any(one.status is Status.FAILED for one in outcomes.values()):
        raise typer.Exit(1)

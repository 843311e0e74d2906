"""``doctor``: what is missing on this machine or in its settings."""

import typer

from iceberg_assets.cli.common import JsonOption, ProfileOption, app, declared_tables, print_json
from iceberg_assets.doctor import Examined, Finding, Level, examine
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import profile_name, project_root

_COLOURS: dict[Level, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


@app.command()
def doctor(profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """Look at Java, jars, folders, services and credentials, without Spark. Ends with 1 where something is missing."""
    root, found = project_root(), list[Examined]()
    try:
        specs = declared_tables(root)
    except ConfigurationError as error:
        specs = []
        found.append(Examined(None, "tables", Finding("fail", str(error))))
    declared = {profile_name(spec.profile) for spec in specs}
    found += examine([profile] if profile else sorted(declared or {profile_name(None)}), specs, root)
    if as_json:
        print_json([{"profile": one.profile, "check": one.check, **vars(one.finding)} for one in found])
    else:
        _print(found)
    if any(one.finding.level == "fail" for one in found):
        raise typer.Exit(1)


def _print(found: list[Examined]) -> None:
    for one in found:
        mark = typer.style(f"{one.finding.level:4}", fg=_COLOURS[one.finding.level])
        typer.echo(f"{mark}  {f'{one.profile}, ' if one.profile else ''}{one.check}: {one.finding.said}")
        if one.finding.way_out:
            typer.echo(f"      → {one.finding.way_out}")

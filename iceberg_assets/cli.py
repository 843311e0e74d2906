"""The command line: how the project's tables are, what should be done to them, and SQL over them."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from iceberg_assets.errors import ConfigurationError, IcebergAssetsError
from iceberg_assets.health import DateHealth, Plan, TableHealth, plan, read_health
from iceberg_assets.profiles import Profile, load_profile, project_root
from iceberg_assets.spark import query
from iceberg_assets.spec import TableSpec, parse_table
from iceberg_assets.spec.units import format_bytes

_COMPONENT = "iceberg_assets.IcebergTable"
# Folders of a project that hold other people's YAML, or none.
_NOT_OURS = {".venv", "build", "data", "dist", "node_modules"}


class _OneMessage(TyperGroup):
    """Ends with 2 and one message where the project refuses something: a traceback would bury the way out."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except IcebergAssetsError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=_OneMessage,
    no_args_is_help=True,
    add_completion=False,
    help="Look at the Iceberg tables that the project in this folder declares.",
)

TableArgument = Annotated[str | None, typer.Argument(help="namespace.table; every declared table unless given.")]
ProfileOption = Annotated[str | None, typer.Option(help="Look there, instead of where the table's YAML says.")]
JsonOption = Annotated[bool, typer.Option("--json", help="For programs: one JSON document.")]


@app.command()
def health(table: TableArgument = None, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """How tables are, from Iceberg's metadata, without Spark."""
    looks = list(_looks(table, profile))
    if as_json:
        _print_json([_health_record(look) for look in looks])
        return
    for look in looks:
        if look.health is None:
            typer.echo(f"{look.spec.name} does not exist yet: materialize a date of it")
        else:
            typer.echo(f"{look.spec.name}: {_counts(look.health)}")
            _print(_health_table(look.health))


@app.command("plan")
def plan_(table: TableArgument = None, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """What should be done now, and why not the rest, without Spark.

    Earlier attempts and runs in flight are known to a Dagster instance only. Without one this is the plan of somebody
    who sees the tables for the first time: it may ask for what a sensor holds back because it did not pay.
    """
    now = datetime.now(UTC)
    plans = [
        (look.spec, plan(look.spec, look.health, history=(), running=(), now=now)) for look in _looks(table, profile)
    ]
    if as_json:
        _print_json([{"table": spec.name, "history": "unknown", **_plan_record(planned)} for spec, planned in plans])
        return
    for spec, planned in plans:
        typer.echo(f"{spec.name}: {len(planned.requests)} to do, {len(planned.waiting)} waiting")
        _print(_plan_table(planned))
    typer.echo("Without the event log of a Dagster instance: earlier attempts and runs in flight are not known.")


@app.command()
def sql(
    command: Annotated[str, typer.Option("-c", "--command", help="One Spark SQL statement.")],
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run one Spark SQL statement; tables are those of the profile's catalog."""
    result = query(load_profile(profile, project_root()), command)
    if as_json:
        _print_json([dict(zip(result.columns, row, strict=True)) for row in result.rows])
        return
    shown = Table(*result.columns)
    for row in result.rows:
        shown.add_row(*("NULL" if value is None else str(value) for value in row))
    _print(shown)


@dataclass(frozen=True)
class _Look:
    """A declared table; ``health`` is None where it does not exist yet."""

    spec: TableSpec
    profile: Profile
    health: TableHealth | None


def _looks(table: str | None, profile: str | None) -> Iterator[_Look]:
    root = project_root()
    specs = declared_tables(root)
    chosen = [spec for spec in specs if table in (None, spec.name)]
    if not chosen:
        known = ", ".join(spec.name for spec in specs) or f"none: no {_COMPONENT} in a defs folder below {root}"
        raise ConfigurationError(f"there is no table '{table or ''}' in this project; declared are {known}")
    for spec in chosen:
        found = load_profile(profile or spec.profile, root)
        yield _Look(spec, found, read_health(found, spec))


def declared_tables(root: Path) -> list[TableSpec]:
    """Every table that the YAML of a project declares, by name.

    Args:
        root: the folder of its ``pyproject.toml``; any ``defs`` folder below it counts.

    Raises:
        ConfigurationError: a file is not YAML, or a declaration is wrong.
    """
    specs = [
        parse_table(document.get("attributes") or {}, root=root, variables=os.environ, where=str(file))
        for file in sorted(root.glob("**/defs/**/*.yaml"))
        if not _NOT_OURS.intersection(file.relative_to(root).parts)
        for document in _documents(file)
        if document.get("type") == _COMPONENT
    ]
    return sorted(specs, key=lambda spec: spec.name)


def _documents(file: Path) -> list[Mapping[str, Any]]:
    try:
        return [document for document in yaml.safe_load_all(file.read_text()) if isinstance(document, Mapping)]
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{file} is not YAML: {error}") from error


def _health_record(look: _Look) -> dict[str, Any]:
    found = look.health
    if found is None:
        return {"table": look.spec.name, "exists": False}
    return {
        "table": look.spec.name,
        "exists": True,
        # As text: a JSON reader may round numbers of 64 bits.
        "snapshot_id": None if found.snapshot_id is None else str(found.snapshot_id),
        "location": found.location,
        **_file_record(found),
        "snapshots": len(found.snapshots),
        "manifests": len(found.manifests),
        "metadata_files": found.metadata_files,
        "dates": {day.isoformat(): _file_record(of_day) for day, of_day in sorted(found.dates.items())},
    }


def _file_record(found: TableHealth | DateHealth) -> dict[str, int | None]:
    return {
        "rows": found.rows,
        "data_files": found.data_files,
        "small_files": found.small_files,
        "small_files_waiting": found.small_files_waiting,
        "delete_files": found.delete_files,
        "total_bytes": found.total_bytes,
        "average_file_bytes": found.average_file_bytes,
    }


def _counts(found: TableHealth) -> str:
    return f"{len(found.snapshots)} snapshots, {len(found.manifests)} manifests, {found.metadata_files} metadata files"


def _health_table(found: TableHealth) -> Table:
    shown = Table(show_footer=True)
    shown.add_column("date", footer="table", no_wrap=True)
    figures = ("rows", "files", "small", "waiting", "deletes", "size", "average")
    for name, total in zip(figures, _file_cells(found), strict=True):
        shown.add_column(name, footer=total, justify="right", no_wrap=True)
    for day, of_day in sorted(found.dates.items()):
        shown.add_row(day.isoformat(), *_file_cells(of_day))
    return shown


def _file_cells(found: TableHealth | DateHealth) -> Iterable[str]:
    return (
        "unknown" if found.rows is None else f"{found.rows:,}",
        f"{found.data_files:,}",
        f"{found.small_files:,}",
        f"{found.small_files_waiting:,}",
        f"{found.delete_files:,}",
        format_bytes(found.total_bytes),
        format_bytes(found.average_file_bytes),
    )


def _plan_record(planned: Plan) -> dict[str, Any]:
    return {
        part: [
            {
                "operations": [operation.value for operation in entry.operations],
                "dates": [day.isoformat() for day in entry.dates],
                "reason": entry.reason,
            }
            for entry in entries
        ]
        for part, entries in (("requests", planned.requests), ("waiting", planned.waiting))
    }


def _plan_table(planned: Plan) -> Table:
    shown = Table("", "operations", "dates", "why")
    for part, entries in (("do", planned.requests), ("wait", planned.waiting)):
        for entry in entries:
            days = (
                f"{min(entry.dates)} … {max(entry.dates)}" if len(entry.dates) > 1 else ", ".join(map(str, entry.dates))
            )
            shown.add_row(part, ", ".join(entry.operations), days, entry.reason)
    return shown


def _print(shown: Table) -> None:
    Console(highlight=False).print(shown)


def _print_json(document: object) -> None:
    typer.echo(json.dumps(document, indent=2, default=str, ensure_ascii=False))

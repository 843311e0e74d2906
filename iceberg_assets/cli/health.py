"""``health`` and ``plan``: how tables are and what should be done to them, from Iceberg's metadata, without Spark."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import typer
from rich.table import Table

from iceberg_assets.cli.common import JsonOption, ProfileOption, TableArgument, app, chosen, print_json, print_table
from iceberg_assets.health import DateHealth, Plan, Snapshot, TableHealth, pinned_by, plan, read_health
from iceberg_assets.history import Attempts
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.units import format_bytes, format_count


@app.command()
def health(table: TableArgument = None, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """How tables are, from Iceberg's metadata, without Spark."""
    looks = list(_looks(table, profile))
    if as_json:
        print_json([_health_record(look) for look in looks])
        return
    for look in looks:
        if look.health is None:
            typer.echo(f"{look.spec.name} does not exist yet: {look.spec.way_into_being}")
        else:
            typer.echo(f"{look.spec.name}: {_counts(look.health)}")
            for line in _of_note(look.spec, look.health):
                typer.echo(f"  {line}")
            print_table(_health_table(look.health))


@app.command("plan")
def plan_(table: TableArgument = None, profile: ProfileOption = None, as_json: JsonOption = False) -> None:
    """What should be done now, and why not the rest, without Spark.

    Earlier attempts are those of the catalog's history. Runs in flight are known to a Dagster instance only, so that it
    may ask for what is being done.
    """
    tables, now = list(chosen(table, profile)), datetime.now(UTC)
    history = {name: Attempts.read(found) for name, found in {found.name: found for _, found in tables}.items()}
    plans = [
        (spec, plan(spec, read_health(found, spec), history[found.name].of(spec.name), running=(), now=now))
        for spec, found in tables
    ]
    if as_json:
        print_json([{"table": spec.name, **_plan_record(planned)} for spec, planned in plans])
        return
    for spec, planned in plans:
        typer.echo(f"{spec.name}: {len(planned.requests)} to do, {len(planned.waiting)} waiting")
        print_table(_plan_table(planned))
    typer.echo("Without the event log of a Dagster instance: runs in flight are not known.")


@dataclass(frozen=True)
class _Look:
    """A declared table; ``health`` is None where it does not exist yet."""

    spec: TableSpec
    profile: Profile
    health: TableHealth | None


def _looks(table: str | None, profile: str | None) -> Iterator[_Look]:
    for spec, found in chosen(table, profile):
        yield _Look(spec, found, read_health(found, spec))


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
        "pinned_snapshots": {ref: len(held) for ref, held in _pins(look.spec, found).items()},
        "dates": {day.isoformat(): _file_record(of_day) for day, of_day in sorted(found.dates.items())},
    }


def _file_record(found: TableHealth | DateHealth) -> dict[str, int | float | None]:
    return {
        "rows": found.rows,
        "data_files": found.data_files,
        "small_files": found.small_files,
        "small_files_waiting": found.small_files_waiting,
        "delete_files": found.delete_files,
        "delete_ratio": round(found.delete_ratio, 4),
        "old_spec_files": found.old_spec_files,
        "total_bytes": found.total_bytes,
        "average_file_bytes": found.average_file_bytes,
    }


def _counts(found: TableHealth) -> str:
    return f"{len(found.snapshots)} snapshots, {len(found.manifests)} manifests, {found.metadata_files} metadata files"


def _of_note(spec: TableSpec, found: TableHealth) -> Iterator[str]:
    """What a table need not have, and is told where it does."""
    if found.delete_files:
        yield f"{found.delete_ratio:.0%} of the rows written are deleted by {format_count(found.delete_files, 'file')}"
    if found.old_spec_files:
        yield f"{format_count(found.old_spec_files, 'data file')} of older partition specs"
    for ref, held in _pins(spec, found).items():
        yield f"{ref} holds back {format_count(len(held), 'snapshot')} that would expire"


def _pins(spec: TableSpec, found: TableHealth) -> Mapping[str, tuple[Snapshot, ...]]:
    return pinned_by(found, spec.maintenance.expire, datetime.now(UTC))


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

"""``history``: what was done to tables and what it came to, what failed, and what it cost and saved. No JVM."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from iceberg_assets.cli.common import JsonOption, ProfileOption, app, print_json, profiles_of
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health.decision import in_words
from iceberg_assets.history import Cost, Failure, Record, Wanted, costs, read_failures, read_records
from iceberg_assets.spec import Status
from iceberg_assets.spec.units import format_bytes, format_count, parse_moment

_SHOWN = 200
"""So many lines are shown to a person, the newest; --json has all."""


@app.command()
def history(
    table: Annotated[
        str | None, typer.Argument(help="namespace.table, declared or not; every one unless given.")
    ] = None,
    since: Annotated[str, typer.Option(help="An age such as 7d, or 2024-05-01T00:00:00Z.")] = "7d",
    operation: Annotated[
        str | None, typer.Option(help="As its asset is named (compacted), or a procedure called by hand.")
    ] = None,
    status: Annotated[Status | None, typer.Option(help="How it ended.")] = None,
    cost: Annotated[bool, typer.Option("--cost", help="By table: seconds of work, and what is fewer since.")] = False,
    errors: Annotated[bool, typer.Option("--errors", help="What failed, or did not come to an operation.")] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """What was done to tables, and what it came to: of the last week, unless told otherwise. Needs no Spark."""
    wanted = Wanted(table, operation, status, _since(since))
    profiles = profiles_of(table, profile)
    if errors and (cost or status):
        raise ConfigurationError("--errors goes with --since, --operation and a table; every one of them is a failure")
    if errors:
        failures = [one for each in profiles for one in read_failures(each, wanted)]
        _print(as_json, [_failure_record(one) for one in failures], map(_failure_lines, failures[-_SHOWN:]))
        return
    records = sorted((one for each in profiles for one in read_records(each, wanted)), key=lambda one: one.at)
    if cost:
        found = costs(records)
        _print(as_json, [asdict(one) for one in found], map(_cost_lines, found))
    else:
        _print(as_json, [_record(one) for one in records], map(_lines, records[-_SHOWN:]))
    if not as_json and (shadow := sum(one.shadow for one in records)):
        typer.echo(f"{shadow} of them were planned only: the profile says shadow.")


def _since(text: str) -> datetime:
    try:
        moment = parse_moment(text)
    except ValueError as error:
        raise ConfigurationError(f"--since: {error}") from None
    return datetime.now(UTC) - moment if isinstance(moment, timedelta) else moment


def _print(as_json: bool, records: list[dict[str, Any]], shown: Iterable[str]) -> None:
    if as_json:
        print_json(records)
        return
    for lines in shown:
        typer.echo(lines)
    if not records:
        typer.echo("nothing of that kind is in the history; --since looks further back")


def _record(one: Record) -> dict[str, Any]:
    # Ids as text: a JSON reader may round numbers of 64 bits.
    heads = {"snapshot_before": one.snapshot_before, "snapshot_after": one.snapshot_after}
    text = {name: None if head is None else str(head) for name, head in heads.items()}
    return {**asdict(one), **_dated(one), **text}


def _failure_record(one: Failure) -> dict[str, Any]:
    return {**asdict(one), **_dated(one)}


def _dated(one: Record | Failure) -> dict[str, Any]:
    return {"at": one.at.isoformat(), "dates": [day.isoformat() for day in one.dates]}


def _lines(one: Record) -> str:
    how = "planned" if one.shadow else f"{one.status.value} in {one.seconds:.1f} s"
    return f"{_about(one)}  {how}\n    {one.reason}"


def _failure_lines(one: Failure) -> str:
    return f"{_about(one)}  {one.error}\n    {one.message}"


def _about(one: Record | Failure) -> str:
    dates = [in_words(one.dates)] if one.dates else []
    return "  ".join([f"{one.at:%Y-%m-%d %H:%M:%S}", one.table, one.operation or "(none)", *dates])


def _cost_lines(one: Cost) -> str:
    work = f"{one.unproductive} gained nothing, {one.unfinished} failed, {one.seconds:,.1f} s of work"
    fewer = ", ".join(
        (
            format_count(one.files, "file"),
            format_bytes(one.bytes),
            format_count(one.snapshots, "snapshot"),
            format_count(one.manifests, "manifest"),
        )
    )
    return f"{one.table}: {format_count(one.outcomes, 'outcome')}, {work}\n    fewer: {fewer}"

"""``call``: any of Iceberg's procedures on a declared table, foretold or done, and measured."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from datetime import date as Date  # noqa: N812 - the option is named date
from typing import Annotated, Any

import typer

from iceberg_assets.cli.common import (
    DatesOption,
    JsonOption,
    ProfileOption,
    RequiredTable,
    app,
    chosen,
    dates_of,
    elsewhere,
    one_of,
    print_json,
)
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.history import Failure, Recorder, Who, called_record, outcome_records
from iceberg_assets.maintenance import Asked, Preview, call_procedure, foretell, foretell_call, health_of, maintain
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import session
from iceberg_assets.spec import Operation, Status, TableSpec
from iceberg_assets.spec.procedure import Procedure, Value, nearest
from iceberg_assets.spec.procedures import PROCEDURES
from iceberg_assets.spec.units import format_bytes
from iceberg_assets.tables.target import load_target

_NAMED = 20
"""So many files are named to a person; --json names all."""

# Those that make a call another thing than what the asset does to whole dates of main.
_BY_HAND = {"where", "branch"}


@app.command()
def call(
    procedure: Annotated[str, typer.Argument(metavar="PROCEDURE", help=f"{', '.join(PROCEDURES)}.")],
    table: RequiredTable,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=VALUE", help="By Iceberg's names: docs/operations.md.")
    ] = None,
    date: DatesOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would do; nothing is touched.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also what the policy holds back.")] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call a procedure, the way its asset does where it has one. Ends with 0 where it is done or nothing was to do.

    rewrite_data_files takes dates: those of --date, else all that have data. With where or branch it is one rewrite of
    what these say.
    """
    called = _procedure(procedure)
    values = _values(called, arguments or [])
    spec, found = one_of(list(chosen(table, profile)), table, profile)
    operation = next((one for one in Operation if one.value == called.asset), None)
    if operation is None or values.keys() & _BY_HAND:
        if date or force:
            given = "--date" if date else "--force"
            raise ConfigurationError(f"{given} is of whole dates, and {called.name} with these arguments is not")
        results = _by_hand(called, spec, found, values, dry_run)
    elif date and operation is not Operation.COMPACT:
        raise ConfigurationError(f"{called.name} is about the whole table: leave --date out")
    else:
        results = _operation(operation, spec, found, values, date, dry_run, force)
    if as_json:
        print_json([record for record, _, _ in results])
    else:
        for record, words, _ in results:
            typer.echo(words if "date" not in record else f"{record['date']}: {words}")
    if not all(good for _, _, good in results):
        raise typer.Exit(1)


_Result = tuple[dict[str, Any], str, bool]
"""For programs, for people, and whether it went well."""


def _operation(
    operation: Operation,
    spec: TableSpec,
    profile: Profile,
    values: Mapping[str, Value],
    dates: list[str] | None,
    dry_run: bool,
    force: bool,
) -> list[_Result]:
    """What the operation of an asset did or would do; one on the whole table is told of once."""
    now = datetime.now(UTC)
    days = dates_of(spec, dates) or sorted(health_of(profile, spec).dates) or [spec.dates.last(now)]
    whole = operation is not Operation.COMPACT
    asked = Asked(days[-1:] if whole else days, now, values, force, *elsewhere())
    if dry_run:
        previews = foretell(operation, profile, spec, asked)
        return [_foretold(preview, None if whole else day) for day, preview in previews.items()]
    with _recorded(profile, spec, operation.value, asked.days) as recorder:
        result = maintain(operation, lambda: session(profile), profile, spec, asked)
        recorder.add(outcome_records(spec, operation, result, recorder.who, datetime.now(UTC)))
    outcomes = result.outcomes
    return [_told(one.status, one.reason, one.details, None if whole else day) for day, one in outcomes.items()]


@contextmanager
def _recorded(profile: Profile, spec: TableSpec, operation: str, days: Sequence[Date]) -> Iterator[Recorder]:
    """A recorder of this call, which writes down its error where there is one."""
    who = Who.here(profile)
    with Recorder(profile, who, tell=lambda said: typer.echo(said, err=True)) as recorder:
        try:
            yield recorder
        except Exception as error:
            recorder.fail(Failure.raised(who, datetime.now(UTC), spec, operation, days, error))
            raise


def _by_hand(
    procedure: Procedure, spec: TableSpec, profile: Profile, values: Mapping[str, Value], dry_run: bool
) -> list[_Result]:
    now = datetime.now(UTC)
    if dry_run:
        return [_foretold(foretell_call(profile, spec, procedure, values, now=now), None)]
    with _recorded(profile, spec, procedure.name, ()) as recorder:
        before, started = _head(profile, spec), time.monotonic()
        one = call_procedure(lambda: session(profile), profile, spec, procedure, values, now=now)
        seconds, after = time.monotonic() - started, _head(profile, spec)
        recorder.add([called_record(spec, one, recorder.who, datetime.now(UTC), seconds, before, after)])
    return [_told(one.status, one.reason, one.details, None)]


def _head(profile: Profile, spec: TableSpec) -> int | None:
    table = load_target(profile, spec)
    return table.metadata.current_snapshot_id if table else None


def _told(status: Status, reason: str, details: Mapping[str, int | float | str], day: Date | None) -> _Result:
    record = {**_dated(day), "status": status.value, "reason": reason, "details": dict(details)}
    return record, f"{status.value}: {reason}", status in (Status.DONE, Status.NOTHING_TO_DO)


def _foretold(preview: Preview, day: Date | None) -> _Result:
    record = {
        **_dated(day),
        "operation": preview.operation,
        "due": preview.due,
        "reason": preview.reason,
        "removes": dict(preview.removes),
        "adds": dict(preview.adds),
        "modified": {path: moment.isoformat() for path, moment in preview.modified.items()},
        # As text: a JSON reader may round numbers of 64 bits.
        "snapshots": [str(snapshot) for snapshot in preview.snapshots],
        "details": dict(preview.details),
        "notes": list(preview.notes),
    }
    return record, "\n".join(_lines(preview)), True


def _lines(preview: Preview) -> Iterable[str]:
    yield f"{'would do' if preview.due else 'nothing to do'}: {preview.reason}"
    yield from (f"  note: {note}" for note in preview.notes)
    yield from (f"  snapshot {one}" for one in preview.snapshots[:_NAMED])
    named = preview.removes or preview.adds
    for path, size in list(named.items())[:_NAMED]:
        written = f"  {preview.modified[path]:%Y-%m-%d %H:%M}" if path in preview.modified else ""
        yield f"  {format_bytes(size):>10}{written}  {path}"
    if (more := len(named) - _NAMED) > 0:
        yield f"  and {more} more: --json names all"


def _dated(day: Date | None) -> dict[str, str]:
    return {} if day is None else {"date": day.isoformat()}


def _procedure(name: str) -> Procedure:
    if name not in PROCEDURES:
        raise ConfigurationError(f"unknown procedure '{name}'; {nearest(name, PROCEDURES)}")
    return PROCEDURES[name]


def _values(procedure: Procedure, given: Iterable[str]) -> dict[str, Value]:
    pairs = [text.partition("=") for text in given]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise ConfigurationError(f"expected NAME=VALUE, got '{wrong[0]}'")
    try:
        return procedure.parse({name: value for name, _, value in pairs})
    except ValueError as error:
        raise ConfigurationError(f"{procedure.name}: {error}") from None

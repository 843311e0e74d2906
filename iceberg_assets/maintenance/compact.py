"""Compaction: ``rewrite_data_files`` on quiet dates, one commit a date, rows counted."""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

from iceberg_assets.health import DateHealth, TableHealth, Unit, compaction_unit
from iceberg_assets.maintenance.engine import EngineError, execute, refused
from iceberg_assets.maintenance.maintained import Maintained, health_of
from iceberg_assets.maintenance.measure import Replacement, replacements, roll_back
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, call, quote
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec
from iceberg_assets.tables.target import between


def compact(
    spark: Session, profile: Profile, spec: TableSpec, days: Sequence[date], *, now: datetime, force: bool = False
) -> Maintained:
    """Rewrite the due files of each date, in the planner's own sense, one commit a date.

    Args:
        force: also compact dates that data was added to within ``quiet_for``.
    """
    before = health = health_of(profile, spec)
    outcomes: dict[date, Outcome] = {}
    for day in days:
        started = time.monotonic()
        unit, found = compaction_unit(spec, health, day, now), health.dates.get(day)
        if found is None:
            outcome = _outcome(Status.NOTHING_TO_DO, "no data file has rows of this date")
        elif standing := _left_alone(spec, unit, found, now, force):
            outcome = standing
        else:
            outcome = _rewrite(spark, profile, spec, health, unit, found)
            health = health_of(profile, spec, health)
        outcomes[day] = replace(outcome, seconds=time.monotonic() - started)
    return Maintained(before, health, outcomes)


def _left_alone(spec: TableSpec, unit: Unit, found: DateHealth, now: datetime, force: bool) -> Outcome | None:
    """The outcome of a date that is left as it is; None where it is to be rewritten."""
    if unit.carrier != found.day:
        return _outcome(Status.NOTHING_TO_DO, f"the files of {found.day} are compacted with {unit.carrier}")
    quiet = found.added_at + spec.maintenance.quiet_for if found.added_at else now
    if quiet > now and not force:
        lately = f"data was added at {found.added_at:%H:%M:%S %Z}: quiet in {(quiet - now).total_seconds():.0f} s"
        return _outcome(Status.SKIPPED, f"{lately}, or set force: true", retryable=True)
    if not found.groups:
        return _outcome(
            Status.NOTHING_TO_DO,
            f"no group of its {found.data_files} files is due ({found.small_files_waiting} small ones below the rule)",
        )
    return None


def _rewrite(
    spark: Session, profile: Profile, spec: TableSpec, health: TableHealth, unit: Unit, due: DateHealth
) -> Outcome:
    planned = sum(len(group.files) for group in due.groups)
    where = where_clause(spec, health, unit)
    statement = call(
        profile.catalog.name,
        "rewrite_data_files",
        table=quote(*spec.table),
        strategy=spec.maintenance.compact.strategy,
        options=dict(spec.maintenance.compact.options),
        where=where,
    )
    try:
        execute(spark(), statement)
    except EngineError as error:
        return refused(Operation.COMPACT, error)
    commits = replacements(spark(), profile, spec, health.snapshot_id, where)
    removed, added = (sum(getattr(one, name) for one in commits) for name in ("removed_files", "added_files"))
    if broken := next((one for one in commits if not one.rows_preserved), None):
        return _taken_back(profile, spec, broken)
    figures = f"{removed} files of {planned} planned became {added}: {_why(due)}"
    status = Status.FAILED if removed == 0 else Status.PARTIAL if removed < planned else Status.DONE
    return replace(
        _outcome(status, figures),
        productive=added < removed,
        rows_preserved=True if commits else None,
        details={
            "iceberg/removed_data_files": removed,
            "iceberg/added_data_files": added,
            "iceberg/planned_data_files": planned,
            "iceberg/rows_compared": sum(one.rows_after for one in commits),
        },
    )


def _why(due: DateHealth) -> str:
    """Why the date was rewritten: the rule's words on its first group."""
    several = f", and {len(due.groups) - 1} groups more" if len(due.groups) > 1 else ""
    return f"{due.groups[0].reason}{several}"


def _taken_back(profile: Profile, spec: TableSpec, broken: Replacement) -> Outcome:
    counted = f"snapshot {broken.snapshot_id} has {broken.rows_after} rows, its parent {broken.rows_before}"
    if roll_back(profile, spec, broken):
        end = f"main was put back to {broken.parent_id}"
    else:
        end = (
            f"others have committed since, so nothing was taken back: either roll back to {broken.parent_id} and write "
            "their commits again, or keep main as it is"
        )
    return replace(_outcome(Status.FAILED, f"rows changed: {counted}; {end}"), rows_preserved=False)


def where_clause(spec: TableSpec, health: TableHealth, unit: Unit) -> str | None:
    """The range of a unit's dates; None for the whole table."""
    if unit.first is None or unit.last is None:
        return None
    return between(spec, health.schema, unit.first, unit.last)


def _outcome(status: Status, reason: str, *, retryable: bool = False) -> Outcome:
    return Outcome(Operation.COMPACT, status, reason, retryable=retryable)

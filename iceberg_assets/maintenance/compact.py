"""Compaction: ``rewrite_data_files`` on quiet dates, one commit a date, rows counted; then its deletes."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime

from iceberg_assets.health import (
    DataFile,
    DateHealth,
    TableHealth,
    Unit,
    compaction_unit,
    dropped_with,
    files_after_respec,
)
from iceberg_assets.maintenance.engine import EngineError, refused
from iceberg_assets.maintenance.lease import Lease, LeaseTakenError
from iceberg_assets.maintenance.maintained import Maintained, at_work, health_of, kept_away, rows_changed
from iceberg_assets.maintenance.measure import Replacement
from iceberg_assets.maintenance.position_deletes import Cleared, clear, count_kinds, of_unit, to_clear
from iceberg_assets.maintenance.preview import Preview, sizes, without_deletes
from iceberg_assets.maintenance.rewrite import MainMovedError, RowsChangedError, check_order, require_rows, rewrite
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec
from iceberg_assets.spec.units import format_count
from iceberg_assets.tables.target import between


def compact(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    days: Sequence[date],
    *,
    now: datetime,
    force: bool = False,
    where: str | None = None,
) -> Maintained:
    """Rewrite the due files of each date, in the planner's own sense, one commit a date.

    Position deletes of the date that delete nothing any more are cleared by a commit of their own.

    Args:
        force: also compact dates that data was added to within ``quiet_for``.
        where: of a table that is taken as a whole, only such rows, as Spark SQL.

    Raises:
        ConfigurationError: the table cannot be sorted by ``sort_order``. Nothing was touched.
    """
    before = health_of(profile, spec)
    check_order(profile, spec, spec.maintenance.compact)
    outcomes: dict[date, Outcome | None] = {
        day: _left_alone(spec, before, compaction_unit(spec, before, day, now), day, now, force) for day in days
    }
    if None not in outcomes.values():
        return Maintained(before, before, {day: one for day, one in outcomes.items() if one})
    try:
        with at_work(spark, profile, spec, Operation.COMPACT.value) as held:
            # A session that has yet to begin takes a minute, in which dates may become restless.
            spark()
            # What was seen before may have been another maintainer's work, half done.
            before = health = health_of(profile, spec, before)
            done: dict[date, Outcome] = {}
            for day in days:
                started = time.monotonic()
                outcome, health = _compact_date(spark, profile, spec, health, day, now, force, held, where)
                done[day] = replace(outcome, seconds=time.monotonic() - started)
            return Maintained(before, health, done)
    except (LeaseTakenError, RowsChangedError) as error:
        kept = kept_away(Operation.COMPACT, error)
        return Maintained(before, before, {day: one or kept for day, one in outcomes.items()})


def _compact_date(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    health: TableHealth,
    day: date,
    now: datetime,
    force: bool,
    held: Lease,
    where: str | None,
) -> tuple[Outcome, TableHealth]:
    """The outcome of a date and the health after it. Where main moves under a rewrite, the date is begun anew once."""
    if held.on_hold:
        return _outcome(Status.SKIPPED, f"the table is on hold: {held.row.holder}", retryable=True), health
    for last in (False, True):
        unit = compaction_unit(spec, health, day, now)
        if outcome := _left_alone(spec, health, unit, day, now, force):
            return outcome, health
        try:
            return _rewrite(spark, profile, spec, health, unit, health.dates[day], held, where)
        except MainMovedError as moved:
            health = health_of(profile, spec, health)
            if not last:
                continue
            return _outcome(Status.SKIPPED, str(moved), retryable=True), health
    raise AssertionError("unreachable")


def foretell_compaction(
    profile: Profile, spec: TableSpec, days: Sequence[date], *, now: datetime, force: bool = False
) -> Mapping[date, Preview]:
    """What :func:`compact` would do on each date, were it the only one. Needs no Spark.

    Raises:
        ConfigurationError: the table cannot be sorted by ``sort_order``.
    """
    health = health_of(profile, spec)
    check_order(profile, spec, spec.maintenance.compact)
    previews = {}
    for day in days:
        unit = compaction_unit(spec, health, day, now)
        if standing := _left_alone(spec, health, unit, day, now, force):
            previews[day] = Preview("rewrite_data_files", False, standing.reason)
        else:
            previews[day] = _foretold(spec, health, unit, health.dates[day])
    return previews


def _left_alone(
    spec: TableSpec, health: TableHealth, unit: Unit, day: date, now: datetime, force: bool
) -> Outcome | None:
    """The outcome of a date that is left as it is; None where there is something to rewrite."""
    found = health.dates.get(day)
    if found is None:
        return _outcome(Status.NOTHING_TO_DO, "no data file has rows of this date")
    if unit.carrier != found.day:
        return _outcome(Status.NOTHING_TO_DO, f"the files of {found.day} are compacted with {unit.carrier}")
    quiet = found.added_at + spec.maintenance.quiet_for if found.added_at else now
    if quiet > now and not force:
        lately = f"data was added at {found.added_at:%H:%M:%S %Z}: quiet in {(quiet - now).total_seconds():.0f} s"
        return _outcome(Status.SKIPPED, f"{lately}, or set force: true", retryable=True)
    if not found.groups and not to_clear(health, unit):
        reason = (
            f"no group of its {found.data_files} files is due ({found.small_files_waiting} small ones below the rule)"
        )
        if spec.maintenance.compact.options.get("min-input-files") == "1":
            reason += ": min-input-files 1 still needs two files in a group"
        return _outcome(Status.NOTHING_TO_DO, reason)
    files, outputs = _taken(found), _outputs(health, found)
    if (
        spec.maintenance.compact.respec == "refuse"
        and any(file.spec_id != health.spec_id for file in files)
        and outputs > len(files)
    ):
        return _outcome(
            Status.SKIPPED,
            f"{len(files)} files, {found.old_spec_files} of them of older partition specs, would become about "
            f"{outputs} by the current one: to have that, set maintenance.compact.respec: allow",
        )
    return None


def _taken(due: DateHealth) -> list[DataFile]:
    return [file for group in due.groups for file in group.files]


def _outputs(health: TableHealth, due: DateHealth) -> int:
    """How many files the due groups become; those with files of older specs by the partitions that they spread over."""
    return sum(
        max(group.outputs, files_after_respec(health, group.files))
        if any(file.spec_id != health.spec_id for file in group.files)
        else group.outputs
        for group in due.groups
    )


def _foretold(spec: TableSpec, health: TableHealth, unit: Unit, due: DateHealth) -> Preview:
    """What the rewrite of a date takes and leaves."""
    files = _taken(due)
    cleared = to_clear(health, unit, files)
    outputs = _outputs(health, due)
    words = f"{len(files)} files of {sum(file.size for file in files)} bytes would become {outputs}: {_why(due)}"
    notes = []
    if cleared:
        notes.append(f"{len(cleared)} position delete files are rewritten after it: some delete nothing any more")
    if any(file.spec_id != health.spec_id for file in files):
        notes.append("files of older partition specs become one for each partition that their rows fall into: about")
    if spec.maintenance.compact.options.get("remove-dangling-deletes") == "true" and health.deletes:
        notes.append("which delete files are dangling then, and go as well, is decided after the rewrite")
    if "max-files-to-rewrite" in spec.maintenance.compact.options:
        notes.append("which files come first under max-files-to-rewrite is decided while Iceberg plans")
    return Preview(
        "rewrite_data_files",
        True,
        words if files else f"{len(cleared)} position delete files would be rewritten",
        sizes(files) | without_deletes(health, [*dropped_with(files, health), *cleared]),
        details={
            "iceberg/planned_data_files": len(files),
            "iceberg/expected_data_files": outputs,
            "iceberg/planned_bytes": sum(file.size for file in files),
            **_deletes(health, unit),
        },
        notes=tuple(notes),
    )


def _rewrite(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    health: TableHealth,
    unit: Unit,
    due: DateHealth,
    held: Lease,
    condition: str | None,
) -> tuple[Outcome, TableHealth]:
    """The outcome and the health after it, which is read once for each commit: it lists every file of the table."""
    where = condition or where_clause(spec, health, unit)
    try:
        with held.comparing():
            commits = rewrite(spark, profile, spec, health, where, held) if due.groups else ()
            hashed = spec.maintenance.compact.verify != "rows"
            after = health_of(profile, spec, health)
            cleared = clear(spark, profile, spec, after, unit, where, hashed=hashed)
            require_rows(profile, spec, held, cleared.commits)
    except EngineError as error:
        return refused(Operation.COMPACT, error), health_of(profile, spec, health)
    except RowsChangedError as changed:
        return rows_changed(Operation.COMPACT, changed), health_of(profile, spec, health)
    after = health_of(profile, spec, after)
    if due.groups and not (commits or cleared.commits) and after.snapshot_id != health.snapshot_id:
        gone = "main moves: what was due was gone before the rewrite began"
        return _outcome(Status.SKIPPED, gone, retryable=True), after
    return _measured(due, commits, cleared, _deletes(after, unit), condition), after


def _measured(
    due: DateHealth,
    commits: Sequence[Replacement],
    cleared: Cleared,
    deletes: Mapping[str, int],
    condition: str | None,
) -> Outcome:
    """The outcome of a date whose rows are as they were."""
    planned = len(_taken(due))
    removed, added = (sum(getattr(one, name) for one in commits) for name in ("removed_files", "added_files"))
    said = [f"{removed} files of {planned} planned became {added}: {_why(due)}"] if planned else []
    if cleared.before:
        said.append(f"{cleared.before} position delete files became {cleared.after}")
    said += [f"left: {format_count(deletes[key], noun)}" for key, noun in _NOUNS.items() if deletes[key]]
    status = Status.DONE if removed >= planned else Status.PARTIAL if removed else Status.FAILED
    if condition is not None:
        # Which of the files it selects the engine alone can tell.
        said.append(f"where {condition}")
        status = Status.DONE if commits or cleared.commits else Status.NOTHING_TO_DO
    if cleared.refusal and status is Status.DONE:
        said.append(f"they were not cleared: {cleared.refusal}")
        status = Status.PARTIAL
    return replace(
        _outcome(status, "; ".join(said)),
        productive=added < removed or cleared.after < cleared.before,
        rows_preserved=True if commits or cleared.commits else None,
        details={
            "iceberg/removed_data_files": removed,
            "iceberg/added_data_files": added,
            "iceberg/planned_data_files": planned,
            "iceberg/cleared_position_deletes": cleared.before - cleared.after,
            "iceberg/rows_compared": sum(one.rows_after for one in commits),
            "iceberg/rows_hashed": sum(one.rows_after for one in commits if one.same_content is not None),
            **deletes,
        },
    )


def _deletes(health: TableHealth, unit: Unit) -> dict[str, int]:
    """Delete files of the unit by kind, as metadata."""
    kinds = count_kinds(of_unit(health, unit))
    return {key: kinds[kind] for key, kind in zip(_NOUNS, ("position", "equality", "vector"), strict=True)}


_NOUNS = {
    "iceberg/position_delete_files": "position delete file",
    "iceberg/equality_delete_files": "equality delete file",
    "iceberg/deletion_vectors": "deletion vector",
}


def _why(due: DateHealth) -> str:
    """Why the date was rewritten: the rule's words on its first group."""
    several = f", and {len(due.groups) - 1} groups more" if len(due.groups) > 1 else ""
    return f"{due.groups[0].reason}{several}" if due.groups else ""


def where_clause(spec: TableSpec, health: TableHealth, unit: Unit) -> str | None:
    """The range of a unit's dates; None for the whole table."""
    if unit.first is None or unit.last is None:
        return None
    return between(spec, health.schema, unit.first, unit.last)


def _outcome(status: Status, reason: str, *, retryable: bool = False) -> Outcome:
    return Outcome(Operation.COMPACT, status, reason, retryable=retryable)

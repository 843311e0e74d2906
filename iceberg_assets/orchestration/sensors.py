"""The two sensors of a location: they read metadata, ask ``plan()``, and start what it names."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG
from pydantic import TypeAdapter

from iceberg_assets.health import ManifestCache, Plan, Request, TableHealth, plan, read_health
from iceberg_assets.orchestration.checks import evaluate as evaluate_checks
from iceberg_assets.orchestration.checks import evaluate_source, evaluations
from iceberg_assets.orchestration.event_log import Running, attempts, running, shown_digests
from iceberg_assets.orchestration.metadata import event_metadata, observed
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec import Attempt, Operation
from iceberg_assets.tables import Watch, keep_watch

COMPACTION = "iceberg_compaction"
UPKEEP = "iceberg_upkeep"

_OBSERVED_DATES = 200
"""So many dates are shown in one tick; each costs some 7 ms on SQLite, and the others follow."""

_TICK_SECONDS = 40
"""Dagster ends a tick after 60 s; tables that are not reached are the first of the next one."""

_WATCH = TypeAdapter(tuple[str, Watch])
"""What the source checks said, and where the watch stands, as they lie in the cursor."""


@dataclass
class Tick:
    """What a tick has gathered so far."""

    requests: list[dg.RunRequest] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    events: list[dg.AssetObservation | dg.AssetCheckEvaluation] = field(default_factory=list)


def maintenance_sensors(
    tables: Sequence[TableAsset], *, interval: timedelta, status: dg.DefaultSensorStatus
) -> list[dg.SensorDefinition]:
    """One sensor for compaction, one for the rest."""
    rest = frozenset(Operation) - {Operation.COMPACT}
    about = {
        COMPACTION: ("Small files of quiet dates are compacted", frozenset({Operation.COMPACT})),
        UPKEEP: ("Manifests are rewritten, snapshots expired and orphans removed", rest),
    }
    return [_sensor(name, words, operations, tables, interval, status) for name, (words, operations) in about.items()]


def _sensor(
    name: str,
    words: str,
    operations: frozenset[Operation],
    tables: Sequence[TableAsset],
    interval: timedelta,
    status: dg.DefaultSensorStatus,
) -> dg.SensorDefinition:
    @dg.sensor(
        name=name,
        jobs=[table.job for table in tables],
        minimum_interval_seconds=round(interval.total_seconds()),
        default_status=status,
        description=f"{words} where the plan says that it pays; its reason is in every tick.",
    )
    def look(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        return evaluate(context, tables, operations)

    return look


def evaluate(
    context: dg.SensorEvaluationContext, tables: Sequence[TableAsset], operations: frozenset[Operation]
) -> dg.SensorResult:
    """One tick: look at each table in turn, within the tick's time.

    The sensor of compaction is the one that shows changed dates and evaluates the checks. The cursor holds, by table,
    the metadata pointer last looked at, what its ledger's checks said, and the table that the next tick begins with.
    """
    cursor = _read_cursor(context.cursor)
    pointers: dict[str, str] = cursor.get("pointers", {})
    checked: dict[str, Any] = cursor.get("checked", {})
    started, tick = time.monotonic(), Tick()
    in_flight = running(context, tables)
    cache = ManifestCache(_cache_path(context.instance))
    ordered = _beginning_with(tables, cursor.get("next"))
    unreached: str | None = None
    for table in ordered:
        name = table.spec.name
        if time.monotonic() - started > _TICK_SECONDS:
            unreached = name
            tick.reasons.append(f"{name} and what follows: next tick, this one has used its {_TICK_SECONDS} s")
            break
        try:
            pointers[name] = _look(context, tick, table, operations, in_flight[name], cache, pointers.get(name, ""))
            if Operation.COMPACT in operations:
                checked[name] = _check_source(context, tick, table, checked.get(name))
        except Exception as error:
            # Whatever is wrong with one table, the others are looked at.
            context.log.exception(f"{name} could not be looked at")
            tick.reasons.append(f"{name} could not be looked at: {type(error).__name__}: {error}")
    return dg.SensorResult(
        run_requests=tick.requests,
        skip_reason=None if tick.requests else dg.SkipReason("\n".join(tick.reasons) or "no table is declared"),
        cursor=json.dumps({"pointers": pointers, "checked": checked, "next": unreached}),
        asset_events=tick.events,
    )


def _look(
    context: dg.SensorEvaluationContext,
    tick: Tick,
    table: TableAsset,
    operations: frozenset[Operation],
    in_flight: set[Running],
    cache: ManifestCache,
    pointer: str,
) -> str:
    """Look at one table, and gather what follows from it.

    Returns:
        The metadata pointer whose dates have all been shown.
    """
    name, now = table.spec.name, datetime.now(UTC)
    health = read_health(table.profile, table.spec, cache=cache)
    history = attempts(context.instance, table)
    decided = plan(table.spec, health, history, in_flight, now)
    for request in decided.requests:
        if operations.issuperset(request.operations):
            tick.requests.append(_run_request(table, health, history, request))
            tick.reasons.append(f"{name} {request}")
    tick.reasons += [f"{name} {waiting}" for waiting in decided.waiting if operations.intersection(waiting.operations)]
    if health is None or pointer == health.metadata_location or Operation.COMPACT not in operations:
        return pointer
    return health.metadata_location if _show(context, tick, table, health, decided) else pointer


def _show(
    context: dg.SensorEvaluationContext, tick: Tick, table: TableAsset, health: TableHealth, decided: Plan
) -> bool:
    """Record the dates that changed, as observations, and the checks.

    Returns:
        False where there were more dates than one tick shows.
    """
    shown = shown_digests(context.instance, table)
    partitions = table.spec.dates.between(table.spec.dates.start, date.max, datetime.now(UTC))
    new = [day for day in partitions if day in health.dates and shown.get(day) != health.dates[day].digest]
    for day in new[:_OBSERVED_DATES]:
        words = observed(decided.reason_of(Operation.COMPACT, day))
        tick.events.append(
            dg.AssetObservation(table.key, partition=day.isoformat(), metadata=event_metadata(health, day, words))
        )
    tick.events += evaluations(evaluate_checks(table, health))
    return len(new) <= _OBSERVED_DATES


def _check_source(context: dg.SensorEvaluationContext, tick: Tick, table: TableAsset, before: Any) -> Any:
    """Evaluate the checks of ledger and raw files, and record them where they turned, or a materialization hid them.

    Returns:
        What the next tick goes on from: what was said, and where the watch over the dates stands.
    """
    if table.spec.source is None:
        return None
    said, watch = _WATCH.validate_python(before) if isinstance(before, list) else ("", Watch())
    waiting, watch = keep_watch(table.profile, table.spec, datetime.now(UTC), watch)
    results = evaluate_source(table, waiting)
    newest = context.instance.fetch_materializations(table.key, limit=1).records
    turned = ",".join(f"{result.check_name}:{result.passed}" for result in results)
    state = f"{turned}@{newest[0].storage_id if newest else 0}"
    if state != said:
        tick.events += evaluations(results)
    return _WATCH.dump_python((state, watch), mode="json")


def _run_request(
    table: TableAsset, health: TableHealth | None, history: Sequence[Attempt], request: Request
) -> dg.RunRequest:
    """A run of those operations on that range of dates.

    Run keys are remembered for ever, also of runs that failed: the state of the table and the latest attempt are in
    it, so that the same need in the same state is served once, and comes back after it was served or failed.
    """
    ended = max((a.ended for a in history if a.operation in request.operations), default=None)
    first, last = request.dates[0].isoformat(), request.dates[-1].isoformat()
    what = "+".join(operation.value for operation in request.operations)
    state = [str(health.snapshot_id) if health else "", ended.isoformat() if ended else "first"]
    return dg.RunRequest(
        run_key=":".join(["/".join(table.key.path), what, f"{first}..{last}", *state]),
        job_name=table.job.name,
        asset_selection=[table.key_of(operation) for operation in request.operations],
        tags={ASSET_PARTITION_RANGE_START_TAG: first, ASSET_PARTITION_RANGE_END_TAG: last},
    )


def _read_cursor(cursor: str | None) -> dict[str, Any]:
    """What the last tick left; one that is not ours, set by hand perhaps, is as good as none."""
    try:
        found = json.loads(cursor or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _beginning_with(tables: Sequence[TableAsset], name: str | None) -> list[TableAsset]:
    position = next((n for n, table in enumerate(tables) if table.spec.name == name), 0)
    return [*tables[position:], *tables[:position]]


def _cache_path(instance: dg.DagsterInstance) -> Path:
    return Path(instance.storage_directory()) / "iceberg_assets" / "manifests.sqlite"

"""The two sensors of a location: they read metadata, ask ``plan()``, and start what it names."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG
from pydantic import TypeAdapter

from iceberg_assets.health import ManifestCache, Plan, Request, TableHealth, compaction_unit, plan
from iceberg_assets.orchestration.checks import (
    evaluate_declaration,
    evaluate_health,
    evaluate_source,
    evaluate_unreadable,
    evaluate_upkeep,
    evaluations,
)
from iceberg_assets.orchestration.event_log import Events, running, shown_digests
from iceberg_assets.orchestration.memory import Memory, Seen, pointers
from iceberg_assets.orchestration.metadata import event_metadata, observed
from iceberg_assets.orchestration.shadow import kept_back, record_plans
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.profiles import brief_of, of_service
from iceberg_assets.spec import Operation
from iceberg_assets.tables import Watch, keep_watch

COMPACTION = "iceberg_compaction"
UPKEEP = "iceberg_upkeep"

_OBSERVED_DATES = 200
"""So many dates are shown in one tick; each costs some 7 ms on SQLite, and the others follow."""

_LOOKS = (timedelta(minutes=1), timedelta(minutes=15))
"""Raw files, ledgers and the clock are looked at for the checks no more often, and no less."""

_TICK_SECONDS = 40
"""Dagster ends a tick after 60 s; tables that are not reached are the first of the next one."""

_WATCH = TypeAdapter(Watch)
"""Where the watch over a table's raw folders stands, as it lies in the cursor."""


@dataclass
class Tick:
    """What a tick has gathered so far."""

    requests: list[dg.RunRequest] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    events: list[dg.AssetObservation | dg.AssetCheckEvaluation] = field(default_factory=list)

    def decide(
        self, table: TableAsset, looked: Seen, decided: Plan, operations: frozenset[Operation]
    ) -> dict[str, Request]:
        """Take from the plan what is about these operations; gives what is due and kept back, by run key."""
        name, back = table.key.to_user_string(), kept_back(table)
        due = {
            request: _run_request(table, looked, request)
            for request in decided.requests
            if operations.issuperset(request.operations)
        }
        if back is None:
            self.requests += due.values()
        self.reasons += [f"{name} {request}" + (f": {back}" if back else "") for request in due]
        self.reasons += [f"{name} {one}" for one in decided.waiting if operations.intersection(one.operations)]
        return {str(run.run_key): request for request, run in due.items()} if back else {}


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
    memory = Memory()

    @dg.sensor(
        name=name,
        jobs=[table.job for table in tables],
        minimum_interval_seconds=round(interval.total_seconds()),
        default_status=status,
        description=f"{words} where the plan says that it pays; its reason is in every tick.",
    )
    def look(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        return evaluate(context, tables, operations, memory)

    return look


def evaluate(
    context: dg.SensorEvaluationContext,
    tables: Sequence[TableAsset],
    operations: frozenset[Operation],
    memory: Memory,
) -> dg.SensorResult:
    """One tick: look at each table in turn, within the tick's time.

    The sensor of compaction is the one that shows changed dates and evaluates the checks. The cursor holds, by table,
    the metadata pointer last shown, which checks are red and when they were evaluated, what a shadow has written down,
    and the table that the next tick begins with.
    """
    cursor = _read_cursor(context.cursor)
    shown: dict[str, str] = cursor.get("shown", {})
    checked: dict[str, Any] = cursor.get("checked", {})
    planned: dict[str, Any] = cursor.get("planned", {})
    deadline, tick = time.monotonic() + _TICK_SECONDS, Tick()
    memory.begin(context.instance, tables)
    in_flight, now_at = running(context, tables), pointers(tables)
    cache = ManifestCache(_cache_path(context.instance))
    unreached: str | None = None
    for table in _beginning_with(tables, cursor.get("next")):
        name = table.key.to_user_string()
        try:
            if time.monotonic() > deadline:
                raise TimeoutError("not reached")
            pointer = now_at[table.key]
            if isinstance(pointer, Exception):
                raise pointer
            looked = memory.look(context.instance, table, pointer, cache, deadline)
            now, about = datetime.now(UTC), in_flight[table.key]
            decided = plan(table.spec, looked.health, looked.history, about, now, looked.doubted)
            due = tick.decide(table, looked, decided, operations)
            if table.profile.shadow:
                snapshot = looked.health.snapshot_id if looked.health else None
                planned[name] = record_plans(context, table, snapshot, due, planned.get(name, ()))
            if Operation.COMPACT not in operations:
                continue
            health, before = looked.health, shown.get(name)
            new = health and before != health.metadata_location
            if health and new:
                # The cursor is stored after the events: it alone knows that they were.
                told = looked.shown if looked.shown and looked.shown.metadata_location == before else None
                if _show(tick, table, health, told, decided, memory.events(context.instance), deadline):
                    shown[name] = health.metadata_location
                    memory.showed(table)
            if new or looked.touched or _checks_are_due(table, checked.get(name)):
                checked[name] = _check(context, tick, table, looked, decided, checked.get(name), committed=bool(new))
        except Exception as error:
            # A store that does not answer in time says the same, long before the tick's own time is over.
            if isinstance(error, TimeoutError) and time.monotonic() > deadline:
                unreached = name
                tick.reasons.append(f"{name}: {error} within {_TICK_SECONDS} s, the next tick begins with it")
                break
            # Whatever is wrong with one table, the others are looked at.
            context.log.exception(f"{name} could not be looked at")
            if Operation.COMPACT in operations:
                checked[name] = _check_unreadable(context, tick, table, error, checked.get(name))
            said = of_service(table.profile, error) or f"{type(error).__name__}: {brief_of(table.profile, error)}"
            tick.reasons.append(f"{name} could not be looked at: {said}")
    if tick.requests:
        # Dagster shows no skip reason with a tick that asks for something: what else was decided is in its log.
        context.log.info("\n".join(tick.reasons))
    return dg.SensorResult(
        run_requests=tick.requests,
        skip_reason=None if tick.requests else dg.SkipReason("\n".join(tick.reasons) or "no table is declared"),
        cursor=json.dumps({"shown": shown, "checked": checked, "planned": planned, "next": unreached}),
        asset_events=tick.events,
    )


def _show(
    tick: Tick,
    table: TableAsset,
    health: TableHealth,
    told: TableHealth | None,
    decided: Plan,
    events: Events,
    deadline: float,
) -> bool:
    """Record the dates that changed, as observations; those of ``told`` are shown already.

    Returns:
        False where there were more dates than one tick shows.
    """
    partitions = table.spec.dates.between(table.spec.dates.start, date.max, datetime.now(UTC))
    if told:
        partitions = [day for day in partitions if health.dates.get(day) != told.dates.get(day)]
    # An append shows the date that it was about itself.
    shown = shown_digests(events, table, partitions if told else None, deadline)
    # A date whose last file went has the digest of none.
    digests = {day: found.digest for day, found in health.dates.items()}
    new = [day for day in partitions if digests.get(day, "") != shown.get(day, "")]
    said = event_metadata(table.spec, health)
    for day in new[:_OBSERVED_DATES]:
        # What is done about a date may be done with the date that stands for its month, year or table.
        carrier = compaction_unit(table.spec, health, day, datetime.now(UTC)).carrier
        words = observed(decided.reason_of(Operation.COMPACT, carrier))
        tick.events.append(dg.AssetObservation(table.key, partition=day.isoformat(), metadata=said(day, words)))
    return len(new) <= _OBSERVED_DATES


def _checks_are_due(table: TableAsset, before: Mapping[str, Any] | None) -> bool:
    """Whether the checks are to be evaluated though nothing was committed: some turn by themselves, with time.

    An age against its limit needs no finer look than a hundredth of it.
    """
    if before is None:
        return True
    age = table.spec.checks.freshness.max if table.spec.source else _LOOKS[1] * 100
    often = min(max(age / 100, _LOOKS[0]), _LOOKS[1])
    return datetime.now(UTC).timestamp() - float(before["at"]) >= often.total_seconds()


def _check(
    context: dg.SensorEvaluationContext,
    tick: Tick,
    table: TableAsset,
    looked: Seen,
    decided: Plan,
    before: Mapping[str, Any] | None,
    *,
    committed: bool,
) -> Mapping[str, Any]:
    """Evaluate the checks and record those that turned; all, after a commit or where a materialization hid them.

    Returns:
        What the next tick goes on from: what was said, and where the watch over the raw folders stands.
    """
    watch = _WATCH.validate_python(before["watch"]) if before else Watch()
    if table.spec.source:
        waiting, watch = keep_watch(table.profile, table.spec, datetime.now(UTC), watch)
        results = evaluate_declaration(table, waiting) + evaluate_source(table, waiting)
    else:
        results = evaluate_declaration(table)
    newest = _materialized(context, table)
    anew = committed or before is None or before["materialized"] != newest
    if looked.health:
        results += evaluate_upkeep(context.instance, table, looked.health, looked.history, decided)
    if looked.health and anew:
        results += evaluate_health(table, looked.health)
    return _record(tick, results, before, anew=anew) | {
        "materialized": newest,
        "watch": _WATCH.dump_python(watch, mode="json"),
    }


def _check_unreadable(
    context: dg.SensorEvaluationContext,
    tick: Tick,
    table: TableAsset,
    error: Exception,
    before: Mapping[str, Any] | None,
) -> Mapping[str, Any]:
    """The one check of a table that tells nothing else, perhaps because its column of dates is gone.

    It is evaluated again as soon as the table can be looked at.
    """
    said = _record(tick, evaluate_unreadable(table, error), before, anew=before is None) | {"at": 0}
    kept = before or {"materialized": _materialized(context, table), "watch": _WATCH.dump_python(Watch(), mode="json")}
    return {**kept, **said}


def _record(
    tick: Tick, results: Sequence[dg.AssetCheckResult], before: Mapping[str, Any] | None, *, anew: bool
) -> dict[str, Any]:
    """Record the results that turned, or all of them; what was not evaluated is as red as it was."""
    was, evaluated = set(before["red"]) if before else set(), {one.check_name for one in results}
    red = {one.check_name for one in results if not one.passed}
    turned = evaluated if anew else evaluated & (was ^ red)
    tick.events += evaluations(one for one in results if one.check_name in turned)
    return {"red": sorted(red | (was - evaluated)), "at": round(datetime.now(UTC).timestamp())}


def _materialized(context: dg.SensorEvaluationContext, table: TableAsset) -> int:
    """The newest materialization, after which Dagster shows a check as not evaluated."""
    records = context.instance.fetch_materializations(table.key, limit=1).records
    return records[0].storage_id if records else 0


def _run_request(table: TableAsset, looked: Seen, request: Request) -> dg.RunRequest:
    """A run of those operations on that range of dates.

    Run keys are remembered for ever, also of runs that failed: the state of the table and the latest attempt are in
    it, so that the same need in the same state is served once, and comes back after it was served or failed.
    """
    ended = max((a.ended for a in looked.history if a.operation in request.operations), default=None)
    first, last = request.dates[0].isoformat(), request.dates[-1].isoformat()
    what = "+".join(operation.value for operation in request.operations)
    state = [str(looked.health.snapshot_id) if looked.health else "", ended.isoformat() if ended else "first"]
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
    ours = isinstance(found, dict) and all(
        isinstance(found.get(key, {}), dict) for key in ("shown", "checked", "planned")
    )
    if not ours:
        return {}
    # What an earlier version left of the checks is evaluated anew.
    checked = {name: one for name, one in found.get("checked", {}).items() if isinstance(one, dict) and "red" in one}
    return {**found, "checked": checked}


def _beginning_with(tables: Sequence[TableAsset], name: str | None) -> list[TableAsset]:
    position = next((n for n, table in enumerate(tables) if table.key.to_user_string() == name), 0)
    return [*tables[position:], *tables[:position]]


def _cache_path(instance: dg.DagsterInstance) -> Path:
    return Path(instance.storage_directory()) / "iceberg_assets" / "manifests.sqlite"

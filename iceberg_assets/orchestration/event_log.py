"""What Dagster's instance knows about a table: earlier attempts, what was shown, what runs."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import dagster as dg
from dagster._core.execution.backfill import BulkActionsFilter, BulkActionStatus
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    PARTITION_NAME_TAG,
)

from iceberg_assets.orchestration.metadata import DIGEST, PRODUCTIVE, STATUS
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec import Attempt, Operation, Status

Running = tuple[Operation | None, date]
"""An operation, or None for an append, that is queued or running for a date."""

_FAILED_RUNS = 50
"""So many failed runs of a table's job are looked at; older failures no longer delay anything."""

_UNFINISHED = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_UNFINISHED_BACKFILLS = [BulkActionStatus.REQUESTED, BulkActionStatus.CANCELING, BulkActionStatus.FAILING]


@dataclass(frozen=True)
class Event:
    """The latest materialization or observation of one date of one asset."""

    day: date
    at: datetime
    run_id: str
    metadata: Mapping[str, object]


def latest_events(instance: dg.DagsterInstance, key: dg.AssetKey, kind: dg.DagsterEventType) -> dict[date, Event]:
    """By date, the newest event of that kind that the asset has."""
    ids = sorted(instance.event_log_storage.get_latest_storage_id_by_partition(key, kind).values())
    if not ids:
        return {}
    materialized = kind is dg.DagsterEventType.ASSET_MATERIALIZATION
    fetch = instance.fetch_materializations if materialized else instance.fetch_observations
    records = fetch(dg.AssetRecordsFilter(asset_key=key, storage_ids=ids), limit=len(ids)).records
    return {event.day: event for event in map(_event, records)}


def _event(record: dg.EventLogRecord) -> Event:
    shown = record.asset_materialization or record.asset_observation
    assert shown is not None
    return Event(
        day=date.fromisoformat(shown.partition or ""),
        at=datetime.fromtimestamp(record.timestamp, UTC),
        run_id=record.run_id,
        metadata={name: value.value for name, value in shown.metadata.items()},
    )


def shown_digests(instance: dg.DagsterInstance, table: TableAsset) -> dict[date, str]:
    """By date, the digest of its files that the table's own asset showed last."""
    newest: dict[date, Event] = {}
    for kind in (dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_OBSERVATION):
        for day, event in latest_events(instance, table.key, kind).items():
            if day not in newest or newest[day].at < event.at:
                newest[day] = event
    return {day: str(event.metadata.get(DIGEST, "")) for day, event in newest.items()}


def attempts(instance: dg.DagsterInstance, table: TableAsset) -> list[Attempt]:
    """The latest attempt of each operation on each date, and the failures since."""
    failed_runs = instance.get_run_records(
        dg.RunsFilter(job_name=table.job.name, statuses=[dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]),
        limit=_FAILED_RUNS,
    )
    found: list[Attempt] = []
    for operation in Operation:
        key = table.key_of(operation)
        events = latest_events(instance, key, dg.DagsterEventType.ASSET_MATERIALIZATION)
        found += [
            Attempt(
                operation,
                day,
                event.at,
                Status(str(event.metadata.get(STATUS, Status.DONE.value))),
                bool(event.metadata.get(PRODUCTIVE, False)),
                str(event.metadata.get(DIGEST, "")),
            )
            for day, event in events.items()
        ]
        for record in failed_runs:
            ended = datetime.fromtimestamp(record.end_time or record.update_timestamp.timestamp(), UTC)
            if key not in _selected(record.dagster_run, table):
                continue
            for day in _days(record.dagster_run.tags):
                event = events.get(day)
                # A run that failed in part recorded its good dates.
                if event is None or (event.at < ended and event.run_id != record.dagster_run.run_id):
                    found.append(Attempt(operation, day, ended, Status.FAILED, productive=False, digest=""))
    return found


def running(context: dg.SensorEvaluationContext, tables: Sequence[TableAsset]) -> dict[str, set[Running]]:
    """By table name, what is queued or running, backfills that have no runs yet included."""
    found: dict[str, set[Running]] = {table.spec.name: set() for table in tables}
    for record in context.instance.get_run_records(dg.RunsFilter(statuses=_UNFINISHED)):
        run = record.dagster_run
        for table in tables:
            found[table.spec.name] |= set(_jobs(table, _selected(run, table), _days(run.tags)))
    graph = context.repository_def.asset_graph if context.repository_def else None
    for backfill in context.instance.get_backfills(BulkActionsFilter(statuses=_UNFINISHED_BACKFILLS)):
        if graph is None or not backfill.is_asset_backfill:
            continue
        target = backfill.get_asset_backfill_data(graph).target_subset
        for table in tables:
            for key in _keys(table) & target.asset_keys:
                days = [date.fromisoformat(k) for k in target.get_partitions_subset(key).get_partition_keys()]
                found[table.spec.name] |= set(_jobs(table, {key}, days))
    return found


def _jobs(table: TableAsset, selected: Collection[dg.AssetKey], days: Iterable[date]) -> Iterator[Running]:
    operations = [operation for operation in Operation if table.key_of(operation) in selected]
    appended: list[Operation | None] = [None] if table.key in selected else []
    for day in days:
        for operation in [*appended, *operations]:
            yield operation, day


def _keys(table: TableAsset) -> set[dg.AssetKey]:
    return {table.key, *(table.key_of(operation) for operation in Operation)}


def _selected(run: dg.DagsterRun, table: TableAsset) -> Collection[dg.AssetKey]:
    """Which of the table's assets the run is about; a launch of the whole job names none."""
    if run.asset_selection:
        return run.asset_selection
    return _keys(table) if run.job_name == table.job.name else set()


def _days(tags: Mapping[str, str]) -> list[date]:
    first = tags.get(ASSET_PARTITION_RANGE_START_TAG) or tags.get(PARTITION_NAME_TAG)
    last = tags.get(ASSET_PARTITION_RANGE_END_TAG) or tags.get(PARTITION_NAME_TAG)
    if first is None or last is None:
        return []
    try:
        start, end = date.fromisoformat(first), date.fromisoformat(last)
    except ValueError:  # Other assets of the instance have other partitions.
        return []
    return [start + timedelta(days=n) for n in range((end - start).days + 1)]

"""What Dagster's instance knows about a table: earlier attempts, what was shown, what runs."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from math import inf

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

_FAILED_RUNS = 200
"""So many failed runs of a table's job are looked at: more than fail before all dates of it are given up."""

_STATUSES = {one.value: one for one in Status}

_AT_ONCE = 500
"""So many events are fetched by one query."""

_UNFINISHED = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
_UNFINISHED_BACKFILLS = [BulkActionStatus.REQUESTED, BulkActionStatus.CANCELING, BulkActionStatus.FAILING]


@dataclass(frozen=True, slots=True)
class Event:
    """The latest materialization or observation of one date of one asset, as far as decisions rest on it."""

    day: date
    at: datetime
    run_id: str
    status: Status
    productive: bool
    digest: str


class Events:
    """An instance's events. They never change, so that one that was read is not read again: each takes a millisecond.

    Args:
        instance: whose they are.
        known: by storage id, what was read earlier; what is read now is added. None: of no date.
    """

    def __init__(self, instance: dg.DagsterInstance, known: dict[int, Event | None]) -> None:
        self.instance = instance
        self._known = known

    def latest(
        self,
        key: dg.AssetKey,
        kind: dg.DagsterEventType,
        deadline: float = inf,
        days: Collection[date] | None = None,
    ) -> dict[date, Event]:
        """By date, the newest event of that kind that the asset has.

        Args:
            key: the asset.
            kind: materializations or observations.
            days: these alone; None: all.
            deadline: of ``time.monotonic()``. What was read by then stays known.

        Raises:
            TimeoutError: the deadline passed.
        """
        of = None if days is None else {day.isoformat() for day in days}
        ids = self.instance.event_log_storage.get_latest_storage_id_by_partition(key, kind, of).values()
        unread = sorted(set(ids) - self._known.keys())
        materialized = kind is dg.DagsterEventType.ASSET_MATERIALIZATION
        fetch = self.instance.fetch_materializations if materialized else self.instance.fetch_observations
        for begin in range(0, len(unread), _AT_ONCE):
            if begin and time.monotonic() > deadline:
                raise TimeoutError(f"{begin} of {len(unread)} events of {key.to_user_string()} were read")
            some = unread[begin : begin + _AT_ONCE]
            records = fetch(dg.AssetRecordsFilter(asset_key=key, storage_ids=some), limit=len(some)).records
            self._known.update((record.storage_id, _event(record)) for record in records)
        found = (self._known.get(id_) for id_ in ids)
        return {event.day: event for event in found if event}


def _event(record: dg.EventLogRecord) -> Event | None:
    """What the record says. Anybody may report events of the asset, with partitions and words of his own."""
    shown = record.asset_materialization or record.asset_observation
    day = _date(shown.partition) if shown else None
    if shown is None or day is None:
        return None
    said = {name: value.value for name, value in shown.metadata.items() if name in (STATUS, PRODUCTIVE, DIGEST)}
    return Event(
        day=day,
        at=datetime.fromtimestamp(record.timestamp, UTC),
        run_id=record.run_id,
        status=_STATUSES.get(str(said.get(STATUS)), Status.DONE),
        productive=bool(said.get(PRODUCTIVE, False)),
        digest=str(said.get(DIGEST, "")),
    )


def shown_digests(
    events: Events, table: TableAsset, days: Collection[date] | None, deadline: float = inf
) -> dict[date, str]:
    """By date, the digest of its files that the table's own asset showed last; ``days`` None: of all."""
    newest: dict[date, Event] = {}
    for kind in (dg.DagsterEventType.ASSET_MATERIALIZATION, dg.DagsterEventType.ASSET_OBSERVATION):
        for day, event in events.latest(table.key, kind, deadline, days).items():
            if day not in newest or newest[day].at < event.at:
                newest[day] = event
    return {day: event.digest for day, event in newest.items()}


def attempts(events: Events, table: TableAsset, deadline: float = inf) -> list[Attempt]:
    """The latest attempt of each operation on each date, and the failures since."""
    instance = events.instance
    failed_runs = instance.get_run_records(
        dg.RunsFilter(job_name=table.job.name, statuses=[dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]),
        limit=_FAILED_RUNS,
    )
    found: list[Attempt] = []
    for operation in Operation:
        key = table.key_of(operation)
        materialized = events.latest(key, dg.DagsterEventType.ASSET_MATERIALIZATION, deadline)
        found += [
            Attempt(operation, day, event.at, event.status, event.productive, event.digest)
            for day, event in materialized.items()
        ]
        for record in failed_runs:
            ended = datetime.fromtimestamp(record.end_time or record.update_timestamp.timestamp(), UTC)
            if key not in selected(record.dagster_run, table):
                continue
            for day in days_of(record.dagster_run.tags):
                event = materialized.get(day)
                # A run that failed in part recorded its good dates.
                if event is None or (event.at < ended and event.run_id != record.dagster_run.run_id):
                    found.append(Attempt(operation, day, ended, Status.FAILED, productive=False, digest=""))
    return found


def touched_since(instance: dg.DagsterInstance, tables: Sequence[TableAsset], moment: datetime) -> set[dg.AssetKey]:
    """The tables that a run was about whose status has changed since then."""
    records = instance.get_run_records(dg.RunsFilter(updated_after=moment))
    return {table.key for record in records for table in tables if selected(record.dagster_run, table) & table.keys}


def running(context: dg.SensorEvaluationContext, tables: Sequence[TableAsset]) -> dict[dg.AssetKey, set[Running]]:
    """By table, what is queued or running, backfills that have no runs yet included."""
    found: dict[dg.AssetKey, set[Running]] = {table.key: set() for table in tables}
    for record in context.instance.get_run_records(dg.RunsFilter(statuses=_UNFINISHED)):
        run = record.dagster_run
        for table in tables:
            found[table.key] |= set(_jobs(table, selected(run, table), days_of(run.tags)))
    graph = context.repository_def.asset_graph if context.repository_def else None
    for backfill in context.instance.get_backfills(BulkActionsFilter(statuses=_UNFINISHED_BACKFILLS)):
        if graph is None or not backfill.is_asset_backfill:
            continue
        target = backfill.get_asset_backfill_data(graph).target_subset
        for table in tables:
            for key in table.keys & target.asset_keys:
                days = (_date(one) for one in target.get_partitions_subset(key).get_partition_keys())
                found[table.key] |= set(_jobs(table, {key}, [day for day in days if day]))
    return found


def _jobs(table: TableAsset, selected: Set[dg.AssetKey], days: Iterable[date]) -> Iterator[Running]:
    if not selected & table.keys:
        return
    operations = [operation for operation in Operation if table.key_of(operation) in selected]
    appended: list[Operation | None] = [None] if table.key in selected else []
    for day in days:
        for operation in [*appended, *operations]:
            yield operation, day


def selected(run: dg.DagsterRun, table: TableAsset) -> Set[dg.AssetKey]:
    """The assets that the run is about, this table's or others; a launch of the table's whole job names none."""
    if run.asset_selection:
        return run.asset_selection
    return table.keys if run.job_name == table.job.name else frozenset()


def days_of(tags: Mapping[str, str]) -> list[date]:
    """The dates that a run is about, by its tags."""
    start = _date(tags.get(ASSET_PARTITION_RANGE_START_TAG) or tags.get(PARTITION_NAME_TAG))
    end = _date(tags.get(ASSET_PARTITION_RANGE_END_TAG) or tags.get(PARTITION_NAME_TAG))
    if start is None or end is None:
        return []
    return [start + timedelta(days=n) for n in range((end - start).days + 1)]


def _date(partition: str | None) -> date | None:
    """The date that a partition key names; None: it names none, since other assets have other partitions."""
    try:
        return date.fromisoformat(partition or "")
    except ValueError:
        return None

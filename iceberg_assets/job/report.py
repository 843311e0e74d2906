"""What a run comes to: into the catalog's history as it happens, and told to whoever the profile names."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from datetime import UTC, date, datetime

from iceberg_assets.history import (
    UNFINISHED,
    Attempts,
    Failure,
    Record,
    Recorder,
    Who,
    outcome_records,
    shadow_records,
    unmeasured_records,
)
from iceberg_assets.job.overrides import Name
from iceberg_assets.job.run import Event, History, Left
from iceberg_assets.job.settings import JobSettings
from iceberg_assets.job.summary import Summary
from iceberg_assets.job.survey import Surveyed
from iceberg_assets.job.table import Ended
from iceberg_assets.job.task import Task
from iceberg_assets.maintenance import Maintained
from iceberg_assets.notify import Failed, notify
from iceberg_assets.profiles import Profile
from iceberg_assets.spec.table import format_identifier


def attempts_of(profile: Profile) -> History:
    """Earlier attempts on each table, by one read of the catalog's history."""
    known = Attempts.read(profile)
    return lambda name: known.of(format_identifier(name))


def reported(
    events: Generator[Event],
    summary: Summary,
    profile: Profile,
    settings: JobSettings,
    who: Who,
    tell: Callable[[str], object],
) -> Iterator[Event]:
    """The same events, summed up and recorded, ``stats_batch_size`` rows at a time; told of at their end.

    Args:
        tell: is given what went wrong with that, as a sentence. It stops nothing.
    """
    tasks: dict[Name, Task] = {}
    with Recorder(profile, who, batch=settings.stats_batch_size, tell=tell) as recorder, closing(events):
        for event in events:
            summary.add(event)
            match event:
                case Surveyed(verdict="failed"):
                    failure = Failure(who, datetime.now(UTC), event.name, None, (), "unreadable", event.reason)
                    recorder.fail(failure)
                case Surveyed(verdict="due", task=Task() as task):
                    tasks[event.table] = task
                case Surveyed(verdict="planned", task=Task() as task):
                    recorder.add(_shadows(event, task, who))
                case Ended():
                    recorder.add(_outcomes(event, tasks[event.table], who))
                case Left(table, str() as error):
                    recorder.fail(
                        Failure(who, datetime.now(UTC), format_identifier(table), None, (), "broken off", error)
                    )
            yield event
    for said in notify(profile, who.run_id, list(_failed(summary))):
        tell(said)


def _shadows(found: Surveyed, task: Task, who: Who) -> list[Record]:
    now = datetime.now(UTC)
    return [
        one for request in found.requests for one in shadow_records(task.spec, request, found.snapshot_id, who, now)
    ]


def _outcomes(ended: Ended, task: Task, who: Who) -> tuple[Record, ...]:
    if ended.before is None or ended.after is None:
        return unmeasured_records(ended.name, ended.outcomes, who, ended.ended)
    result = Maintained(ended.before, ended.after, ended.outcomes)
    files = task.asked.remove_orphan_files.max_files_per_record
    return outcome_records(task.spec, ended.operation, result, who, ended.ended, files=files)


def _failed(summary: Summary) -> Iterator[Failed]:
    """The tables that need somebody, by what of them failed."""
    for name, table in summary.bad.items():
        steps = [step for step in table.steps if step.on_hold or step.status in UNFINISHED]
        for step in steps:
            yield Failed(name, step.operation.value, tuple(map(date.fromisoformat, step.dates)), step.reason)
        if table.error or not steps:
            yield Failed(name, None, (), table.error or table.reason)

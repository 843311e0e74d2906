"""What is written down of an operation: one record for each outcome. Pure, but for who writes it."""

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Self
from uuid import uuid4

from iceberg_assets.health import Request, TableHealth
from iceberg_assets.history.saved import predicted, saved
from iceberg_assets.maintenance import Called, Maintained
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec

UNFINISHED = (Status.PARTIAL, Status.FAILED)
"""What has these is in the table of errors, too."""


@dataclass(frozen=True)
class Who:
    """Who ran an operation.

    Attributes:
        run_id: Dagster's; of a command, one of its own.
        process: its id on the host.
        profile: the name.
    """

    run_id: str
    process: int
    host: str
    profile: str

    @classmethod
    def here(cls, profile: Profile, run_id: str | None = None) -> Self:
        """This process."""
        return cls(run_id or uuid4().hex, os.getpid(), socket.gethostname(), profile.name)


@dataclass(frozen=True)
class Record:
    """One outcome.

    Attributes:
        who: ran it.
        at: when it ended.
        table: ``namespace.table``.
        operation: an :class:`Operation`'s value, or the name of a procedure that was called by hand.
        dates: those that the outcome is of; none: no date's in particular.
        shadow: it was planned, and nothing was done.
        predicted: figures of before, by metadata key; ``actual``: of afterwards.
        details: what else the outcome says, by metadata key: the files that an orphan removal took, a line each.
        snapshot_before, snapshot_after: main's head; None: it had none.
        digests: of each date, right afterwards.
        id: tells whether a record was read already, should a commit have been made twice.
    """

    who: Who
    at: datetime
    table: str
    operation: str
    dates: tuple[date, ...]
    status: Status
    reason: str
    productive: bool = False
    shadow: bool = False
    seconds: float = 0.0
    predicted: Mapping[str, float] = field(default_factory=dict)
    actual: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    snapshot_before: int | None = None
    snapshot_after: int | None = None
    digests: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: uuid4().hex)


@dataclass(frozen=True)
class Failure:
    """One line of the table of errors.

    Attributes:
        operation: None: it did not come to one.
        error: the exception's type, or the status that the operation ended with.
    """

    who: Who
    at: datetime
    table: str
    operation: str | None
    dates: tuple[date, ...]
    error: str
    message: str
    id: str = field(default_factory=lambda: uuid4().hex)

    @classmethod
    def of(cls, record: Record) -> Self:
        """Of an operation that ended without having done all."""
        return cls(
            record.who, record.at, record.table, record.operation, record.dates, record.status.value, record.reason
        )

    @classmethod
    def raised(
        cls, who: Who, at: datetime, spec: TableSpec, operation: str, dates: Sequence[date], error: Exception
    ) -> Self:
        """Of an operation that was cut short, or could not begin."""
        return cls(who, at, spec.name, operation, tuple(dates), type(error).__name__, str(error))


def outcome_records(
    spec: TableSpec, operation: Operation, result: Maintained, who: Who, now: datetime, *, files: int = 50
) -> tuple[Record, ...]:
    """A record for each outcome: of a compaction one a date, of an operation on the whole table one for all dates.

    The snapshots are those of the whole call, of however many dates it was.

    Args:
        files: so many are named in a record; outcomes themselves name 50.
    """
    alike = [(day,) for day in result.outcomes] if operation is Operation.COMPACT else [tuple(result.outcomes)]
    gains, foreseen = saved(spec, operation, result, now), predicted(operation, result)
    return tuple(
        _record(spec, result, days, who, now, gains.get(days[0], {}), foreseen.get(days[0], {}), files)
        for days in alike
        if days
    )


def _record(
    spec: TableSpec,
    result: Maintained,
    days: tuple[date, ...],
    who: Who,
    now: datetime,
    gains: Mapping[str, int],
    foreseen: Mapping[str, int],
    files: int,
) -> Record:
    outcome = result.outcomes[days[0]]
    figures = {key: float(value) for key, value in outcome.details.items() if isinstance(value, int | float)}
    return Record(
        who,
        now,
        spec.name,
        outcome.operation.value,
        days,
        outcome.status,
        outcome.reason,
        productive=outcome.productive,
        seconds=outcome.seconds,
        predicted=foreseen,
        actual={**{key: value for key, value in figures.items() if key not in foreseen}, **gains},
        details={key: _first(value, files) for key, value in outcome.details.items() if isinstance(value, str)},
        snapshot_before=result.before.snapshot_id,
        snapshot_after=result.after.snapshot_id,
        digests=tuple(_digest(result.after, outcome, day) for day in days),
    )


def _first(text: str, lines: int) -> str:
    return "\n".join(text.splitlines()[:lines])


def _digest(after: TableHealth, outcome: Outcome, day: date) -> str:
    """What a later plan tells a change by; none where the date was not left green, as ``Attempt.digest`` has it."""
    found = after.dates.get(day)
    return found.digest if found and outcome.green else ""


def unmeasured_records(table: str, outcomes: Mapping[date, Outcome], who: Who, now: datetime) -> tuple[Record, ...]:
    """Of an operation that left no health to measure it by: a record for each outcome, with all of its dates."""
    days_of: dict[int, list[date]] = {}
    for day, one in outcomes.items():
        days_of.setdefault(id(one), []).append(day)
    return tuple(
        Record(who, now, table, one.operation.value, tuple(days), one.status, one.reason, seconds=one.seconds)
        for days in days_of.values()
        if (one := outcomes[days[0]])
    )


def called_record(
    spec: TableSpec, called: Called, who: Who, now: datetime, seconds: float, before: int | None, after: int | None
) -> Record:
    """Of a procedure that was called by hand.

    Args:
        before: main's head; ``after``: likewise.
    """
    figures = {key: float(value) for key, value in called.details.items() if isinstance(value, int | float)}
    return Record(
        who,
        now,
        spec.name,
        called.procedure,
        (),
        called.status,
        called.reason,
        productive=called.status is Status.DONE,
        seconds=seconds,
        actual=figures,
        details={key: value for key, value in called.details.items() if isinstance(value, str)},
        snapshot_before=before,
        snapshot_after=after,
    )


def shadow_records(spec: TableSpec, request: Request, snapshot_id: int | None, who: Who, now: datetime) -> list[Record]:
    """What would have been started: a record for each of the request's operations."""
    return [
        Record(
            who,
            now,
            spec.name,
            operation.value,
            request.dates,
            Status.SKIPPED,
            request.reason,
            shadow=True,
            snapshot_before=snapshot_id,
            snapshot_after=snapshot_id,
        )
        for operation in request.operations
    ]

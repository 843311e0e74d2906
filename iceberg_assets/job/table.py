"""One table's turn in the job: what its plan asks for, operation by operation."""

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime

from iceberg_assets.errors import TableDroppedError
from iceberg_assets.health import TableHealth
from iceberg_assets.health.compaction_due import MOST_DATES
from iceberg_assets.job.overrides import Name
from iceberg_assets.job.survey import Surveyed
from iceberg_assets.job.task import Task
from iceberg_assets.maintenance import GC_BEFORE, Asked, LeaseTakenError, at_work, maintain, standing_hold
from iceberg_assets.maintenance.lease import one_lease
from iceberg_assets.maintenance.rewrite import RowsChangedError
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, jvm_has_ended
from iceberg_assets.spec import Operation, Outcome, Status
from iceberg_assets.spec.procedure import Value
from iceberg_assets.spec.table import format_identifier
from iceberg_assets.tables.target import existing_target, load_target

_LOG = logging.getLogger(__name__)
_LONGEST_REASON = 500


@dataclass(frozen=True)
class Ended:
    """One operation on one table, as it ended.

    Attributes:
        predicted: why the plan asked for it, with numbers.
        outcomes: by date; of an operation on the whole table the same for each.
        began, ended: in UTC.
        before, after: the table's health; None where the operation failed so early, or so badly, that there is none.
        on_hold: the table waits for a person.
    """

    table: Name
    operation: Operation
    predicted: str
    outcomes: Mapping[date, Outcome]
    began: datetime
    ended: datetime
    before: TableHealth | None = None
    after: TableHealth | None = None
    on_hold: bool = False

    @property
    def name(self) -> str:
        """``namespace.table`` for people."""
        return format_identifier(self.table)

    @property
    def status(self) -> Status:
        """The worst of all dates."""
        return min((one.status for one in self.outcomes.values()), key=_WORST_FIRST.index)

    @property
    def reason(self) -> str:
        """What came of it: for each sentence, the dates that it is about."""
        said: dict[str, list[date]] = {}
        for day, one in self.outcomes.items():
            said.setdefault(one.reason, []).append(day)
        if len(said) == 1:
            return next(iter(said))
        return "; ".join(f"{', '.join(map(str, days))}: {reason}" for reason, days in said.items())


_WORST_FIRST = (Status.FAILED, Status.PARTIAL, Status.SKIPPED, Status.DONE, Status.NOTHING_TO_DO)


@dataclass(frozen=True)
class Around:
    """What is the same for every table of a run.

    Attributes:
        spark: gives the session; called only where there is work for it.
        landing_places: folders in which raw files of declared tables land.
        profiles: of all declared tables.
        gc_handling: as the file says.
        stop: once it is set, no further operation begins.
    """

    spark: Session
    profile: Profile
    landing_places: Sequence[str]
    profiles: Sequence[Profile]
    gc_handling: bool
    stop: threading.Event


def carry_out(around: Around, found: Surveyed) -> Iterator[Ended]:
    """Do what is due of a table, in the order of :class:`Operation`; whatever goes wrong is an outcome.

    One thread does all of it: nothing is expired beside a rewrite of the same table.
    """
    task = found.task
    assert task is not None, "what is due has a task"
    _put_gc_back(around, task)
    steps = list(_steps(found))
    with _lease_over(around, task, steps) as leased:
        for operation, days in steps:
            if around.stop.is_set():
                return
            ended = _operate(around, found, task, operation, days, leased)
            yield ended
            # What comes after a rewrite that changed rows may take away what it would be taken back to.
            if ended.on_hold or any(one.rows_preserved is False for one in ended.outcomes.values()):
                return


_Step = tuple[Operation, Sequence[date]]


@contextmanager
def _lease_over(around: Around, task: Task, steps: Sequence[_Step]) -> Iterator[bool]:
    """One lease for several steps, and whether it is held; where it cannot be had, each of them says why."""
    leased = False
    with ExitStack() as stack:
        if len(steps) > 1:
            with suppress(Exception):
                stack.enter_context(one_lease(around.profile, task.spec, "the whole-catalog job"))
                leased = True
        yield leased


def _steps(found: Surveyed) -> Iterator[_Step]:
    """Operations with their dates: of a compaction so many at a time that a stop is not waited for all day."""
    for operation in Operation:
        days = sorted({day for one in found.requests if operation in one.operations for day in one.dates})
        size = MOST_DATES if operation is Operation.COMPACT else max(len(days), 1)
        for begin in range(0, len(days), size):
            yield operation, days[begin : begin + size]


def _operate(
    around: Around, found: Surveyed, task: Task, operation: Operation, days: Sequence[date], leased: bool
) -> Ended:
    began, clock = datetime.now(UTC), time.monotonic()
    predicted = "; ".join(one.reason for one in found.requests if operation in one.operations)

    def ended(outcome: Outcome, *, on_hold: bool = False) -> Ended:
        outcomes = dict.fromkeys(days, outcome)
        return Ended(found.table, operation, predicted, outcomes, began, datetime.now(UTC), on_hold=on_hold)

    try:
        existing_target(around.profile, task.spec)
    except TableDroppedError:
        return ended(Outcome(operation, Status.SKIPPED, "dropped since it was looked at"))
    except Exception as error:  # noqa: BLE001 (as below)
        return ended(Outcome(operation, Status.FAILED, words_of(error)))
    try:
        # Who has the lease alone could put the table on hold.
        if not leased and (hold := standing_hold(around.profile, task.spec)):
            held = Outcome(operation, Status.SKIPPED, f"on hold: {hold.holder}", retryable=True)
            return ended(held, on_hold=True)
        result = maintain(operation, around.spark, around.profile, task.spec, _asked(around, task, operation, days))
    except Exception as error:  # noqa: BLE001 (a table may be broken in any way, and the others have their turn)
        seconds = time.monotonic() - clock
        # A signal to the whole service ends both: that is no failure of the table's.
        if around.stop.is_set() and jvm_has_ended(patience=5):
            gone = "stopped, and Spark's JVM with it"
            return ended(Outcome(operation, Status.SKIPPED, gone, retryable=True, seconds=seconds))
        reason = "dropped by somebody in the middle of it" if _is_gone(around.profile, task) else words_of(error)
        return ended(Outcome(operation, Status.FAILED, reason, seconds=seconds))
    return Ended(
        found.table,
        operation,
        predicted,
        result.outcomes,
        began,
        datetime.now(UTC),
        result.before,
        result.after,
    )


def _asked(around: Around, task: Task, operation: Operation, days: Sequence[date]) -> Asked:
    values: dict[str, Value] = {}
    caching = task.asked.rewrite_manifests.use_caching
    if operation is Operation.REWRITE_MANIFESTS and caching is not None:
        values["use_caching"] = caching
    return Asked(
        days,
        datetime.now(UTC),
        values,
        landing_places=around.landing_places,
        profiles=around.profiles,
        where=task.asked.rewrite_data_files.where,
        gc_handling=around.gc_handling,
    )


def _put_gc_back(around: Around, task: Task) -> None:
    """Switch off again what a killed run left switched on; whoever is at work on the table does it himself.

    Raises:
        RowsChangedError: the killed run had a rewrite that changed rows.
    """
    try:
        table = load_target(around.profile, task.spec)
        if table is not None and GC_BEFORE in table.properties:
            with suppress(LeaseTakenError), at_work(around.spark, around.profile, task.spec, "gc.enabled put back"):
                pass
    except RowsChangedError:
        raise
    except Exception as error:  # noqa: BLE001 (the table's word stands, and the next run finds it)
        _LOG.warning("%s: gc.enabled is still switched on: %s", task.spec.name, words_of(error))


def _is_gone(profile: Profile, task: Task) -> bool:
    with suppress(Exception):
        return load_target(profile, task.spec) is None
    return False


def words_of(error: BaseException) -> str:
    """What is said of an error: its type, and its words as far as a page has room."""
    return f"{type(error).__name__}: {error}"[:_LONGEST_REASON]

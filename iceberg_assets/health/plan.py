"""``plan()``: what should be done to a table now, what waits, and why. Pure: no I/O and no clock of its own.

* Compaction is asked for where the planner's rule finds work on a quiet date: one request a run of neighbouring dates.
* Manifests, expiry and orphans are asked for together, in one request. They wait while compaction has work on quiet
  dates, since what it replaces is what they clear away; but no longer than ``maintenance.orphans.every``.
* Nothing is asked for twice: not while a run is at it, not after a run that gained nothing until the date changes,
  and after a failure only with growing distance.
* A table has so many compactions queued at most; where more are due, those that gain most come first.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property

from iceberg_assets.health.attempts import MOST_FAILURES, failures_in_a_row, fruitless, green, latest
from iceberg_assets.health.expiry import expirable, expire_arguments
from iceberg_assets.health.facts import DateHealth, TableHealth
from iceberg_assets.health.manifests import manifests_due
from iceberg_assets.health.outside import outside
from iceberg_assets.health.unit import Unit, unit_of
from iceberg_assets.spec import Attempt, Operation, Status, TableSpec
from iceberg_assets.spec.units import format_age, format_count

REST = (Operation.REWRITE_MANIFESTS, Operation.EXPIRE_SNAPSHOTS, Operation.REMOVE_ORPHANS)
"""The operations on the table as a whole, in the order in which they run."""

# A run over more dates would hold the table for long, and lose more when it dies.
MOST_DATES = 31
# They run one after another. More of them would only stand in everybody's queue, with reasons that grow old.
MOST_COMPACTIONS = 8

Running = Collection[tuple[Operation | None, date]]
"""What runs or is queued: operation and date; None is an append."""


@dataclass(frozen=True)
class _Part:
    """Operations on dates, and why they are asked for or not. Without dates it is about the table."""

    operations: tuple[Operation, ...]
    dates: tuple[date, ...]
    reason: str

    def __str__(self) -> str:
        return f"{', '.join(operation.value for operation in self.operations)}: {self.reason}"


class Request(_Part):
    """One run to start, on dates without a gap."""


@dataclass(frozen=True)
class Waiting(_Part):
    """What is not asked for.

    Attributes:
        stuck: it is due and does not succeed or does not pay: somebody should look.
    """

    stuck: bool = False


class Outside(Waiting):
    """What cannot be asked for, since no partition of the asset reaches it."""


@dataclass(frozen=True)
class Plan:
    """What to ask for now, and the reasons for everything else."""

    requests: tuple[Request, ...] = ()
    waiting: tuple[Waiting, ...] = ()

    def reason_of(self, operation: Operation, day: date) -> str:
        """Why an operation on a date is asked for, or is not."""
        parts: tuple[_Part, ...] = (*self.requests, *self.waiting)
        for one in parts:
            if isinstance(one, Outside):
                continue
            if operation in one.operations and (day in one.dates or not one.dates):
                return one.reason
        return "nothing is due"


def plan(
    spec: TableSpec,
    health: TableHealth | None,
    history: Sequence[Attempt],
    running: Running,
    now: datetime,
) -> Plan:
    """What to do to a table.

    Args:
        spec: the table's declaration.
        health: None: the table does not exist.
        history: earlier attempts, in any order; at least the latest of each operation and date.
        running: what runs or is queued now.
        now: with a zone.
    """
    if health is None or health.snapshot_id is None:
        reason = (
            f"{spec.name} does not exist yet: {spec.way_into_being}"
            if health is None
            else f"{spec.name} has no snapshot yet"
        )
        return Plan(waiting=(Waiting(tuple(Operation), (), reason),))
    look = _Look(spec, health, tuple(history), frozenset(running), now)
    verdicts = [verdict for day in sorted(health.dates) if (verdict := look.compaction(health.dates[day]))]
    compaction = look.turns(list(_chains(verdicts)))
    rest = look.rest(compaction)
    beyond = outside(spec, health, now)
    unreached = (Outside((Operation.COMPACT,), (), beyond),) if beyond else ()
    return Plan(compaction.requests + rest.requests, compaction.waiting + unreached + rest.waiting)


@dataclass(frozen=True)
class _Obstacle:
    """Why a date that is due is not asked for now."""

    reason: str
    stuck: bool = False


@dataclass(frozen=True)
class _Verdict:
    """A date in which the rule finds work; without an obstacle it may be asked for."""

    date: DateHealth
    obstacle: _Obstacle | None


def _chains(verdicts: Iterable[_Verdict]) -> Iterator[Sequence[_Verdict]]:
    """Neighbouring dates of which the same is to be said; each of them is one request, or one reason."""
    chain: list[_Verdict] = []
    for one in verdicts:
        follows = chain and one.date.day - chain[-1].date.day == timedelta(days=1)
        if chain and not (follows and one.obstacle == chain[-1].obstacle and len(chain) < MOST_DATES):
            yield chain
            chain = []
        chain.append(one)
    if chain:
        yield chain


def _asked(chain: Sequence[_Verdict]) -> Request:
    groups = [group for one in chain for group in one.date.groups]
    several = f" (the first of {len(groups)} groups)" if len(groups) > 1 else ""
    days = tuple(one.date.day for one in chain)
    return Request((Operation.COMPACT,), days, f"{_numbers(chain)}: {groups[0].reason}{several}")


def _held(chain: Sequence[_Verdict], obstacle: _Obstacle) -> Waiting:
    days = tuple(one.date.day for one in chain)
    return Waiting((Operation.COMPACT,), days, f"{_numbers(chain)}, {obstacle.reason}", obstacle.stuck)


def _gain(chain: Sequence[_Verdict]) -> int:
    return sum(one.date.small_files for one in chain)


def _numbers(chain: Sequence[_Verdict]) -> str:
    files = sum(one.date.data_files for one in chain)
    return f"{_days([one.date.day for one in chain])}: {format_count(files, 'file')}, {_gain(chain)} would go"


_Need = tuple[bool, str, _Obstacle | None]
"""Whether an operation on the table is due, the numbers behind it, and what stands against it."""


@dataclass(frozen=True)
class _Look:
    """One look at one table: everything that a decision may rest on."""

    spec: TableSpec
    health: TableHealth
    history: tuple[Attempt, ...]
    running: frozenset[tuple[Operation | None, date]]
    now: datetime

    # Compaction

    def compaction(self, found: DateHealth) -> _Verdict | None:
        """Whether a date is asked for; None: the rule finds nothing to do."""
        if not found.groups:
            return None
        newest, with_data = self._newest
        unit = unit_of(found.day, self.health.grain, newest=newest, newest_with_data=with_data)
        obstacle = (
            self._compaction_runs(unit)
            or self._is_written(unit)
            or self._is_not_quiet(found)
            or self._gained_nothing(found, unit)
            or self._failed_lately(self._attempts(Operation.COMPACT, unit))
        )
        return _Verdict(found, obstacle)

    def turns(self, chains: Sequence[Sequence[_Verdict]]) -> Plan:
        """Which of the chains are asked for now: those that gain most, as far as there is room in the queue."""
        if not chains:
            return Plan(waiting=(self._nothing_due(),))
        ready = sorted((chain for chain in chains if chain[0].obstacle is None), key=_gain, reverse=True)
        running = {day for operation, day in self.running if operation is Operation.COMPACT}
        queued = sum(day - timedelta(days=1) not in running for day in running)
        room = max(0, MOST_COMPACTIONS - queued)
        full = _Obstacle(
            f"waits for its turn: {format_count(queued + len(ready[:room]), 'compaction')} of the table come first"
        )
        asked = {chain[0].date.day for chain in ready[:room]}
        return Plan(
            tuple(_asked(chain) for chain in ready[:room]),
            tuple(_held(chain, chain[0].obstacle or full) for chain in chains if chain[0].date.day not in asked),
        )

    def _nothing_due(self) -> Waiting:
        """The numbers behind a table in which the rule finds nothing on any date."""
        held = f"{format_count(self.health.data_files, 'file')} on {format_count(len(self.health.dates), 'date')}"
        reason = f"no group of files is due: {held}, {self.health.small_files_waiting} small ones below the rule"
        return Waiting((Operation.COMPACT,), (), reason)

    def _compaction_runs(self, unit: Unit) -> _Obstacle | None:
        runs = any(operation is Operation.COMPACT and unit.covers(day) for operation, day in self.running)
        return _Obstacle("a compaction of it is running or queued") if runs else None

    def _is_written(self, unit: Unit) -> _Obstacle | None:
        written = any(operation is None and unit.covers(day) for operation, day in self.running)
        return _Obstacle("an append to it is running or queued") if written else None

    def _is_not_quiet(self, found: DateHealth) -> _Obstacle | None:
        if found.added_at is None or self.now - found.added_at >= self.spec.maintenance.quiet_for:
            return None
        quiet_for = format_age(self.spec.maintenance.quiet_for)
        return _Obstacle(f"data added {_ago(self.now - found.added_at)} ago, quiet after {quiet_for}")

    def _gained_nothing(self, found: DateHealth, unit: Unit) -> _Obstacle | None:
        for attempt in self._attempts(Operation.COMPACT, unit):
            if fruitless(attempt) and attempt.digest == found.digest:
                ago = _ago(self.now - attempt.ended)
                return _Obstacle(f"a run on the same files gained nothing {ago} ago", stuck=True)
        return None

    def _failed_lately(self, attempts: Sequence[Attempt]) -> _Obstacle | None:
        failures, again = failures_in_a_row(attempts)
        if again is None or self.now >= again:
            return None
        reason = f"failed {format_count(failures, 'time')} in a row, tried again in {_ago(again - self.now)}"
        return _Obstacle(reason, stuck=failures >= MOST_FAILURES)

    def _attempts(self, operation: Operation, unit: Unit | None = None) -> Sequence[Attempt]:
        """Of the operation, in the order of :attr:`history`; with a unit, those on any of its dates."""
        # Any of them: which one carries the unit may have changed since.
        by_day = self._history.get(operation, {})
        if unit and unit.first == unit.last and unit.first:
            return by_day.get(unit.first, ())
        return [one for day, attempts in by_day.items() if unit is None or unit.covers(day) for one in attempts]

    @cached_property
    def _newest(self) -> tuple[date, date]:
        """The newest partition of the asset, and the newest with data."""
        newest = self.spec.dates.last(self.now)
        return newest, max(self.health.dates, default=newest)

    @cached_property
    def _history(self) -> Mapping[Operation, Mapping[date, Sequence[Attempt]]]:
        found: dict[Operation, dict[date, list[Attempt]]] = {}
        for one in self.history:
            found.setdefault(one.operation, {}).setdefault(one.day, []).append(one)
        return found

    # Manifests, expiry, orphans

    def rest(self, compaction: Plan) -> Plan:
        """One request for all that is due of the rest."""
        wanted: list[Operation] = []
        reasons: list[str] = []
        waiting: list[Waiting] = []
        for operation, reason in ((one, self._due(one)) for one in REST):
            if isinstance(reason, Waiting):
                waiting.append(reason)
            else:
                wanted.append(operation)
                reasons.append(reason)
        if not wanted:
            return Plan(waiting=tuple(waiting))
        days = self._range(wanted)
        if not days:
            first = f"dates.start is {self.spec.dates.start}"
            return Plan(
                waiting=(Waiting(tuple(wanted), (), f"{'; '.join(reasons)}: no partition yet, {first}"), *waiting)
            )
        request = Request(tuple(wanted), days, "; ".join(reasons))
        if obstacle := self._rest_waits(compaction):
            held = Waiting(request.operations, request.dates, f"{request.reason}: {obstacle}")
            return Plan(waiting=(held, *waiting))
        return Plan((request,), tuple(waiting))

    def _due(self, operation: Operation) -> str | Waiting:
        """Why an operation is due, with numbers; or why it is not."""
        due, reason, obstacle = {
            Operation.REWRITE_MANIFESTS: self._manifests,
            Operation.EXPIRE_SNAPSHOTS: self._expiry,
            Operation.REMOVE_ORPHANS: self._orphans,
        }[operation]()
        if not due:
            return Waiting((operation,), (), reason)
        obstacle = obstacle or self._failed_lately(self._attempts(operation))
        return Waiting((operation,), (), f"{reason}: {obstacle.reason}", obstacle.stuck) if obstacle else reason

    def _manifests(self) -> _Need:
        """By :func:`manifests_due`."""
        found, obstacle = manifests_due(self.spec.maintenance.manifests, self.health), None
        if found.due and self._would_repeat(Operation.REWRITE_MANIFESTS):
            obstacle = _Obstacle("the last run gained nothing, and no date has changed since", stuck=True)
        return found.due, found.reason, obstacle

    def _expiry(self) -> _Need:
        """A snapshot that would go."""
        policy = self.spec.maintenance.expire
        going = expirable(self.health, policy, self.now)
        older_than, retain_last = expire_arguments(self.health, policy, self.now)
        rule = f"older than {_ago(self.now - older_than)} and not of the last {retain_last}"
        reason = f"{len(going)} of {format_count(len(self.health.snapshots), 'snapshot')} would go: {rule}"
        if not going:
            return False, reason, None
        last = latest(self._attempts(Operation.EXPIRE_SNAPSHOTS))
        if (
            last
            and self._would_repeat(Operation.EXPIRE_SNAPSHOTS)
            and expirable(self.health, policy, last.ended) == going
        ):
            return True, reason, _Obstacle("the last run removed none of them", stuck=True)
        return True, reason, None

    def _orphans(self) -> _Need:
        """Never looked for, not for ``every``, or a run has died since and may have left files."""
        every = self.spec.maintenance.orphans.every
        last = latest(one for one in self._attempts(Operation.REMOVE_ORPHANS) if green(one))
        if last is None:
            return True, "orphans were never looked for", None
        age = self.now - last.ended
        reason = f"orphans were looked for {_ago(age)} ago, due every {format_age(every)}"
        died = sum(one.status in (Status.FAILED, Status.PARTIAL) and one.ended > last.ended for one in self.history)
        if died:
            return True, f"{reason}, and {format_count(died, 'attempt')} failed since", None
        return age >= every, reason, None

    def _would_repeat(self, operation: Operation) -> bool:
        """Whether the operation's last run gained nothing, and no date has changed since."""
        last = latest(self._attempts(operation))
        return last is not None and fruitless(last) and not self._touched(operation)

    def _touched(self, operation: Operation) -> set[date]:
        """Dates that are not as the operation's last green run on them left them."""
        seen: dict[date, Attempt] = {}
        for one in self._attempts(operation):
            if green(one) and (one.day not in seen or one.ended > seen[one.day].ended):
                seen[one.day] = one
        return {day for day, found in self.health.dates.items() if day not in seen or seen[day].digest != found.digest}

    def _range(self, operations: Iterable[Operation]) -> tuple[date, ...]:
        """From the first to the last date touched; none: the newest with data, else the newest partition."""
        touched = {day for operation in operations for day in self._touched(operation)}
        if not touched:
            touched = {max(self.health.dates, default=self.spec.dates.last(self.now))}
        return tuple(self.spec.dates.between(min(touched), max(touched), self.now))

    def _rest_waits(self, compaction: Plan) -> str | None:
        busy = sorted({day for operation, day in self.running if operation in REST})
        if busy:
            return f"maintenance of the table is running or queued ({_days(busy)})"
        patience = self.spec.maintenance.orphans.every
        last = latest(one for operation in REST for one in self._attempts(operation) if green(one))
        since = last.ended if last else min(one.committed_at for one in self.health.snapshots)
        if self.now - since >= patience:
            return None
        compacting = sum(operation is Operation.COMPACT for operation, _ in self.running)
        if compacting:
            return f"waits for a running compaction of {format_count(compacting, 'date')}"
        due = sum(len(request.dates) for request in compaction.requests)
        return f"waits for the compaction of {format_count(due, 'date')}" if due else None


def _days(days: Sequence[date]) -> str:
    return str(days[0]) if len(days) == 1 else f"{days[0]} to {days[-1]}"


def _ago(age: timedelta) -> str:
    """A duration for people, in its largest whole unit."""
    seconds = max(0, round(age.total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"

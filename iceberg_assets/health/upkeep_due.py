"""Whether manifests, snapshots and orphans are seen to now, and why. Pure."""

from collections.abc import Iterable
from datetime import date

from iceberg_assets.health.attempts import fruitless, green, latest
from iceberg_assets.health.decision import Obstacle, Plan, Request, Waiting, ago, in_words
from iceberg_assets.health.expiry import expirable, expire_arguments
from iceberg_assets.health.look import Look
from iceberg_assets.health.manifests import manifests_due
from iceberg_assets.spec import Attempt, Operation, Status
from iceberg_assets.spec.units import format_age, format_count

REST = (Operation.REWRITE_MANIFESTS, Operation.EXPIRE_SNAPSHOTS, Operation.REMOVE_ORPHANS)
"""The operations on the table as a whole, in the order in which they run."""

_Need = tuple[bool, str, Obstacle | None]
"""Whether an operation is due, the numbers behind it, and what stands against it."""


def upkeep(look: Look, compaction: Plan, operations: Iterable[Operation] = REST) -> Plan:
    """One request for all that is due of the rest.

    Args:
        compaction: what it waits for.
        operations: those that may be asked for, in the order in which they run.
    """
    wanted: list[Operation] = []
    reasons: list[str] = []
    waiting: list[Waiting] = []
    for operation, reason in ((one, _due(look, one)) for one in operations):
        if isinstance(reason, Waiting):
            waiting.append(reason)
        else:
            wanted.append(operation)
            reasons.append(reason)
    if not wanted:
        return Plan(waiting=tuple(waiting))
    days = _range(look, wanted)
    if not days:
        first = f"dates.start is {look.spec.dates.start}"
        return Plan(waiting=(Waiting(tuple(wanted), (), f"{'; '.join(reasons)}: no partition yet, {first}"), *waiting))
    request = Request(tuple(wanted), days, "; ".join(reasons))
    if obstacle := _waits_for(look, compaction):
        held = Waiting(request.operations, request.dates, f"{request.reason}: {obstacle}")
        return Plan(waiting=(held, *waiting))
    return Plan((request,), tuple(waiting))


def _due(look: Look, operation: Operation) -> str | Waiting:
    """Why an operation is due, with numbers; or why it is not."""
    due, reason, obstacle = {
        Operation.REWRITE_MANIFESTS: _manifests,
        Operation.EXPIRE_SNAPSHOTS: _expiry,
        Operation.REMOVE_ORPHANS: _orphans,
    }[operation](look)
    if not due:
        return Waiting((operation,), (), reason)
    obstacle = obstacle or look.failed_lately(look.attempts(operation))
    return Waiting((operation,), (), f"{reason}: {obstacle.reason}", obstacle.stuck) if obstacle else reason


def _manifests(look: Look) -> _Need:
    """By :func:`manifests_due`."""
    found, obstacle = manifests_due(look.spec.maintenance.manifests, look.health), None
    if found.due and _would_repeat(look, Operation.REWRITE_MANIFESTS):
        obstacle = Obstacle("the last run gained nothing, and no date has changed since", stuck=True)
    return found.due, found.reason, obstacle


def _expiry(look: Look) -> _Need:
    """A snapshot that would go."""
    policy = look.spec.maintenance.expire
    going = expirable(look.health, policy, look.now)
    older_than, retain_last = expire_arguments(look.health, policy, look.now)
    rule = f"older than {ago(look.now - older_than)} and not of the last {retain_last}"
    reason = f"{len(going)} of {format_count(len(look.health.snapshots), 'snapshot')} would go: {rule}"
    if not going:
        return False, reason, None
    last = latest(look.attempts(Operation.EXPIRE_SNAPSHOTS))
    if last and _would_repeat(look, Operation.EXPIRE_SNAPSHOTS) and expirable(look.health, policy, last.ended) == going:
        return True, reason, Obstacle("the last run removed none of them", stuck=True)
    return True, reason, None


def _orphans(look: Look) -> _Need:
    """Never looked for, not for ``every``, or a run has died since and may have left files."""
    every = look.spec.maintenance.orphans.every
    last = latest(one for one in look.attempts(Operation.REMOVE_ORPHANS) if green(one))
    if last is None:
        return True, "orphans were never looked for", None
    age = look.now - last.ended
    reason = f"orphans were looked for {ago(age)} ago, due every {format_age(every)}"
    died = sum(one.status in (Status.FAILED, Status.PARTIAL) and one.ended > last.ended for one in look.history)
    if died:
        return True, f"{reason}, and {format_count(died, 'attempt')} failed since", None
    return age >= every, reason, None


def _would_repeat(look: Look, operation: Operation) -> bool:
    """Whether the operation's last run gained nothing, and no date has changed since."""
    last = latest(look.attempts(operation))
    return last is not None and fruitless(last) and not _touched(look, operation)


def _touched(look: Look, operation: Operation) -> set[date]:
    """Dates that are not as the operation's last green run on them left them."""
    seen: dict[date, Attempt] = {}
    for one in look.attempts(operation):
        if green(one) and (one.day not in seen or one.ended > seen[one.day].ended):
            seen[one.day] = one
    return {day for day, found in look.health.dates.items() if day not in seen or seen[day].digest != found.digest}


def _range(look: Look, operations: Iterable[Operation]) -> tuple[date, ...]:
    """From the first to the last date touched; none: the newest with data, else the newest partition."""
    touched = {day for operation in operations for day in _touched(look, operation)}
    if not touched:
        touched = {look.health.newest_with_data or look.spec.dates.last(look.now)}
    return tuple(look.spec.dates.between(min(touched), max(touched), look.now))


def _waits_for(look: Look, compaction: Plan) -> str | None:
    busy = sorted({day for operation, day in look.running if operation in REST})
    if busy:
        return f"maintenance of the table is running or queued ({in_words(busy)})"
    patience = look.spec.maintenance.orphans.every
    last = latest(one for operation in REST for one in look.attempts(operation) if green(one))
    since = last.ended if last else min(one.committed_at for one in look.health.snapshots)
    if look.now - since >= patience:
        return None
    compacting = sum(operation is Operation.COMPACT for operation, _ in look.running)
    if compacting:
        return f"waits for a running compaction of {format_count(compacting, 'date')}"
    due = sum(len(request.dates) for request in compaction.requests)
    return f"waits for the compaction of {format_count(due, 'date')}" if due else None

"""What is checked of a table's maintenance: whether it is done, whether it gains, whether it is alone. Pure functions.

All of it changes with time and with runs, without a commit to the table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from iceberg_assets.health import Plan, Request, TableHealth, Waiting, expirable, expire_arguments
from iceberg_assets.health.attempts import MOST_FAILURES, by_operation, failures_in_a_row, green, latest
from iceberg_assets.orchestration.checks.figure import Figure, in_seconds
from iceberg_assets.spec import Attempt, Operation, Status, TableSpec
from iceberg_assets.spec.units import format_age, format_count

_NAMED = 3
"""So many reasons are told; the rest is counted."""


@dataclass(frozen=True)
class Upkeep:
    """How a table is looked after.

    Attributes:
        plan: what is asked for and what waits.
        history: the attempts that the plan rests on.
        pool: the pool of the table's maintenance, and its limit in the instance; None: unlimited.
        orphans: what the last materialization of 'orphans_removed' said; empty: there is none.
    """

    spec: TableSpec
    health: TableHealth
    plan: Plan
    history: Sequence[Attempt]
    pool: tuple[str, int | None]
    orphans: str
    now: datetime


def _snapshots_overdue(seen: Upkeep) -> Figure:
    policy, listed = seen.spec.maintenance.expire, sorted(seen.health.snapshots, key=lambda one: one.committed_at)
    oldest = in_seconds(seen.now - listed[0].committed_at) if listed else timedelta(0)
    going = expirable(seen.health, policy, seen.now)
    if not going:
        return Figure(timedelta(0), f"no snapshot is due to expire; the oldest is {format_age(oldest)} old")
    older_than, keep = expire_arguments(seen.health, policy, seen.now)
    # Old enough is not all: it was kept as one of the last until so many came after it.
    position = min(listed.index(going[0]) + keep, len(listed) - 1)
    since = max(going[0].committed_at + (seen.now - older_than), listed[position].committed_at)
    overdue = in_seconds(max(seen.now - since, timedelta(0)))
    return Figure(
        overdue,
        f"{format_count(len(going), 'snapshot')} of {len(listed)} should have expired, the first for "
        f"{format_age(overdue)}; the oldest is {format_age(oldest)} old",
        "materialize 'snapshots_expired'; the tick of its sensor tells what it waits for",
        {"iceberg/oldest_snapshot_seconds": round(oldest.total_seconds())},
    )


def _orphans(seen: Upkeep) -> Figure:
    last = latest(one for one in seen.history if one.operation is Operation.REMOVE_ORPHANS)
    if last is None:
        return Figure(0, "orphans were never looked for")
    age = format_age(in_seconds(seen.now - last.ended))
    if last.status in (Status.DONE, Status.NOTHING_TO_DO):
        return Figure(0, f"{seen.orphans or last.status.value}, {age} ago")
    what = seen.orphans if green(last) else "the last run failed, and its error names what is left"
    return Figure(1, f"{last.status.value} {age} ago: {what}", "mend that, and materialize 'orphans_removed'")


def _orphans_overdue(seen: Upkeep) -> Figure:
    every = seen.spec.maintenance.orphans.every
    last = latest(one for one in seen.history if one.operation is Operation.REMOVE_ORPHANS and green(one))
    # A table that nobody ever looked through is as old as its oldest snapshot, at least.
    since = last.ended if last else min((one.committed_at for one in seen.health.snapshots), default=seen.now)
    age = in_seconds(seen.now - since)
    overdue = max(age - every, timedelta(0))
    words = f"looked for {format_age(age)} ago" if last else f"never looked for in the {format_age(age)} that are known"
    return Figure(
        overdue,
        f"orphans were {words}, due every {format_age(every)}"
        + (f": overdue by {format_age(overdue)}" if overdue else ""),
        "materialize 'orphans_removed', or start the sensor iceberg_upkeep",
        {"iceberg/orphans_looked_for_seconds": round(age.total_seconds())},
    )


def _unproductive(seen: Upkeep) -> Figure:
    """What the plan calls stuck. It stays so while it is tried once more, and while its dates are written to."""
    history = by_operation(seen.history)

    def keeps_failing(part: Request | Waiting) -> bool:
        tries = (history.get(operation, {}).get(day, ()) for operation in part.operations for day in part.dates)
        return any(failures_in_a_row(one)[0] >= MOST_FAILURES for one in tries)

    called = [one for one in seen.plan.waiting if one.stuck]
    tried: list[Request | Waiting] = [*seen.plan.requests, *(one for one in seen.plan.waiting if not one.stuck)]
    stuck = [*called, *(one for one in tried if keeps_failing(one))]
    if not stuck:
        return Figure(0, "no maintenance fails again and again, and none ran without a gain on what is due")
    more = f", and {len(stuck) - _NAMED} more" if len(stuck) > _NAMED else ""
    return Figure(
        len(stuck),
        "; ".join(str(one) for one in stuck[:_NAMED]) + more,
        "see the error or the iceberg/reason of the last run on these dates, mend what it names (a setting under "
        "maintenance.compact.options, a file, somebody who writes meanwhile), and materialize the dates by hand",
    )


def _pool_limit(seen: Upkeep) -> Figure:
    name, limit = seen.pool
    if limit == 1:
        return Figure(0, f"pool {name} runs one at a time")
    return Figure(
        1,
        f"pool {name} {'has no limit' if limit is None else f'has a limit of {limit}'}: two rewrites of the table may "
        "run at once, and one of them fails",
        f"set concurrency.pools.default_limit: 1 in dagster.yaml, or: dagster instance concurrency set {name} 1",
    )


# Check name, which is also its key under ``checks`` in the YAML: what it is about, and how it is measured.
OF_UPKEEP: dict[str, tuple[str, Callable[[Upkeep], Figure]]] = {
    "snapshots_overdue": ("For how long expiry should have removed the first snapshot.", _snapshots_overdue),
    "orphans": ("What came of the last search for orphans. It lists nothing itself.", _orphans),
    "orphans_overdue": ("For how long orphans should have been looked for, beyond orphans.every.", _orphans_overdue),
    "unproductive_maintenance": ("Work that fails again and again, or gains nothing.", _unproductive),
    "pool_limit": ("Whether the instance lets one rewrite of the table run at a time.", _pool_limit),
}

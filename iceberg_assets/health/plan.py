"""``plan()``: what should be done to a table now, what waits, and why. Pure: no I/O and no clock of its own.

* Compaction is asked for where the planner's rule finds work on a quiet date: one request a run of neighbouring dates.
* Manifests, expiry and orphans are asked for together, in one request. They wait while compaction has work on quiet
  dates, since what it replaces is what they clear away; but no longer than ``maintenance.orphans.every``.
* Nothing is asked for twice: not while a run is at it, not after a run that gained nothing until the date changes,
  and after a failure only with growing distance.
* Where a rewrite has changed rows, nothing is asked for until a person has settled it.
* A table has so many compactions queued at most; where more are due, those that gain most come first.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from iceberg_assets.health.compaction_due import compaction
from iceberg_assets.health.decision import Outside, Plan, Running, Waiting
from iceberg_assets.health.facts import TableHealth
from iceberg_assets.health.hold import Doubted, on_hold
from iceberg_assets.health.look import Look
from iceberg_assets.health.outside import outside
from iceberg_assets.health.upkeep_due import REST, upkeep
from iceberg_assets.spec import Attempt, Operation, TableSpec


def plan(
    spec: TableSpec,
    health: TableHealth | None,
    history: Sequence[Attempt],
    running: Running,
    now: datetime,
    doubted: Doubted = (),
    *,
    operations: Collection[Operation] = tuple(Operation),
    at_once: bool = False,
) -> Plan:
    """What to do to a table.

    Args:
        spec: the table's declaration.
        health: None: the table does not exist.
        history: earlier attempts, in any order; at least the latest of each operation and date.
        running: what runs or is queued now.
        now: with a zone.
        doubted: the rewrites that changed rows and are not settled.
        operations: those that may be asked for; nothing is said of the others.
        at_once: who asks does all of it, one after the other: no compaction has to wait for its turn, and the rest does
            not wait for compaction.
    """
    if health is None or health.snapshot_id is None:
        reason = (
            f"{spec.name} does not exist yet: {spec.way_into_being}"
            if health is None
            else f"{spec.name} has no snapshot yet"
        )
        return Plan(waiting=(Waiting(tuple(operations), (), reason),))
    if hold := on_hold(doubted):
        return Plan(waiting=(Waiting(tuple(operations), (), hold),))
    look = Look(spec, health, tuple(history), frozenset(running), now, at_once)
    compacts = Operation.COMPACT in operations
    compacted = compaction(look) if compacts else Plan()
    rest = upkeep(look, Plan() if at_once else compacted, [one for one in REST if one in operations])
    beyond = outside(spec, health, now) if compacts else None
    unreached = (Outside((Operation.COMPACT,), (), beyond),) if beyond else ()
    return Plan(compacted.requests + rest.requests, compacted.waiting + unreached + rest.waiting)

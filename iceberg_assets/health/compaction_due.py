"""Which dates are compacted now, which wait, and why. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from iceberg_assets.health.attempts import fruitless
from iceberg_assets.health.decision import Obstacle, Plan, Request, Waiting, ago, in_words
from iceberg_assets.health.facts import DateHealth
from iceberg_assets.health.look import Look
from iceberg_assets.health.unit import Unit, compaction_unit
from iceberg_assets.spec import Operation
from iceberg_assets.spec.units import format_age, format_count

# A run over more dates would hold the table for long, and lose more when it dies.
MOST_DATES = 31
# They run one after another. More of them would only stand in everybody's queue, with reasons that grow old.
MOST_COMPACTIONS = 8


def compaction(look: Look) -> Plan:
    """The dates in which the planner's rule finds work: asked for where they are quiet and nothing is against it."""
    verdicts = [verdict for _, found in sorted(look.health.dates.items()) if (verdict := _verdict(look, found))]
    return _turns(look, list(_chains(_once(verdicts))))


@dataclass(frozen=True)
class _Verdict:
    """A date in which the rule finds work; without an obstacle it may be asked for."""

    date: DateHealth
    unit: Unit
    obstacle: Obstacle | None
    in_flight: bool = False

    @property
    def files(self) -> set[str]:
        """The paths of those that are due."""
        return {file.path for group in self.date.groups for file in group.files}


def _verdict(look: Look, found: DateHealth) -> _Verdict | None:
    """Whether a date is asked for; None: the rule finds nothing to do."""
    if not found.groups:
        return None
    unit = compaction_unit(look.spec, look.health, found.day, look.now)
    running = _in_flight(look, unit, Operation.COMPACT, "a compaction of it")
    obstacle = (
        running
        or _in_flight(look, unit, None, "an append to it")
        or _is_not_quiet(look, found)
        or _gained_nothing(look, found, unit)
        or look.failed_lately(look.attempts(Operation.COMPACT, unit))
    )
    return _Verdict(found, unit, obstacle, in_flight=running is not None)


def _once(verdicts: Sequence[_Verdict]) -> Iterator[_Verdict]:
    """The same verdicts, but where all files of a date go with another one, it waits for that.

    Files of an older partition spec hold rows of many dates, or of nobody knows which, and whatever date is rewritten
    first takes them.
    """
    taken: dict[str, date] = {}
    waiting: dict[date, date] = {}
    for one in sorted(verdicts, key=lambda one: (not one.in_flight, -one.date.small_files, one.date.day)):
        if one.in_flight or one.obstacle is None:
            files = one.files
            if not one.in_flight and files <= taken.keys():
                waiting[one.date.day] = taken[min(files)]
            else:
                taken |= dict.fromkeys(files - taken.keys(), one.date.day)
    for one in verdicts:
        other = waiting.get(one.date.day)
        yield replace(one, obstacle=Obstacle(f"its files go with those of {other}")) if other else one


def _turns(look: Look, chains: Sequence[Sequence[_Verdict]]) -> Plan:
    """Which of the chains are asked for now: those that gain most, as far as there is room in the queue."""
    if not chains:
        return Plan(waiting=(_nothing_due(look),))
    ready = sorted((chain for chain in chains if chain[0].obstacle is None), key=_gain, reverse=True)
    running = {day for operation, day in look.running if operation is Operation.COMPACT}
    queued = sum(day - timedelta(days=1) not in running for day in running)
    room = len(ready) if look.at_once else max(0, MOST_COMPACTIONS - queued)
    full = Obstacle(
        f"waits for its turn: {format_count(queued + len(ready[:room]), 'compaction')} of the table come first"
    )
    asked = {chain[0].date.day for chain in ready[:room]}
    return Plan(
        tuple(_asked(chain) for chain in ready[:room]),
        tuple(_held(chain, chain[0].obstacle or full) for chain in chains if chain[0].date.day not in asked),
    )


def _nothing_due(look: Look) -> Waiting:
    """The numbers behind a table in which the rule finds nothing on any date."""
    held = format_count(look.health.data_files, "file")
    if look.spec.dates.column is not None:
        held += f" on {format_count(len(look.health.dates), 'date')}"
    reason = f"no group of files is due: {held}, {look.health.small_files_waiting} small ones below the rule"
    return Waiting((Operation.COMPACT,), (), reason)


def _in_flight(look: Look, unit: Unit, wanted: Operation | None, what: str) -> Obstacle | None:
    found = any(operation is wanted and unit.covers(day) for operation, day in look.running)
    return Obstacle(f"{what} is running or queued") if found else None


def _is_not_quiet(look: Look, found: DateHealth) -> Obstacle | None:
    if found.added_at is None or look.now - found.added_at >= look.spec.maintenance.quiet_for:
        return None
    quiet_for = format_age(look.spec.maintenance.quiet_for)
    return Obstacle(f"data added {ago(look.now - found.added_at)} ago, quiet after {quiet_for}")


def _gained_nothing(look: Look, found: DateHealth, unit: Unit) -> Obstacle | None:
    for attempt in look.attempts(Operation.COMPACT, unit):
        if fruitless(attempt) and attempt.digest == found.digest:
            return Obstacle(f"a run on the same files gained nothing {ago(look.now - attempt.ended)} ago", stuck=True)
    return None


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


def _held(chain: Sequence[_Verdict], obstacle: Obstacle) -> Waiting:
    days = tuple(one.date.day for one in chain)
    return Waiting((Operation.COMPACT,), days, f"{_numbers(chain)}, {obstacle.reason}", obstacle.stuck)


def _gain(chain: Sequence[_Verdict]) -> int:
    return sum(one.date.small_files for one in chain)


def _numbers(chain: Sequence[_Verdict]) -> str:
    files = sum(one.date.data_files for one in chain)
    whole = chain[0].unit.first is None
    where = "the whole table" if whole else in_words([one.date.day for one in chain])
    return f"{where}: {format_count(files, 'file')}, {_gain(chain)} would go"

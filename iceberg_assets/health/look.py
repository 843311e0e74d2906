"""One look at one table: everything that a decision may rest on, and what its history tells. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property

from iceberg_assets.health.attempts import MOST_FAILURES, by_operation, failures_in_a_row
from iceberg_assets.health.decision import Obstacle, ago
from iceberg_assets.health.facts import TableHealth
from iceberg_assets.health.unit import Unit
from iceberg_assets.spec import Attempt, Operation, TableSpec
from iceberg_assets.spec.units import format_count


@dataclass(frozen=True)
class Look:
    """One look at one table: everything that a decision may rest on.

    Attributes:
        at_once: as :func:`plan` has it.
    """

    spec: TableSpec
    health: TableHealth
    history: tuple[Attempt, ...]
    running: frozenset[tuple[Operation | None, date]]
    now: datetime
    at_once: bool = False

    def failed_lately(self, attempts: Sequence[Attempt]) -> Obstacle | None:
        """Whether these, of one operation, say that it is too early to try it again."""
        failures, again = failures_in_a_row(attempts)
        if again is None or self.now >= again:
            return None
        reason = f"failed {format_count(failures, 'time')} in a row, tried again in {ago(again - self.now)}"
        return Obstacle(reason, stuck=failures >= MOST_FAILURES)

    def attempts(self, operation: Operation, unit: Unit | None = None) -> Sequence[Attempt]:
        """Of the operation, in the order of :attr:`history`; with a unit, those on any of its dates."""
        # Any of them: which one carries the unit may have changed since.
        by_day = self._history.get(operation, {})
        if unit and unit.first == unit.last and unit.first:
            return by_day.get(unit.first, ())
        return [one for day, attempts in by_day.items() if unit is None or unit.covers(day) for one in attempts]

    @cached_property
    def _history(self) -> Mapping[Operation, Mapping[date, Sequence[Attempt]]]:
        return by_operation(self.history)

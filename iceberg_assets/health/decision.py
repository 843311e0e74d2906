"""What a plan is made of: what is asked for, what waits, and why, in words with numbers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from iceberg_assets.spec import Operation

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


@dataclass(frozen=True)
class Obstacle:
    """Why a date that is due is not asked for now."""

    reason: str
    stuck: bool = False


def in_words(days: Sequence[date]) -> str:
    """Neighbouring dates: the first and the last."""
    return str(days[0]) if len(days) == 1 else f"{days[0]} to {days[-1]}"


def ago(age: timedelta) -> str:
    """A duration for people, in its largest whole unit."""
    seconds = max(0, round(age.total_seconds()))
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"

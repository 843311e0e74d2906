"""What a seed stands for: who is killed when, over which files. Pure, so that a printed seed replays its round."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

from iceberg_assets.tables.publish import STEPS

DAYS = tuple(date(2013, 1, 1) + timedelta(days=n) for n in range(5))

Landing = Mapping[date, tuple[int, ...]]
"""By date: the rows of each file to land."""


@dataclass(frozen=True)
class Moment:
    """When a runner is killed.

    Attributes:
        kind: ``at`` a step, where it stands still; ``after`` one, on its way to the next; in a ``task`` of Spark while
            it stages; or any time after the ``start`` of the append.
        step: of ``at`` and ``after``.
        delay: of ``after`` and ``start``, in seconds.
    """

    kind: Literal["at", "after", "task", "start"]
    step: str = ""
    delay: float = 0.0

    def __str__(self) -> str:
        match self.kind:
            case "at":
                return f"at {self.step}"
            case "after":
                return f"{self.delay * 1000:.0f} ms after {self.step}"
            case "task":
                return "in a Spark task"
            case "start":
                return f"{self.delay:.2f} s after the start"


@dataclass(frozen=True)
class KillRound:
    """One append that is killed, and what its successor meets.

    Attributes:
        moment: of the kill.
        again: where in its recovery the successor is killed as well.
        overdue: whether the successor comes after the claim's deadline, or meets a claim that may be alive.
        replaces: what is landed is appended first; the kill and what follows is a replacement of these dates.
    """

    seed: int
    landing: Landing
    moment: Moment
    again: Literal["confirmed", "abandoned"] | None = None
    overdue: bool = False
    replaces: bool = False


@dataclass(frozen=True)
class BarrierRound:
    """Two appends at once, of overlapping dates.

    Attributes:
        barrier: the step where the two wait for each other.
        left: the dates of the one.
        right: of the other.
    """

    seed: int
    landing: Landing
    barrier: str
    left: tuple[date, ...]
    right: tuple[date, ...]


# Any six in a row are of six kinds, and any fourteen of all; each third round replaces, so that all kinds come to it.
_KINDS = (
    "branched", "task", "checked", "recovery", "picked", "random",
    "staged", "claimed", "confirmed", "task", "reread", "frozen", "recovered", "cleared",
)  # fmt: skip


def kill_round(seed: int) -> KillRound:
    """The round of kills that a seed stands for."""
    # Not for secrets: a seed has to give the same round again.
    rng = random.Random(f"kill {seed}")
    days = rng.sample(DAYS, rng.randint(1, 3))
    kind = _KINDS[seed % len(_KINDS)]
    # Staging many small files keeps Spark's tasks busy for long enough to be met there.
    files = rng.randint(60, 100) if kind == "task" else rng.randint(1, 3)
    landing = {day: tuple(rng.randint(1, 20) for _ in range(files)) for day in sorted(days)}
    overdue, replaces = rng.random() < 0.5, seed % 3 == 2
    match kind:
        case "task":
            return KillRound(seed, landing, Moment("task"), overdue=overdue, replaces=replaces)
        case "recovery":
            again: Literal["confirmed", "abandoned"] = rng.choice(("confirmed", "abandoned"))
            step = "picked" if again == "confirmed" else rng.choice(("branched", "staged", "checked"))
            return KillRound(seed, landing, Moment("at", step), again, overdue=True, replaces=replaces)
        case "random":
            moment = rng.choice(
                (
                    Moment("start", delay=rng.uniform(0, 4)),
                    Moment("after", rng.choice(STEPS[:-1]), rng.uniform(0, 0.4)),
                )
            )
            return KillRound(seed, landing, moment, overdue=overdue, replaces=replaces)
        case step:
            return KillRound(seed, landing, Moment("at", step), overdue=overdue, replaces=replaces)


def barrier_round(seed: int) -> BarrierRound:
    """The round of two at once that a seed stands for: each has a date of its own, and they share one or more."""
    rng = random.Random(f"barrier {seed}")
    mine, yours, *shared = rng.sample(DAYS, rng.randint(3, 5))
    landing = {day: tuple(rng.randint(1, 20) for _ in range(rng.randint(1, 3))) for day in (mine, yours, *shared)}
    barrier = ("checked", "frozen", "staged", "recovered", "reread")[seed % 5]
    return BarrierRound(seed, landing, barrier, (mine, *shared), (yours, *shared))

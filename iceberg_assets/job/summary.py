"""What a run came to, table by table: gathered as it happens, in words that are short enough for a page. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from iceberg_assets.health import TableHealth
from iceberg_assets.job.run import Event, Left
from iceberg_assets.job.survey import Surveyed
from iceberg_assets.job.table import Ended
from iceberg_assets.spec import Operation, Status
from iceberg_assets.spec.table import format_identifier

NAMED = 20
"""So many tables that need somebody are named; what is on a page has to stay readable."""
_LONGEST_REASON = 500

Verdict = Literal[
    "done", "nothing_to_do", "planned", "waiting", "skipped", "unfinished", "partial", "on_hold", "failed"
]


@dataclass(frozen=True)
class Step:
    """One operation of a table; ids of snapshots are before and after, None where there was none."""

    operation: Operation
    status: Status
    reason: str
    dates: Sequence[str]
    seconds: float
    snapshots: tuple[int | None, int | None]
    passing: bool
    on_hold: bool

    @classmethod
    def of(cls, ended: Ended) -> "Step":
        """What is kept of it: without the files of the table."""
        return cls(
            ended.operation,
            ended.status,
            ended.reason[:_LONGEST_REASON],
            [day.isoformat() for day in ended.outcomes],
            round((ended.ended - ended.began).total_seconds(), 3),
            (_snapshot(ended.before), _snapshot(ended.after)),
            any(one.retryable for one in ended.outcomes.values()),
            ended.on_hold,
        )


def _snapshot(health: TableHealth | None) -> int | None:
    return health.snapshot_id if health else None


@dataclass
class TableSummary:
    """One table: what was seen of it, what was done, and what broke its turn off."""

    looked: Surveyed
    steps: list[Step] = field(default_factory=list)
    error: str | None = None

    @property
    def verdict(self) -> Verdict:
        """The worst that is to be said of it."""
        if self.looked.verdict != "due":
            return self.looked.verdict
        found = {step.status for step in self.steps}
        requests = self.looked.requests
        asked = {(one, str(day)) for request in requests for one in request.operations for day in request.dates}
        ended = {(step.operation, day) for step in self.steps for day in step.dates}
        first: dict[Verdict, bool] = {
            "on_hold": any(step.on_hold for step in self.steps),
            "failed": self.error is not None or Status.FAILED in found,
            "partial": Status.PARTIAL in found,
            "unfinished": asked != ended,
            "waiting": any(step.passing for step in self.steps),
            # Where nothing was asked for, gc.enabled was put back.
            "done": Status.DONE in found or not found,
            "skipped": Status.SKIPPED in found,
            "nothing_to_do": True,
        }
        return next(verdict for verdict, holds in first.items() if holds)

    @property
    def reason(self) -> str:
        """Why, with numbers."""
        bad = [step for step in self.steps if step.status not in (Status.DONE, Status.NOTHING_TO_DO)]
        said = [f"{step.operation.value}: {step.reason}" for step in bad or self.steps]
        return "; ".join([self.error, *said] if self.error else said) or self.looked.reason


@dataclass
class Summary:
    """All tables, by name."""

    tables: dict[str, TableSummary] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Take in what happened."""
        if isinstance(event, Surveyed):
            self.tables[event.name] = TableSummary(event)
        elif isinstance(event, Ended):
            self.tables[event.name].steps.append(Step.of(event))
        elif isinstance(event, Left):
            self.tables[format_identifier(event.table)].error = event.error

    @property
    def counts(self) -> Counter[str]:
        """How many tables and views there are of each verdict, none included."""
        counts = Counter[str](dict.fromkeys(get_args(Verdict), 0))
        counts.update(one.verdict for one in self.tables.values())
        return counts

    @property
    def counted(self) -> str:
        """The same for people, of the verdicts that there are."""
        return ", ".join(f"{number} {one.replace('_', ' ')}" for one, number in self.counts.items() if number)

    @property
    def bad(self) -> dict[str, TableSummary]:
        """The tables that need somebody: the job has failed where there is one."""
        return {name: one for name, one in self.tables.items() if one.verdict in ("failed", "partial", "on_hold")}

    def complaints(self) -> Iterator[str]:
        """A line for each of the bad ones, as many as are readable."""
        bad = self.bad
        for name, one in list(bad.items())[:NAMED]:
            yield f"{name}: {one.verdict}: {one.reason[:_LONGEST_REASON]}"
        if len(bad) > NAMED:
            yield f"and {len(bad) - NAMED} more"

    def records(self) -> Iterator[dict[str, Any]]:
        """Every table, for programs; ids of snapshots as text, since a JSON reader may round numbers of 64 bits."""
        for name, one in self.tables.items():
            steps = [
                {
                    "operation": step.operation.value,
                    "status": step.status.value,
                    "reason": step.reason,
                    "dates": step.dates,
                    "seconds": step.seconds,
                    "snapshot_before": step.snapshots[0] and str(step.snapshots[0]),
                    "snapshot_after": step.snapshots[1] and str(step.snapshots[1]),
                }
                for step in one.steps
            ]
            yield {"table": name, "verdict": one.verdict, "reason": one.reason, "operations": steps}

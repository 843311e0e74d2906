"""What is done to a table, what came of it, and what earlier tries came to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum


class Operation(StrEnum):
    """The maintenance operations, in the order in which they run; each value is its asset's name."""

    COMPACT = "compacted"
    REWRITE_MANIFESTS = "manifests_rewritten"
    EXPIRE_SNAPSHOTS = "snapshots_expired"
    REMOVE_ORPHANS = "orphans_removed"


class Status(StrEnum):
    """How an operation ended. ``done`` alone means that work was due and all of it was done."""

    DONE = "done"
    NOTHING_TO_DO = "nothing_to_do"
    PARTIAL = "partial"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True)
class Attempt:
    """One earlier try of an operation on one date.

    Attributes:
        ended: when it ended.
        digest: the date's :attr:`DateHealth.digest` right after it; empty where the run died or failed.
    """

    operation: Operation
    day: date
    ended: datetime
    status: Status
    productive: bool
    digest: str


@dataclass(frozen=True)
class Outcome:
    """What an operation did to one date, or to the table as a whole, computed from the metadata before and after.

    Attributes:
        reason: one sentence with the numbers behind the status.
        retryable: for ``skipped``: the obstacle passes by itself, so that the date must not turn green.
        rows_preserved: whether a rewrite left the rows as they were; None where nothing was rewritten.
        details: further figures, by metadata key.
    """

    operation: Operation
    status: Status
    reason: str
    productive: bool = False
    retryable: bool = False
    rows_preserved: bool | None = None
    seconds: float = 0.0
    details: Mapping[str, int | float | str] = field(default_factory=dict)

    @property
    def green(self) -> bool:
        """Whether a date may be shown as materialized."""
        return self.status in (Status.DONE, Status.NOTHING_TO_DO) or (
            self.status is Status.SKIPPED and not self.retryable
        )

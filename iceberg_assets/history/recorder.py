"""``Recorder``: writes outcomes and errors to the catalog's history, in batches, and never stands in the work's way."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

from iceberg_assets.history.record import UNFINISHED, Failure, Record, Who
from iceberg_assets.history.store import write_failures, write_records
from iceberg_assets.profiles import Profile

_MOST = 10_000
"""So many outcomes, and so many errors, wait for a history that cannot be written; the oldest of more are given up."""

_log = logging.getLogger(__name__)


class Recorder:
    """The history of one catalog, as one process adds to it; threads may share it.

    A process that is killed loses what it has not written: one row less than a batch at most. A history that cannot be
    written is told of, and tried again with the next batch and at the end. Leaving the block writes what is left.

    Args:
        profile: whose catalog it is in.
        who: this process.
        batch: so many rows are written together; 1: at once.
        tell: is given what went wrong, as a sentence.
    """

    def __init__(
        self, profile: Profile, who: Who, *, batch: int = 1, tell: Callable[[str], object] = _log.warning
    ) -> None:
        self.profile, self.who = profile, who
        self._batch, self._tell = batch, tell
        self._records: list[Record] = []
        self._failures: list[Failure] = []
        self._lost = 0
        self._writing = threading.Lock()

    def add(self, records: Sequence[Record]) -> None:
        """Outcomes, together; those that are unfinished count as errors, too."""
        self._take(records, [Failure.of(one) for one in records if one.status in UNFINISHED])

    def fail(self, failure: Failure) -> None:
        """An error without an outcome: a table that cannot be read, an operation that could not begin."""
        self._take((), [failure])

    def flush(self) -> None:
        """Write what is left."""
        with self._writing:
            self._write()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.flush()
        if lost := self._lost + len(self._records) + len(self._failures):
            self._tell(f"{lost} rows of the history of profile '{self.profile.name}' are lost: it could not be written")

    def _take(self, records: Iterable[Record], failures: Iterable[Failure]) -> None:
        with self._writing:
            self._records += records
            self._failures += failures
            if len(self._records) + len(self._failures) >= self._batch:
                self._write()

    def _write(self) -> None:
        # Of nothing to write, nothing is missing: who may not write to the profile is told why once.
        if not self._records and not self._failures:
            return
        try:
            self.profile.require_writable()
            write_records(self.profile, self._records)
            self._records = []
            write_failures(self.profile, self._failures)
            self._failures = []
        except Exception as error:  # noqa: BLE001 (whatever is wrong with the history, the work was done)
            self._lost += sum(max(0, len(rows) - _MOST) for rows in (self._records, self._failures))
            self._records, self._failures = self._records[-_MOST:], self._failures[-_MOST:]
            self._tell(
                f"the history of profile '{self.profile.name}' was not written, {type(error).__name__}: {error}. What "
                "was done is done; only the record of it is missing"
            )

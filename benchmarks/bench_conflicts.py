"""What users and maintenance do to each other's commits: statements of a user beside compactions, and beside leases.

Each round compacts a date of its own, with small files, while a statement of a user's session is at work: it starts at
a moment of chance before or after the engine's rewrite. Who committed first is read from the snapshots afterwards, and
a round counts where the two overlapped: the other's commit falls between start and end of one's own statement. Deletes
are copy-on-write, Iceberg's default; those that are to be overtaken by a compaction look their rows up in a large join.
Held to: no append fails, nor any delete on another date, nor one that commits before us.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from iceberg_assets import spark
from iceberg_assets.maintenance import compact, rewrite
from iceberg_assets.maintenance.engine import EngineError, execute
from iceberg_assets.maintenance.lease import lease
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec import Outcome, Status, TableSpec
from iceberg_assets.tables.target import of_dates, sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST = date(2024, 1, 1)
_MOST_TRIES = 8
"""Rounds without an overlap are played again, so many for each that counts."""


@dataclass(frozen=True)
class Statement:
    """What a user's statement came to; times in seconds since the epoch."""

    started: float
    ended: float
    failed: bool


@dataclass(frozen=True)
class Round:
    """A compaction and a user's statement beside it.

    Attributes:
        committed: when the snapshot of each was; None: it has none.
    """

    outcome: Outcome
    started: float
    ended: float
    statement: Statement
    compaction_committed: float | None
    user_committed: float | None

    @property
    def user_first(self) -> bool:
        """The user's commit came while we were at work."""
        at = self.user_committed
        ours = self.compaction_committed
        return at is not None and self.started < at < self.ended and (ours is None or at < ours)

    @property
    def we_first(self) -> bool:
        """Our commit came between start and end of the user's statement."""
        at = self.compaction_committed
        return at is not None and self.statement.started < at < self.statement.ended and not self.user_first


def _overlapped(one: Round) -> bool:
    return one.we_first or one.user_first


class Ground:
    """A table of many dates, for one kind of statement."""

    def __init__(self, running: "SparkSession", profile: Profile, name: str) -> None:
        self.running, self.user, self.profile = running, running.newSession(), profile
        self.spec = TableSpec.model_validate(
            {"table": f"bench.{name}", "dates": {"column": "ts", "start": FIRST.isoformat(), "end": "2030-01-01"}}
        )
        self.name = sql_name(profile, self.spec)
        running.sql(f"CREATE NAMESPACE IF NOT EXISTS {profile.catalog.name}.bench")
        running.sql(f"CREATE TABLE {self.name} (id BIGINT, ts TIMESTAMP) USING iceberg PARTITIONED BY (days(ts))")
        self._days = 0
        self._threads = ThreadPoolExecutor(1)
        self.lasted = 1.0

    def prepare(self, files: int) -> tuple[date, date]:
        """Two dates that no round had."""
        day, other = (FIRST + timedelta(days=self._days + n) for n in range(2))
        self._days += 2
        moments = ", ".join(f"TIMESTAMP '{one} 01:00:00+00:00'" for one in (day, other))
        rows = self.running.range(0, 1000 * files, 1, files).selectExpr("id", f"explode(array({moments})) AS ts")
        rows.writeTo(self.name).option("distribution-mode", "none").option("fanout-enabled", "true").append()
        return day, other

    def play(self, statement: Callable[[date, date], str], lead: float, files: int = 6) -> Round:
        """A statement of the user's beside a compaction.

        Args:
            lead: of the rewrite, in seconds; negative: the user's statement starts so long before it.
        """
        day, other = self.prepare(files)
        before = self.profile.pyiceberg().load_table(self.spec.table).metadata.last_sequence_number
        beside: list[Future[Statement]] = []
        started = ended = 0.0

        def execute_beside(session: "SparkSession", call: str) -> Sequence[Any]:
            nonlocal started, ended
            beside.append(self._threads.submit(self._as_user, statement(day, other), max(lead, 0.0)))
            time.sleep(max(-lead, 0.0))
            started = time.time()
            try:
                return execute(session, call)
            finally:
                ended = time.time()

        with patch.object(rewrite, "execute", execute_beside):
            done = compact(lambda: self.running, self.profile, self.spec, [day], now=datetime.now(UTC), force=True)
        said = beside[0].result()
        self.lasted = 0.8 * self.lasted + 0.2 * (said.ended - said.started)
        mine, theirs = None, None
        for one in self.profile.pyiceberg().load_table(self.spec.table).metadata.snapshots:
            if one.sequence_number > before and one.summary is not None:
                if one.summary.operation.value == "replace":
                    mine = one.timestamp_ms / 1000
                else:
                    theirs = one.timestamp_ms / 1000
        return Round(done.outcomes[day], started, ended, said, mine, theirs)

    def _as_user(self, statement: str, wait: float) -> Statement:
        time.sleep(wait)
        started = time.time()
        try:
            execute(self.user, statement)
        except EngineError as error:
            print(f"a user's statement failed: {error}", file=sys.stderr, flush=True)
            return Statement(started, time.time(), failed=True)
        return Statement(started, time.time(), failed=False)

    def append_to(self, day: date) -> str:
        """A hundred rows of the date."""
        return f"INSERT INTO {self.name} SELECT id, TIMESTAMP '{day} 02:00:00+00:00' FROM range(100)"  # noqa: S608 - of our own making

    def delete_of(self, day: date, *, slow: bool = False) -> str:
        """A part of the date's rows, in each of its files."""
        schema = self.profile.pyiceberg().load_table(self.spec.table).schema()
        rows = "id IN (SELECT id FROM range(0, 30000000) WHERE id % 7 = 3)" if slow else "id % 7 = 3"
        return f"DELETE FROM {self.name} WHERE ({of_dates(self.spec, schema, [day])}) AND {rows}"  # noqa: S608 - of our own making

    def append_beside_leases(self, rounds: int) -> tuple[int, int]:
        """Appends while leases are taken and released without a pause: those that failed, and how many leases."""
        self.prepare(6)
        over = threading.Event()

        def take() -> int:
            taken = 0
            while not over.is_set():
                with lease(self.profile, self.spec, "benchmark"):
                    taken += 1
            return taken

        leases = self._threads.submit(take)
        said = [self._as_user(self.append_to(FIRST), 0) for _ in range(rounds)]
        over.set()
        taken = leases.result()
        return sum(one.failed for one in said), taken


@dataclass(frozen=True)
class Kind:
    """What a user does beside compactions.

    Attributes:
        statement: of a table, the date that is compacted, and another one.
        lead: of the rewrite before it, from and to, in times of how long such statements lasted so far; negative: it
            starts so long before the rewrite.
        counts: which rounds do.
        files: of the date, which make the rewrite longer.
        may_fail: whether that is no promise broken.
    """

    words: str
    statement: Callable[[Ground, date, date], str]
    lead: tuple[float, float]
    counts: Callable[[Round], bool]
    files: int = 6
    may_fail: bool = False


KINDS = (
    Kind("append to the same date", lambda ground, day, _: ground.append_to(day), (-1.0, 0.5), _overlapped),
    Kind("delete on another date", lambda ground, _, other: ground.delete_of(other), (-1.0, 0.5), _overlapped),
    Kind(
        "delete on the same date that commits first",
        lambda ground, day, _: ground.delete_of(day),
        (-1.2, 0.1),
        lambda one: one.user_first,
        files=40,
    ),
    Kind(
        "delete on the same date, started before our commit and ended after it",
        lambda ground, day, _: ground.delete_of(day, slow=True),
        (-0.6, 0.0),
        lambda one: one.we_first,
        may_fail=True,
    ),
)


def main(arguments: Sequence[str]) -> int:
    """Play the rounds and print the rates; 1 where a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args(arguments).rounds
    shown = Table("user's statement", "rounds", "of it failed", "compactions")
    with tempfile.TemporaryDirectory(prefix="bench_conflicts_") as folder:
        root = Path(folder)
        (root / "pyproject.toml").touch()
        profile = load_profile("local", root)
        running = spark.session(profile)
        rng = random.Random(7)  # noqa: S311 - moments, not secrets
        broken = 0
        for number, kind in enumerate(KINDS):
            of = enough(Ground(running, profile, f"t{number}"), kind, rng, rounds)
            failed = sum(one.statement.failed for one in of)
            broken += 0 if kind.may_fail else failed
            ours = Counter(one.outcome.status.value for one in of)
            shown.add_row(
                kind.words, str(len(of)), str(failed), ", ".join(f"{n} {status}" for status, n in ours.items())
            )
            print(kind.words, len(of), failed, dict(ours), flush=True)
        failed, taken = Ground(running, profile, "leases").append_beside_leases(rounds)
        broken += failed
        shown.add_row(f"append beside {taken} leases", str(rounds), str(failed), "")
        running.stop()
    Console(highlight=False, width=110).print(shown)
    return 1 if broken else 0


def enough(ground: Ground, kind: Kind, rng: random.Random, rounds: int) -> list[Round]:
    """So many rounds that count."""
    found: list[Round] = []
    for _ in range(_MOST_TRIES * rounds):
        one = ground.play(
            lambda day, other: kind.statement(ground, day, other), rng.uniform(*kind.lead) * ground.lasted, kind.files
        )
        assert one.outcome.status in (Status.DONE, Status.SKIPPED), one.outcome.reason
        found += [one] if kind.counts(one) else []
        if len(found) == rounds:
            break
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What users and maintenance do to each other's commits: statements of a user beside compactions, and beside leases.

Each round has two dates of its own, six small files each. One of them is compacted, quiet or not, and a statement of a
user's session starts at a moment of chance before or within that. Who committed first is read from the snapshots
afterwards. Deletes are copy-on-write, Iceberg's default. A round counts where the two overlapped: the other's commit
falls between start and end of one's own statement. Held to: no append fails, nor any delete on another date; and where
a delete commits first, it is we who give way.
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
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from iceberg_assets import spark
from iceberg_assets.maintenance import compact
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
        self.took = 3.0
        self._threads = ThreadPoolExecutor(1)

    def prepare(self) -> tuple[date, date]:
        """Two dates that no round had."""
        day, other = (FIRST + timedelta(days=self._days + n) for n in range(2))
        self._days += 2
        moments = ", ".join(f"TIMESTAMP '{one} 01:00:00+00:00'" for one in (day, other))
        rows = self.running.range(0, 6000, 1, 6).selectExpr("id", f"explode(array({moments})) AS ts")
        rows.writeTo(self.name).option("distribution-mode", "none").option("fanout-enabled", "true").append()
        return day, other

    def play(self, statement: Callable[[date, date], str], rng: random.Random) -> Round:
        """A statement of the user's beside a compaction, which it may start before."""
        day, other = self.prepare()
        before = self.profile.pyiceberg().load_table(self.spec.table).metadata.last_sequence_number
        lead = rng.uniform(-0.6, 0.8) * self.took
        beside: Future[Statement] = self._threads.submit(self._as_user, statement(day, other), max(lead, 0.0))
        time.sleep(max(-lead, 0.0))
        started = time.time()
        outcome = compact(lambda: self.running, self.profile, self.spec, [day], now=datetime.now(UTC), force=True)
        ended = time.time()
        self.took = 0.8 * self.took + 0.2 * (ended - started)
        said = beside.result()
        mine, theirs = None, None
        for one in self.profile.pyiceberg().load_table(self.spec.table).metadata.snapshots:
            if one.sequence_number > before and one.summary is not None:
                if one.summary.operation.value == "replace":
                    mine = one.timestamp_ms / 1000
                else:
                    theirs = one.timestamp_ms / 1000
        return Round(outcome.outcomes[day], started, ended, said, mine, theirs)

    def _as_user(self, statement: str, wait: float) -> Statement:
        time.sleep(wait)
        started = time.time()
        try:
            execute(self.user, statement)
        except EngineError:
            return Statement(started, time.time(), failed=True)
        return Statement(started, time.time(), failed=False)

    def append_to(self, day: date, _: date) -> str:
        """A hundred rows of the date."""
        return f"INSERT INTO {self.name} SELECT id, TIMESTAMP '{day} 02:00:00+00:00' FROM range(100)"  # noqa: S608 - of our own making

    def delete_of(self, day: date) -> str:
        """A part of the date's rows, in each of its files."""
        schema = self.profile.pyiceberg().load_table(self.spec.table).schema()
        return f"DELETE FROM {self.name} WHERE ({of_dates(self.spec, schema, [day])}) AND id % 7 = 3"  # noqa: S608 - of our own making

    def append_beside_leases(self, rounds: int) -> tuple[int, int]:
        """Appends while leases are taken and released without a pause: those that failed, and how many leases."""
        self.prepare()
        over, taken = threading.Event(), 0

        def take() -> int:
            taken = 0
            while not over.is_set():
                with lease(self.profile, self.spec, "benchmark", spark=lambda: self.running):
                    taken += 1
            return taken

        leases = self._threads.submit(take)
        said = [self._as_user(self.append_to(FIRST, FIRST), 0) for _ in range(rounds)]
        over.set()
        taken = leases.result()
        return sum(one.failed for one in said), taken


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

        def say(words: str, of: Sequence[Round], allowed: bool) -> None:
            nonlocal broken
            failed = sum(one.statement.failed for one in of)
            broken += 0 if allowed else failed
            ours = Counter(one.outcome.status.value for one in of)
            shown.add_row(words, str(len(of)), str(failed), ", ".join(f"{n} {status}" for status, n in ours.items()))
            print(words, len(of), failed, dict(ours), flush=True)

        appends = Ground(running, profile, "appends")
        found = enough(
            lambda: appends.play(appends.append_to, rng), [lambda one: one.we_first or one.user_first], rounds
        )
        say("append to the same date", found[0], allowed=False)
        others = Ground(running, profile, "others")
        found = enough(
            lambda: others.play(lambda _, other: others.delete_of(other), rng),
            [lambda one: one.we_first or one.user_first],
            rounds,
        )
        say("delete on another date", found[0], allowed=False)
        same = Ground(running, profile, "same")
        kinds: list[Callable[[Round], bool]] = [lambda one: one.user_first, lambda one: one.we_first]
        found = enough(lambda: same.play(lambda day, _: same.delete_of(day), rng), kinds, rounds)
        say("delete on the same date, commits first", found[0], allowed=False)
        say("delete on the same date, starts before and ends after our commit", found[1], allowed=True)
        failed, taken = Ground(running, profile, "leases").append_beside_leases(rounds)
        broken += failed
        shown.add_row(f"append beside {taken} leases", str(rounds), str(failed), "")
        running.stop()
    Console(highlight=False, width=110).print(shown)
    return 1 if broken else 0


def enough(play: Callable[[], Round], kinds: Sequence[Callable[[Round], bool]], rounds: int) -> list[list[Round]]:
    """So many rounds of each kind."""
    found: list[list[Round]] = [[] for _ in kinds]
    for _ in range(_MOST_TRIES * rounds):
        one = play()
        # Nothing to do: a delete that came before has made one file of all.
        assert one.outcome.status in (Status.DONE, Status.SKIPPED, Status.NOTHING_TO_DO), one.outcome.reason
        for of, kind in zip(found, kinds, strict=True):
            if len(of) < rounds and kind(one):
                of.append(one)
        if all(len(of) == rounds for of in found):
            break
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

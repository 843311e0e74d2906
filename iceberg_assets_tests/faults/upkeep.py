"""Maintenance killed with its JVM, at its steps and in between: rows and refs are as before, and the next run goes on.

``make test-faults-maintenance SEEDS=a:b`` plays the seeds a to b − 1.
"""

import itertools
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from iceberg_assets.spec import Operation
from iceberg_assets_tests.faults.rounds import all_done
from iceberg_assets_tests.faults.runner import Runner
from iceberg_assets_tests.faults.schedule import DAYS, Moment
from iceberg_assets_tests.faults.told_steps import LEASED, RELEASING
from iceberg_assets_tests.faults.world import Findings, World

LEASE_SECONDS = 10
"""So long a lease stands here whose holder was killed."""

MAINTAINED = {
    "quiet_for": "0s",
    "compact": {"options": {"min-input-files": 2}},
    "manifests": {"min_count": 2},
    "expire": {"older_than": "0s", "minimum_age": "0s", "retain_last": 1},
}
_KEPT = "kept_by_a_user"
_STEP = {
    Operation.COMPACT: "rewrite_data_files",
    Operation.REWRITE_MANIFESTS: "rewrite_manifests",
    Operation.EXPIRE_SNAPSHOTS: "expire_snapshots",
    Operation.REMOVE_ORPHANS: "reachable",
}


@dataclass(frozen=True)
class UpkeepRound:
    """One operation that is killed.

    Attributes:
        verify: of its compaction.
        moment: of the kill; ``at`` a step or some time ``after`` it, or after the ``start``.
    """

    seed: int
    operation: Operation
    verify: str
    moment: Moment

    def __str__(self) -> str:
        return f"{self.operation.value} (verify: {self.verify}) killed {self.moment}"


def _named() -> list[tuple[Operation, str, str]]:
    """Every operation at each of its steps; the first three are of three kinds."""
    found = [(Operation.COMPACT, "branch", step) for step in (_STEP[Operation.COMPACT], "fast_forward")]
    found.insert(1, (Operation.EXPIRE_SNAPSHOTS, "rows", LEASED))
    found.append((Operation.COMPACT, "branch", "create branch"))
    for operation, step in itertools.product(Operation, (LEASED, "", RELEASING)):
        one = (operation, "rows", step or _STEP[operation])
        found += [one] if one not in found else []
    return found


def upkeep_round(seed: int) -> UpkeepRound:
    """The round that a seed stands for: each third at a moment of chance, the others in turn at each named step."""
    # Not for secrets: a seed has to give the same round again.
    rng = random.Random(f"upkeep {seed}")
    if seed % 3 == 2:
        operation, verify, step = rng.choice(_named())
        start, after = Moment("start", delay=rng.uniform(0, 3)), Moment("after", step, rng.uniform(0, 0.4))
        return UpkeepRound(seed, operation, verify, rng.choice((start, after)))
    named = _named()
    operation, verify, step = named[(seed - seed // 3) % len(named)]
    return UpkeepRound(seed, operation, verify, Moment("at", step))


@dataclass
class Relay:
    """One table for all rounds. Whoever survived a round is the next to be killed: a JVM starts once a kill."""

    world: World
    alive: Runner
    kept: list[int] = field(default_factory=list)

    @classmethod
    def start(cls, root: Path) -> "Relay":
        world = World(root, "upkeep.flights", {"maintenance": MAINTAINED})
        return cls(world, world.start())

    def play(self, round_: UpkeepRound) -> str:
        """Kill, look, and let the successor go on; gives what was seen.

        Raises:
            AssertionError: a promise was broken.
        """
        world, successor = self.world, self.world.start()
        days = self._make_due()
        # Its JVM has to be there at once, while the killed one's lease has not passed its deadline.
        successor.do("sql", world.where, statement="SELECT 1").result()
        self._ask(self.alive, round_, days, stop=True)
        match round_.moment:
            case Moment("at", step):
                assert self.alive.stopped(), f"{step} was not reached"
            case Moment("after", step, delay):
                assert self.alive.reached(step), f"{step} was not reached"
                self.alive.elapsed(delay)
            case Moment("start", delay=delay):
                self.alive.elapsed(delay)
        last = self.alive.kill()
        self.alive = successor
        self._as_before("after the kill")
        self._carry_on(round_, days)
        for operation in Operation:
            self._finish(operation, days)
        self._as_before("at the end")
        refs = set(world.catalog().load_table(world.table).metadata.refs)
        assert refs == {"main", _KEPT}, "audits leave nothing"
        return f"killed with the last step {last}"

    def _make_due(self) -> Sequence[date]:
        """Small files on two dates, snapshots to expire, an old file of nobody's, and a tag of a user's."""
        world = self.world
        days = DAYS[:2]
        for _ in range(2):
            world.land(dict.fromkeys(days, (3, 2)))
            all_done(self.alive.append(world.where, days).result())
        table = world.catalog().load_table(world.table)
        change = table.manage_snapshots()
        if _KEPT in table.metadata.refs:
            change = change.remove_tag(_KEPT)
        change.create_tag(table.metadata.current_snapshot_id, _KEPT).commit()
        self.kept = self._ids(_KEPT)
        orphan = Path(table.location().removeprefix("file://")) / "data" / "nobodys.parquet"
        orphan.write_bytes(b"")
        os.utime(orphan, (0, time.time() - 5 * 24 * 3600))
        return days

    def _ask(self, runner: Runner, round_: UpkeepRound, days: Sequence[date], *, stop: bool = False) -> None:
        at = [round_.moment.step] if stop and round_.moment.kind == "at" else []
        self._begin(runner, round_.operation, days, verify=round_.verify, stop_at=at)

    def _begin(self, runner: Runner, operation: Operation, days: Sequence[date], **how: Any) -> None:
        given = {"operation": operation.value, "days": [str(day) for day in days], "lasts": LEASE_SECONDS, **how}
        runner.do("maintain", self.world.where, **given)

    def _carry_on(self, round_: UpkeepRound, days: Sequence[date]) -> None:
        """The same operation by the successor, which has nothing to wait for."""
        self._ask(self.alive, round_, days)
        outcomes = self.alive.result()
        left = [reason for status, reason in outcomes.values() if status not in ("done", "nothing_to_do")]
        assert not left, f"the killed one was a process of this machine that is gone: {outcomes}"

    def _finish(self, operation: Operation, days: Sequence[date]) -> None:
        self._begin(self.alive, operation, days)
        outcomes = self.alive.result()
        assert all(status in ("done", "nothing_to_do") for status, _ in outcomes.values()), outcomes

    def _as_before(self, when: str) -> None:
        assert self.world.look() == Findings(), when
        assert self._ids(_KEPT) == self.kept, f"{when}: what a user's tag keeps cannot be read"

    def _ids(self, ref: str) -> list[int]:
        table = self.world.catalog().load_table(self.world.table)
        snapshot = table.metadata.refs[ref].snapshot_id
        return sorted(table.scan(snapshot_id=snapshot, selected_fields=("id",)).to_arrow()["id"].to_pylist())


def main() -> int:
    first, last = map(int, sys.argv[1].split(":"))
    root = Path(tempfile.mkdtemp(prefix="iceberg-assets-upkeep-"))
    relay = Relay.start(root)
    try:
        for seed in range(first, last):
            round_, started = upkeep_round(seed), time.monotonic()
            seen = relay.play(round_)
            sys.stdout.write(f"seed {seed}: {round_}; {seen}, {time.monotonic() - started:.1f} s: as before\n")
            sys.stdout.flush()
    finally:
        relay.alive.close()
    sys.stdout.write(f"{last - first} kills, every row and ref as before, and every next run went on; in {root}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

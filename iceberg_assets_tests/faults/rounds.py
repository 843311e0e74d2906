"""Rounds of kills and of two at once, each judged from outside before the next.

``make test-faults SEEDS=a:b`` plays the seeds a to b − 1, both kinds, and writes down what was seen.
"""

import argparse
import json
import platform
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from iceberg_assets.profiles import load_profile
from iceberg_assets_tests.faults.runner import Runner
from iceberg_assets_tests.faults.schedule import BarrierRound, KillRound, Moment, barrier_round, kill_round
from iceberg_assets_tests.faults.world import OVERDUE, Findings, World


@dataclass(frozen=True)
class Played:
    """What a round came to.

    Attributes:
        planned: the schedule's words.
        last_steps: of each process that was killed, the last step of the protocol that it had told.
        findings: empty: every promise was kept.
    """

    seed: int
    planned: str
    last_steps: tuple[str, ...]
    findings: Findings
    seconds: float


def play_kill(world: World, runner: Runner, round_: KillRound) -> tuple[Played, Runner]:
    """Kill the runner in an append, perhaps its successor in the recovery, and let the last one finish.

    Returns:
        What was seen, and the surviving runner: the next to be killed.
    """
    started = time.monotonic()
    # Its JVM starts while the other one is at work.
    successor = world.start()
    days = world.land(round_.landing)
    if round_.replaces:
        all_done(runner.append(world.where, days).result())
        world.land_anew(days)
    last_steps = [_kill(world, runner, round_, days)]
    clock = OVERDUE if round_.overdue else 0
    if round_.again:
        dying, successor = successor, world.start()
        assert dying.append(world.where, days, ahead=clock, stop_at=[round_.again], replaces=round_.replaces).stopped()
        last_steps.append(dying.kill())
    all_done(successor.append(world.where, days, ahead=clock, replaces=round_.replaces).result())
    findings = settled(world, successor)
    planned = f"{round_.moment}{' of a replacement' if round_.replaces else ''}" + (
        f", then at {round_.again} of the recovery" if round_.again else ""
    )
    return Played(round_.seed, planned, tuple(last_steps), findings, time.monotonic() - started), successor


def _kill(world: World, runner: Runner, round_: KillRound, days: Sequence[date]) -> str:
    how = {"replaces": round_.replaces}
    match round_.moment:
        case Moment("at", step):
            assert runner.append(world.where, days, stop_at=[step], **how).stopped(), f"{step} was not reached"
        case Moment("after", step, delay):
            assert runner.append(world.where, days, **how).reached(step), f"{step} was not reached"
            runner.elapsed(delay)
        case Moment("task"):
            assert runner.append(world.where, days, watch=True, **how).in_a_task(), "no task was met"
        case Moment("start", delay=delay):
            runner.append(world.where, days, **how).elapsed(delay)
    return runner.kill()


def play_barrier(world: World, left: Runner, right: Runner, round_: BarrierRound, **how: Any) -> Played:
    """Two appends of overlapping dates, let go at one step of both."""
    started = time.monotonic()
    world.land(round_.landing)
    left.append(world.where, round_.left, stop_at=[round_.barrier], **how)
    right.append(world.where, round_.right, stop_at=[round_.barrier], **how)
    waiting = [runner for runner in (left, right) if runner.stopped()]
    assert len(waiting) == 2, "one of them ended before the barrier"
    for runner in waiting:
        runner.go_on()
    # Both, before either is judged: what one has not been asked for would be taken for the next round's answer.
    for outcomes in [runner.result() for runner in waiting]:
        all_done(outcomes)
    planned = f"two at once from {round_.barrier}"
    return Played(round_.seed, planned, (), settled(world, left), time.monotonic() - started)


def settled(world: World, runner: Runner) -> Findings:
    """Recover after every deadline, and look."""
    runner.do("recover", world.where, ahead=OVERDUE).result()
    return world.look()


def all_done(outcomes: dict[str, Any]) -> None:
    """No date of an append failed."""
    failed = {day: outcome for day, outcome in outcomes.items() if outcome[0] == "failed"}
    assert not failed, failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", help="a:b, from a up to b - 1")
    parser.add_argument("--results", type=Path, help="a JSON file to write")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    root = Path(tempfile.mkdtemp(prefix="iceberg-assets-faults-"))
    _say(f"seeds {given.seeds}, in {root}")
    played: dict[str, list[Played]] = {"kills": [], "at_once": []}

    def write(fault: str | None) -> dict[str, Any]:
        report = summary(given.seeds, played, fault)
        if given.results:
            given.results.write_text(json.dumps(report, indent=1) + "\n")
        return report

    def tell(kind: str, one: Played) -> None:
        _say(_line(one))
        played[kind].append(one)
        # After each round, so that a run of hours that is broken off has not been for nothing.
        write("not finished")

    fault = None
    try:
        play_all(range(first, last), root, tell)
    except Exception as error:  # noqa: BLE001 - a round that cannot be played out is a result as well
        fault = f"{type(error).__name__}: {error}"
    report = write(fault)
    _say(json.dumps({key: value for key, value in report.items() if key != "rounds"}, indent=1))
    if report["verdict"] != "every row once":
        return 1
    shutil.rmtree(root)
    return 0


def play_all(seeds: range, root: Path, tell: Callable[[str, Played], object]) -> None:
    """All rounds of kills, then all of two at once; ends with the first in which a promise is broken."""
    kills, at_once = World(root, "killed.flights"), World(root, "at_once.flights")
    alive = [kills.start()]
    try:
        for seed in seeds:
            one, successor = play_kill(kills, alive[0], kill_round(seed))
            alive[0] = successor
            tell("kills", one)
            if one.findings:
                return
        alive.append(at_once.start())
        for seed in seeds:
            one = play_barrier(at_once, alive[0], alive[1], barrier_round(seed))
            tell("at_once", one)
            if one.findings:
                return
    finally:
        for runner in alive:
            runner.close()


def summary(seeds: str, played: dict[str, list[Played]], fault: str | None) -> dict[str, Any]:
    """What was run on what, and what came of it."""
    broken = [one for of_kind in played.values() for one in of_kind if one.findings]
    steps = Counter(step for one in played["kills"] for step in one.last_steps)
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("pyspark", "pyiceberg", "iceberg-assets")},
            "packages": list(load_profile("local").maven),
        },
        "seeds": seeds,
        "verdict": fault or (f"broken: seed {broken[0].seed}: {broken[0].findings}" if broken else "every row once"),
        "kill_rounds": len(played["kills"]),
        "kills": sum(steps.values()),
        "kills_by_last_step": dict(steps.most_common()),
        "at_once_rounds": len(played["at_once"]),
        "seconds": round(sum(one.seconds for of_kind in played.values() for one in of_kind)),
        "rounds": [_line(one) for of_kind in played.values() for one in of_kind],
    }


def _line(one: Played) -> str:
    killed = f", killed with the last step {' and '.join(one.last_steps)}" if one.last_steps else ""
    return f"seed {one.seed}: {one.planned}{killed}, {one.seconds:.1f} s: {one.findings or 'every row once'}"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())

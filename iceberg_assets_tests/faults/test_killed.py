"""SIGKILL to Python and JVM at steps of the protocol and in between: what the successor finds is mended by itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from iceberg_assets_tests.faults.rounds import all_done, play_kill, settled
from iceberg_assets_tests.faults.runner import Runner
from iceberg_assets_tests.faults.schedule import DAYS, kill_round
from iceberg_assets_tests.faults.world import OVERDUE, Findings, World

pytestmark = pytest.mark.jvm


@dataclass
class Relay:
    """Whoever survived a round is the next to be killed: a JVM starts once a kill."""

    world: World
    alive: Runner


@pytest.fixture(scope="module")
def relay(burning: Path) -> Iterator[Relay]:
    world = World(burning, "killed.flights")
    running = Relay(world, world.start())
    yield running
    running.alive.close()


@pytest.mark.parametrize("seed", range(6))
def test_killed_and_run_again(relay: Relay, seed: int) -> None:
    """Each third round is killed while it replaces a date."""
    played, relay.alive = play_kill(relay.world, relay.alive, kill_round(seed))
    assert played.findings == Findings(), f"make test-faults SEEDS={seed}:{seed + 1}; {played}"


def test_killed_between_create_branch_and_stage(relay: Relay) -> None:
    """The new branch points into main: taken as evidence, it would say that the rows are in."""
    world = relay.world
    relay.alive.append(world.where, world.land({DAYS[0]: (1,)})).result()
    killed, other = world.land({DAYS[0]: (3, 2)}), world.land({DAYS[1]: (4,)})
    successor = world.start()
    assert relay.alive.append(world.where, killed, stop_at=["branched"]).stopped()
    (name,) = (ref for ref in world.catalog().load_table(world.table).metadata.refs if ref != "main")
    relay.alive.kill()
    refs = world.catalog().load_table(world.table).metadata.refs
    assert refs[name].snapshot_id == refs["main"].snapshot_id
    relay.alive = successor
    all_done(successor.append(world.where, other).result())
    assert len(world.look().lost) == 5, "a claim that may be alive is not taken for done"
    assert len(world.look().branches) == 1, "nor is it cleared away"
    all_done(successor.append(world.where, killed, ahead=OVERDUE).result())
    assert settled(world, successor) == Findings()

"""Two plain processes append at once, with no pool between them: neither loses nor doubles a row."""

from collections.abc import Callable
from pathlib import Path

import pytest

from iceberg_assets_tests.faults.conftest import Pair
from iceberg_assets_tests.faults.rounds import all_done, play_barrier, settled
from iceberg_assets_tests.faults.schedule import DAYS, barrier_round
from iceberg_assets_tests.faults.world import Findings, World

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def shared(burning: Path) -> World:
    """One table for all rounds, so that ledger and history grow."""
    return World(burning, "at_once.flights")


@pytest.mark.parametrize("seed", range(15))
def test_two_at_once_with_overlapping_files(pair: Pair, shared: World, seed: int) -> None:
    played = play_barrier(shared, *pair, barrier_round(seed))
    assert played.findings == Findings(), f"make test-faults SEEDS={seed}:{seed + 1}; {played}"


@pytest.mark.parametrize("step", ["branched", "staged"])
def test_a_live_claim_met_by_somebody_elses_recovery(pair: Pair, world: Callable[..., World], step: str) -> None:
    """It is neither abandoned nor cleared away, and its runner goes on as if nothing had been."""
    slow, other = pair
    table = world()
    other.append(table.where, table.land({DAYS[0]: (1,)})).result()
    days = table.land({DAYS[1]: (2, 3)})
    assert slow.append(table.where, days, stop_at=[step]).stopped()
    other.do("recover", table.where).result()
    assert len(table.look().branches) == 1
    slow.go_on()
    assert slow.result()[str(days[0])] == ["done", "2 files, 5 rows", 2]
    assert settled(table, other) == Findings()


def test_a_live_claim_is_overtaken_and_takes_the_next_token(pair: Pair, world: Callable[..., World]) -> None:
    slow, other = pair
    table = world()
    mine = table.land({DAYS[1]: (2, 3)})
    assert slow.append(table.where, mine, stop_at=["staged"]).stopped()
    all_done(other.append(table.where, table.land({DAYS[0]: (1,)})).result())
    slow.go_on()
    assert slow.result()[str(mine[0])] == ["done", "2 files, 5 rows", 2]
    assert settled(table, other) == Findings()

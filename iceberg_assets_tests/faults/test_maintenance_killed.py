"""SIGKILL to Python and JVM in the middle of maintenance: three rounds of those that ``make`` plays on demand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from iceberg_assets_tests.faults.upkeep import Relay, upkeep_round

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def relay(burning: Path) -> Iterator[Relay]:
    running = Relay.start(burning)
    yield running
    running.alive.close()


@pytest.mark.parametrize("seed", range(3))
def test_maintenance_killed_and_run_again(relay: Relay, seed: int) -> None:
    """A compaction with its rows on an audit branch, an expiry that had just taken the lease, and one by chance."""
    relay.play(upkeep_round(seed))

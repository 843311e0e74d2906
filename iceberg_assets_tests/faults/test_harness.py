"""The harness is tested too: without a part of the protocol the same schedule loses or doubles rows."""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from iceberg_assets_tests.faults.conftest import Pair
from iceberg_assets_tests.faults.runner import ChildFailedError
from iceberg_assets_tests.faults.schedule import DAYS
from iceberg_assets_tests.faults.test_expired_token import AT_ONCE
from iceberg_assets_tests.faults.world import World

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize("off", [[], ["recovery"]], ids=["whole", "without recovery"])
def test_without_recovery_an_unconfirmed_batch_blocks_all_after_it(
    pair: Pair, world: Callable[..., World], off: list[str]
) -> None:
    first, other = pair
    table = world()
    days = table.land({DAYS[0]: (2, 3)})
    assert first.append(table.where, days, stop_at=["picked"]).stopped()
    more = table.land({DAYS[1]: (4,)})
    with suppress(ChildFailedError):
        other.append(table.where, more, off=off).result()
    findings = table.look()
    assert findings.doubled == ()
    assert len(findings.lost) == (4 if off else 0)
    first.go_on()
    first.result()


@pytest.mark.parametrize("off", [[], ["token"]], ids=["whole", "without token"])
def test_without_the_token_two_picks_double_the_rows(pair: Pair, world: Callable[..., World], off: list[str]) -> None:
    table = world()
    days = table.land({DAYS[0]: (2, 3)})
    for runner in pair:
        assert runner.append(table.where, days, stop_at=["checked"], off=off).stopped()
    for runner in pair:
        runner.go_on()
        runner.result()
    assert len(table.look().doubled) == (5 if off else 0)


@pytest.mark.parametrize("off", [[], ["reread"]], ids=["whole", "without reading again"])
def test_without_reading_again_an_old_list_doubles_the_rows(
    pair: Pair, world: Callable[..., World], off: list[str]
) -> None:
    """The list is old, and so is the token, whose snapshot went while no claim protected it."""
    slow, other = pair
    table = world(**AT_ONCE)
    other.append(table.where, table.land({DAYS[0]: (1,)})).result()
    days = table.land({DAYS[1]: (2, 3)})
    assert slow.append(table.where, days, stop_at=["frozen"], off=off).stopped()
    other.append(table.where, days).result()
    other.append(table.where, table.land({DAYS[2]: (1,)})).result()
    time.sleep(0.1)
    other.do("expire", table.where, days=[str(DAYS[0])]).result()
    slow.go_on()
    slow.result()
    assert len(table.look().doubled) == (5 if off else 0)

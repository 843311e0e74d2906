"""Two plain processes with nothing between them but the catalog: at once, overtaken, recovered by the other, stalled.

The harness is tested too: without a part of the protocol the same schedule loses or doubles rows.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from iceberg_assets.spark import call
from iceberg_assets_tests.faults.rounds import all_done, play_barrier, settled
from iceberg_assets_tests.faults.runner import ChildFailedError, Runner
from iceberg_assets_tests.faults.schedule import DAYS, barrier_round
from iceberg_assets_tests.faults.world import Findings, World

pytestmark = pytest.mark.jvm

Pair = tuple[Runner, Runner]
AT_ONCE = {"maintenance": {"expire": {"older_than": "0s", "minimum_age": "0s", "retain_last": 1}}}


@pytest.fixture(scope="module")
def pair(burning: Path) -> Iterator[Pair]:
    """They live through all tests, each with a JVM of its own."""
    runners = [World(burning, f"{name}.t").start() for name in ("left", "right")]
    yield runners[0], runners[1]
    for runner in runners:
        runner.close()


@pytest.fixture(scope="module")
def shared(burning: Path) -> World:
    """One table for all rounds, so that ledger and history grow."""
    return World(burning, "at_once.flights")


@pytest.fixture
def world(burning: Path, namespace: str) -> Callable[..., World]:
    """Makes a table of the test's own."""
    return lambda **declared: World(burning, f"{namespace}.flights", declared)


@pytest.mark.parametrize("seed", range(15))
def test_two_at_once_with_overlapping_files(pair: Pair, shared: World, seed: int) -> None:
    played = play_barrier(shared, *pair, barrier_round(seed))
    assert played.findings == Findings(), f"make test-faults SEEDS={seed}:{seed + 1}; {played}"


@pytest.mark.parametrize("step", ["branched", "staged"])
def test_a_live_claim_met_by_somebody_elses_recovery(pair: Pair, world: Callable[..., World], step: str) -> None:
    """It is neither abandoned nor cleared away, and its runner goes on as if nothing had been."""
    slow, other = pair
    table = world()
    days = table.land({DAYS[1]: (2, 3)})
    assert slow.append(table.where, days, stop_at=[step]).stopped()
    other.do("recover", table.where).result()
    assert len(table.branches()) == 1
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


@pytest.mark.parametrize(
    ("stalled_at", "expiry"), [("checked", "maintained"), ("checked", "raw"), ("frozen", "maintained")]
)
def test_the_tokens_snapshot_expired_under_a_stalled_runner(
    pair: Pair, world: Callable[..., World], stalled_at: str, expiry: str
) -> None:
    """Once it is expired Iceberg takes the token again: the runner must not come to that."""
    table = world(**AT_ONCE)
    stalled, other = pair
    days, token = token_expired_under(stalled, other, table, stalled_at, expiry)
    kept = {snapshot.snapshot_id for snapshot in table.catalog().load_table(table.table).metadata.snapshots}
    # Protected is a claim, and at "frozen" there is none: what the runner then reads again stops it.
    assert (token in kept) == ((stalled_at, expiry) == ("checked", "maintained"))
    stalled.go_on()
    assert stalled.result()[str(days[0])][0] == "nothing_to_do"
    assert settled(table, other) == Findings()


def token_expired_under(
    stalled: Runner, other: Runner, table: World, stalled_at: str, expiry: str, **how: object
) -> tuple[Sequence[date], int | None]:
    """The stalled runner's files come in by the other one, whose snapshot then goes as far as expiry lets it.

    Returns the files' dates and the snapshot that took the token.
    """
    other.append(table.where, table.land({DAYS[0]: (1,)})).result()
    days = table.land({DAYS[1]: (2, 3)})
    assert stalled.append(table.where, days, stop_at=[stalled_at], **how).stopped()
    other.append(table.where, days).result()
    token = table.catalog().load_table(table.table).metadata.current_snapshot_id
    other.append(table.where, table.land({DAYS[2]: (1,)})).result()
    time.sleep(0.1)
    if expiry == "maintained":
        other.do("expire", table.where, days=[str(DAYS[0])]).result()
    else:
        other.do("sql", table.where, statement=expire_all_but_the_last(table)).result()
    return days, token


def expire_all_but_the_last(table: World) -> str:
    """As any other tool calls it."""
    return call("local", "expire_snapshots", table=table.table, older_than=datetime.now(UTC), retain_last=1)


def test_an_expiry_of_what_was_before_the_staging_puts_no_claim_in_doubt(
    pair: Pair, world: Callable[..., World]
) -> None:
    """The snapshot with the token before may be months old when a run dies, and go while the claim is open."""
    stalled, other = pair
    table = world()
    other.append(table.where, table.land({DAYS[0]: (1,)})).result()
    days = table.land({DAYS[1]: (2, 3)})
    assert stalled.append(table.where, days, stop_at=["staged"]).stopped()
    ids = table.land({DAYS[2]: (1,)})
    foreign = f"INSERT INTO local.{table.table} SELECT * FROM parquet.`{table.raw}/{ids[0]}`"
    other.do("sql", table.where, statement=foreign).result()
    other.do("sql", table.where, statement=expire_all_but_the_last(table)).result()
    other.do("recover", table.where).result()
    stalled.go_on()
    assert stalled.result()[str(days[0])][0] == "done"
    findings = settled(table, other)
    assert (findings.lost, findings.doubled, findings.branches) == ((), (), ())


def test_without_recovery_an_unconfirmed_batch_blocks_all_after_it(pair: Pair, world: Callable[..., World]) -> None:
    """With it: a kill at ``picked``, in ``test_killed.py``."""
    first, other = pair
    table = world()
    assert first.append(table.where, table.land({DAYS[0]: (2, 3)}), stop_at=["picked"]).stopped()
    with suppress(ChildFailedError):
        other.append(table.where, table.land({DAYS[1]: (4,)}), off=["recovery"]).result()
    assert len(table.look().lost) == 4
    first.go_on()
    first.result()


def test_without_the_token_two_picks_double_the_rows(pair: Pair, world: Callable[..., World]) -> None:
    """With it: the rounds above, whose barrier is ``checked`` for each fifth seed."""
    table = world()
    days = table.land({DAYS[0]: (2, 3)})
    for runner in pair:
        assert runner.append(table.where, days, stop_at=["checked"], off=["token"]).stopped()
    for runner in pair:
        runner.go_on()
        runner.result()
    assert len(table.look().doubled) == 5


def test_without_reading_again_an_old_list_doubles_the_rows(pair: Pair, world: Callable[..., World]) -> None:
    """The list is old, and so is the token, whose snapshot went while no claim protected it. With it: see above."""
    slow, other = pair
    table = world(**AT_ONCE)
    token_expired_under(slow, other, table, "frozen", "maintained", off=["reread"])
    slow.go_on()
    slow.result()
    assert len(table.look().doubled) == 5

"""Once the snapshot with a token is expired Iceberg takes the token again: a stalled runner must not come to that."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from iceberg_assets.spark import call
from iceberg_assets_tests.faults.conftest import Pair
from iceberg_assets_tests.faults.rounds import settled
from iceberg_assets_tests.faults.schedule import DAYS
from iceberg_assets_tests.faults.world import Findings, World

pytestmark = pytest.mark.jvm

AT_ONCE = {"maintenance": {"expire": {"older_than": "0s", "minimum_age": "0s", "retain_last": 1}}}


@pytest.mark.parametrize(
    ("stalled_at", "expiry"),
    [("checked", "maintained"), ("checked", "raw"), ("reread", "raw"), ("frozen", "maintained")],
)
def test_the_tokens_snapshot_expired_under_a_stalled_runner(
    pair: Pair, world: Callable[..., World], stalled_at: str, expiry: str
) -> None:
    stalled, other = pair
    table = world(**AT_ONCE)
    other.append(table.where, table.land({DAYS[0]: (1,)})).result()
    days = table.land({DAYS[1]: (2, 3)})
    assert stalled.append(table.where, days, stop_at=[stalled_at]).stopped()
    other.append(table.where, days).result()
    token = table.catalog().load_table(table.table).metadata.current_snapshot_id
    other.append(table.where, table.land({DAYS[2]: (1,)})).result()
    time.sleep(0.1)
    if expiry == "maintained":
        other.do("expire", table.where, days=[str(DAYS[0])]).result()
    else:
        other.do("sql", table.where, statement=expire_all_but_the_last(table)).result()
    kept = {snapshot.snapshot_id for snapshot in table.catalog().load_table(table.table).metadata.snapshots}
    # Protected is a claim, and at "frozen" there is none: what the runner then reads again stops it.
    assert (token in kept) == ((stalled_at, expiry) == ("checked", "maintained"))
    stalled.go_on()
    assert stalled.result()[str(days[0])][0] == "nothing_to_do"
    assert settled(table, other) == Findings()


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

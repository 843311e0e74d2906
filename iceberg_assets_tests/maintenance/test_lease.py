"""One maintainer a table: whoever comes second is told of the first, whatever was killed in between. No JVM."""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from iceberg_assets.maintenance import lease as module
from iceberg_assets.maintenance.lease import LeaseTakenError, lease, one_lease, release, standing_lease
from iceberg_assets.maintenance.lease_table import NAME, LeaseRow, _fold, read_leases, write_lease, write_next
from iceberg_assets.maintenance.measure import Replacement
from iceberg_assets.maintenance.undo import take_back
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets_tests import on_paper

DAY = date(2024, 1, 1)


class Maintained:
    """A table of metadata only, and what its leases left on it."""

    def __init__(self, profile: Profile, name: str) -> None:
        self.profile = profile
        self.spec = TableSpec.model_validate({"table": name, "dates": {"column": "ts", "start": DAY.isoformat()}})
        self.table = on_paper.make(profile.pyiceberg(), name)
        on_paper.append(self.table, [DAY], 1)

    @property
    def uuid(self) -> str:
        return str(self.table.metadata.table_uuid)

    def lease(self, what: str = "compacted", **more: Any) -> Any:
        return lease(self.profile, self.spec, what, **more)

    def standing(self) -> LeaseRow | None:
        return standing_lease(self.profile, self.uuid)


@pytest.fixture
def maintained(profile: Profile, namespace: str) -> Maintained:
    profile.prepare()
    return Maintained(profile, f"{namespace}.t")


def test_a_second_maintainer_is_told_of_the_first(maintained: Maintained) -> None:
    before = maintained.table.metadata_location
    told = r"maintained by somebody else: compacted, process \d+ on .*, until"
    with maintained.lease("compacted"), pytest.raises(LeaseTakenError, match=told):
        maintained.lease("snapshots_expired").__enter__()
    assert maintained.standing() is None
    with maintained.lease("snapshots_expired") as second:
        assert second.row.number == 2
    assert maintained.table.refresh().metadata_location == before, "no commit of a lease is one to the table"


def test_it_is_released_also_where_the_work_fails(maintained: Maintained) -> None:
    with pytest.raises(ZeroDivisionError), maintained.lease():
        raise ZeroDivisionError
    assert maintained.standing() is None


def test_a_release_that_the_catalog_or_store_kept_from_being_written_comes_once_they_are_back(
    maintained: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_RELEASE_AGAIN", timedelta(seconds=1))
    with maintained.lease():
        leases = Path(maintained.profile.pyiceberg().load_table(NAME).location().removeprefix("file://"))
        aside = leases.rename(leases.with_name("aside"))
        leases.touch()
    leases.unlink()
    aside.rename(leases)
    assert maintained.standing() is not None
    _until(lambda: maintained.standing() is None)


def test_a_holder_that_was_killed_elsewhere_is_waited_for_until_its_deadline(maintained: Maintained) -> None:
    elsewhere = LeaseRow("taken", maintained.uuid, 1, "compacted, process 1 on another", _in(seconds=6))
    write_lease(maintained.profile, elsewhere)
    with pytest.raises(LeaseTakenError, match="compacted, process 1 on another, until"):
        maintained.lease().__enter__()
    _until(lambda: maintained.standing() is None)
    with maintained.lease() as taken:
        assert taken.row.number == 2


def _in(*, seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


def test_a_holder_of_this_machine_that_was_killed_is_not_waited_for(maintained: Maintained) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_die, args=(maintained.profile, maintained.spec))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    (row,) = read_leases(maintained.profile, maintained.uuid)
    assert row.deadline > datetime.now(UTC)
    with maintained.lease() as taken:
        assert taken.row.number == 2
    # Of another machine, container or boot nothing can be told but the deadline.
    for holder in (row.holder.replace("(", "(elsewhere-"), row.holder.partition(" (")[0]):
        write_lease(maintained.profile, replace(row, number=taken.row.number + 1, holder=holder))
        with pytest.raises(LeaseTakenError, match="somebody else"):
            maintained.lease().__enter__()


def _die(profile: Profile, spec: TableSpec) -> None:
    with lease(profile, spec, "compacted"):
        os.kill(os.getpid(), signal.SIGKILL)


def _until(come: Callable[[], bool]) -> None:
    deadline = datetime.now(UTC) + timedelta(seconds=30)
    while not come():
        assert datetime.now(UTC) < deadline


def test_a_living_holder_prolongs_its_lease(maintained: Maintained) -> None:
    with maintained.lease(lasts=timedelta(seconds=1)) as taken:
        first = taken.row.deadline
        _until(lambda: (row := maintained.standing()) is not None and row.deadline > first + timedelta(seconds=1))
    assert maintained.standing() is None


def test_who_acts_on_an_old_reading_finds_out(maintained: Maintained) -> None:
    """Between its reading and its row another one took the same number, in the same state table."""
    others = []

    def decide(rows: Sequence[LeaseRow]) -> LeaseRow:
        if not others:
            others.append(maintained.lease("another one"))
            others[0].__enter__()
            assert rows == []
        if any(row.event == "taken" for row in rows):
            raise InterruptedError("it was asked again, of what is there now")
        return LeaseRow("taken", maintained.uuid, 1, "too late", _in(seconds=60))

    with pytest.raises(InterruptedError):
        write_next(maintained.profile, maintained.uuid, decide)
    assert maintained.standing().holder.startswith("another one")
    others[0].__exit__(None, None, None)


def test_a_table_on_hold_stays_so_until_a_person_releases_it(maintained: Maintained) -> None:
    with maintained.lease() as taken:
        taken.hold_table("the rewrite in snapshot 5 changed rows")
    with pytest.raises(LeaseTakenError, match=r"\.t is on hold: the rewrite in snapshot 5 changed rows"):
        maintained.lease().__enter__()
    assert release(maintained.profile, maintained.spec).holder == "the rewrite in snapshot 5 changed rows"
    with maintained.lease():
        pass
    assert release(maintained.profile, maintained.spec) is None


def test_that_rows_changed_is_said_though_neither_a_rollback_nor_a_hold_can_be_written(
    maintained: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError("the store is away")

    with maintained.lease() as held:
        monkeypatch.setattr(module, "write_lease", fails)
        # The package's own name of it is the function.
        monkeypatch.setattr(sys.modules[take_back.__module__], "load", fails)
        said = take_back(maintained.profile, maintained.spec, held, Replacement(5, 4, 1, 1, 3, 2), "2 rows, not 3")
        monkeypatch.undo()
    assert said.startswith("nothing was taken back, since the store is away, and the table is not on hold, since")
    assert "a rewrite changed rows: 2 rows, not 3. Either iceberg-assets call rollback_to_snapshot" in said


def test_a_hold_stands_though_the_table_was_taken_over_from_a_holder_that_was_thought_dead(
    maintained: Maintained,
) -> None:
    with maintained.lease() as stalled:
        other = LeaseRow("taken", maintained.uuid, 2, "another", datetime.now(UTC))
        for row in (other, replace(other, event="released")):
            write_lease(maintained.profile, row)
        stalled.hold_table("the rewrite in snapshot 5 changed rows")
    with pytest.raises(LeaseTakenError, match="on hold"):
        maintained.lease().__enter__()


def test_the_state_table_stays_small(maintained: Maintained) -> None:
    for _ in range(30):
        with maintained.lease():
            pass
    state = maintained.profile.pyiceberg().load_table(NAME)
    assert len(state.metadata.snapshots) < 30
    assert len({row.number for row in read_leases(maintained.profile, maintained.uuid)}) < 30


def _take(profile: Profile, spec: TableSpec, barrier: Barrier, rounds: int, alone: Any) -> None:
    for _ in range(rounds):
        barrier.wait()
        try:
            with lease(profile, spec, "compacted"):
                assert alone.acquire(block=False), "two hold it"
                time.sleep(0.05)
                alone.release()
        except LeaseTakenError:
            pass
        barrier.wait()


def test_what_a_killed_holder_left_is_known_to_the_next_ones_until_it_is_compared(maintained: Maintained) -> None:
    """Also to the one after a second that was killed, and after the state table was folded."""
    began = _in(seconds=-100)
    for number in (1, 2):
        dead = LeaseRow("taken", maintained.uuid, number, f"of {number}", began + number * timedelta(seconds=1))
        write_lease(maintained.profile, dead)
    _fold(maintained.profile.pyiceberg().load_table(NAME))
    since = began + timedelta(seconds=1) - module.LEASE_FOR
    with maintained.lease(lasts=timedelta(seconds=1)) as third:
        assert third.uncompared_since == since
    assert maintained.standing() is not None, "it has not compared, and ends without a release"
    _until(lambda: maintained.standing() is None)
    with maintained.lease() as fourth:
        assert fourth.uncompared_since == since
        fourth.uncompared_since = None
    with maintained.lease() as fifth:
        assert fifth.uncompared_since is None


def test_a_block_that_commits_and_compares_leaves_nothing_only_where_it_ends_well(maintained: Maintained) -> None:
    with pytest.raises(ZeroDivisionError), maintained.lease(lasts=timedelta(seconds=1)) as held, held.comparing():
        raise ZeroDivisionError
    _until(lambda: maintained.standing() is None)
    assert release(maintained.profile, maintained.spec).number == 1, "a person has compared"
    with maintained.lease() as held, held.comparing():
        assert held.row.number == 2
    assert (held.uncompared_since, maintained.standing()) == (None, None)


def test_of_two_processes_one_holds_it(maintained: Maintained) -> None:
    spawn, rounds = multiprocessing.get_context("spawn"), 10
    barrier, alone = spawn.Barrier(2), spawn.Lock()
    given = (maintained.profile, maintained.spec, barrier, rounds, alone)
    processes = [spawn.Process(target=_take, args=given) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert maintained.standing() is None, "each was released"
    numbers = {row.number for row in read_leases(maintained.profile, maintained.uuid)}
    assert rounds <= max(numbers) <= 2 * rounds, "somebody held it in each round"


def test_operations_of_one_thread_may_share_a_lease_and_nobody_else_does(maintained: Maintained) -> None:
    def elsewhere() -> None:
        with maintained.lease("another thread"):
            raise AssertionError("it was let in")

    with one_lease(maintained.profile, maintained.spec, "all of it"):
        for what in ("compacted", "manifests_rewritten"):
            with maintained.lease(what) as held:
                assert held.row.number == 1
            assert maintained.standing() is not None, "it lasts as long as the block"
        with ThreadPoolExecutor(1) as threads, pytest.raises(LeaseTakenError, match="all of it"):
            threads.submit(elsewhere).result()
    assert maintained.standing() is None

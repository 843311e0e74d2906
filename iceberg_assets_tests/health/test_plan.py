"""What is asked for, what waits, and that both say why in numbers."""

from collections.abc import Collection, Sequence
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_assets.health import REST, DataFile, Grain, Plan, Request, Snapshot, TableHealth, plan
from iceberg_assets.health.attempts import MOST_FAILURES, retry_distance
from iceberg_assets.health.compaction_due import MOST_COMPACTIONS, MOST_DATES
from iceberg_assets.spec import Attempt, Operation, Status, TableSpec
from iceberg_assets_tests.health.examples import DAY, LONG_AGO, NOW, day_of, file, snapshot, spec, table

COMPACT = Operation.COMPACT
SPEC = spec(quiet_for="15m")
MINUTE = timedelta(minutes=1)
# Expiry has nothing to remove and orphans were just looked for: only compaction speaks.
LOOKED_FOR = Attempt(Operation.REMOVE_ORPHANS, DAY, NOW - MINUTE, Status.DONE, True, "x")


def days(first: int, count: int) -> list[date]:
    return [date(2024, 1, first) + timedelta(days=n) for n in range(count)]


def attempt(
    health: TableHealth,
    day: date = DAY,
    *,
    operation: Operation = COMPACT,
    status: Status = Status.DONE,
    productive: bool = True,
    ago: timedelta = MINUTE,
) -> Attempt:
    """An attempt that left the date as it is in ``health``; one that failed left no digest."""
    ended_well = status in (Status.DONE, Status.NOTHING_TO_DO)
    return Attempt(operation, day, NOW - ago, status, productive, health.dates[day].digest if ended_well else "")


def about(operations: Collection[Operation], whole: Plan) -> Plan:
    chosen = set(operations)
    return Plan(
        tuple(one for one in whole.requests if chosen & set(one.operations)),
        tuple(one for one in whole.waiting if chosen & set(one.operations)),
    )


def compaction(
    health: TableHealth | None,
    history: Sequence[Attempt] = (),
    running: Collection[tuple[Operation | None, date]] = (),
    now: datetime = NOW,
    of: TableSpec = SPEC,
) -> Plan:
    return about([COMPACT], plan(of, health, history, running, now))


def rest(
    health: TableHealth,
    history: Sequence[Attempt] = (),
    running: Collection[tuple[Operation | None, date]] = (),
    of: TableSpec = SPEC,
) -> Plan:
    return about(REST, plan(of, health, history, running, NOW))


# Compaction


def test_a_quiet_date_with_five_small_files_is_asked_for_and_one_with_four_is_not() -> None:
    (request,) = compaction(table(day_of((DAY, 5), (DAY + timedelta(days=2), 4)))).requests
    assert request.dates == (DAY,)
    assert "5 files, 4 would go" in request.reason


def test_a_date_that_was_written_lately_waits_and_says_for_how_long() -> None:
    found = compaction(table(day_of((DAY, 12), added=NOW - timedelta(seconds=8))))
    assert not found.requests
    assert found.waiting[0].reason == f"{DAY}: 12 files, 11 would go, data added 8 s ago, quiet after 15m"
    later = NOW + timedelta(minutes=15)
    assert compaction(table(day_of((DAY, 12), added=NOW)), now=later).requests


@pytest.mark.parametrize("running", [COMPACT, None])
def test_a_date_with_a_run_or_an_append_in_flight_is_not_asked_for(running: Operation | None) -> None:
    health = table(day_of((DAY, 5)))
    found = compaction(health, running=[(running, DAY)])
    assert not found.requests
    assert "running or queued" in found.waiting[0].reason
    assert compaction(health, running=[(running, DAY + timedelta(days=1))]).requests


@pytest.mark.parametrize("status", [Status.NOTHING_TO_DO, Status.DONE])
def test_work_that_gained_nothing_is_not_asked_for_again_until_the_date_changes(status: Status) -> None:
    files = day_of((DAY, 5))
    health = table(files)
    tried = [attempt(health, status=status, productive=False)]
    found = compaction(health, tried)
    assert not found.requests
    assert "gained nothing" in found.waiting[0].reason
    assert compaction(table([*files, file(day=DAY)]), tried).requests
    deleted_from = [*files[1:], file(path=files[0].path, deletes=("d",))]
    assert compaction(table(deleted_from), tried).requests


def test_a_table_whose_rows_a_rewrite_changed_is_on_hold_and_says_both_ways_out() -> None:
    health = table(day_of((DAY, 5)), manifests=40, snapshots=[snapshot(n, timedelta(days=40 - n)) for n in range(1, 9)])
    assert compaction(health).requests
    held = plan(SPEC, health, (), (), NOW, doubted={(COMPACT, DAY)})
    assert not held.requests
    (waiting,) = held.waiting
    assert set(waiting.operations) == set(Operation)
    for words in (f"'compacted' of {DAY} changed rows", "Either roll back", "or keep the rows", "with force: true"):
        assert words in waiting.reason


def test_work_that_paid_and_is_still_due_is_asked_for_again() -> None:
    health = table(day_of((DAY, 5)))
    assert compaction(health, [attempt(health)]).requests


@pytest.mark.parametrize("status", [Status.FAILED, Status.PARTIAL, Status.SKIPPED])
def test_a_failure_is_tried_again_with_growing_distance(status: Status) -> None:
    health = table(day_of((DAY, 5)))
    failures = [attempt(health, status=status, ago=n * timedelta(hours=2) + 3 * MINUTE) for n in range(3)]
    assert compaction(health, failures[:2]).requests, "two failures: 2 minutes, and 3 have passed"
    found = compaction(health, failures)
    assert not found.requests
    assert "failed 3 times in a row, tried again in 60 s" in found.waiting[0].reason
    assert compaction(health, failures, now=NOW + MINUTE).requests


def test_a_success_in_between_ends_the_row_of_failures() -> None:
    health = table(day_of((DAY, 5)))
    history = [attempt(health, status=Status.FAILED, ago=n * MINUTE) for n in (2, 4, 5, 6)]
    assert not compaction(health, history).requests
    assert compaction(health, [*history, attempt(health, ago=3 * MINUTE)]).requests


def test_the_distance_doubles_from_a_minute_to_an_hour_and_is_a_day_in_the_end() -> None:
    day = timedelta(days=1) / MINUTE
    assert [retry_distance(n) / MINUTE for n in (1, 2, 3, 6, 7, 8, 99)] == [1, 2, 4, 32, 60, day, day]


def test_what_fails_again_and_again_or_gains_nothing_is_stuck_and_what_waits_is_not() -> None:
    health = table(day_of((DAY, 5)))
    failures = [attempt(health, status=Status.FAILED, ago=n * MINUTE) for n in range(1, MOST_FAILURES + 1)]
    for history, stuck in ((failures, True), (failures[1:], False), ([attempt(health, productive=False)], True)):
        (waiting,) = compaction(health, history).waiting
        assert waiting.stuck is stuck, waiting.reason
    assert compaction(health, failures, now=NOW + timedelta(days=1)).requests, "it is never given up for good"


def test_the_queue_is_short_and_what_gains_most_comes_first() -> None:
    """Dates with a gap between them are a run each: two thousand of them must not be two thousand runs at once."""
    now = NOW + timedelta(days=45)
    due = [DAY + timedelta(days=2 * n) for n in range(30)]
    health = table(day_of(*((day, 5 + (day == due[20])) for day in due)), now=now)
    found = compaction(health, now=now)
    assert [request.dates for request in found.requests] == [(day,) for day in (due[20], *due[: MOST_COMPACTIONS - 1])]
    assert {day for one in found.waiting for day in one.dates} == {*due} - {
        day for r in found.requests for day in r.dates
    }
    assert "waits for its turn: 8 compactions of the table come first" in found.waiting[0].reason
    running = [(COMPACT, day) for request in found.requests[1:] for day in request.dates]
    (next_,) = compaction(health, running=running, now=now).requests
    assert next_.dates == (due[20],)


def test_files_of_many_dates_are_asked_for_once_and_counted_once() -> None:
    """Of an older spec: a rewrite of any of the dates takes them, and finds nothing on the others."""
    first, *others = days(1, 20)
    health = table([file(day=first, last=others[-1], spec_id=1) for _ in range(6)])
    assert health.small_files == 5
    asked = compaction(health)
    assert [request.dates for request in asked.requests] == [(first,)]
    (waiting,) = asked.waiting
    assert waiting.dates == tuple(others)
    assert waiting.reason.endswith(f"its files go with those of {first}")
    assert not compaction(health, running=[(COMPACT, first)]).requests
    failed = attempt(health, first, status=Status.FAILED, ago=timedelta(0))
    assert [request.dates for request in compaction(health, [failed]).requests] == [(others[0],)]


def test_neighbouring_dates_are_one_request_and_a_gap_makes_two() -> None:
    due = [*days(1, 3), *days(8, 2)]
    requests = compaction(table(day_of(*((day, 5) for day in due)))).requests
    assert [list(request.dates) for request in requests] == [days(1, 3), days(8, 2)]
    assert "15 files, 12 would go" in requests[0].reason


def test_a_long_chain_of_dates_is_cut() -> None:
    now = NOW + timedelta(days=30)
    health = table(day_of(*((day, 5) for day in days(1, 40))), now=now)
    assert [len(request.dates) for request in compaction(health, now=now).requests] == [MOST_DATES, 9]


def test_a_month_is_tried_once_however_its_carrier_moves() -> None:
    """The month's carrier is today: what an earlier carrier was tried for must not be asked for anew each day."""
    files, yesterday = day_of((DAY, 5)), NOW - timedelta(days=1)
    before = table(files, grain=Grain.MONTH, now=yesterday)
    tried = [attempt(before, yesterday.date(), productive=False)]
    health = table(files, grain=Grain.MONTH)
    assert compaction(health).requests
    assert not compaction(health, tried).requests
    assert not compaction(health, running=[(COMPACT, yesterday.date())]).requests


def test_a_table_that_is_absent_or_empty_waits() -> None:
    assert plan(SPEC, None, (), (), NOW).waiting[0].reason.startswith("demo.flights does not exist yet: its writer")
    assert "no snapshot" in plan(SPEC, table(snapshots=()), (), (), NOW).waiting[0].reason


file_lists = st.lists(
    st.builds(
        file,
        size=st.sampled_from([100, 600 * 1024**2, 10**10]),
        day=st.sampled_from(days(1, 12)),
        added=st.sampled_from([None, LONG_AGO, NOW - MINUTE]),
    ),
    max_size=60,
)
flights = st.sets(st.tuples(st.sampled_from([None, *Operation]), st.sampled_from(days(1, 12))))


@given(file_lists, flights)
@settings(max_examples=200, deadline=None)
def test_every_request_is_due_quiet_idle_and_without_a_gap(
    files: list[DataFile], running: set[tuple[Operation | None, date]]
) -> None:
    health = table(files, of=SPEC)
    for request in compaction(health, running=running).requests:
        assert list(request.dates) == days(request.dates[0].day, len(request.dates))
        for day in request.dates:
            found = health.dates[day]
            assert found.groups
            assert found.added_at is None or NOW - found.added_at >= SPEC.maintenance.quiet_for
            assert not {(COMPACT, day), (None, day)} & running


@given(file_lists, flights)
@settings(max_examples=200, deadline=None)
def test_no_need_is_lost_every_due_date_is_asked_for_or_says_why_not(
    files: list[DataFile], running: set[tuple[Operation | None, date]]
) -> None:
    health = table(files, of=SPEC)
    found = compaction(health, running=running)
    spoken = [day for part in (*found.requests, *found.waiting) for day in part.dates]
    assert sorted(spoken) == [day for day, one in health.dates.items() if one.groups]


@given(file_lists)
def test_what_is_asked_for_is_not_asked_for_again_while_it_runs(files: list[DataFile]) -> None:
    health = table(files, of=SPEC)
    asked = plan(SPEC, health, (), (), NOW).requests
    running = [(operation, day) for request in asked for operation in request.operations for day in request.dates]
    assert plan(SPEC, health, (), running, NOW).requests == ()


@given(file_lists)
def test_work_that_never_pays_comes_to_rest(files: list[DataFile]) -> None:
    health, history = table(files, of=SPEC), [LOOKED_FOR]
    for request in plan(SPEC, health, (), (), NOW).requests:
        history += [
            attempt(health, day, operation=operation, productive=False)
            for operation in request.operations
            for day in request.dates
            if day in health.dates
        ]
    assert plan(SPEC, health, history, (), NOW).requests == ()


# Manifests, expiry, orphans


def chain(ages: Sequence[timedelta]) -> list[Snapshot]:
    return [snapshot(n + 1, age, parent=n or None) for n, age in enumerate(ages)]


def the(plan_: Plan) -> Request:
    (request,) = plan_.requests
    return request


def test_orphans_are_looked_for_first_of_all_then_by_cadence_then_after_a_death() -> None:
    health = table(day_of((DAY, 1)))
    assert Operation.REMOVE_ORPHANS in the(rest(health)).operations
    looked = attempt(health, operation=Operation.REMOVE_ORPHANS, ago=timedelta(hours=1))
    found = rest(health, [looked])
    assert not found.requests
    assert any("due every 7d" in one.reason for one in found.waiting)
    assert the(rest(health, [attempt(health, operation=Operation.REMOVE_ORPHANS, ago=timedelta(days=7))])).operations
    died = attempt(health, status=Status.FAILED, ago=30 * MINUTE)
    assert "failed since" in the(rest(health, [looked, died])).reason


def test_manifests_are_due_from_min_count_on_where_a_rewrite_halves_them() -> None:
    files = day_of((DAY, 1))
    assert Operation.REWRITE_MANIFESTS in the(rest(table(files, manifests=20), [LOOKED_FOR])).operations
    assert not rest(table(files, manifests=19), [LOOKED_FOR]).requests
    tiny = {"commit.manifest.target-size-bytes": "10000"}
    assert not rest(table(files, manifests=20, properties=tiny), [LOOKED_FOR]).requests


def test_expiry_is_due_where_a_snapshot_would_go_and_comes_with_the_others_in_one_run() -> None:
    health = table(day_of((DAY, 1)), snapshots=chain([timedelta(days=9), timedelta(days=8)]), manifests=30)
    request = the(rest(health))
    assert request.operations == REST
    assert "1 of 2 snapshots would go" in request.reason


def test_expiry_that_removed_nothing_is_asked_for_again_once_another_snapshot_would_go() -> None:
    files = day_of((DAY, 1))
    old = chain([timedelta(days=9), timedelta(days=8)])
    health = table(files, snapshots=old)
    tried = attempt(health, operation=Operation.EXPIRE_SNAPSHOTS, productive=False, ago=timedelta(hours=1))
    assert not rest(health, [LOOKED_FOR, tried]).requests
    aged = table(files, snapshots=chain([timedelta(days=9), timedelta(days=5, minutes=30), timedelta(days=1)]))
    assert rest(aged, [LOOKED_FOR, tried]).requests


def test_the_rest_waits_for_compaction_of_quiet_dates_but_not_for_ever() -> None:
    health = table(day_of((DAY, 5)))
    found = rest(health)
    assert not found.requests
    assert "waits for the compaction of 1 date" in found.waiting[0].reason
    assert "running compaction" in rest(table(day_of((DAY, 1))), running=[(COMPACT, DAY)]).waiting[0].reason
    old = table(day_of((DAY, 5)), snapshots=[snapshot(1, timedelta(days=7))])
    assert Operation.REMOVE_ORPHANS in the(rest(old)).operations


def test_the_rest_does_not_wait_for_dates_that_are_being_written_or_gain_nothing() -> None:
    assert rest(table(day_of((DAY, 5), added=NOW))).requests
    health = table(day_of((DAY, 5)))
    assert rest(health, [attempt(health, productive=False)]).requests


@pytest.mark.parametrize("operation", REST)
def test_one_run_of_the_rest_at_a_time(operation: Operation) -> None:
    found = rest(table(day_of((DAY, 1))), running=[(operation, DAY + timedelta(days=3))])
    assert not found.requests
    assert "running or queued" in found.waiting[0].reason


def test_the_rest_is_asked_for_over_the_dates_touched_since_it_last_went_well() -> None:
    dates = days(2, 6)
    files = day_of(*((day, 1) for day in dates))
    health = table(files)
    assert the(rest(health)).dates == tuple(dates)
    looked = [attempt(health, day, operation=Operation.REMOVE_ORPHANS, ago=timedelta(days=8)) for day in dates]
    assert the(rest(health, looked)).dates == (dates[-1],), "nothing touched: the newest date with data"
    changed = table([*files, file(day=dates[1]), file(day=dates[3])])
    assert the(rest(changed, looked)).dates == tuple(dates[1:4])


def test_a_failed_run_of_the_rest_is_tried_again_later() -> None:
    health = table(day_of((DAY, 1)))
    failed = attempt(health, operation=Operation.REMOVE_ORPHANS, status=Status.FAILED, ago=timedelta(seconds=30))
    found = rest(health, [failed])
    assert not found.requests
    assert any("failed 1 time in a row" in one.reason for one in found.waiting)


def test_neighbouring_dates_that_wait_for_the_same_are_one_reason():
    health = table(day_of(*((day, 5) for day in days(3, 4)), (date(2024, 1, 9), 5)))
    running = [(COMPACT, day) for day in days(3, 7)]
    waiting = compaction(health, running=running).waiting
    assert [one.dates for one in waiting] == [tuple(days(3, 4)), (date(2024, 1, 9),)]
    assert waiting[0].reason.startswith("2024-01-03 to 2024-01-06: 20 files, 16 would go, a compaction")


def test_a_table_in_which_nothing_is_due_says_so_in_numbers():
    (said,) = compaction(table(day_of((DAY, 4)))).waiting
    assert said.reason == "no group of files is due: 4 files on 1 date, 4 small ones below the rule"

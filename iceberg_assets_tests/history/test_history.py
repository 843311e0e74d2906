"""What is written down is read again, by any filter; a plan gets attempts of it, a person what it cost. No JVM."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from iceberg_assets.history import (
    Attempts,
    Recorder,
    Wanted,
    Who,
    costs,
    read_failures,
    read_records,
    unmeasured_records,
)
from iceberg_assets.history.store import ERRORS, OUTCOMES, fold
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Attempt, Operation, Outcome, Status
from iceberg_assets_tests.history.conftest import DAY, NOW, Make


def record_all(lake: Profile, *records: object) -> None:
    with Recorder(lake, Who.here(lake), batch=1_000) as recorder:
        recorder.add(records)  # type: ignore[arg-type]


def test_a_history_that_was_never_written_is_empty(lake: Profile) -> None:
    assert read_records(lake, Wanted()) == []
    assert read_failures(lake, Wanted(table="demo.flights")) == []
    assert Attempts.read(lake).of("demo.flights") == []


def test_records_come_back_whole_and_by_every_filter(lake: Profile, make: Make) -> None:
    flights, odd = make(), make(table="demo.`it's`", operation="snapshots_expired", at=NOW + timedelta(hours=1))
    failed = make(status=Status.FAILED, reason="rows changed", dates=(), digests=(), at=NOW + timedelta(days=30))
    record_all(lake, odd, failed, flights)
    assert read_records(lake, Wanted()) == [flights, odd, failed]
    assert read_records(lake, Wanted(table="demo.`it's`")) == [odd]
    assert read_records(lake, Wanted(operation="snapshots_expired")) == [odd]
    assert read_records(lake, Wanted(status=Status.FAILED)) == [failed]
    assert read_records(lake, Wanted(table="demo.flights", since=NOW + timedelta(days=1))) == [failed]
    (error,) = read_failures(lake, Wanted())
    assert (error.table, error.error, error.message, error.who) == (
        "demo.flights",
        "failed",
        "rows changed",
        flights.who,
    )


def test_a_plan_gets_what_was_tried_and_not_what_was_planned_only(lake: Profile, make: Make) -> None:
    days = (DAY, DAY + timedelta(days=1))
    record_all(
        lake,
        make(operation="snapshots_expired", dates=days, digests=("a", "b")),
        make(operation="snapshots_expired", shadow=True, status=Status.SKIPPED, digests=()),
        make(operation="rollback_to_snapshot", dates=(), digests=()),
        make(table="demo.other"),
    )
    attempts = Attempts.read(lake)
    expired = (Operation.EXPIRE_SNAPSHOTS, NOW, Status.DONE, True)
    assert set(attempts.of("demo.flights")) == {
        Attempt(expired[0], day, *expired[1:], digest) for day, digest in zip(days, ("a", "b"), strict=True)
    }
    assert [one.digest for one in attempts.of("demo.other")] == ["abc"]


def test_an_operation_that_broke_early_is_one_record_of_all_its_dates(lake: Profile, make: Make) -> None:
    """A plan counts it as a failure on each of them: there is no digest."""
    days = [DAY, DAY + timedelta(days=1)]
    broken = Outcome(Operation.REMOVE_ORPHANS, Status.FAILED, "the store does not answer", seconds=2.0)
    records = unmeasured_records("demo.flights", dict.fromkeys(days, broken), make().who, NOW)
    record_all(lake, *records)
    assert [(one.dates, one.reason, one.seconds) for one in records] == [(tuple(days), broken.reason, 2.0)]
    assert {(one.day, one.status, one.digest) for one in Attempts.read(lake).of("demo.flights")} == {
        (day, Status.FAILED, "") for day in days
    }


def test_a_record_that_was_committed_twice_counts_once(lake: Profile, make: Make) -> None:
    """A commit whose reply was lost is made again."""
    record = make()
    record_all(lake, record)
    record_all(lake, record)
    assert read_records(lake, Wanted()) == [record]
    assert len(Attempts.read(lake).of("demo.flights")) == 1


def test_what_a_table_cost_and_saved(make: Make) -> None:
    fruitless = make(status=Status.DONE, productive=False, actual={}, seconds=2.0)
    failed = make(status=Status.FAILED, productive=False, actual={}, seconds=0.5)
    shadow = make(shadow=True, seconds=0.0)
    cheap = make(table="demo.cheap", seconds=1.0, actual={"iceberg/saved_snapshots": 7.0})
    flights, other = costs([cheap, make(), fruitless, failed, shadow])
    assert (flights.table, flights.outcomes, flights.unproductive, flights.unfinished) == ("demo.flights", 3, 1, 1)
    assert (flights.seconds, flights.files, flights.bytes, flights.snapshots) == (4.0, 23, 4096, 0)
    assert (other.table, other.snapshots) == ("demo.cheap", 7)


def test_the_history_stays_small_and_forgets_what_is_too_old(lake: Profile, make: Make) -> None:
    """Files, snapshots and rows do not grow with its age, on disk neither."""
    now = datetime.now(UTC)
    old, kept = make(at=now - timedelta(days=150)), [make(at=now) for _ in range(23)]
    for record in (old, *kept):
        record_all(lake, replace(record, status=Status.FAILED))
    later = now + timedelta(hours=2)
    for which in (OUTCOMES, ERRORS):
        for _ in range(2):  # What one leaves, the next clears away.
            fold(lake, which, timedelta(days=90), later)
        table = lake.pyiceberg().load_table(which.name)
        assert len(table.metadata.snapshots) == 1
        live = {task.file.file_path.removeprefix("file://") for task in table.scan().plan_files()}
        stored = Path(table.location().removeprefix("file://")).rglob("*.parquet")
        assert {str(path) for path in stored} == live
        assert len(live) <= 2, "one for each month"
    assert {one.id for one in read_records(lake, Wanted())} == {one.id for one in kept}
    assert len(read_failures(lake, Wanted())) == len(kept)

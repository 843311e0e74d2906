"""Which dates files count for, and what one compaction takes."""

from datetime import date, timedelta
from typing import Any

import pytest

from iceberg_assets.health import DataFile, DeleteFile, Grain, compaction_unit
from iceberg_assets.health.facts import Snapshot
from iceberg_assets.health.read import Arrivals
from iceberg_assets.health.unit import NOWHERE, grain_of, partition_span
from iceberg_assets_tests.health.examples import DAY, LONG_AGO, NOW, file, snapshot, spec, table

NEXT = DAY + timedelta(days=1)


@pytest.mark.parametrize(
    ("transform", "kind", "value", "first", "last"),
    [
        ("month", "date", 648, date(2024, 1, 1), date(2024, 1, 31)),
        ("month", "date", -1, date(1969, 12, 1), date(1969, 12, 31)),
        ("year", "timestamp", 54, date(2024, 1, 1), date(2024, 12, 31)),
        ("day", "timestamp", -1, date(1969, 12, 31), date(1969, 12, 31)),
        ("hour", "timestamp", 25, date(1970, 1, 2), date(1970, 1, 2)),
        ("identity", "date", 19723, date(2024, 1, 1), date(2024, 1, 1)),
        ("identity", "timestamp", -1, date(1969, 12, 31), date(1969, 12, 31)),
        ("day", "date", 10**9, date.max, date.max),
    ],
)
def test_partition_values_of_every_time_transform_are_dates(
    transform: str, kind: Any, value: int, first: date, last: date
) -> None:
    assert partition_span(transform, kind, value) == (first, last)


def test_a_partition_of_nulls_lies_on_no_date_and_a_bucket_tells_nothing() -> None:
    assert partition_span("day", "timestamp", None) == NOWHERE
    assert partition_span("bucket[4]", "timestamp", 3) is None


@pytest.mark.parametrize(
    ("transforms", "grain"),
    [
        (["day"], Grain.DATE),
        (["hour"], Grain.DATE),
        (["identity"], Grain.DATE),
        (["month"], Grain.MONTH),
        (["year", "bucket[4]"], Grain.YEAR),
        (["month", "identity"], Grain.DATE),
        (["bucket[4]"], Grain.TABLE),
        ([], Grain.TABLE),
    ],
)
def test_a_rewrite_takes_whole_partitions_of_the_current_spec(transforms: list[str], grain: Grain) -> None:
    assert grain_of(transforms) is grain


def test_a_month_is_carried_by_its_last_partition_date() -> None:
    health = table([file(day=DAY) for _ in range(5)], grain=Grain.MONTH)
    unit = compaction_unit(spec(), health, DAY, NOW)
    assert (unit.first, unit.last, unit.carrier) == (date(2024, 1, 1), date(2024, 1, 31), date(2024, 1, 31))
    own, carrier = health.dates[DAY], health.dates[unit.carrier]
    assert (own.data_files, own.groups, carrier.data_files, len(carrier.groups)) == (5, (), 5, 1)
    # A try on the date alone, which cannot do anything, must not stand for one on the month.
    assert own.digest != carrier.digest


def test_a_month_that_is_not_over_is_carried_by_today() -> None:
    mid_month = NOW - timedelta(days=10)
    assert compaction_unit(spec(), table([file()], grain=Grain.MONTH), DAY, mid_month).carrier == mid_month.date()


def test_a_table_without_a_time_field_is_carried_by_its_newest_date() -> None:
    files = [file(day=day, partition=()) for day in (DAY, DAY, DAY, NEXT, NEXT)]
    health = table(files, grain=Grain.TABLE)
    assert compaction_unit(spec(), health, DAY, NOW).carrier == NEXT
    assert (health.dates[NEXT].data_files, health.dates[NEXT].small_files) == (5, 4)
    assert health.dates[DAY].small_files == 0


def test_a_file_of_unknown_dates_belongs_to_the_newest_partition_where_nothing_is_known() -> None:
    unknown = [DataFile(f"f{n}", 10, 1, 0, (), None, None) for n in range(5)]
    health = table(unknown, grain=Grain.TABLE)
    assert list(health.dates) == [NOW.date()]
    assert health.dates[NOW.date()].small_files == 4


def test_old_files_over_many_dates_are_candidates_of_each_date_they_may_touch() -> None:
    wide = file(day=date(2024, 1, 1), last=date(2024, 3, 1), spec_id=7)
    health = table([wide, file(day=DAY)])
    assert list(health.dates) == [DAY]
    assert health.dates[DAY].data_files == 2
    alone = table([wide])
    assert [found.data_files for found in alone.dates.values()] == [1]


def test_files_outside_the_partitions_count_for_the_table_and_for_no_date() -> None:
    files = [file(day=date(2023, 12, 31)) for _ in range(5)] + [file(day=date(2024, 2, 5)), file(day=DAY)]
    health = table(files)
    assert list(health.dates) == [DAY]
    assert (health.data_files, health.small_files, health.small_files_waiting) == (7, 0, 7)


def test_rows_are_live_rows_and_unknown_where_deletes_cannot_be_counted() -> None:
    assert table([file(deletes=("a",), deleted_rows=3), file()]).rows == 17
    vague = DataFile("v", 10, 10, 0, (), DAY, DAY, deletes=(DeleteFile("eq", 30),), rows_known=False)
    assert table([vague]).dates[DAY].rows is None


def test_the_delete_debt_counts_a_delete_file_once_however_many_files_it_touches() -> None:
    files = [file(deletes=("own",)), file(deletes=("wide",)), file(deletes=("wide",)), file(day=NEXT)]
    health = table(files)
    assert [(of.deletes, of.delete_files, of.delete_ratio) for of in health.dates.values()] == [
        (2, 2, 2 / 30),
        (0, 0, 0),
    ]
    assert health.delete_ratio == 2 / 40


def test_files_of_older_specs_are_counted() -> None:
    health = table([file(spec_id=1), file(), file(day=NEXT, spec_id=2)])
    assert [of.old_spec_files for of in health.dates.values()] == [1, 1]
    assert health.old_spec_files == 2


def test_the_digest_changes_with_data_files_and_with_delete_files_alone() -> None:
    one, other = file(path="one"), file(path="other")
    digests = {
        table(files).dates[DAY].digest
        for files in ([one], [one, other], [file(path="one", deletes=("d",))], [file(path="one", deletes=("e",))])
    }
    assert len(digests) == 4
    assert table([one, other]).dates[DAY].digest == table([other, one]).dates[DAY].digest


def arrivals(*snapshots: Snapshot) -> Arrivals:
    return Arrivals(snapshots)


def test_a_rewrite_is_no_arrival_of_data() -> None:
    found = arrivals(snapshot(1, timedelta(hours=2)), snapshot(2, timedelta(hours=1), operation="replace"))
    assert found.of(1, 1) == NOW - timedelta(hours=2)
    assert found.of(2, 2) is None


def test_a_file_of_an_expired_snapshot_came_before_the_next_one_that_is_left() -> None:
    found = arrivals(snapshot(5, timedelta(minutes=3)), snapshot(9, timedelta(minutes=1)))
    assert found.of(4, 4) == NOW - timedelta(minutes=3)
    assert found.of(7, 7) == NOW - timedelta(minutes=1)
    assert found.of(12, 12) is None


def test_v1_tables_number_nothing_so_that_the_oldest_snapshot_left_is_the_bound() -> None:
    left = Snapshot(5, None, 0, LONG_AGO, "append", {})
    assert arrivals(left).of(4, 0) == LONG_AGO

"""What one look of a watch over years of dates costs, and that it comes round to all of them."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from unittest.mock import patch

from iceberg_assets.tables import waiting
from iceberg_assets.tables.waiting import Watch, keep_watch, next_look
from iceberg_assets_tests.tables.helpers import Feed, make_feed

YEARS = [date(2013, 1, 1) + timedelta(days=n) for n in range(5000)]


def test_a_look_is_bounded_and_comes_round_to_every_date() -> None:
    watch, seen, looks = Watch(), set(), 0
    while seen != set(YEARS):
        days, before = next_look(YEARS, watch)
        assert len(days) <= 64
        assert days.issuperset(YEARS[-14:]), "the newest are looked at each time"
        seen |= days
        watch, looks = Watch(before=before), looks + 1
    assert looks == 100
    assert watch.before is None, "and begins anew"


def test_a_date_that_waits_is_looked_at_until_it_does_not() -> None:
    early = YEARS[7]
    for before in (None, YEARS[3000], YEARS[60]):
        assert early in next_look(YEARS, Watch((early,), before))[0]
    assert next_look(YEARS[8:], Watch((early,)))[0].isdisjoint({early}), "it is no partition any more"


def test_all_dates_of_a_young_table_are_looked_at_each_time() -> None:
    few = YEARS[:60]
    assert next_look(few, Watch()) == (frozenset(few), None)
    assert next_look(few[:3], Watch()) == (frozenset(few[:3]), None)


def test_a_file_under_an_old_date_is_found_in_its_turn_and_kept_in_sight(feed: Feed) -> None:
    feed = make_feed(feed.profile, feed.raw, list(feed.spec.table), dates={"column": "ts", "start": "2013-01-01"})
    old = feed.land(date(2013, 1, 2), "a", [1])
    now, watch, listed = datetime(2014, 1, 1, tzinfo=UTC), Watch(), []

    def landed(*asked: Any) -> Any:
        listed.append(asked)
        return list_them(*asked)

    list_them = waiting.landed
    with patch.object(waiting, "landed", landed):
        looks = []
        for _ in range(9):
            found, watch = keep_watch(feed.profile, feed.spec, now, watch)
            looks.append([file.path for file in found])
    assert looks == [[]] * 7 + [[str(old)]] * 2
    assert len(listed) < 9 * 70
    old.unlink()
    found, watch = keep_watch(feed.profile, feed.spec, now, watch)
    assert (found, watch.waiting) == ((), ())

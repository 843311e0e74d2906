"""Small files that nothing compacts are counted, with the side of the partitions that they lie on."""

from datetime import date

from iceberg_assets.health import Grain, plan
from iceberg_assets.health.decision import Outside
from iceberg_assets.health.outside import outside
from iceberg_assets.health.unit import NOWHERE
from iceberg_assets.spec import Operation, TableSpec
from iceberg_assets_tests.health.examples import DAY, NOW, day_of, file, spec, table

BEFORE, AFTER = date(2023, 12, 31), date(2024, 2, 1)
LARGE = 600 * 1024**2


def test_each_side_is_counted_and_says_which_key_it_is_about() -> None:
    nowhere = file(day=NOWHERE[0], last=NOWHERE[1])
    health = table([*day_of((DAY, 1), (BEFORE, 2), (AFTER, 3)), nowhere, file(LARGE, BEFORE)])
    assert outside(spec(), health, NOW) == (
        "6 small files outside the asset's partitions, which nothing here compacts: 2 before dates.start 2024-01-01, "
        "3 after today, 2024-01-31, 1 without a date (ts is null)"
    )
    ended = TableSpec.model_validate(
        {"table": "a.b", "dates": {"column": "ts", "start": "2024-01-01", "end": "2024-01-20"}}
    )
    assert "1 after dates.end 2024-01-20" in str(outside(ended, table(day_of((date(2024, 1, 21), 1)), of=ended), NOW))


def test_files_that_some_date_reaches_are_not_outside() -> None:
    assert outside(spec(), table(day_of((DAY, 9))), NOW) is None
    assert outside(spec(), table([file(day=BEFORE, last=DAY)]), NOW) is None
    ended = TableSpec.model_validate(
        {"table": "a.b", "dates": {"column": "ts", "start": "2024-01-15", "end": "2024-01-20"}}
    )
    month = [*day_of((DAY, 1), (date(2024, 1, 16), 1))]
    assert outside(ended, table(month, of=ended, grain=Grain.MONTH), NOW) is None, "compacted with its month"
    assert outside(ended, table(month, of=ended, grain=Grain.TABLE), NOW) is None, "compacted with the table"
    assert outside(ended, table(month, of=ended), NOW) is not None


def test_the_plan_tells_of_them_and_no_date_is_given_them_as_its_reason() -> None:
    health = table(day_of((DAY, 6), (BEFORE, 9)))
    decided = plan(spec(), health, (), (), NOW)
    (told,) = [one for one in decided.waiting if isinstance(one, Outside)]
    assert "9 before dates.start" in told.reason
    assert decided.reason_of(Operation.COMPACT, date(2024, 1, 11)) == "nothing is due"

"""The planner's rule on tables as Spark writes them: the planner's groups over many settings, and whole rewrites.

The thresholds themselves are the parity tests'.
"""

import random
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest

from iceberg_assets.health import TableHealth, Unit, compaction_unit, groups, rule
from iceberg_assets_tests.health.conftest import DAY, LATER, NEXT, Example

KILOBYTES = 1024
MERGE_ON_READ = {"write_delete_mode": "merge-on-read"}


def units(table: Example, health: TableHealth) -> dict[date, Unit]:
    """What is rewritten at once, by the date that carries it."""
    found = {day: compaction_unit(table.spec, health, day, datetime.now(UTC)) for day in health.dates}
    return {day: unit for day, unit in found.items() if unit.carrier == day}


def bounds(unit: Unit) -> tuple[datetime, datetime] | None:
    if unit.first is None or unit.last is None:
        return None
    first, end = (datetime.combine(day, time(), UTC) for day in (unit.first, unit.last + timedelta(days=1)))
    return first, end


# The planner, over many settings


def planned(table: Example, java: Any, unit: Unit, options: dict[str, str]) -> Counter[tuple[frozenset[str], int]]:
    """The groups of Iceberg's own planner: their files and expected outputs."""
    expressions = table.iceberg.expressions.Expressions
    where = expressions.alwaysTrue()
    if (range_ := bounds(unit)) is not None:
        low, high = (int(moment.timestamp()) * 10**6 for moment in range_)
        where = getattr(expressions, "and")(expressions.greaterThanOrEqual("ts", low), expressions.lessThan("ts", high))
    planner = table.iceberg.actions.BinPackRewriteFilePlanner(java, where)
    planner.init(options)
    found: Counter[tuple[frozenset[str], int]] = Counter()
    stream = planner.plan().groups().iterator()
    while stream.hasNext():
        group = stream.next()
        files = frozenset(task.file().location() for task in group.fileScanTasks())
        found[files, group.expectedOutputFiles()] += 1
    return found


def some_options(dice: random.Random) -> dict[str, str]:
    """Settings around the sizes and counts of the files below."""
    target = dice.choice([20, 90, 150, 400]) * KILOBYTES
    options: dict[str, object] = {"target-file-size-bytes": target}
    if dice.random() < 0.3:
        options["min-file-size-bytes"] = dice.choice([0, target // 10, target - 1])
    if dice.random() < 0.3:
        options["max-file-size-bytes"] = dice.choice([target + 1, target * 3])
    if dice.random() < 0.7:
        options["min-input-files"] = dice.choice([1, 2, 3, 8])
    if dice.random() < 0.4:
        options["delete-file-threshold"] = dice.choice([0, 1, 2])
    if dice.random() < 0.4:
        options["delete-ratio-threshold"] = dice.choice([0.01, 0.25, 0.6, 1])
    if dice.random() < 0.2:
        options["rewrite-all"] = "true"
    return {name: str(value) for name, value in options.items()}


def mixed_specs(table: Example) -> None:
    table.append(DAY, NEXT, files=2)
    table.append(LATER, rows=30)
    table.sql("ALTER TABLE {t} REPLACE PARTITION FIELD months(ts) WITH days(ts)")
    table.append(DAY, NEXT, files=3)
    table.sql("ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)")
    table.append(NEXT, LATER, files=2)


def with_deletes(table: Example) -> None:
    table.append(DAY, NEXT, files=2)
    table.append(DAY, rows=50)
    for share, day in ((0.3, DAY), (0.1, NEXT), (0.35, DAY)):
        table.sql(f"DELETE FROM {{t}} WHERE date(ts) = '{day}' AND x < {share}")


def without_time(table: Example) -> None:
    table.append(DAY, files=3)
    table.append(NEXT, rows=100, files=3)


@pytest.mark.parametrize(
    ("partitions", "fill", "properties"),
    [
        ("months(ts)", mixed_specs, {"format-version": "2"}),
        ("days(ts)", with_deletes, MERGE_ON_READ | {"format-version": "2", "write_delete_granularity": "partition"}),
        ("days(ts)", with_deletes, MERGE_ON_READ | {"format-version": "3"}),
        ("bucket(2, id)", without_time, {"format-version": "1"}),
    ],
    ids=["mixed specs", "deletes by partition", "deletion vectors", "no time, v1"],
)
def test_the_groups_are_those_of_icebergs_planner(
    example: Callable[..., Example], partitions: str, fill: Callable[[Example], None], properties: dict[str, str]
) -> None:
    table = example(partitions, **properties)
    fill(table)
    health, java, dice, due = table.health(), table.java(), random.Random(partitions), 0
    for _ in range(40):
        options = some_options(dice)
        for day, unit in units(table, health).items():
            files = [one for one in health.files if unit.first is None or one.within(unit.first, unit.last)]
            foretold = Counter(
                (frozenset(one.path for one in group.files), group.outputs)
                for group in groups(files, health.spec_id, rule(options, health.properties))
                if group.due
            )
            assert foretold == planned(table, java, unit, options), (day, options)
            due += sum(foretold.values())
    assert due > 20, "settings under which nothing happens prove nothing"


# The procedure


def rewrite_as_foretold(table: Example) -> list[tuple[int, int]]:
    """Rewrite every date as maintenance does, and hold each rewrite to what health foretold.

    Returns:
        Files removed and added by each rewrite that was due.
    """
    done = []
    for day, unit in units(table, table.health()).items():
        before, where = table.health(), None
        if (range_ := bounds(unit)) is not None:
            low, high = (f"TIMESTAMP '{moment.isoformat(sep=' ')}'" for moment in range_)
            where = f"ts >= {low} AND ts < {high}"
        table.call("rewrite_data_files", options=dict(table.spec.maintenance.compact.options), where=where)
        after = {file.path for file in table.health().files}
        existed = {file.path for file in before.files}
        foretold = {file.path for group in before.dates[day].groups for file in group.files}
        assert existed - after == foretold, f"removed on {day}"
        if foretold:
            done.append((len(existed - after), len(after - existed)))
    return done


def test_five_small_files_become_one_and_four_stay(example: Callable[..., Example]) -> None:
    table = example()
    table.append(DAY, NEXT, rows=10, files=4)
    table.append(DAY, rows=10)
    health = table.health()
    assert (health.small_files, health.dates[DAY].small_files, health.dates[NEXT].small_files_waiting) == (4, 4, 4)
    assert rewrite_as_foretold(table) == [(5, 1)]
    assert (table.health().small_files, table.health().small_files_waiting) == (0, 5)


def test_files_of_a_month_are_rewritten_with_the_days_they_touch(example: Callable[..., Example]) -> None:
    table = example("months(ts)")
    table.append(DAY, rows=10, files=5)
    table.append(DAY, NEXT, rows=10)
    table.append(LATER, rows=10)
    table.sql("ALTER TABLE {t} REPLACE PARTITION FIELD months(ts) WITH days(ts)")
    table.append(NEXT, rows=10)
    assert [(day, found.data_files) for day, found in table.health().dates.items()] == [(DAY, 6), (NEXT, 2), (LATER, 1)]
    # One of the six old files has rows of two days, so that the group becomes a file for each.
    assert rewrite_as_foretold(table) == [(6, 2)]


@pytest.mark.parametrize("partitions", ["months(ts)", ""])
def test_a_table_that_knows_no_days_is_rewritten_by_what_it_knows(
    example: Callable[..., Example], partitions: str
) -> None:
    table = example(partitions)
    table.append(DAY, NEXT, rows=10, files=3)
    table.append(NEXT, rows=10, files=2)
    assert rewrite_as_foretold(table) == [(5, 1)]


@pytest.mark.parametrize("version", ["2", "3"])
def test_live_rows_are_counted_and_heavy_deletes_rewritten(example: Callable[..., Example], version: str) -> None:
    table = example(
        options={"target-file-size-bytes": 9000, "min-file-size-bytes": 1},
        **MERGE_ON_READ,
        **{"format-version": version},
    )
    table.append(DAY, NEXT, rows=300)
    table.sql(f"DELETE FROM {{t}} WHERE (date(ts) = '{DAY}' AND x < 0.6) OR (date(ts) = '{NEXT}' AND x < 0.1)")
    assert table.health().rows == table.sql("SELECT count(*) AS n FROM {t}")[0]["n"]
    assert all(found.delete_files == 1 for found in table.health().dates.values())
    assert rewrite_as_foretold(table) == [(1, 1)]

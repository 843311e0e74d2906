"""Each check of health and upkeep, red on facts that are wrong and green once the thing is done that it asks for."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import dagster as dg
import pytest

from iceberg_assets.health import Plan, Ref, Request, TableHealth, Waiting
from iceberg_assets.health.attempts import MOST_FAILURES
from iceberg_assets.orchestration import TableAsset
from iceberg_assets.orchestration.checks.figure import result
from iceberg_assets.orchestration.checks.of_health import OF_HEALTH
from iceberg_assets.orchestration.checks.of_source import OF_DECLARATION, OF_SOURCE
from iceberg_assets.orchestration.checks.of_upkeep import OF_UPKEEP, Upkeep
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Attempt, Operation, Status, TableSpec
from iceberg_assets.spec.policy import Checks
from iceberg_assets.spec.units import format_age
from iceberg_assets_tests.health.examples import DAY, NOW, day_of, file, snapshot, spec, table

ABOUT = {name: words for name, (words, _) in (OF_HEALTH | OF_UPKEEP).items()} | OF_DECLARATION | OF_SOURCE
NEXT = DAY + timedelta(days=1)
POOL = ("iceberg_maintenance__demo__flights", 1)


def with_checks(**checks: object) -> TableSpec:
    return TableSpec.model_validate(spec().model_dump() | {"checks": checks})


def evaluated(profile: Profile, name: str, seen: TableHealth | Upkeep, of: TableSpec) -> dg.AssetCheckResult:
    measured = OF_UPKEEP[name][1](seen) if isinstance(seen, Upkeep) else OF_HEALTH[name][1](of, seen, NOW)
    return result(TableAsset(of, profile, Path()), name, measured)


def read(result: dg.AssetCheckResult) -> str:
    assert result.description
    return result.description


DELETED = [file(deletes=("d1", "d2"), deleted_rows=2), file(deletes=("d3",), deleted_rows=1)]
MANY = [snapshot(n, timedelta(hours=100 - n), parent=n - 1 or None) for n in range(1, 10)]
PINNED = [Ref("main", 9, "branch"), Ref("audit-2024", 2, "tag")]
TRIMMED = {"write.metadata.delete-after-commit.enabled": "true", "write.metadata.previous-versions-max": "20"}
NOW_OR_NEVER = {"older_than": "0s", "minimum_age": "0s"}


SCATTERED, COMPACTED = table(day_of((DAY, 6), (NEXT, 5))), table(day_of((DAY, 1)))


@pytest.mark.parametrize(
    ("name", "limit", "broken", "words", "mended"),
    [
        ("small_files", 0, SCATTERED, ["9 of 11", f"most on {DAY}: 5"], COMPACTED),
        ("files_per_date", 5, SCATTERED, ["6 data files", str(DAY)], COMPACTED),
        ("delete_ratio", 0.1, table(DELETED), ["15%", str(DAY), "delete-ratio-threshold"], COMPACTED),
        ("delete_files", 2, table(DELETED), ["3 delete files", "delete-file-threshold"], COMPACTED),
        ("snapshots", 8, table(snapshots=MANY), ["9 snapshots", "snapshots_expired"], table(snapshots=MANY[1:])),
        (
            "metadata_files",
            100,
            replace(table(), metadata_files=101),
            ["101", *TRIMMED, "ALTER TABLE demo.flights SET TBLPROPERTIES"],
            replace(table(properties=TRIMMED), metadata_files=21),
        ),
    ],
)
def test_a_check_of_health_tells_the_number_and_what_to_do(profile, name, limit, broken, words, mended):
    of = with_checks(**{name: {"max": limit, "severity": "error"}})
    red, green = (evaluated(profile, name, seen, of) for seen in (broken, mended))
    assert not red.passed
    assert red.severity is dg.AssetCheckSeverity.ERROR
    for word in [*words, f"at most {limit} is fine"]:
        assert word in read(red)
    assert red.metadata["iceberg/limit"].value == limit
    assert red.metadata[f"iceberg/{name}"].value > limit
    assert green.passed


def test_metadata_files_that_commits_delete_are_none_too_many(profile):
    """With Iceberg's default of a hundred, a table that deletes them has 101 for ever, and all is well."""
    kept = replace(table(properties={"write.metadata.delete-after-commit.enabled": "true"}), metadata_files=101)
    assert evaluated(profile, "metadata_files", kept, spec()).passed


def test_the_ref_that_holds_snapshots_back_is_named(profile):
    of = spec(expire=NOW_OR_NEVER)
    found = evaluated(profile, "snapshots", table(snapshots=MANY, refs=PINNED), of)
    assert "tag 'audit-2024' holds back 1 snapshot" in read(found)
    assert found.metadata["iceberg/pinned_snapshots"].value == 1


def upkeep(
    health: TableHealth | None = None,
    *,
    of: TableSpec | None = None,
    decided: Plan | None = None,
    history: Sequence[Attempt] = (),
    limit: int | None = 1,
    orphans: str = "",
) -> Upkeep:
    return Upkeep(of or spec(), health or table(), decided or Plan(), tuple(history), (POOL[0], limit), orphans, NOW)


def tried(operation: Operation, ago: timedelta, status: Status = Status.DONE, day: date = DAY) -> Attempt:
    return Attempt(operation, day, NOW - ago, status, status is Status.DONE, "" if status is Status.FAILED else "seen")


def failed(operation: Operation, times: int) -> list[Attempt]:
    return [tried(operation, timedelta(hours=n + 1), Status.FAILED) for n in range(times)]


DUE = Request((Operation.COMPACT,), (DAY,), f"{DAY}: 6 files, 5 would go")
HELD = Waiting((Operation.COMPACT,), (DAY,), f"{DAY}: 6 files, 5 would go, data was added 2 min ago")
STUCK = Waiting((Operation.COMPACT,), (DAY,), f"{DAY}: a run on the same files gained nothing", stuck=True)
GIVEN_UP = failed(Operation.COMPACT, MOST_FAILURES)
ORPHANS, DAY_LONG, MONTH = Operation.REMOVE_ORPHANS, timedelta(days=1), timedelta(days=30)
OLD = [snapshot(1, MONTH), snapshot(2, MONTH - DAY_LONG, parent=1)]


@pytest.mark.parametrize(
    ("name", "broken", "words", "mended"),
    [
        (
            "snapshots_overdue",
            upkeep(table(snapshots=OLD)),
            ["1 snapshot of 2", "for 25d", "the oldest is 30d old", "snapshots_expired"],
            upkeep(table(snapshots=OLD[1:])),
        ),
        (
            "orphans",
            upkeep(history=[tried(ORPHANS, 9 * DAY_LONG), tried(ORPHANS, DAY_LONG, Status.FAILED)]),
            ["failed 1d ago", "materialize 'orphans_removed'"],
            upkeep(history=[tried(ORPHANS, DAY_LONG)], orphans="3 of 3 orphans removed"),
        ),
        (
            "orphans",
            upkeep(history=[tried(ORPHANS, DAY_LONG, Status.SKIPPED)], orphans="gc.enabled is false"),
            ["skipped 1d ago: gc.enabled is false"],
            upkeep(history=[tried(ORPHANS, DAY_LONG, Status.NOTHING_TO_DO)]),
        ),
        (
            "orphans_overdue",
            upkeep(history=[tried(ORPHANS, 20 * DAY_LONG)]),
            ["looked for 20d ago", "due every 7d", "overdue by 13d", "iceberg_upkeep"],
            upkeep(history=[tried(ORPHANS, 8 * DAY_LONG)]),
        ),
        (
            "orphans_overdue",
            upkeep(table(snapshots=OLD)),
            ["never looked for in the 30d"],
            upkeep(table(snapshots=[snapshot(1, timedelta(hours=1))])),
        ),
        ("unproductive_maintenance", upkeep(decided=Plan((), (STUCK,))), ["gained nothing", str(DAY)], upkeep()),
        (
            "unproductive_maintenance",
            upkeep(decided=Plan((DUE,)), history=GIVEN_UP),
            ["compacted: 2024-01-10: 6 files", "materialize the dates by hand"],
            upkeep(decided=Plan((DUE,)), history=[*GIVEN_UP, tried(Operation.COMPACT, timedelta(minutes=1))]),
        ),
        ("pool_limit", upkeep(limit=None), [POOL[0], "has no limit", "default_limit: 1"], upkeep(limit=1)),
        ("pool_limit", upkeep(limit=3), ["a limit of 3"], upkeep(limit=1)),
    ],
)
def test_a_check_of_upkeep_tells_the_number_and_what_to_do(profile, name, broken, words, mended):
    red, green = (evaluated(profile, name, seen, seen.spec) for seen in (broken, mended))
    assert not red.passed
    for word in words:
        assert word in read(red)
    assert green.passed


@pytest.mark.parametrize("part", [DUE, HELD])
def test_what_failed_again_and_again_stays_red_while_it_is_tried_again_or_written_to(profile, part):
    decided = Plan((part,)) if isinstance(part, Request) else Plan((), (part,))
    few = upkeep(decided=decided, history=failed(Operation.COMPACT, MOST_FAILURES - 1))
    many = upkeep(decided=decided, history=GIVEN_UP)
    assert evaluated(profile, "unproductive_maintenance", few, few.spec).passed
    assert not evaluated(profile, "unproductive_maintenance", many, many.spec).passed


def test_a_snapshot_that_was_kept_as_one_of_the_last_is_not_overdue_the_moment_another_comes(profile):
    """Written once a month, five of the last kept: with the sixth the first is due since now, not since months."""
    monthly = [snapshot(n, (6 - n) * MONTH, parent=n - 1 or None) for n in range(1, 7)]
    of = spec(expire={"retain_last": 5})
    assert evaluated(profile, "snapshots_overdue", upkeep(table(snapshots=monthly, of=of), of=of), of).passed


def test_a_healthy_table_is_green_with_what_the_yaml_leaves_open(profile):
    busy = table(day_of(*((DAY + timedelta(days=n), 4) for n in range(20))), snapshots=MANY)
    seen = upkeep(busy, history=[tried(ORPHANS, 3 * DAY_LONG)])
    results = [evaluated(profile, name, busy, spec()) for name in OF_HEALTH]
    results += [evaluated(profile, name, seen, spec()) for name in OF_UPKEEP]
    assert [read(one) for one in results if not one.passed] == []


def test_a_limit_that_is_set_leaves_the_severity_as_it_was_and_the_other_way_round():
    checks = Checks.model_validate({"freshness": {"severity": "error"}, "orphans_overdue": {"max": "3d"}})
    assert (checks.freshness.max, checks.freshness.severity) == (timedelta(days=1), "error")
    assert (checks.orphans_overdue.max, checks.orphans_overdue.severity) == (timedelta(days=3), "warn")
    assert checks.ledger_complete.severity == "error"


def test_the_documentation_has_every_check_with_its_limit_and_severity():
    text = (Path(__file__).parents[2] / "docs" / "checks.md").read_text()
    rows = {cells[0]: cells for cells in (re.split(r" \| ", line.strip("| ")) for line in text.splitlines())}
    told = {}
    for name in Checks.model_fields:
        _, _, limit, severity, *_ = rows[f"`{name}`"]
        told[name] = (limit, severity)
    declared = {name: (_in_words(getattr(one, "max", None)), one.severity) for name, one in Checks()}
    assert told == declared
    assert set(ABOUT) == set(Checks.model_fields)


def _in_words(limit: float | timedelta | None) -> str:
    return "–" if limit is None else format_age(limit) if isinstance(limit, timedelta) else f"{limit:g}"

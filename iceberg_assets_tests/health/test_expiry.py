"""The snapshots that are said to go are those that Iceberg removes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import Ref, TableHealth, expirable, expire_arguments, pinned_by, plan
from iceberg_assets.health.expiry import against_protection, steps
from iceberg_assets.spec.policy import Expire
from iceberg_assets_tests.health.conftest import DAY, Example
from iceberg_assets_tests.health.examples import NOW, snapshot, spec, table

AT_ONCE = {"older_than": "0s", "minimum_age": "0s"}
# A change of the table, and the policy that is tried after it; each starts from what the ones before it left.
CASES = [
    ("", AT_ONCE),
    ("", AT_ONCE | {"retain_last": 3}),
    ("", AT_ONCE | {"retain_last": 50}),
    ("", AT_ONCE | {"older_than": "1h"}),
    ("", AT_ONCE | {"minimum_age": "24h"}),
    ("REPLACE BRANCH audit AS OF VERSION {audit} WITH SNAPSHOT RETENTION 2 SNAPSHOTS", AT_ONCE),
    ("REPLACE BRANCH audit AS OF VERSION {audit} WITH SNAPSHOT RETENTION 1 SNAPSHOTS 5 DAYS", AT_ONCE),
    ("REPLACE TAG kept AS OF VERSION {kept} RETAIN 1 DAYS", AT_ONCE),
    ("SET TBLPROPERTIES ('history.expire.max-ref-age-ms' = '1')", AT_ONCE),
    ("SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms' = '1')", {"minimum_age": "0s"}),
    ("SET TBLPROPERTIES ('history.expire.min-snapshots-to-keep' = '4')", {"minimum_age": "0s"}),
    ("", {}),
]


@pytest.fixture
def aged(example: Callable[..., Example]) -> Example:
    """Six appends, a tag on the second, a branch of two from the third, and a snapshot that no ref leads to."""
    made = example("")
    row = f"VALUES (1, TIMESTAMP '{DAY} 00:00:00', 0, 0)"
    for _ in range(3):
        made.sql(f"INSERT INTO {{t}} {row}")
    made.sql(f"ALTER TABLE {{t}} CREATE TAG kept AS OF VERSION {made.health().snapshots[1].id}")
    for branch, commits in (("audit", 2), ("dropped", 1)):
        made.sql(f"ALTER TABLE {{t}} CREATE BRANCH {branch}")
        for _ in range(commits):
            made.sql(f"INSERT INTO {{t}}.branch_{branch} {row}")
    made.sql("ALTER TABLE {t} DROP BRANCH dropped")
    for _ in range(3):
        made.sql(f"INSERT INTO {{t}} {row}")
    return made


def ids(health: TableHealth) -> set[int]:
    return {snapshot.id for snapshot in health.snapshots}


def test_the_snapshots_that_would_go_are_those_that_iceberg_names(aged: Example) -> None:
    refs = {ref.name: ref.snapshot_id for ref in aged.health().refs}
    removed = []
    for change, settings in CASES:
        if change:
            aged.sql(f"ALTER TABLE {{t}} {change.format_map(refs)}")
        health, policy, now = aged.health(), Expire.model_validate(settings), datetime.now(UTC)
        older_than, retain_last = expire_arguments(health, policy, now)
        milliseconds = int(older_than.timestamp() * 1000)
        named = aged.java().expireSnapshots().expireOlderThan(milliseconds).retainLast(retain_last).apply()
        foretold = expirable(health, policy, now)
        assert {one.id for one in foretold} == {one.snapshotId() for one in named}, (change, settings)
        removed.append(len(foretold))
    assert len(set(removed)) > 4, "settings that make no difference prove nothing"


def test_what_a_ref_holds_back_would_go_without_it(aged: Example) -> None:
    policy, now = Expire.model_validate(AT_ONCE), datetime.now(UTC)
    pinned = pinned_by(aged.health(), policy, now)
    assert set(pinned) == {"kept", "audit"}
    before = {one.id for one in expirable(aged.health(), policy, now)}
    aged.sql("ALTER TABLE {t} DROP TAG kept")
    aged.sql("ALTER TABLE {t} DROP BRANCH audit")
    older_than, retain_last = expire_arguments(aged.health(), policy, now)
    expiry = aged.java().expireSnapshots().expireOlderThan(int(older_than.timestamp() * 1000)).retainLast(retain_last)
    freed = {one.snapshotId() for one in expiry.apply()} - before
    assert freed == {one.id for held in pinned.values() for one in held}


def test_the_call_removes_them(aged: Example) -> None:
    before, policy, now = aged.health(), Expire.model_validate(AT_ONCE), datetime.now(UTC)
    foretold = {one.id for one in expirable(before, policy, now)}
    older_than, retain_last = expire_arguments(before, policy, now)
    aged.call("expire_snapshots", older_than=older_than, retain_last=retain_last)
    after = aged.health()
    assert ids(before) - ids(after) == foretold
    assert expirable(after, policy, now) == ()


# Without an engine: what is ours alone

HOUR = timedelta(hours=1)
MAIN = [snapshot(n, (10 - n) * HOUR, parent=n - 1 or None) for n in range(1, 6)]


def test_a_snapshot_that_must_stay_keeps_all_after_it() -> None:
    gone = expirable(table(snapshots=MAIN), Expire.model_validate(AT_ONCE), NOW, keep_from=MAIN[2].committed_at)
    assert [one.id for one in gone] == [1, 2]


def test_nothing_younger_than_the_minimum_age_goes() -> None:
    """A running rewrite needs the snapshot that it started from."""
    policy = Expire.model_validate({"older_than": "0s", "minimum_age": "24h"})
    assert expirable(table(snapshots=MAIN), policy, NOW) == ()
    assert [one.id for one in expirable(table(snapshots=MAIN), policy, NOW + 17 * HOUR)] == [1, 2]


@pytest.mark.parametrize("floor", [{"minimum_age": "24h"}, {"protect": {"lag": "24h"}}])
def test_a_retention_of_the_branchs_own_does_not_get_below_the_floor(floor: dict[str, object]) -> None:
    """Iceberg puts it before any cut-off: a stream that lags by less, or a rewrite, would lose what it reads."""
    health = table(snapshots=MAIN, refs=[Ref("main", 5, "branch", max_snapshot_age_ms=3_600_000)])
    policy = Expire.model_validate(AT_ONCE | floor)
    assert "4 snapshots since" in (
        words := against_protection(health, policy, expirable(health, policy, NOW), NOW) or ""
    )
    assert "by the retention of main" in words
    at_once = Expire.model_validate(AT_ONCE)
    assert against_protection(health, at_once, expirable(health, at_once, NOW), NOW) is None


def test_the_tables_own_retention_counts_where_the_policy_is_silent() -> None:
    properties = {"history.expire.max-snapshot-age-ms": "3600000", "history.expire.min-snapshots-to-keep": "2"}
    silent = Expire(minimum_age=timedelta(0))
    assert expire_arguments(table(properties=properties), silent, NOW) == (NOW - HOUR, 2)
    assert expire_arguments(table(), silent, NOW) == (NOW - timedelta(days=5), 1)
    spoken = Expire(older_than=2 * HOUR, retain_last=3, minimum_age=timedelta(0))
    assert expire_arguments(table(properties=properties), spoken, NOW) == (NOW - 2 * HOUR, 3)


def test_refs_are_named_with_what_they_hold_back_but_not_main() -> None:
    refs = [Ref("kept", 2, "tag"), Ref("audit", 2, "branch"), Ref("idle", 5, "tag"), Ref("main", 5, "branch")]
    pinned = pinned_by(table(snapshots=MAIN, refs=refs), Expire.model_validate(AT_ONCE), NOW)
    assert {name: [one.id for one in held] for name, held in pinned.items()} == {"kept": [2], "audit": [2]}


def test_the_first_expiry_of_thousands_of_snapshots_goes_in_steps() -> None:
    """One call over all of them runs the driver out of memory (apache/iceberg#4152)."""
    many = [snapshot(n, timedelta(days=30) - n * timedelta(seconds=1), parent=n - 1 or None) for n in range(1, 3001)]
    policy, left = Expire.model_validate(AT_ONCE | {"retain_last": 10}), table(snapshots=many)
    going, older_than = expirable(left, policy, NOW), expire_arguments(left, policy, NOW)[0]
    taken = []
    for cut_off in steps(going, older_than, 500):
        step = expirable(left, policy.model_copy(update={"older_than": NOW - cut_off}), NOW)
        taken.append(len(step))
        gone = {one.id for one in step}
        left = table(snapshots=[one for one in left.snapshots if one.id not in gone])
    assert taken == [500, 500, 500, 500, 500, 490]
    assert ids(left) == {one.id for one in many} - {one.id for one in going}


def test_snapshots_of_one_millisecond_are_one_step() -> None:
    going = [snapshot(n, HOUR) for n in range(5)]
    assert list(steps(going, NOW, 2)) == [NOW]


FOR_EVER = str(2**63 - 1)


@pytest.mark.parametrize("name", ["max-snapshot-age-ms", "max-ref-age-ms"])
def test_javas_largest_number_keeps_snapshots_for_ever(name: str) -> None:
    old = [snapshot(n, timedelta(days=900 - n), parent=n - 1 or None) for n in range(1, 3)]
    refs = [Ref("main", 2, "branch"), Ref("kept", 1, "tag", max_ref_age_ms=2**63 - 1), Ref("also", 1, "tag")]
    health = table(snapshots=old, refs=refs, properties={f"history.expire.{name}": FOR_EVER})
    assert expirable(health, Expire(), NOW) == ()


@pytest.mark.parametrize("given", ["x", "", "1.5", "1_000", "-1", " 7"])
@pytest.mark.parametrize(
    "name",
    [
        "write.target-file-size-bytes",
        "commit.manifest.target-size-bytes",
        "history.expire.max-snapshot-age-ms",
        "history.expire.min-snapshots-to-keep",
        "history.expire.max-ref-age-ms",
    ],
)
def test_a_property_that_is_no_number_is_refused_with_its_name_and_value(name: str, given: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is '{given}', expected a whole number"):
        plan(spec(manifests={"min_count": 2}), table(manifests=3, properties={name: given}), (), (), NOW)

"""What the job that people come from does wrong, and this one must not: a test for each."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import expirable, expire_arguments
from iceberg_assets.job.selection import takes
from iceberg_assets.spark.sql import call, literal, quote
from iceberg_assets_tests.health.examples import NOW, snapshot, table
from iceberg_assets_tests.job.written import written

TABLE = ("sales", "orders")


@pytest.fixture(params=["America/Los_Angeles", "Asia/Kolkata"])
def elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The machine's own zone is not UTC."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", request.param)
        time.tzset()
        yield request.param
    time.tzset()


@pytest.mark.parametrize(
    ("said", "key", "value"),
    [
        ("rewrite_manifests.use_caching: false", "rewrite_manifests.use_caching", False),
        ("rewrite_data_files.enabled: false", "rewrite_data_files.enabled", False),
        ("expire_snapshot.older_than_days: 0", "expire_snapshot.older_than_days", 0),
        ("rewrite_data_files.quiet_for: 0s", "rewrite_data_files.quiet_for", timedelta(0)),
    ],
)
def test_false_and_zero_are_heeded_in_the_file_and_in_an_override(
    tmp_path: Path, said: str, key: str, value: object
) -> None:
    operation, name = key.split(".")
    above = {"use_caching": "true", "enabled": "true", "older_than_days": "7", "quiet_for": "1h"}[name]
    for text in (
        f"catalog: lake, {said}",
        f"catalog: lake, {key}: {above}, table_overrides.sales.orders.{said}",
    ):
        found = getattr(getattr(written(tmp_path, text).of(TABLE), operation), name)
        assert found == value
        assert found is not None


def test_a_false_that_was_given_reaches_the_call(tmp_path: Path) -> None:
    manifests = written(tmp_path, "catalog: lake, rewrite_manifests.use_caching: false").rewrite_manifests
    assert "use_caching => false" in call("lake", "rewrite_manifests", use_caching=manifests.use_caching)


@pytest.mark.parametrize(
    "said", ["expire_snapshot.retain_last: 0", 'rewrite_data_files.where: ""', "stats_batch_size: 0"]
)
def test_zero_and_nothing_are_refused_where_they_mean_nothing(tmp_path: Path, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said.partition(":")[0]):
        written(tmp_path, f"catalog: lake, {said}")


def test_an_include_list_for_one_database_lets_no_table_of_the_others_through(tmp_path: Path) -> None:
    settings = written(tmp_path, "catalog: lake, databases: [sales, hr], table_include: [sales.orders]")
    assert takes(settings, ("sales", "orders"))
    assert not takes(settings, ("sales", "returns"))
    assert not takes(settings, ("hr", "salaries"))
    assert not takes(settings, ("hr", "orders"))


def test_a_condition_goes_to_the_engine_as_it_was_typed(tmp_path: Path) -> None:
    typed = r"""city = "O'Hare" AND path LIKE 'a\\b'"""
    rewrite = written(tmp_path, f'catalog: lake, rewrite_data_files.where: """{typed}"""').rewrite_data_files
    assert rewrite.where == typed
    statement = call("lake", "rewrite_data_files", table=quote("odd`db", "o'clock"), where=rewrite.where)
    assert statement == (
        r"CALL `lake`.system.rewrite_data_files(table => '`odd``db`.`o\'clock`', "
        r"""where => 'city = "O\'Hare" AND path LIKE \'a\\\\b\'')"""
    )


def test_a_strategy_is_a_word_and_not_a_piece_of_sql(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"rewrite_data_files\.strategy"):
        written(tmp_path, """catalog: lake, rewrite_data_files.strategy: "sort', where => 'true" """)


@pytest.mark.parametrize(
    ("other", "known"), [("rewrite_manifest", "rewrite_manifests"), ("expire_snapshots", "expire_snapshot")]
)
def test_both_spellings_of_an_operation_are_one(tmp_path: Path, other: str, known: str) -> None:
    assert not getattr(written(tmp_path, f"catalog: lake, {other}.enabled: false"), known).enabled
    overridden = written(tmp_path, f"catalog: lake, table_overrides.sales.orders.{other}.enabled: false")
    assert not getattr(overridden.of(TABLE), known).enabled
    assert getattr(overridden.of(("sales", "returns")), known).enabled
    for where in ("", "table_overrides.sales.orders."):
        with pytest.raises(ConfigurationError, match=f"{other} and {known} are the same operation"):
            written(tmp_path, f"catalog: lake, {where}{other}.enabled: false, {where}{known}.enabled: true")


def test_a_cut_off_is_the_same_moment_whatever_the_machines_zone(tmp_path: Path, elsewhere: str) -> None:
    policy = written(tmp_path, "catalog: lake, expire_snapshot.older_than_days: 2").of(TABLE).policy()
    now = datetime(2024, 1, 31, 12, tzinfo=UTC)
    older_than, _ = expire_arguments(table(now=now), policy.expire, now)
    assert literal(older_than) == "TIMESTAMP '2024-01-29 12:00:00+00:00'"
    assert literal(now - policy.orphans.older_than) == "TIMESTAMP '2024-01-28 12:00:00+00:00'"


def test_a_file_that_says_nothing_of_expiry_expires_nothing_of_the_last_five_days(tmp_path: Path) -> None:
    policy = written(tmp_path, "catalog: lake, expire_snapshot {}").of(TABLE).policy().expire
    ages = [timedelta(days=6), timedelta(days=4), timedelta(minutes=6), timedelta(minutes=1)]
    chain = [snapshot(number, age, parent=number - 1 or None) for number, age in enumerate(ages, 1)]
    assert [one.id for one in expirable(table(snapshots=chain), policy, NOW)] == [1]
    kept = table(snapshots=chain, properties={"history.expire.max-snapshot-age-ms": str(30 * 86_400_000)})
    assert expirable(kept, policy, NOW) == (), "the table's own word goes before ours"


def test_however_short_the_age_nothing_of_the_last_day_expires(tmp_path: Path) -> None:
    policy = (
        written(tmp_path, "catalog: lake, expire_snapshot { older_than_days: 0, retain_last: 1 }").of(TABLE).policy()
    )
    ages = [timedelta(hours=25), timedelta(hours=23), timedelta(minutes=6), timedelta(minutes=1)]
    chain = [snapshot(number, age, parent=number - 1 or None) for number, age in enumerate(ages, 1)]
    assert [one.id for one in expirable(table(snapshots=chain), policy.expire, NOW)] == [1]

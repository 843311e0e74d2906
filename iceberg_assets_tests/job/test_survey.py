"""What a whole catalog needs is told from metadata, and no table stands in another one's way."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, IdentityTransform, MonthTransform
from typer.testing import CliRunner

from iceberg_assets.cli import app
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import ManifestCache, read_health
from iceberg_assets.job import Surveyed, find, survey
from iceberg_assets.job.task import dates_of
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec import Attempt, Operation, Status
from iceberg_assets.spec.table import WHOLE_TABLE
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.job.lake import row
from iceberg_assets_tests.job.written import written

LATER = datetime.now(UTC) + timedelta(hours=1)
DAY = date(2024, 1, 10)
UNPARTITIONED = PartitionSpec()
NO_ORPHANS = "catalog: local, remove_orphan_files.enabled: false"

Survey = Callable[..., Mapping[str, Surveyed]]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """A catalog of the test's own, in the project of the working directory."""
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    profile = load_profile("local", tmp_path)
    profile.prepare()
    return profile


@pytest.fixture
def surveyed(lake: Profile, tmp_path: Path) -> Survey:
    def look(text: str = NO_ORPHANS, now: datetime = LATER, history: tuple[Attempt, ...] = ()) -> dict[str, Surveyed]:
        settings = written(tmp_path, text)
        chosen = find(lake, settings).objects
        return {one.name: one for one in (survey(lake, settings, each, history=history, now=now) for each in chosen)}

    return look


def dirty(lake: Profile, name: str, partitions: PartitionSpec | None = None, **properties: str) -> Table:
    """A table of six small files of one day."""
    given = (partitions,) if partitions is not None else ()
    table = on_paper.make(lake.pyiceberg(), name, *given, **properties)
    on_paper.append(table, [DAY], 6)
    return table


def clean(lake: Profile, name: str) -> Table:
    table = on_paper.make(lake.pyiceberg(), name)
    on_paper.append(table, [DAY], 1)
    return table


def broken(lake: Profile, name: str) -> None:
    """A table whose metadata file is gone."""
    Path(clean(lake, name).metadata_location.removeprefix("file://")).unlink()


def test_tables_with_work_are_told_from_those_without(lake: Profile, surveyed: Survey) -> None:
    dirty(lake, "sales.orders")
    clean(lake, "sales.returns")
    found = surveyed()
    assert found["sales.orders"].verdict == "due"
    assert found["sales.orders"].operations == (Operation.COMPACT,)
    assert "2024-01-10: 6 files, 5 would go" in found["sales.orders"].reason
    assert found["sales.returns"].verdict == "nothing_to_do"
    assert "1 small ones below the rule" in found["sales.returns"].reason


def test_views_are_skipped_and_listed_and_what_cannot_be_read_stops_nobody(lake: Profile, surveyed: Survey) -> None:
    row(lake.pyiceberg(), "sales.a_view", "VIEW", "file:///views/1.metadata.json")
    broken(lake, "sales.broken")
    dirty(lake, "sales.orders")
    found = surveyed()
    assert {name: one.verdict for name, one in found.items()} == {
        "sales.a_view": "skipped",
        "sales.broken": "failed",
        "sales.orders": "due",
    }
    assert "FileNotFoundError" in found["sales.broken"].reason


def test_a_table_dropped_since_it_was_listed_is_no_failure(lake: Profile, tmp_path: Path) -> None:
    clean(lake, "sales.orders")
    settings = written(tmp_path, NO_ORPHANS)
    (listed,) = find(lake, settings).objects
    lake.pyiceberg().drop_table("sales.orders")
    assert survey(lake, settings, listed, history=(), now=LATER).verdict == "skipped"


def test_nested_namespaces_count_as_databases_and_ours_never_does(lake: Profile, surveyed: Survey) -> None:
    for name in ("sales.orders", "sales.eu.orders", "hr.people", "iceberg_assets_state.leases"):
        clean(lake, name)
    assert set(surveyed()) == {"sales.orders", "sales.eu.orders", "hr.people"}
    assert set(surveyed(f"{NO_ORPHANS}, databases: [sales]")) == {"sales.orders"}, "each by itself"
    assert set(surveyed(f"{NO_ORPHANS}, databases: [sales.eu, iceberg_assets_state]")) == {"sales.eu.orders"}
    assert set(surveyed(f"{NO_ORPHANS}, table_include: [orders]")) == {"sales.orders", "sales.eu.orders"}
    assert set(surveyed(f"{NO_ORPHANS}, table_exclude: [orders, hr.other]")) == {"hr.people"}


def test_names_that_the_catalog_does_not_have_are_said(lake: Profile, tmp_path: Path) -> None:
    clean(lake, "sales.orders")
    text = f"{NO_ORPHANS}, databases: [sales, hr], table_include: [sales.order], table_overrides.sales.gone {{}}"
    notes = "\n".join(find(lake, written(tmp_path, text)).notes)
    assert "databases: nothing is called 'hr'" in notes
    assert (
        "table_include: nothing is called 'sales.order' in what was looked through; did you mean 'sales.orders'?"
        in notes
    )
    assert "table_overrides: nothing is called 'sales.gone'" in notes


def test_the_file_of_another_catalog_is_refused(lake: Profile, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="catalog is 'spark_catalog', and profile 'local' has 'local'"):
        find(lake, written(tmp_path, "catalog: spark_catalog"))


def test_a_table_without_partitions_of_time_is_taken_as_a_whole(lake: Profile, surveyed: Survey) -> None:
    dirty(lake, "sales.orders", UNPARTITIONED)
    found = surveyed()["sales.orders"]
    assert found.verdict == "due"
    assert found.reason == "the whole table: 6 files, 5 would go: 6 files of 293.0 kB, due from 5"
    (request,) = found.requests
    assert request.dates == (WHOLE_TABLE.start,)


def test_what_gained_nothing_on_a_whole_table_is_not_asked_for_on_another_day(lake: Profile, surveyed: Survey) -> None:
    """The carrier of the table is always the same partition, and so is the digest that says that it has not changed."""
    dirty(lake, "sales.orders", UNPARTITIONED)
    task = surveyed()["sales.orders"].task
    assert task is not None
    health = read_health(lake, task.spec)
    assert health is not None
    (day,) = health.dates
    tried = Attempt(Operation.COMPACT, day, LATER, Status.DONE, productive=False, digest=health.dates[day].digest)
    found = surveyed(now=LATER + timedelta(days=3), history=(tried,))["sales.orders"]
    assert found.verdict == "waiting"
    assert "gained nothing" in found.reason


def test_a_date_that_is_written_to_does_not_hold_the_others_back(lake: Profile, surveyed: Survey) -> None:
    tables = [dirty(lake, "sales.orders"), dirty(lake, "sales.log", UNPARTITIONED)]
    for table in tables:
        on_paper.append(table.refresh(), [DAY + timedelta(days=1)], 6)
    found = [_just_after_the_last_commit(table.refresh(), surveyed) for table in tables]
    by_day, whole = found[0]["sales.orders"], found[1]["sales.log"]
    assert [request.dates for request in by_day.requests] == [(DAY,)]
    assert whole.verdict == "waiting", "its rewrite would take the files of both"
    assert "quiet after" in whole.reason


def test_a_condition_of_ones_own_is_not_held_back_by_what_is_written_now(lake: Profile, surveyed: Survey) -> None:
    dirty(lake, "sales.log", UNPARTITIONED)
    now = datetime.now(UTC)
    assert surveyed(now=now)["sales.log"].verdict == "waiting"
    assert surveyed(f'{NO_ORPHANS}, rewrite_data_files.where: "id < 5"', now=now)["sales.log"].verdict == "due"


def _just_after_the_last_commit(table: Table, surveyed: Survey) -> Mapping[str, Surveyed]:
    """The survey at a moment, and with a ``quiet_for``, by which the first of two commits is long past alone."""
    first, last = (snapshot.timestamp_ms for snapshot in table.snapshots())
    now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=last)
    return surveyed(f"{NO_ORPHANS}, rewrite_data_files.quiet_for: {last - first}ms", now=now)


@pytest.mark.parametrize(
    ("fields", "column"),
    [
        ([], None),
        ([(1, IdentityTransform())], None),
        ([(2, MonthTransform())], None),
        ([(1, BucketTransform(4)), (2, IdentityTransform())], "ts"),
    ],
)
def test_dates_are_those_of_the_partitions_where_a_partition_is_a_dates(
    lake: Profile, fields: list[tuple[int, object]], column: str | None
) -> None:
    made = [PartitionField(source, 1000 + n, how, f"p{n}") for n, (source, how) in enumerate(fields)]  # type: ignore[arg-type]
    table = on_paper.make(lake.pyiceberg(), "sales.orders", PartitionSpec(*made))
    assert dates_of(table.metadata).column == column


def test_what_is_switched_off_is_not_asked_for(lake: Profile, surveyed: Survey) -> None:
    dirty(lake, "sales.orders")
    found = surveyed("catalog: local, table_overrides.sales.orders.rewrite_data_files.enabled: false")["sales.orders"]
    assert found.operations == (Operation.REMOVE_ORPHANS,)
    assert found.reason == "orphans were never looked for"


def test_all_that_is_due_is_asked_for_at_once_and_no_date_waits_for_its_turn(lake: Profile, surveyed: Survey) -> None:
    table = on_paper.make(lake.pyiceberg(), "sales.orders")
    every_other = [DAY + timedelta(days=2 * n) for n in range(12)]
    on_paper.append(table, every_other, 6)
    found = surveyed("catalog: local")["sales.orders"]
    assert found.operations == (Operation.COMPACT, Operation.REMOVE_ORPHANS)
    assert {day for one in found.requests if Operation.COMPACT in one.operations for day in one.dates} == set(
        every_other
    )


def test_without_gc_neither_expiry_nor_orphans_unless_gc_is_handled(lake: Profile, surveyed: Survey) -> None:
    clean(lake, "sales.open")
    on_paper.append(on_paper.make(lake.pyiceberg(), "sales.shared", gc_enabled="false"), [DAY], 1)
    found = surveyed("catalog: local")
    assert found["sales.open"].operations == (Operation.REMOVE_ORPHANS,)
    assert found["sales.shared"].verdict == "nothing_to_do"
    assert "gc.enabled is false" in found["sales.shared"].reason
    handled = surveyed("catalog: local, gc_handling.enabled: true")["sales.shared"]
    assert handled.operations == (Operation.REMOVE_ORPHANS,)


def test_an_order_by_a_column_that_is_not_there_is_that_tables_failure(lake: Profile, surveyed: Survey) -> None:
    for name in ("sales.orders", "sales.returns"):
        dirty(lake, name)
    sort = "rewrite_data_files { strategy: sort, sort_order: nope }"
    found = surveyed(f"{NO_ORPHANS}, table_overrides.sales.orders {{ {sort} }}")
    assert found["sales.orders"].verdict == "failed"
    assert "the table has no column nope" in found["sales.orders"].reason
    assert found["sales.returns"].verdict == "due"


def test_manifests_are_read_once(lake: Profile, tmp_path: Path) -> None:
    dirty(lake, "sales.orders", UNPARTITIONED)
    settings, cache = written(tmp_path, NO_ORPHANS), ManifestCache(tmp_path / "manifests.sqlite")
    (listed,) = find(lake, settings).objects
    first = survey(lake, settings, listed, history=(), now=LATER, cache=cache)
    table = lake.pyiceberg().load_table("sales.orders")
    snapshot = table.current_snapshot()
    assert snapshot is not None
    for manifest in snapshot.manifests(table.io):
        Path(manifest.manifest_path.removeprefix("file://")).unlink()
    assert survey(lake, settings, listed, history=(), now=LATER, cache=cache) == first


def test_a_dry_run_prints_what_each_table_would_get_and_fails_where_one_cannot_be_read(
    lake: Profile, tmp_path: Path
) -> None:
    dirty(lake, "sales.orders", UNPARTITIONED)
    file = tmp_path / "job.conf"
    file.write_text(
        f"{NO_ORPHANS}, rewrite_data_files.quiet_for: 0s, table_include: [sales.orders], table_exclude: [x]"
    )

    shown = CliRunner().invoke(app, ["maintain", str(file), "--dry-run"])
    assert shown.exit_code == 0, shown.output
    assert "note: table_exclude has no effect" in shown.output
    assert re.search(r"sales.orders\W+due\W+compacted", shown.output)
    assert "1 tables and views: 1 due" in shown.output

    broken(lake, "sales.broken")
    file.write_text(NO_ORPHANS)
    cache = tmp_path / "cache" / "manifests.sqlite"
    failed = CliRunner().invoke(app, ["maintain", str(file), "--dry-run", "--json", "--manifest-cache", str(cache)])
    assert cache.is_file()
    assert failed.exit_code == 1, failed.output
    document = json.loads(failed.stdout)
    assert [one["table"] for one in document["tables"] if one["verdict"] == "failed"] == ["sales.broken"]
    assert len(document["tables"]) == 2
    assert (document["counts"]["failed"], document["counts"]["skipped"], len(document["counts"])) == (1, 0, 6)


def test_a_mistake_in_the_file_ends_with_its_path_and_nothing_was_looked_at(lake: Profile, tmp_path: Path) -> None:
    file = tmp_path / "job.conf"
    file.write_text("catalog: local, parallelism: none")
    refused = CliRunner().invoke(app, ["maintain", str(file), "--dry-run"])
    assert refused.exit_code == 2
    assert "parallelism: " in refused.output


def test_a_run_ends_with_1_where_a_table_cannot_be_read_and_tells_people_and_programs(
    lake: Profile, tmp_path: Path
) -> None:
    clean(lake, "sales.returns")
    broken(lake, "sales.broken")
    file = tmp_path / "job.conf"
    file.write_text(NO_ORPHANS)
    shown = CliRunner().invoke(app, ["maintain", str(file)])
    assert shown.exit_code == 1, shown.output
    assert "2 tables and views: 1 nothing to do, 1 failed" in shown.stdout
    assert "sales.broken: failed: FileNotFoundError" in shown.stderr
    document = json.loads(CliRunner().invoke(app, ["maintain", str(file), "--json"]).stdout)
    assert {one["table"]: one["verdict"] for one in document["tables"]} == {
        "sales.broken": "failed",
        "sales.returns": "nothing_to_do",
    }
    assert document["interrupted"] is None
    assert (document["counts"]["failed"], document["counts"]["done"], len(document["counts"])) == (1, 0, 9)


def test_what_the_job_may_leave_on_a_table_is_settled_by_its_name_though_nobody_declared_it(lake: Profile) -> None:
    clean(lake, "sales.returns")
    for command in (["hold"], ["quarantine", "list"]):
        shown = CliRunner().invoke(app, [*command, "sales.returns"])
        assert shown.exit_code == 0, shown.output
    unknown = CliRunner().invoke(app, ["hold", "sales.return"])
    assert unknown.exit_code == 2
    assert "there is no table 'sales.return'" in unknown.output

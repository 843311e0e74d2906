"""What is read through PyIceberg is what Iceberg's own metadata tables count."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from iceberg_assets.errors import ConfigurationError, TableUnreadableError
from iceberg_assets.health import ManifestCache, metadata_pointers, read_health
from iceberg_assets.maintenance import foretell_expiry, foretell_orphans
from iceberg_assets.profiles import Profile, local_path
from iceberg_assets.spec import TableSpec
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.health.conftest import DAY, LATER, NEXT, Example


def test_totals_are_those_of_icebergs_metadata_tables(example: Callable[..., Example]) -> None:
    table = example(**{"format-version": "2", "write_delete_mode": "merge-on-read"})
    table.append(DAY, NEXT, files=3)
    table.sql(f"DELETE FROM {{t}} WHERE id < 7 AND date(ts) = '{DAY}'")
    health = table.health()
    files = table.sql("SELECT count(*) AS n, sum(file_size_in_bytes) AS bytes FROM {t}.data_files")[0]
    assert (health.data_files, health.total_bytes) == (files["n"], files["bytes"])
    assert health.delete_files == table.sql("SELECT count(*) AS n FROM {t}.delete_files")[0]["n"]
    assert len(health.manifests) == table.sql("SELECT count(*) AS n FROM {t}.manifests")[0]["n"]
    assert len(health.snapshots) == table.sql("SELECT count(*) AS n FROM {t}.snapshots")[0]["n"]
    assert health.metadata_files == table.sql("SELECT count(*) AS n FROM {t}.metadata_log_entries")[0]["n"]
    assert health.rows == table.sql("SELECT count(*) AS n FROM {t}")[0]["n"]
    by_day = {row["day"]: row["n"] for row in table.sql("SELECT date(ts) AS day, count(*) AS n FROM {t} GROUP BY 1")}
    assert {day: found.rows for day, found in health.dates.items()} == by_day
    assert metadata_pointers(table.profile, [table.spec.table]) == {table.spec.table: health.metadata_location}


@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_delete_debt_and_old_specs_are_those_of_the_metadata_tables(
    example: Callable[..., Example], granularity: str
) -> None:
    table = example(
        **{"format-version": "2", "write_delete_mode": "merge-on-read"}, write_delete_granularity=granularity
    )
    table.append(DAY, NEXT, rows=40, files=2)
    table.sql("DELETE FROM {t} WHERE x < 0.3")
    before = table.health()
    debts = "SELECT partition.ts_day AS day, count(*) AS files, sum(record_count) AS deletes FROM {t}.delete_files"
    counted = {row["day"]: (row["files"], row["deletes"]) for row in table.sql(f"{debts} GROUP BY 1")}
    assert {day: (found.delete_files, found.deletes) for day, found in before.dates.items()} == counted
    gone = 160 - int(str(table.sql("SELECT count(*) AS n FROM {t}")[0]["n"]))
    assert before.delete_ratio == pytest.approx(gone / 160)
    table.sql("ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)")
    table.append(DAY, rows=40)
    after, of_old = table.health(), "SELECT count(*) AS n FROM {t}.data_files WHERE spec_id = 0"
    assert [found.old_spec_files for found in after.dates.values()] == [2, 2]
    assert after.old_spec_files == table.sql(of_old)[0]["n"]


@pytest.mark.parametrize("partitions", ["months(ts), bucket(2, id)", "days(ts)"])
def test_an_earlier_look_and_the_cache_change_no_answer(
    example: Callable[..., Example], tmp_path: Path, partitions: str
) -> None:
    properties = {"format-version": "2", "write_delete_mode": "merge-on-read"}
    table, cache, before = example(partitions, **properties), ManifestCache(tmp_path / "cache.sqlite"), None
    for step in (
        *[lambda: table.append(DAY, NEXT, rows=100)] * 2,
        lambda: table.sql(f"DELETE FROM {{t}} WHERE id < 7 AND date(ts) = '{DAY}'"),
        lambda: table.append(NEXT, rows=100),
        lambda: table.sql("ALTER TABLE {t} SET TBLPROPERTIES ('write.target-file-size-bytes' = '1000')"),
        lambda: table.call("rewrite_data_files", options={"rewrite-all": "true"}),
        lambda: table.call("rewrite_manifests"),
        lambda: table.sql("ALTER TABLE {t} ADD PARTITION FIELD bucket(3, id)"),
        lambda: table.append(DAY, rows=40),
    ):
        step()
        plain = table.health()
        assert [read_health(table.profile, table.spec, cache=cache) for _ in range(2)] == [plain, plain]
        for kept in (cache, None):
            assert read_health(table.profile, table.spec, before=before, cache=kept) == plain
        before = plain
    listed = {one.path for one in plain.manifests}
    with sqlite3.connect(tmp_path / "cache.sqlite") as connection:
        assert {path for (path,) in connection.execute("SELECT path FROM manifests")} == listed


@pytest.mark.parametrize(("which", "number"), [("manifest list", 0), ("manifest list", 1), ("manifest", 1)])
@pytest.mark.parametrize("left", [None, b"", b"not Avro at all", 0.5], ids=["missing", "empty", "other", "half"])
def test_a_file_of_the_metadata_that_cannot_be_read_is_named_with_the_way_out(
    profile: Profile, namespace: str, which: str, number: int, left: float | bytes | None
) -> None:
    """What PyIceberg raises then names no file, or no table: a negative size, or a byte that is no UTF-8."""
    profile.prepare()
    table = on_paper.make(profile.pyiceberg(), f"{namespace}.t")
    for _ in range(2):
        on_paper.append(table, [DAY], 1)
    maintenance = {"expire": {"older_than": "0s", "minimum_age": "0s"}}
    declared = {"table": f"{namespace}.t", "dates": {"column": "ts", "start": "2024-01-01"}, "maintenance": maintenance}
    spec, now = TableSpec.model_validate(declared), datetime.now(UTC) + timedelta(days=1)
    snapshot = table.metadata.snapshots[number]
    path = snapshot.manifest_list if which == "manifest list" else snapshot.manifests(table.io)[0].manifest_path
    file = Path(local_path(path) or "")
    content = file.read_bytes()
    if left is None:
        file.unlink()
    else:
        file.write_bytes(left if isinstance(left, bytes) else content[: int(len(content) * left)])
    looks = [partial(foretell, profile, spec, now=now) for foretell in (foretell_expiry, foretell_orphans)]
    # Health is of the current snapshot alone.
    for look in [*looks, *([partial(read_health, profile, spec)] if number else [])]:
        with pytest.raises(TableUnreadableError, match=rf"{file.name}.*rollback_to_snapshot"):
            look()
    # The catalog is that of all tests, and orphan removal goes by the metadata of every table in it.
    profile.pyiceberg().drop_table(spec.table)


def test_a_second_look_reads_and_judges_what_is_new(example: Callable[..., Example]) -> None:
    table = example("days(ts)")
    table.append(DAY, LATER, rows=10)
    before = table.health()
    table.append(LATER, rows=10)
    after = read_health(table.profile, table.spec, before=before)
    assert after is not None
    assert after.dates[DAY] is before.dates[DAY]
    assert after.dates[LATER].data_files == 2 * before.dates[LATER].data_files
    assert {id(file) for file in before.files} < {id(file) for file in after.files}


@pytest.mark.parametrize("ts", ["timestamp", "timestamp_ntz", "date"])
def test_dates_are_read_from_every_kind_of_column(example: Callable[..., Example], ts: str) -> None:
    for partitions in ("", "ts" if ts == "date" else "days(ts)"):
        table = example(partitions, ts=ts)
        table.append(DAY, LATER, rows=10)
        assert list(table.health().dates) == [DAY, LATER] if partitions else list(table.health().dates) == [LATER]
        table.sql("DROP TABLE {t}")
    assert read_health(table.profile, table.spec) is None
    assert metadata_pointers(table.profile, [table.spec.table]) == {}


def test_a_column_that_holds_no_dates_is_refused_by_name(example: Callable[..., Example]) -> None:
    table = example("")
    for column, message in (("absent", "no such column; it has id, ts, x, y"), ("id", "of type long")):
        wrong = table.spec.model_copy(update={"dates": table.spec.dates.model_copy(update={"column": column})})
        with pytest.raises(ConfigurationError, match=message):
            read_health(table.profile, wrong)


def test_a_table_without_a_snapshot_is_healthy_and_empty(example: Callable[..., Example]) -> None:
    health = example().health()
    assert (health.snapshot_id, health.files, health.rows, dict(health.dates)) == (None, (), 0, {})

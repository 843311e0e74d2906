"""What is read through PyIceberg is what Iceberg's own metadata tables count."""

from collections.abc import Callable
from pathlib import Path

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import ManifestCache, metadata_pointers, read_health
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


def test_the_cache_changes_no_answer_and_forgets_what_is_gone(example: Callable[..., Example], tmp_path: Path) -> None:
    table, cache = example("months(ts), bucket(2, id)"), ManifestCache(tmp_path / "cache.sqlite")
    for _ in range(3):
        table.append(DAY, NEXT, rows=100)
        plain = table.health()
        assert [read_health(table.profile, table.spec, cache=cache) for _ in range(2)] == [plain, plain]
    table.call("rewrite_manifests")
    after = table.health()
    assert read_health(table.profile, table.spec, cache=cache) == after
    column = after.schema.find_field("ts").field_id
    assert set(cache.load(after.uuid, column)) == {one.path for one in after.manifests}


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

"""``history`` says what was done, failed, cost and saved; ``metrics`` how it stands. All but one test without a JVM."""

import json
import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client.parser import text_string_to_metric_families

from iceberg_assets.maintenance.lease import lease
from iceberg_assets.metrics import collect, record
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import TableSpec
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.command import run, run_json
from iceberg_assets_tests.declare import declare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAYS = [date(2024, 5, 1), date(2024, 5, 2)]
PROCEDURES = (
    "rewrite_data_files",
    "rewrite_manifests",
    "expire_snapshots",
    "remove_orphan_files",
    "compute_table_stats",
)
DATES: dict[str, Any] = {"column": "ts", "start": "2024-05-01", "end": "2024-05-31"}


@pytest.fixture
def table(profile: Profile, project: Path, namespace: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A declared table of metadata alone, with a compaction due; the working directory is its project."""
    name = f"{namespace}.orders"
    declare(project, namespace, {"table": name, "dates": DATES, "maintenance": {"quiet_for": "0s"}})
    profile.prepare()
    on_paper.append(on_paper.make(profile.pyiceberg(), name), DAYS, 6)
    monkeypatch.chdir(project)
    return name


@pytest.fixture
def tried(profile: Profile, table: str) -> str:
    """The same after a search for orphans, a compaction that somebody else kept away, and a slip of the hand."""
    run("call", "remove_orphan_files", table)
    spec = TableSpec.model_validate({"table": table, "dates": DATES})
    with lease(profile, spec, "rewrite_data_files"):
        run("call", "rewrite_data_files", table, "--date", str(DAYS[0]), fails=1)
    run("call", "rewrite_data_files", table, "sort_order=carrier", fails=2)
    return table


def test_calls_are_in_the_history_by_every_filter(tried: str) -> None:
    searched, kept_away = run_json("history", tried)
    assert (searched["operation"], searched["status"]) == ("orphans_removed", "nothing_to_do")
    assert (kept_away["operation"], kept_away["status"], kept_away["dates"]) == ("compacted", "skipped", ["2024-05-01"])
    assert kept_away["predicted"]["iceberg/planned_data_files"] == 6
    assert kept_away["snapshot_before"] == kept_away["snapshot_after"] == searched["snapshot_after"]
    assert isinstance(searched["snapshot_after"], str)
    assert run_json("history", tried, "--status", "skipped") == [kept_away]
    assert run_json("history", tried, "--operation", "orphans_removed") == [searched]
    assert run_json("history", tried, "--since", datetime.now(UTC).isoformat()) == []
    assert "is maintained by somebody" in run("history", tried).output


def test_a_plan_knows_what_was_tried(tried: str) -> None:
    """Orphans were looked for, and are not looked for again at once."""
    (planned,) = run_json("plan", tried)
    (orphans,) = [one for one in planned["waiting"] if one["operations"] == ["orphans_removed"]]
    assert "orphans were looked for" in orphans["reason"]


def test_errors_are_in_a_table_of_their_own(tried: str) -> None:
    (error,) = run_json("history", tried, "--errors")
    assert (error["operation"], error["error"]) == ("compacted", "ConfigurationError")
    assert "carrier" in error["message"]
    assert "--errors goes with" in run("history", tried, "--errors", "--cost", fails=2).output


def test_a_table_that_nothing_was_done_to_has_no_history(table: str) -> None:
    assert "nothing of that kind is in the history" in run("history", table).output
    assert "--since: expected an age such as 90d" in run("history", table, "--since", "yesterday", fails=2).output


def test_metrics_are_what_prometheus_reads_and_opentelemetry_gets(profile: Profile, tried: str) -> None:
    said = run("metrics", tried).output
    samples = {
        (one.name, one.labels.get("operation", ""), one.labels.get("status", "")): one.value
        for family in text_string_to_metric_families(said)
        for one in family.samples
        if one.labels["table"] == tried
    }
    assert samples["iceberg_assets_table_readable", "", ""] == 1
    assert samples["iceberg_assets_table_data_files", "", ""] == 12
    assert samples["iceberg_assets_last_outcome", "compacted", "skipped"] == 1
    assert samples["iceberg_assets_last_outcome", "compacted", "done"] == 0
    assert ("iceberg_assets_last_good_timestamp_seconds", "orphans_removed", "") in samples
    assert ("iceberg_assets_last_good_timestamp_seconds", "compacted", "") not in samples
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    spec = TableSpec.model_validate({"table": tried, "dates": DATES})
    record(provider.get_meter("iceberg_assets"), collect([(spec, profile)], datetime.now(UTC)))
    told = json.loads(reader.get_metrics_data().to_json())
    provider.shutdown()
    (scope,) = told["resource_metrics"][0]["scope_metrics"]
    points = {one["name"]: one["data"]["data_points"] for one in scope["metrics"]}
    (files,) = points["iceberg_assets_table_data_files"]
    assert (files["value"], files["attributes"]) == (12, {"profile": "local", "table": tried})


def test_a_table_that_cannot_be_read_is_a_figure_too(profile: Profile, table: str) -> None:
    loaded = profile.pyiceberg().load_table(table)
    file = Path(loaded.metadata_location.removeprefix("file://"))
    away = file.rename(file.with_suffix(".away"))
    said = run("metrics", table).output
    # Whose files a table of this catalog refers to is asked for others, too.
    away.rename(file)
    assert f'iceberg_assets_table_readable{{profile="local",table="{table}"}} 0.0' in said
    assert "iceberg_assets_table_data_files" not in said


def test_what_a_week_of_maintenance_cost_and_saved(
    spark: "SparkSession", profile: Profile, project: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each operation on the real engine: what was foretold, what came of it, and what is fewer since."""
    name = f"{namespace}.orders"
    policy = {"quiet_for": "0s", "manifests": {"min_count": 2}, "expire": {"older_than": "0s", "minimum_age": "0s"}}
    declare(project, namespace, {"table": name, "dates": DATES, "maintenance": policy})
    monkeypatch.chdir(project)
    spark.sql(f"CREATE NAMESPACE local.{namespace}")
    spark.sql(
        f"CREATE TABLE local.{name} (id BIGINT, ts TIMESTAMP) USING iceberg PARTITIONED BY (days(ts)) "
        "TBLPROPERTIES ('write.distribution-mode' = 'none')"
    )
    for day in DAYS:
        rows = spark.range(0, 60, 1, 6).selectExpr("id", f"TIMESTAMP '{day} 01:00:00+00:00' AS ts")
        rows.writeTo(f"local.{name}").append()
    before = profile.pyiceberg().load_table(name).inspect.files().to_pylist()
    left = Path(profile.pyiceberg().load_table(name).location().removeprefix("file://"), "data", "left.parquet")
    left.write_bytes(b"PAR1")
    os.utime(left, (0, 0))
    for procedure in PROCEDURES:
        run("call", procedure, name)
    first, second, manifests, expired, orphans, stats = run_json("history", name)
    for one in (first, second):
        assert (one["operation"], one["status"], one["productive"]) == ("compacted", "done", True)
        assert one["predicted"]["iceberg/planned_data_files"] == one["actual"]["iceberg/removed_data_files"] == 6
        assert one["predicted"]["iceberg/expected_data_files"] == one["actual"]["iceberg/added_data_files"] == 1
        assert one["actual"]["iceberg/saved_files"] == 5
        assert one["snapshot_before"] != one["snapshot_after"]
    after = profile.pyiceberg().load_table(name)
    total = sum(one["file_size_in_bytes"] for one in before) - sum(
        one["file_size_in_bytes"] for one in after.inspect.files().to_pylist()
    )
    assert first["actual"]["iceberg/saved_bytes"] + second["actual"]["iceberg/saved_bytes"] == total
    assert manifests["predicted"] == {"iceberg/expected_manifests": 1}
    assert manifests["actual"]["iceberg/saved_manifests"] >= 1
    assert expired["predicted"]["iceberg/expirable_snapshots"] == expired["actual"]["iceberg/saved_snapshots"] > 0
    assert (orphans["actual"]["iceberg/saved_files"], orphans["actual"]["iceberg/saved_bytes"]) == (1, 4)
    assert "left.parquet" in orphans["details"]["iceberg/orphans"]
    assert (stats["operation"], stats["dates"], stats["snapshot_after"]) == (
        "compute_table_stats",
        [],
        str(after.metadata.current_snapshot_id),
    )
    (cost,) = run_json("history", name, "--cost")
    seconds = sum(one["seconds"] for one in (first, second, manifests, expired, orphans, stats))
    assert cost["seconds"] == pytest.approx(seconds, abs=0.001)
    assert (cost["files"], cost["bytes"], cost["outcomes"], cost["unfinished"]) == (11, total + 4, 6, 0)
    assert cost["snapshots"] == expired["actual"]["iceberg/expired_snapshots"]
    assert f"{name}: 6 outcomes, 0 gained nothing, 0 failed" in run("history", name, "--cost").output

"""A table is one YAML: what Dagster shows of it, and what is refused when it is loaded."""

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from iceberg_assets.spec.policy import Checks

TABLE = """
type: iceberg_assets.IcebergTable
attributes:
  table: demo.flights
  source: {{path: "raw/%Y-%m-%d/*.parquet"}}
  dates: {{column: ts, start: "2024-01-01", end: "2024-01-31"}}
  partition_by: [{{col: ts, type: date, func: day}}]
{more}
"""
MAINTAINED_ONLY = """
type: iceberg_assets.IcebergTable
attributes:
  table: lake.events
  dates: {column: ts, start: "2024-01-01"}
"""
SENSORS = """
type: iceberg_assets.IcebergMaintenance
attributes: {sensors: running, interval: 30s}
"""
JOB = """
type: iceberg_assets.IcebergCatalogJob
attributes: {{file: job.conf, cron: "0 3 * * *", schedule: running{more}}}
"""
OPERATIONS = ["compacted", "manifests_rewritten", "snapshots_expired", "orphans_removed"]


@pytest.fixture
def location(tmp_path: Path) -> Path:
    """Somebody else's Dagster project: a package with a defs folder, and a definitions file of four lines."""
    (tmp_path / "pyproject.toml").write_text(
        "[tool.dg]\ndirectory_type = 'project'\n"
        "[tool.dg.project]\nroot_module = 'theirs'\ncode_location_name = 'theirs'\n"
    )
    (tmp_path / "theirs" / "defs").mkdir(parents=True)
    (tmp_path / "theirs" / "__init__.py").touch()
    (tmp_path / "theirs" / "defs" / "__init__.py").touch()
    return tmp_path


def declare(location: Path, name: str, text: str) -> None:
    folder = location / "theirs" / "defs" / name
    folder.mkdir(parents=True)
    (folder / "defs.yaml").write_text(text)


def load(location: Path, monkeypatch: pytest.MonkeyPatch) -> dg.Definitions:
    for module in [name for name in sys.modules if name.split(".")[0] == "theirs"]:
        del sys.modules[module]
    monkeypatch.syspath_prepend(str(location))
    return dg.load_from_defs_folder(path_within_project=location / "theirs")


def refusal(location: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What loading says, in all the errors that Dagster wraps it in."""
    with pytest.raises(Exception) as refused:
        load(location, monkeypatch).resolve_asset_graph()
    told, error = "", refused.value
    while error is not None:
        told, error = told + f"{error}\n", error.__cause__ or error.__context__
    return told


def test_a_table_is_an_append_and_four_assets_downstream(location, monkeypatch):
    declare(location, "flights", TABLE.format(more=""))
    graph = load(location, monkeypatch).resolve_asset_graph()
    table = dg.AssetKey(["demo", "flights"])
    below = [dg.AssetKey(["demo", "flights", operation]) for operation in OPERATIONS]
    assert graph.get_all_asset_keys() == {table, *below}
    for upstream, key in zip([table, *below], below, strict=False):
        assert graph.get(key).parent_keys == {upstream}
    for key in [table, *below]:
        node = graph.get(key)
        for word in ["exactly once"] if key == table else ["Runs ", "iceberg/reason"]:
            assert word in node.description
        assert node.kinds == {"iceberg", "spark"}
        assert node.backfill_policy == dg.BackfillPolicy.single_run()
        assert node.pools
        keys = node.partitions_def.get_partition_keys()
        assert (keys[0], keys[-1], len(keys)) == ("2024-01-01", "2024-01-31", 31)
    assert {(key.asset_key, key.name) for key in graph.asset_check_keys} == {
        *((table, name) for name in Checks.model_fields),
        (below[0], "rows_preserved"),
        (below[1], "rows_preserved"),
    }
    rewrites = [key for key in graph.asset_check_keys if key.name == "rows_preserved"]
    assert all(graph.get_check_spec(key).blocking for key in rewrites)


def test_names_that_dagster_has_no_op_for_become_slugs_in_keys(location, monkeypatch):
    declare(location, "odd", TABLE.format(more="").replace("table: demo.flights", "table: [my db, 'straße 1/2']"))
    graph = load(location, monkeypatch).resolve_asset_graph()
    (namespace, name, *_) = min((key.path for key in graph.get_all_asset_keys()), key=len)
    assert (namespace[:5], name[:10]) == ("my_db", "stra_e_1_2")
    assert name != "stra_e_1_2", "another odd name must not be the same key"


def test_a_table_without_a_source_is_maintained_only(location, monkeypatch):
    declare(location, "events", MAINTAINED_ONLY)
    graph = load(location, monkeypatch).resolve_asset_graph()
    table = graph.get(dg.AssetKey(["lake", "events"]))
    assert not table.is_executable
    checked = {key.name for key in graph.asset_check_keys if key.asset_key == table.key}
    assert checked == set(Checks.model_fields) - {"freshness", "ledger_complete"}
    assert graph.get(dg.AssetKey(["lake", "events", "compacted"])).is_executable


@pytest.mark.parametrize("end", ["", ', end: "2999-12-31"'])
def test_today_is_a_partition_of_a_table_whose_end_is_open_or_to_come(location, monkeypatch, end):
    """What plan() asks for has to be a partition: it takes today to be the newest date."""
    from datetime import UTC, datetime

    declare(location, "events", MAINTAINED_ONLY.replace('"}', f'"{end}}}'))
    node = load(location, monkeypatch).resolve_asset_graph().get(dg.AssetKey(["lake", "events"]))
    assert node.partitions_def.get_last_partition_key() == datetime.now(UTC).date().isoformat()


def test_a_location_has_two_sensors_over_all_its_tables(location, monkeypatch):
    declare(location, "flights", TABLE.format(more=""))
    declare(location, "nested/events", MAINTAINED_ONLY)
    declare(location, "maintenance", SENSORS)
    definitions = load(location, monkeypatch)
    sensors = {sensor.name: sensor for sensor in definitions.sensors or []}
    assert set(sensors) == {"iceberg_compaction", "iceberg_upkeep"}
    for sensor in sensors.values():
        assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
        assert sensor.minimum_interval_seconds == 30
        assert {job.name for job in sensor.jobs} == {"iceberg__demo__flights", "iceberg__lake__events"}


def test_sensors_are_stopped_in_other_peoples_projects_unless_said(location, monkeypatch):
    declare(location, "flights", TABLE.format(more=""))
    declare(location, "maintenance", "type: iceberg_assets.IcebergMaintenance\n")
    sensors = load(location, monkeypatch).sensors or []
    assert {sensor.default_status for sensor in sensors} == {dg.DefaultSensorStatus.STOPPED}


def test_the_profile_begins_the_key_where_there_are_several(location, monkeypatch):
    (location / "profiles").mkdir()
    (location / "profiles" / "other.yaml").write_text(
        "catalog: {name: other, type: jdbc, uri: 'sqlite:///other.db', warehouse: other}\n"
    )
    declare(location, "flights", TABLE.format(more=""))
    declare(location, "events", MAINTAINED_ONLY + "  profile: other\n")
    keys = load(location, monkeypatch).resolve_asset_graph().get_all_asset_keys()
    assert dg.AssetKey(["local", "demo", "flights"]) in keys
    assert dg.AssetKey(["other", "lake", "events"]) in keys


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("  maintenence: {}", ["maintenence", "did you mean 'maintenance'?", "defs.yaml:8"]),
        ("  maintenance: {quiet_for: 900}", ["expected an age such as 15m", "defs.yaml:8"]),
        ("  maintenance: {compact: {options: {min-input-files: many}}}", ["expected a whole number", "defs.yaml:8"]),
        ("  profile: nowhere", ["there is no profile 'nowhere': known are docker, glue"]),
        ("  properties: {a: '{{ env.NOT_SET_ANYWHERE }}'}", ["NOT_SET_ANYWHERE", "properties.a", "defs.yaml:8"]),
    ],
)
def test_a_mistake_is_refused_at_load_with_file_line_and_nearest_key(location, monkeypatch, more, words):
    declare(location, "flights", TABLE.format(more="").rstrip() + "\n" + more + "\n")
    told = refusal(location, monkeypatch)
    for word in words:
        assert word in told
    assert not (location / "data").exists()


def test_a_table_that_is_declared_twice_is_refused_with_both_files(location, monkeypatch):
    declare(location, "flights", TABLE.format(more=""))
    declare(location, "nested/again", TABLE.format(more=""))
    told = refusal(location, monkeypatch)
    for folder in ("flights", "nested/again"):
        assert str(location / "theirs" / "defs" / folder / "defs.yaml") in told
    assert "demo.flights of profile 'local' is declared in" in told


def test_raw_files_inside_the_warehouse_are_refused_at_load(location, monkeypatch):
    text = TABLE.format(more="").replace("raw/%Y", "data/warehouse/demo/flights/%Y")
    declare(location, "flights", text)
    assert "data/warehouse" in refusal(location, monkeypatch)


def test_validation_from_the_command_line_finds_the_project_sound():
    root = Path(__file__).parents[2]
    command = [str(Path(sys.executable).with_name("dagster")), "definitions", "validate", "-w", "workspace.yaml"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]


def test_a_job_with_its_schedule_is_one_yaml(location, monkeypatch):
    (location / "job.conf").write_text("catalog: local")
    declare(location, "nightly", JOB.format(more=""))
    declare(location, "by_hand", "type: iceberg_assets.IcebergCatalogJob\nattributes: {file: job.conf, name: by_hand}")
    definitions = load(location, monkeypatch)
    assert {job.name for job in definitions.jobs or []} == {"maintain", "by_hand"}
    (schedule,) = definitions.schedules or []
    assert (schedule.name, schedule.job_name) == ("maintain_schedule", "maintain")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING


@pytest.mark.parametrize(
    ("settings", "more", "words"),
    [
        ("catalog: local, parallelism: none", "", ["job.conf is not usable", "parallelism: "]),
        ("catalog: another", "", ["catalog is 'another', and profile 'local' has 'local'"]),
        ("catalog: local", ", fil: x", ["unknown key 'fil'", "did you mean 'file'?"]),
    ],
)
def test_a_mistake_in_the_jobs_file_or_yaml_is_refused_when_it_is_loaded(location, monkeypatch, settings, more, words):
    (location / "job.conf").write_text(settings)
    declare(location, "nightly", JOB.format(more=more))
    told = refusal(location, monkeypatch)
    assert all(word in told for word in words), told

"""The command line, on tables that PyIceberg made: health and plan do without a JVM, sql has one."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pytest
from pyiceberg.transforms import DayTransform
from typer.testing import CliRunner, Result

from iceberg_assets.cli import app, declared_tables
from iceberg_assets.profiles import Profile, load_profile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 6

DECLARATION = """\
type: iceberg_assets.IcebergTable
attributes:
  table: {table}
  dates: {{column: ts, start: "2024-05-01", end: "2024-05-31"}}
  maintenance: {{quiet_for: 0s}}
"""


@pytest.fixture
def own_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of one declared table, which has six small files; the working directory is inside it."""
    (tmp_path / "pyproject.toml").touch()
    declare(tmp_path, "shop.orders")
    fill(load_profile("local", tmp_path), "shop.orders")
    inside = tmp_path / "somewhere" / "inside"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    return tmp_path


def declare(project: Path, table: str, *more: str) -> Path:
    file = project / "defs" / table / "defs.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("---\n".join([DECLARATION.format(table=table), *more]))
    return file


def fill(profile: Profile, table: str) -> None:
    profile.prepare()
    catalog = profile.pyiceberg()
    catalog.create_namespace_if_not_exists(table.rpartition(".")[0])
    rows = pa.table({"id": [1, 2], "ts": pa.array([datetime(2024, 5, 30, tzinfo=UTC)] * 2, pa.timestamp("us", "UTC"))})
    made = catalog.create_table(table, schema=rows.schema)
    for _ in range(FILES):
        made.append(rows)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def run_json(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_health_counts_rows_and_files(own_project: Path) -> None:
    (found,) = run_json("health")

    assert found["table"] == "shop.orders"
    assert (found["rows"], found["data_files"], found["snapshots"]) == (2 * FILES, FILES, FILES)
    assert found["dates"]["2024-05-30"]["small_files"] == FILES - 1, "one file would be left"
    assert isinstance(found["snapshot_id"], str), "JSON readers round numbers of 64 bits"


def test_health_for_people_shows_the_dates_and_the_table(own_project: Path) -> None:
    result = run("health", "shop.orders")

    assert result.exit_code == 0
    assert "2024-05-30" in result.stdout
    assert f"{FILES} snapshots" in result.stdout


def test_health_names_the_ref_that_holds_snapshots_back_and_counts_files_of_older_specs(own_project: Path) -> None:
    file = own_project / "defs" / "shop.orders" / "defs.yaml"
    file.write_text(file.read_text().replace("quiet_for: 0s", "expire: {older_than: 0s, minimum_age: 0s}"))
    table = load_profile("local", own_project).pyiceberg().load_table("shop.orders")
    table.manage_snapshots().create_tag(table.snapshots()[1].snapshot_id, "audit-2024").commit()
    with table.update_spec() as change:
        change.add_field("ts", DayTransform())

    told = run("health").stdout
    assert "audit-2024 holds back 1 snapshot that would expire" in told
    assert f"{FILES} data files of older partition specs" in told
    (found,) = run_json("health")
    assert (found["pinned_snapshots"], found["old_spec_files"]) == ({"audit-2024": 1}, FILES)


def test_a_declared_table_that_does_not_exist_yet_says_so(own_project: Path) -> None:
    declare(own_project, "shop.returns")

    assert run_json("health", "shop.returns") == [{"table": "shop.returns", "exists": False}]
    told = run("health", "shop.returns").stdout
    assert "shop.returns does not exist yet: its writer has to create it" in told, "it has no source to materialize"
    (planned,) = run_json("plan", "shop.returns")
    assert planned["requests"] == []


def test_plan_asks_for_the_compaction_of_small_files(own_project: Path) -> None:
    (planned,) = run_json("plan", "shop.orders")

    (compaction,) = [request for request in planned["requests"] if request["operations"] == ["compacted"]]
    assert compaction["dates"]
    assert str(FILES) in compaction["reason"]


def test_plan_says_what_it_cannot_know(own_project: Path) -> None:
    assert "runs in flight are not known" in run("plan").stdout


def test_health_and_plan_start_no_jvm(own_project: Path) -> None:
    program = (
        "import sys, psutil\n"
        "from iceberg_assets.cli import app\n"
        "app(['health'], standalone_mode=False)\n"
        "app(['plan'], standalone_mode=False)\n"
        "loaded = [name for name in sys.modules if name.partition('.')[0] == 'pyspark']\n"
        "children = [child.name() for child in psutil.Process().children(recursive=True)]\n"
        "assert not loaded and not children, (loaded, children)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("shop.orders: ") == 2


def test_an_unknown_table_is_refused_with_the_known_ones(own_project: Path) -> None:
    result = run("health", "shop.order")

    assert result.exit_code == 2
    assert result.stderr == "there is no table 'shop.order' in this project; declared are shop.orders\n"


def test_an_unknown_profile_is_refused_with_the_known_ones(own_project: Path) -> None:
    result = run("plan", "--profile", "moon")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no profile 'moon': known are docker, glue" in result.stderr


def test_a_mistake_in_the_yaml_is_one_message_with_file_and_key(own_project: Path) -> None:
    file = declare(own_project, "shop.wrong")
    file.write_text(DECLARATION.format(table="shop.wrong").replace("quiet_for", "quite_for"))

    result = run("health")

    assert result.exit_code == 2
    assert str(file) in result.stderr
    assert "maintenance.quite_for" in result.stderr
    assert "quiet_for" in result.stderr
    assert "Traceback" not in result.stderr


def _a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _a_link_to_nothing(file: Path) -> None:
    file.unlink()
    file.symlink_to("nothing")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda file: file.write_text("type: ["), "is not YAML"),
        (lambda file: file.write_bytes(b"\x00\x01PAR1"), "is not YAML"),
        (lambda file: file.write_bytes("owner: Jörg".encode("latin-1")), r"is not text in UTF-8 \(byte 8\): save it"),
        (_a_folder, "is a folder, .*: rename it"),
        (_a_link_to_nothing, r"cannot be read \(No such file or directory\)"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_way_out(
    own_project: Path, spoil: Callable[[Path], object], words: str
) -> None:
    spoil(file := declare(own_project, "shop.broken"))

    result = run("health")

    assert result.exit_code == 2
    assert re.search(f"{file} {words}", result.stderr)


def test_a_catalog_that_is_no_catalog_is_one_message(own_project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own_project / "photos.db").write_bytes(b"something else" * 1000)
    monkeypatch.setenv("ICEBERG_ASSETS_CATALOG", "photos.db")

    result = run("plan")

    assert result.exit_code == 2
    assert re.match(r"profile 'local', catalog\.uri: .*/photos\.db is not usable as a SQLite catalog", result.stderr)


def test_a_project_without_a_table_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)

    result = run("health")

    assert result.exit_code == 2
    assert result.stderr.startswith(f"no table is declared in {tmp_path}: put a YAML with type: iceberg_assets.Iceb")


def test_a_table_that_is_declared_twice_is_refused_with_both_files(own_project: Path) -> None:
    again = declare(own_project / "elsewhere", "shop.orders")

    result = run("health")

    assert result.exit_code == 2
    first = own_project / "defs" / "shop.orders" / "defs.yaml"
    assert f"shop.orders of profile 'local' is declared in {first} and in {again}" in result.stderr


def test_tables_of_one_name_in_two_profiles_are_two_and_a_command_about_one_asks_which(own_project: Path) -> None:
    profiles = own_project / "profiles"
    profiles.mkdir()
    (profiles / "far.yaml").write_text("catalog: {name: far, type: jdbc, uri: 'sqlite:///far.db', warehouse: far}\n")
    declare(own_project / "far", "shop.orders").open("a").write("  profile: far\n")

    assert len(declared_tables(own_project)) == 2
    result = run("append", "shop.orders", "--date", "2024-05-01")
    assert (result.exit_code, "say which with --profile" in result.stderr) == (2, True)
    result = run("append", "shop.orders", "--date", "2024-05-01", "--profile", "far")
    assert (result.exit_code, "has no source" in result.stderr) == (2, True)


def test_tables_are_found_in_any_defs_folder_and_any_document(own_project: Path) -> None:
    declare(own_project / "src" / "app", "a.b", DECLARATION.format(table="c.d"), "type: other.Component\n")
    declare(own_project / ".venv" / "lib", "not.ours")

    assert [spec.name for spec in declared_tables(own_project)] == ["a.b", "c.d", "shop.orders"]


@pytest.fixture
def table_of_spark(
    spark: "SparkSession", project: Path, profile: Profile, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """A table in the catalog of the tests' session, with the working directory in its project."""
    monkeypatch.chdir(project)
    fill(profile, table := f"{namespace}.t_{uuid4().hex[:6]}")
    yield table
    spark.sql(f"DROP TABLE {profile.catalog.name}.{table}")


def test_sql_names_tables_without_their_catalog(table_of_spark: str) -> None:
    assert run_json("sql", "-c", f"SELECT count(*) AS n FROM {table_of_spark}") == [{"n": 2 * FILES}]


@pytest.fixture
def machine_in_new_york() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TZ", "America/New_York")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("machine_in_new_york")
def test_sql_gives_points_in_time_with_their_zone(table_of_spark: str) -> None:
    """PySpark hands them over in the machine's zone and without it."""
    rows = run_json("sql", "-c", f"SELECT max(ts) AS newest, CAST(NULL AS TIMESTAMP) AS nothing FROM {table_of_spark}")

    assert rows == [{"newest": "2024-05-30 00:00:00+00:00", "nothing": None}]


def test_sql_for_people_is_a_table(table_of_spark: str) -> None:
    result = run("sql", "-c", f"SELECT id, CAST(NULL AS STRING) AS nothing FROM {table_of_spark} LIMIT 1")

    assert result.exit_code == 0
    assert "nothing" in result.stdout
    assert "NULL" in result.stdout


def test_sql_that_spark_refuses_is_one_message(table_of_spark: str) -> None:
    result = run("sql", "-c", "SELECT * FROM nowhere.nothing")

    assert result.exit_code == 2
    assert "TABLE_OR_VIEW_NOT_FOUND" in result.stderr
    assert "JVM stacktrace" not in result.stderr

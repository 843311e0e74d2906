"""What is missing on a machine or in its settings is named with its way out, and nothing is made by looking."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from iceberg_assets.doctor import CHECKS
from iceberg_assets.doctor.machine import OF_MACHINE
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import load_profile
from iceberg_assets.spark.jars import fetch_jars
from iceberg_assets.spec import parse_table
from iceberg_assets.tables.location_provider import provider_notes
from iceberg_assets_tests.command import run
from iceberg_assets_tests.declare import declare
from iceberg_assets_tests.on_paper import make

LOCAL = {"catalog": {"name": "mine", "type": "jdbc", "uri": "sqlite:///data/c.db", "warehouse": "data/warehouse"}}
REST = {"catalog": {"name": "mine", "type": "rest", "uri": "http://127.0.0.1:9", "token": "canary"}}
DATES = {"column": "ts", "start": "2024-01-01"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of its own, which the command is run in."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "profiles").mkdir()
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "dagster.yaml").write_text("concurrency: {pools: {default_limit: 1}}")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def profile(place: Path, settings: dict[str, Any]) -> None:
    (place / "profiles" / "mine.yaml").write_text(yaml.safe_dump(settings))


def examined(*, fails: int = 0, check: str | None = None) -> list[tuple[str, str]]:
    """Level, and what is said with its way out."""
    said = json.loads(run("doctor", "--profile", "mine", "--json", fails=fails).stdout)
    return [(one["level"], f"{one['said']} | {one['way_out']}") for one in said if check in (None, one["check"])]


def test_where_nothing_is_missing_everything_is_ok_and_nothing_is_made(place: Path) -> None:
    profile(place, LOCAL)
    before = sorted(place.rglob("*"))
    found = examined()
    assert {level for level, _ in found} == {"ok"}, found
    assert sorted(place.rglob("*")) == before
    shown = run("doctor", "--profile", "mine").stdout
    assert "ok    java: " in shown
    assert f"ok    mine, folders: catalog.warehouse: {place}/data/warehouse can be made" in shown
    assert "is made by the first append" in shown


def test_the_page_lists_every_check() -> None:
    page = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text()
    listed = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert listed == [*OF_MACHINE, "tables", "profile", *CHECKS]


def test_the_profiles_of_declared_tables_are_those_that_are_looked_at(place: Path) -> None:
    profile(place, LOCAL)
    declare(place, "t", {"table": "n.t", "profile": "mine", "dates": DATES})
    assert "ok    mine, jars" in run("doctor").stdout
    declare(place, "broken", {"table": "n.t", "dates": {}})
    assert "fail  tables: " in run("doctor", fails=1).stdout


def test_no_java_is_a_failure(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile(place, LOCAL)
    monkeypatch.setenv("JAVA_HOME", str(place))
    ((level, said),) = examined(fails=1, check="java")
    assert level == "fail"
    assert f"none in JAVA_HOME={place}: install Java 17" in said


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("concurrency: {pools: {default_limit: 3}}", "the default limit of pools is 3"),
        ("telemetry: {enabled: false}", "the default limit of pools is None"),
        (None, "dagster.yaml is not there"),
    ],
)
def test_pools_without_a_limit_of_one_are_told(place: Path, file: str | None, said: str) -> None:
    profile(place, LOCAL)
    settings = place / "dagster" / "dagster.yaml"
    settings.write_text(file) if file else settings.unlink()
    ((level, found),) = examined(check="pools")
    assert level == "warn"
    assert said in found
    assert "set concurrency.pools.default_limit: 1" in found


def test_every_variable_that_is_not_set_is_named_at_once(place: Path) -> None:
    profile(
        place, {"catalog": LOCAL["catalog"] | {"uri": "sqlite:///${NO_SUCH_A}", "warehouse": "${NO_SUCH_B}/${HOME}"}}
    )
    ((level, said),) = examined(fails=1, check="profile")
    assert level == "fail"
    assert "needs the environment variables NO_SUCH_A, NO_SUCH_B, which are not set" in said


def test_an_iceberg_for_another_spark_is_a_failure(place: Path) -> None:
    profile(place, LOCAL | {"packages": ["org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0"]})
    ((level, said),) = examined(fails=1, check="spark and iceberg")
    assert level == "fail"
    assert "iceberg-spark-runtime-3.5_2.12:1.12.0 is for Spark 3.5 | pip install 'pyspark==3.5.*'" in said
    ((level, said),) = examined(fails=1, check="jars")
    assert (level, "the first session fetches" in said) == ("warn", True)


def test_a_python_package_that_the_catalog_asks_for_is_named_with_its_extra(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile(place, {"catalog": {"name": "mine", "type": "hive", "uri": "thrift://127.0.0.1:9", "warehouse": "data/w"}})
    monkeypatch.setitem(sys.modules, "thrift", None)
    assert ("fail", "Python has no thrift | pip install 'iceberg-assets[hive]'") in examined(fails=1)


def test_a_folder_that_cannot_be_made_and_raw_files_that_are_nowhere_are_told(place: Path) -> None:
    (place / "data").touch()
    profile(place, LOCAL)
    declare(
        place, "t", {"table": "n.t", "profile": "mine", "dates": DATES, "source": {"path": "raw/%Y-%m-%d/*.parquet"}}
    )
    found = examined(fails=1, check="folders")
    assert [level for level, _ in found] == ["fail", "fail", "warn"]
    assert f"catalog.uri: {place}/data cannot be written to" in found[0][1]
    assert f"n.t: {place}/raw, where raw files land, is not there" in found[2][1]


def test_a_service_that_does_not_answer_is_named_by_its_key_and_no_secret_is_shown(place: Path) -> None:
    profile(place, REST | {"store": {"endpoint": "http://127.0.0.1:9", "secret_key": "canary", "access_key": "canary"}})
    ((level, said),) = examined(fails=1, check="services")
    assert level == "fail"
    assert "catalog.uri: nothing answers at 127.0.0.1:9 (Connection refused) | start the service" in said
    assert not examined(fails=1, check="credentials"), "they are not asked, which would take its time"
    assert "canary" not in run("doctor", "--profile", "mine", fails=1).output


class _Server(BaseHTTPRequestHandler):
    """Refuses everybody, at a time that is not ours."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.end_headers()

    def do_HEAD(self) -> None:
        self.do_GET()

    def date_time_string(self, timestamp: float | None = None) -> str:
        return "Fri, 01 Jan 2021 00:00:00 GMT"

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Server) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()
        thread.join()


def test_a_clock_that_is_far_off_and_a_token_that_is_refused_are_failures(place: Path, server: str) -> None:
    profile(place, {"catalog": REST["catalog"] | {"uri": server}})
    found = examined(fails=1)
    assert any(
        level == "fail" and "clock is" in said and "signed requests are refused" in said for level, said in found
    )
    assert any(level == "fail" and "cannot be opened" in said and "valid" in said for level, said in found)
    assert "canary" not in str(found)


def test_a_table_that_another_optimizer_is_at_is_told(place: Path) -> None:
    profile(place, LOCAL)
    mine = load_profile("mine", place)
    mine.prepare()
    make(mine.pyiceberg(), "n.t", self__optimizing_enabled="true")
    make(mine.pyiceberg(), "n.u")
    for name in ("t", "u", "missing"):
        declare(place, name, {"table": f"n.{name}", "profile": "mine", "dates": DATES})
    ((level, said),) = examined(check="optimizers")
    assert level == "warn"
    assert "n.t: the table's property self-optimizing.enabled is 'true': Amoro optimizes it" in said
    assert ("ok", "catalog mine lists 1 namespace | ") in examined(check="credentials")


def test_a_flat_location_on_glue_is_told_of_where_it_is_written_and_where_it_is_looked_at(place: Path) -> None:
    flat = {"write.location-provider.flat.fields": "a"}
    attributes = {"table": "n.t", "dates": DATES, "properties": flat}
    spec = parse_table(attributes, root=place, variables={}, where="test")
    (note,) = provider_notes(load_profile("glue", place), spec, spec.properties)
    assert note.startswith("n.t has a flat location, which Glue's own optimizers do not know: leave them off")
    assert provider_notes(load_profile("local", place), spec, spec.properties) == ()
    assert provider_notes(load_profile("glue", place), spec, {}) == ()


@pytest.mark.parametrize(
    ("catalog", "check", "said"),
    [
        ({"uri": "http://127.0.0.1:99999"}, "profile", "catalog.uri: Port out of range"),
        ({"uri": "http://127.0.0.1:a"}, "profile", "catalog.uri: Port could not be"),
        ({"uri": "http://a..b:80"}, "services", "catalog.uri: nothing answers at a..b:80 (that is no name of a host)"),
        ({"type": "jdbc", "uri": "sqlite:////tmp", "token": None, "warehouse": "w"}, "folders", "/tmp is a folder"),
    ],
)
def test_an_address_that_is_none_is_a_failure_and_no_end(
    place: Path, catalog: dict[str, Any], check: str, said: str
) -> None:
    profile(place, {"catalog": REST["catalog"] | catalog})
    assert any(level == "fail" and said in words for level, words in examined(fails=1, check=check))


def test_a_file_that_a_check_cannot_read_does_not_end_the_others(place: Path) -> None:
    profile(place, LOCAL)
    (place / "dagster" / "dagster.yaml").write_text("concurrency: [")
    found = examined(fails=1)
    assert any(level == "fail" and "dagster.yaml is not YAML" in words for level, words in found)
    assert any("catalog.warehouse" in words for _, words in found)


def test_a_folder_that_jars_cannot_be_fetched_to_is_named_by_its_key(place: Path) -> None:
    (place / "file").touch()
    profile(place, LOCAL | {"spark": {"spark.jars.ivy": str(place / "file")}})
    ((level, said),) = examined(fails=1, check="jars")
    assert level == "fail"
    assert "name another folder as spark.jars.ivy" in said
    with pytest.raises(ConfigurationError, match=r"profile 'mine', spark: spark\.jars\.ivy: .* cannot be written to"):
        fetch_jars(load_profile("mine", place))

"""A machine that Spark cannot run on is told so in one sentence, before anything is made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import iceberg_assets
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import load_profile
from iceberg_assets.spark.session import require_java, session


def java_that_says(folder: Path, banner: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{banner}' >&2\n")
    java.chmod(0o755)
    return folder


def test_no_java_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"Spark needs Java, and there is none in the PATH: install Java 17"):
        require_java()


def test_a_JAVA_HOME_without_java_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ConfigurationError, match=f"none in JAVA_HOME={tmp_path}"):
        require_java()


@pytest.mark.parametrize(("banner", "found"), [('openjdk version "11.0.2"', "11"), ('java version "1.8.0_301"', "8")])
def test_an_old_java_is_refused_with_its_version(tmp_path, monkeypatch, banner, found):
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path, banner)))
    with pytest.raises(ConfigurationError, match=f"needs Java 17 or newer, and .* is {found}"):
        require_java()


def test_a_java_that_does_not_run_is_named(tmp_path, monkeypatch):
    home = java_that_says(tmp_path, "")
    (home / "bin" / "java").write_text("no program")
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(ConfigurationError, match=f"needs Java, and {home}/bin/java does not run"):
        require_java()


def test_a_new_java_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path, 'openjdk version "21.0.8"')))
    require_java()


@pytest.mark.jvm
def test_a_missing_jar_without_a_network_is_named_with_the_way_out(tmp_path):
    """A process of its own, with an empty HOME that Java does not know of, and a proxy that nobody listens on."""
    nowhere = "-Dhttp{0}.proxyHost=127.0.0.1 -Dhttp{0}.proxyPort=9"
    java = f"{nowhere.format('')} {nowhere.format('s')}"
    (tmp_path / "pyproject.toml").touch()
    environment = os.environ | {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "JAVA_TOOL_OPTIONS": java}
    ended = subprocess.run(
        [sys.executable, "-c", "from iceberg_assets.cli import app; app()", "sql", "-c", "SELECT 1"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (2, "")
    announced, told = ended.stderr.splitlines()
    assert announced.startswith("fetching org.apache.iceberg:")
    assert "needs org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0" in told
    assert "Give this machine access to Maven Central once" in told
    (log,) = tmp_path.glob("*.log")
    assert told.endswith(f"what the resolver said is in {log}")
    assert "UNRESOLVED DEPENDENCIES" in log.read_text()


def test_the_package_itself_gives_people_a_session(spark, project, monkeypatch):
    monkeypatch.chdir(project)
    assert iceberg_assets.spark("local").sql("SHOW NAMESPACES IN local").columns == ["namespace"]


@pytest.mark.parametrize(
    ("of_catalog", "further", "why"),
    [
        ({}, {}, "has a catalog local already, which is another one"),
        ({"name": "other"}, {"spark": {"spark.hadoop.a": "b"}}, r"began with another spark\.hadoop\.a"),
        ({"name": "other"}, {"jars": ["their.jar"]}, r"began without their\.jar"),
    ],
)
def test_a_session_is_not_shared_by_a_profile_whose_statements_would_reach_anothers_tables(
    spark, tmp_path, of_catalog, further, why
):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "their.jar").touch()
    catalog = {"name": "local", "type": "jdbc", "uri": "sqlite:///c.db", "warehouse": "wh", **of_catalog}
    (tmp_path / "profiles" / "second.yaml").write_text(yaml.safe_dump({"catalog": catalog, **further}))
    before = spark.conf.getAll
    with pytest.raises(ConfigurationError, match=f"profile 'second': .* is another profile's. It {why}"):
        session(load_profile("second", tmp_path))
    assert spark.conf.getAll == before


@pytest.mark.jvm
def test_a_session_is_shared_however_the_folder_of_its_tables_is_spelled(spark, tmp_path):
    folder = spark.conf.get("spark.sql.warehouse.dir")
    assert folder.startswith("file:/")
    (tmp_path / "profiles").mkdir()
    catalog = {"name": "beside", "type": "jdbc", "uri": "sqlite:///c.db", "warehouse": "wh"}
    spelled = {"spark.sql.warehouse.dir": f"file:///{folder.removeprefix('file:').strip('/')}/"}
    (tmp_path / "profiles" / "second.yaml").write_text(yaml.safe_dump({"catalog": catalog, "spark": spelled}))
    assert session(load_profile("second", tmp_path)).sparkContext is spark.sparkContext


@pytest.mark.jvm
def test_secrets_reach_sparks_jvm_and_not_its_command_line(tmp_path):
    """A process of its own, since a session keeps the settings that it began with."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "local.yaml").write_text(
        f"catalog: {{name: local, type: jdbc, uri: 'sqlite:///{tmp_path}/c.db', warehouse: '{tmp_path}/w'}}\n"
        "spark: {spark.hadoop.fs.s3a.bucket.raw.secret.key: '${RAW_SECRET}', spark.eventLog.enabled: true, "
        "spark.eventLog.compress: false, "
        f"spark.eventLog.dir: 'file://{tmp_path}'}}\n"
    )
    program = """
import os, pathlib
import iceberg_assets

spark = iceberg_assets.spark("local")
name = "fs.s3a.bucket.raw.secret.key"
print("given", spark.sparkContext._jsc.hadoopConfiguration().get(name) == "canary-4711")
parent = f"PPid:\\t{os.getpid()}\\n"
(jvm,) = [one.parent for one in pathlib.Path("/proc").glob("[0-9]*/status") if parent in one.read_text()]
print("shown", "canary-4711" in (jvm / "cmdline").read_text())
spark.sql("SELECT 1").collect()
spark.stop()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env=os.environ | {"RAW_SECRET": "canary-4711"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout.splitlines() == ["given True", "shown False"]
    logged = [one.read_text(errors="replace") for one in tmp_path.rglob("*") if one.is_file() and one.suffix != ".yaml"]
    assert any("fs.s3a.bucket.raw.secret.key" in text for text in logged), "Spark's event log"
    assert not [text for text in logged if "canary-4711" in text]

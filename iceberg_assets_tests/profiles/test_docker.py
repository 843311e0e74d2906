"""The profile ``docker`` against docker-compose.yml: what one publishes the other reaches. No Docker."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
import yaml

from iceberg_assets.profiles import Profile, load_profile

ROOT = Path(__file__).resolve().parents[2]
SET = "ICEBERG_ASSETS_DOCKER_"


def interpolated(value: Any, variables: dict[str, str]) -> Any:
    """What Compose makes of a file: ``${NAME:-default}`` filled in."""
    if isinstance(value, dict):
        return {key: interpolated(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, variables) for item in value]
    if not isinstance(value, str):
        return value
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: variables.get(found[1]) or found[2], value)


@pytest.fixture(
    params=[{}, {f"{SET}ACCESS_KEY": "somebody", f"{SET}SECRET_KEY": "else", f"{SET}DATABASE_PASSWORD": "third"}]
)
def variables(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name in [name for name in os.environ if name.startswith(SET)]:
        monkeypatch.delenv(name)
    for name, value in request.param.items():
        monkeypatch.setenv(name, value)
    return request.param


@pytest.fixture
def compose(variables: dict[str, str]) -> dict[str, Any]:
    return interpolated(yaml.safe_load((ROOT / "docker-compose.yml").read_text()), variables)


def hive_site(compose: dict[str, Any]) -> dict[str, str]:
    found = ElementTree.fromstring(compose["configs"]["hive-site"]["content"])
    return {one.findtext("name", ""): one.findtext("value", "") for one in found}


def published(compose: dict[str, Any], service: str) -> str:
    """``host:port`` on this machine."""
    (port,) = compose["services"][service]["ports"]
    return port.rpartition(":")[0]


def test_from_this_machine_the_profile_reaches_what_the_services_publish(compose: dict[str, Any]) -> None:
    profile = load_profile("docker", ROOT)
    assert profile.store
    assert urlsplit(profile.catalog.uri).netloc == published(compose, "metastore")
    assert urlsplit(profile.store.endpoint).netloc == published(compose, "store")
    bucket = urlsplit(profile.catalog.warehouse).netloc
    buckets = re.search(r"-bucket=(\S+)", compose["services"]["store"]["command"])
    assert buckets
    assert bucket in buckets[1].split(",")


def in_container(compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Profile:
    environment = compose["services"]["code"]["environment"]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return load_profile(root=ROOT)


def test_in_its_container_the_profile_reaches_the_other_containers(
    compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = in_container(compose, monkeypatch)
    assert profile.name == "docker"
    assert profile.store
    assert profile.store.endpoint
    for place, service in ((profile.catalog.uri, "metastore"), (profile.store.endpoint, "store")):
        inside = published(compose, service).rpartition(":")[2]
        assert urlsplit(place).netloc == f"{service}:{inside}"


def test_store_metastore_and_profile_have_the_same_keys(
    compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = in_container(compose, monkeypatch)
    assert profile.store
    made, site = compose["services"]["store"]["environment"], hive_site(compose)
    seen = profile.store.spark_hadoop()
    assert seen["spark.hadoop.fs.s3a.access.key"] == made["AWS_ACCESS_KEY_ID"] == site["fs.s3a.access.key"]
    assert seen["spark.hadoop.fs.s3a.secret.key"] == made["AWS_SECRET_ACCESS_KEY"] == site["fs.s3a.secret.key"]
    for key in ("endpoint", "endpoint.region", "path.style.access", "connection.ssl.enabled"):
        assert site[f"fs.s3a.{key}"] == seen[f"spark.hadoop.fs.s3a.{key}"]
    assert site["hive.metastore.warehouse.dir"] == profile.catalog.warehouse


def test_the_metastore_reaches_its_database(compose: dict[str, Any]) -> None:
    database, site = compose["services"]["database"]["environment"], hive_site(compose)
    url = f"jdbc:postgresql://database:5432/{database['POSTGRES_DB']}"
    assert site["javax.jdo.option.ConnectionURL"] == url
    assert site["javax.jdo.option.ConnectionUserName"] == database["POSTGRES_USER"]
    assert site["javax.jdo.option.ConnectionPassword"] == database["POSTGRES_PASSWORD"]
    assert set(compose["services"]["metastore"]["depends_on"]) == {"database", "store"}


def test_the_metastores_program_is_there_and_a_shell_can_read_it(compose: dict[str, Any]) -> None:
    program = ROOT / compose["services"]["metastore"]["command"]
    assert os.access(program, os.X_OK)
    subprocess.run(["bash", "-n", program], check=True)
    (config,) = compose["services"]["metastore"]["configs"]
    assert config["target"] == "/app/metastore/conf/hive-site.xml"

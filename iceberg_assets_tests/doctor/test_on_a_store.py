"""Against a real store with a REST catalog: what takes our credentials is told from what refuses them, or is gone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from iceberg_assets.doctor.place import unreachable
from iceberg_assets_tests.command import run
from iceberg_assets_tests.declare import declare
from iceberg_assets_tests.services.catalogs import PROFILE, SECRET, project, rest_settings
from iceberg_assets_tests.services.seaweedfs import LAKE, SeaweedFS, seaweedfs


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    with seaweedfs(tmp_path_factory.mktemp("doctor") / "store", SECRET) as running:
        yield running


@pytest.fixture
def on_rest(store: SeaweedFS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project whose profile is the REST catalog, in which the command is run."""
    monkeypatch.chdir(project(tmp_path, rest_settings(store, "oauth"), store))


@pytest.fixture
def on_buckets(store: SeaweedFS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose catalog is a file; the warehouse is in a bucket, and raw files in another, which is not there."""
    catalog = {"type": "jdbc", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": f"s3://{LAKE}/warehouse"}
    root = project(tmp_path, catalog, store)
    dates = {"column": "ts", "start": "2024-01-01"}
    declare(
        root, "t", {"table": "n.t", "profile": PROFILE, "dates": dates, "source": {"path": "s3a://gone/%Y-%m-%d/*"}}
    )
    monkeypatch.chdir(root)


def examined(*, fails: int = 0) -> dict[str, list[tuple[str, str]]]:
    """Level and sentence, by check; the secret is in none."""
    said = run("doctor", "--profile", PROFILE, "--json", fails=fails)
    assert SECRET not in said.output
    found: dict[str, list[tuple[str, str]]] = {}
    for one in json.loads(said.stdout):
        found.setdefault(one["check"], []).append((one["level"], one["said"]))
    return found


def test_services_that_answer_and_credentials_that_are_taken(on_rest: None) -> None:
    found = examined()
    assert [level for level, _ in found["services"]] == ["ok", "ok"]
    assert [level for level, _ in found["clock"]] == ["ok", "ok"]
    assert "catalog lake lists " in found["credentials"][0][1]
    assert {level for level, _ in found["credentials"]} == {"ok"}


def test_a_credential_that_the_catalog_refuses(on_rest: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_CREDENTIAL", f"admin:not-{SECRET}")
    ((level, said), *_) = examined(fails=1)["credentials"]
    assert level == "fail"
    assert "cannot be opened" in said
    assert f"profile '{PROFILE}'" in said


def test_buckets_are_told_apart_by_what_is_wrong_with_them(on_buckets: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert examined(fails=1)["credentials"][1:] == [
        ("ok", f"bucket {LAKE} is there for us"),
        ("fail", "there is no bucket gone"),
    ]
    monkeypatch.setenv("SERVICE_SECRET_KEY", f"not-{SECRET}")
    (level, said) = examined(fails=1)["credentials"][1]
    assert level == "fail"
    assert f"bucket {LAKE} cannot be looked at" in said


def test_a_service_that_has_stopped(on_rest: None, store: SeaweedFS) -> None:
    store.service.stop()
    unreachable.cache_clear()
    found = examined(fails=1)
    assert [level for level, _ in found["services"]] == ["fail", "fail"]
    assert "credentials" not in found, "nobody waits for retries"

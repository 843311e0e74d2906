"""A profile of production is written to from the places that it names, and from no other; anybody may look. No JVM."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import read_health
from iceberg_assets.history import Recorder, Who
from iceberg_assets.maintenance import Asked, call_procedure, foretell, maintain, release, undo
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec import Operation, Status, TableSpec, parse_table
from iceberg_assets.spec.procedures import PROCEDURES
from iceberg_assets.tables import append
from iceberg_assets.tables.operator import adopt
from iceberg_assets_tests import on_paper

DAY = date(2024, 5, 1)
Door = Callable[[Profile, TableSpec], Any]


def no_session() -> Any:
    raise AssertionError("a session was asked for")


def asked() -> Asked:
    return Asked([DAY], datetime.now(UTC), {})


def moved(profile: Profile, spec: TableSpec) -> object:
    newest = profile.pyiceberg().load_table(spec.table).metadata.snapshots[0].snapshot_id
    procedure, now = PROCEDURES["rollback_to_snapshot"], datetime.now(UTC)
    return call_procedure(no_session, profile, spec, procedure, {"snapshot_id": newest}, now=now)


DOORS: dict[str, Door] = {
    "append": lambda profile, spec: append(no_session, profile, spec, [DAY]),
    "maintain": lambda profile, spec: maintain(Operation.COMPACT, no_session, profile, spec, asked()),
    "call what moves main": moved,
    "rollback": undo,
    "release": release,
    "ledger adopt": lambda profile, spec: adopt(profile, spec, [DAY], do=True),
}
"""Whatever writes to a table, to its ledger or to its lease."""


@pytest.fixture
def spec(profile: Profile, project: Path, namespace: str) -> TableSpec:
    """A table with a compaction due, and a raw file that is not in it."""
    profile.prepare()
    table = on_paper.make(profile.pyiceberg(), f"{namespace}.events")
    for _ in range(2):
        on_paper.append(table, [DAY], 6)
    raw = project / namespace / DAY.isoformat()
    raw.mkdir(parents=True)
    (raw / "a.parquet").touch()
    attributes = {
        "table": f"{namespace}.events",
        "source": {"path": f"{namespace}/%Y-%m-%d/*.parquet"},
        "dates": {"column": "ts", "start": "2024-05-01", "end": "2024-05-31"},
        "maintenance": {"quiet_for": "0s"},
    }
    return parse_table(attributes, root=project, variables={}, where="test")


def guarded(profile: Profile, **production: list[str]) -> Profile:
    return profile.model_validate({**profile.model_dump(), "production": production})


@pytest.mark.parametrize("door", DOORS)
def test_every_way_to_write_is_closed_to_a_place_that_is_not_named(
    profile: Profile, spec: TableSpec, door: str
) -> None:
    before = _state(profile, spec)
    with pytest.raises(ConfigurationError, match=r"production\.hosts \(etl-\*\).* names this place: it is host"):
        DOORS[door](guarded(profile, hosts=["etl-*"]), spec)
    assert _state(profile, spec) == before


def _state(profile: Profile, spec: TableSpec) -> object:
    """The table's metadata, and what the catalog has of the project's own."""
    catalog = profile.pyiceberg()
    own = ("iceberg_assets_state",)
    names = catalog.list_tables(own) if own in catalog.list_namespaces() else []
    return {name: catalog.load_table(name).metadata_location for name in [spec.table, *names]}


def test_looking_and_foretelling_are_allowed_from_everywhere(profile: Profile, spec: TableSpec) -> None:
    elsewhere = guarded(profile, hosts=["etl-*"])
    assert read_health(elsewhere, spec)
    for operation in Operation:
        assert foretell(operation, elsewhere, spec, asked())[DAY].reason
    assert adopt(elsewhere, spec, [DAY], do=False)


def test_a_history_is_not_written_from_there_either(profile: Profile, spec: TableSpec) -> None:
    from iceberg_assets.history import Record

    said: list[str] = []
    elsewhere = guarded(profile, deployments=["prod"])
    who = Who.here(elsewhere)
    with Recorder(elsewhere, who, tell=said.append) as recorder:
        recorder.add([Record(who, datetime.now(UTC), spec.name, "compacted", (), Status.DONE, "")])
    assert "production.deployments (prod) names this place" in said[0]


def test_a_host_or_a_deployment_that_is_named_may_write(
    profile: Profile, spec: TableSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Who.here(profile).host
    guarded(profile, hosts=["another", f"{here[:1]}*"]).require_writable()
    monkeypatch.setenv("DAGSTER_CLOUD_DEPLOYMENT_NAME", "prod")
    guarded(profile, deployments=["prod"]).require_writable()
    # Somebody's own name for it goes before Dagster's.
    monkeypatch.setenv("ICEBERG_ASSETS_DEPLOYMENT", "staging")
    with pytest.raises(ConfigurationError, match=r"it is host '.*' and deployment 'staging'"):
        guarded(profile, deployments=["prod"]).require_writable()
    release(guarded(profile, deployments=["staging"]), spec)


def test_a_mark_that_lets_nobody_write_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "profiles").mkdir()
    settings = "catalog: {name: lake, type: jdbc, uri: 'sqlite:///c.db', warehouse: w}\nproduction: {}\n"
    (tmp_path / "profiles" / "lake.yaml").write_text(settings)
    with pytest.raises(ConfigurationError, match="production: expected hosts or deployments"):
        load_profile("lake", tmp_path)

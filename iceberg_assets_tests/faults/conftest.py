"""A project's folder for processes under fire, and a table for the session's own Spark."""

from pathlib import Path

import pytest

from iceberg_assets.profiles import Profile
from iceberg_assets_tests.tables.helpers import Feed, make_feed


@pytest.fixture(scope="session")
def burning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all runners work in."""
    return tmp_path_factory.mktemp("faults")


@pytest.fixture
def feed(profile: Profile, tmp_path: Path, namespace: str) -> Feed:
    """A table for the session's own Spark."""
    profile.prepare()
    return make_feed(profile, tmp_path / "raw", f"{namespace}.flights")

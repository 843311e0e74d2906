"""A table of its own for each test."""

from pathlib import Path

import pytest

from iceberg_assets.profiles import Profile
from iceberg_assets_tests.tables.helpers import Feed, make_feed


@pytest.fixture
def feed(profile: Profile, tmp_path: Path, namespace: str) -> Feed:
    """Nothing landed, no table yet."""
    profile.prepare()
    return make_feed(profile, tmp_path / "raw", f"{namespace}.flights")

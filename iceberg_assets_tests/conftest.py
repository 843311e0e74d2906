"""One project folder, one catalog and one Spark for the whole session; each test has tables of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from iceberg_assets.profiles import Profile, load_profile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a JVM, so that ``make check`` can leave it out."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.jvm)


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty project: a folder with a pyproject.toml."""
    root = tmp_path_factory.mktemp("project")
    (root / "pyproject.toml").touch()
    return root


@pytest.fixture(scope="session")
def profile(project: Path) -> Profile:
    """The embedded profile, with its catalog and warehouse in the test's own folder."""
    return load_profile("local", root=project)


@pytest.fixture(scope="session")
def spark(profile: Profile) -> "Iterator[SparkSession]":
    """The one Spark session of the tests."""
    from iceberg_assets.spark import session

    running = session(profile)
    yield running
    running.stop()


@pytest.fixture
def namespace() -> str:
    """A namespace that no other test uses."""
    return f"test_{uuid4().hex[:12]}"

"""Two processes that live through all tests, and a table under fire for each test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from iceberg_assets.profiles import Profile
from iceberg_assets_tests.faults.runner import Runner
from iceberg_assets_tests.faults.world import World
from iceberg_assets_tests.tables.helpers import Feed, make_feed

Pair = tuple[Runner, Runner]


@pytest.fixture(scope="session")
def burning(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's folder that all runners work in."""
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="session")
def pair(burning: Path) -> Iterator[Pair]:
    """Two plain processes, each with a JVM of its own, and nothing between them but the catalog."""
    runners = [World(burning, "unused.t").start() for _ in range(2)]
    yield runners[0], runners[1]
    for runner in runners:
        runner.close()


@pytest.fixture
def world(burning: Path, namespace: str) -> Callable[..., World]:
    """Makes a table of the test's own."""
    return lambda **declared: World(burning, f"{namespace}.flights", declared)


@pytest.fixture
def feed(profile: Profile, tmp_path: Path, namespace: str) -> Feed:
    """A table for the session's own Spark."""
    profile.prepare()
    return make_feed(profile, tmp_path / "raw", f"{namespace}.flights")

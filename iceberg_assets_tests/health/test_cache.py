"""The manifest cache: equal answers, and never in the way."""

import sqlite3
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from iceberg_assets.health import ManifestCache
from iceberg_assets.health.entries import Entry

MANIFESTS = ("manifest", *(f"manifest-{number}" for number in range(20)))
ENTRY = Entry(0, "file", (19732, "AA", None), 10, 1000, 2**62, 3, 3, None, False, None, 738_000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "storage" / "manifests.sqlite"


def test_entries_come_back_as_they_were(path: Path) -> None:
    ManifestCache(path).store("table", 2, {"manifest": [ENTRY]}, listed=MANIFESTS)
    assert ManifestCache(path).load("table", 2, MANIFESTS) == {"manifest": [ENTRY]}


def test_manifests_of_other_tables_and_columns_are_apart(path: Path) -> None:
    cache = ManifestCache(path)
    cache.store("table", 2, {"manifest": [ENTRY]}, listed=MANIFESTS)
    assert cache.load("table", 3, MANIFESTS) == cache.load("other", 2, MANIFESTS) == {}


def test_manifests_that_are_listed_no_more_are_dropped(path: Path) -> None:
    cache = ManifestCache(path)
    cache.store("table", 2, {"old": [ENTRY], "kept": []}, listed=["old", "kept"])
    cache.store("table", 2, {"new": []}, listed=["kept", "new"])
    assert cache.load("table", 2, ["old", "kept", "new"]) == {"kept": [], "new": []}


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100])
def test_a_damaged_file_is_made_anew(path: Path, damage: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(damage)
    assert ManifestCache(path).load("table", 2, MANIFESTS) == {}
    ManifestCache(path).store("table", 2, {"manifest": [ENTRY]}, listed=MANIFESTS)
    assert ManifestCache(path).load("table", 2, MANIFESTS) == {"manifest": [ENTRY]}


def test_a_damaged_entry_is_read_again(path: Path) -> None:
    cache = ManifestCache(path)
    cache.store("table", 2, {"manifest": [ENTRY]}, listed=MANIFESTS)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE manifests SET entries = ?", (b"damage",))
    assert cache.load("table", 2, MANIFESTS) == {}


def test_a_file_of_another_version_is_forgotten(path: Path) -> None:
    cache = ManifestCache(path)
    cache.store("table", 2, {"manifest": [ENTRY]}, listed=MANIFESTS)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert cache.load("table", 2, MANIFESTS) == {}


def _store(path: Path, number: int) -> None:
    ManifestCache(path).store("table", 2, {f"manifest-{number}": [ENTRY]}, listed=MANIFESTS)


def test_processes_share_one_file(path: Path) -> None:
    with ProcessPoolExecutor(2) as pool:
        for done in [pool.submit(_store, path, number) for number in range(20)]:
            done.result()
    assert len(ManifestCache(path).load("table", 2, MANIFESTS)) == 20

"""Orphans go, or are set aside and come back; whatever casts a doubt on them keeps all of them."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, TimestamptzType
from typer.testing import CliRunner

from iceberg_assets.cli import app
from iceberg_assets.errors import ConfigurationError, OrphansError
from iceberg_assets.maintenance import Asked, core, foretell, foretell_orphans, maintain, remove_orphans
from iceberg_assets.maintenance.orphans import files_aside, put_back, remove
from iceberg_assets.maintenance.orphans.aside import copy_then_delete
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spark import call, quote
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec
from iceberg_assets.spec.policy import Orphans
from iceberg_assets.tables.unreferenced import Found, file_io, search
from iceberg_assets_tests.declare import declare
from iceberg_assets_tests.maintenance.files_of import untouched
from iceberg_assets_tests.orphans.layouts import layout, walk
from iceberg_assets_tests.orphans.reach import plain, reachable
from iceberg_assets_tests.orphans.rounds import names

DAY, NOW = date(2024, 1, 1), datetime.now(UTC)
_SCHEMA = Schema(NestedField(1, "id", LongType()), NestedField(2, "ts", TimestamptzType()))


class Scene:
    """A table on paper with four data files, and strays beside them."""

    def __init__(self, profile: Profile, namespace: str) -> None:
        profile.prepare()
        self.profile, self.name = profile, f"{namespace}.t"
        self.catalog = profile.pyiceberg()
        self.catalog.create_namespace(namespace)
        self.catalog.create_table(self.name, _SCHEMA)
        self.folder = Path(profile.catalog.warehouse, namespace, "t")
        self.alive = [self.put(f"data/{n}.parquet") for n in range(4)]
        self.append([f"file:{path}" for path in self.alive])

    def spec(self, **orphans: object) -> TableSpec:
        return TableSpec.model_validate(
            {
                "table": self.name,
                "dates": {"column": "ts", "start": "2024-01-01"},
                "maintenance": {"orphans": orphans},
            }
        )

    def put(self, within: str) -> Path:
        path = self.folder / within
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"bytes")
        return path

    def append(self, paths: list[str]) -> None:
        table = self.catalog.load_table(self.name)
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as made:
            for path in paths:
                file = DataFile.from_args(
                    content=DataFileContent.DATA,
                    file_path=path,
                    file_format=FileFormat.PARQUET,
                    partition=Record(),
                    record_count=1,
                    file_size_in_bytes=5,
                )
                file.spec_id = 0
                made.append_data_file(file)

    def strays(self, number: int = 2) -> list[Path]:
        return [self.put(f"data/stray {n}#.parquet") for n in range(number)]

    def age(self) -> None:
        for path in self.folder.rglob("*"):
            os.utime(path, (0, 0))

    def files(self) -> set[Path]:
        return {path for path in self.folder.rglob("*") if path.is_file()}

    def remove(self, spark: object, spec: TableSpec, now: datetime = NOW, **given: object) -> Outcome:
        return remove_orphans(spark, self.profile, spec, [DAY], now=now, **given).outcomes[DAY]


@pytest.fixture
def scene(profile: Profile, namespace: str) -> Scene:
    return Scene(profile, namespace)


def no_session() -> None:
    raise AssertionError("a session was asked for")


# With the engine


def test_what_the_engine_names_is_what_we_name(spark, profile, tmp_path):
    """On a few of the random layouts: the rest is searched without a JVM, see orphans/test_layouts.py."""
    for seed in range(6):
        made = layout(profile.pyiceberg(), tmp_path, seed)
        spec = TableSpec.model_validate({"table": made.name, "dates": {"column": "ts", "start": "2024-01-01"}})
        read = {os.path.realpath(plain(path)) for path in core.reachable(spark, profile, spec)}
        assert read == reachable(made.table.refresh().metadata_location), f"seed {seed}"
        statement = call(
            "local",
            "remove_orphan_files",
            table=quote(*made.name.split(".")),
            older_than=NOW - timedelta(days=3),
            dry_run=True,
        )
        listed = {os.path.realpath(plain(row[0])) for row in spark.sql(statement).collect()}
        ours = names(made)
        assert ours <= listed, f"seed {seed}"
        by_link = {os.path.realpath(path) for path in walk(made.folder) if path.is_symlink()}
        assert listed - ours <= by_link, f"seed {seed}: a file that is alive by the name of a link is ours to see"
    # What a session by Spark Connect reads, which has no JVM at hand.
    metadata = made.table.refresh().metadata
    besides = {one.statistics_path for one in (*metadata.statistics, *metadata.partition_statistics)}
    besides.add(f"{metadata.location}/metadata/version-hint.text")
    by_sql = {os.path.realpath(plain(path)) for path in core.reachable_by_sql(spark, profile, spec)}
    assert read - by_sql == {os.path.realpath(plain(path)) for path in besides}
    assert by_sql < read


def test_the_files_named_are_the_files_removed(spark, scene):
    strays = scene.strays()
    scene.age()
    spec = scene.spec()
    state = untouched(scene.profile, spec)
    preview = foretell_orphans(scene.profile, spec, now=NOW)
    assert untouched(scene.profile, spec) == state
    assert {plain(path): size for path, size in preview.removes.items()} == {str(path): 5 for path in strays}
    assert {moment.year for moment in preview.modified.values()} == {1970}
    outcome = scene.remove(lambda: spark, spec)
    assert (outcome.status, outcome.details["iceberg/removed_orphans"]) == (Status.DONE, 2), outcome.reason
    assert {str(path) for path in state[1]} - {str(path) for path in scene.files()} == {str(path) for path in strays}


def test_what_our_search_is_wrong_about_stays_where_iceberg_reads_of_it(spark, scene, monkeypatch):
    """A search that takes every file for an orphan: what the table is made of is all there afterwards."""
    (stray,) = scene.strays(1)
    scene.age()
    alive = reachable(scene.catalog.load_table(scene.name).metadata_location)

    def blind(load: Callable[[], Table], policy: Orphans, cut_off: datetime) -> Found:
        found = search(lambda: _without_metadata(load()), policy, cut_off)
        return replace(found, conflicts={})

    monkeypatch.setattr(remove, "search", blind)
    outcome = scene.remove(lambda: spark, scene.spec())
    assert (outcome.status, outcome.details["iceberg/removed_orphans"]) == (Status.DONE, 1), outcome.reason
    assert "7 left, since Iceberg finds them in the metadata" in outcome.reason
    assert stray not in scene.files()
    assert {path for path in alive if "version-hint" not in path} <= {os.path.realpath(path) for path in scene.files()}


def _without_metadata(table: Table) -> Table:
    table.metadata = table.metadata.model_copy(update={"snapshots": [], "metadata_log": []})
    return table


def test_orphans_set_aside_come_back_to_the_very_path_or_go_when_their_time_is_over(spark, scene):
    first, second = scene.strays()
    scene.age()
    spec = scene.spec(quarantine={"for": "7d"})
    assert scene.remove(lambda: spark, spec).status is Status.DONE
    table = scene.catalog.load_table(scene.name)
    aside = list(files_aside(table))
    assert {plain(one.origin) for one in aside} == {str(first), str(second)}
    assert not {first, second} & scene.files()
    back = next(one for one in aside if plain(one.origin) == str(first))
    assert plain(put_back(table, back.file.path)) == str(first)
    assert first.read_bytes() == b"bytes"
    # It was put back just now, so it is not taken again; the other one's time is not over.
    assert scene.remove(no_session, spec).status is Status.NOTHING_TO_DO
    preview = foretell_orphans(scene.profile, spec, now=NOW + timedelta(days=7, seconds=-1))
    later = NOW + timedelta(days=7)
    first.touch()
    os.utime(first, (later.timestamp(), later.timestamp()))
    assert not [path for path in preview.removes if path.endswith("1#.parquet")]
    assert [path for path in foretell_orphans(scene.profile, spec, now=later).removes if "1#" in path]
    outcome = scene.remove(lambda: spark, spec, now=later)
    assert outcome.details["iceberg/purged_orphans"] == 1, outcome.reason
    assert list(files_aside(table)) == []
    assert set(scene.alive) < scene.files()


def test_prefixes_that_differ_stop_the_search_until_they_are_said_to_be_one(spark, scene):
    """Files that the metadata names below another scheme are alive (apache/iceberg#4346)."""
    other = scene.put("data/other.parquet")
    (stray,) = scene.strays(1)
    scene.append([f"dbfs:{other}"])
    scene.age()
    before = scene.files()
    refused = scene.remove(no_session, scene.spec())
    assert refused.status is Status.FAILED
    for word in ("file://", "dbfs://", str(other), 'equal_schemes: {"dbfs": "file"}', "IGNORE"):
        assert word in refused.reason
    assert scene.files() >= before
    assert not foretell_orphans(scene.profile, scene.spec(), now=NOW).due
    for number, settings in enumerate([{"prefix_mismatch_mode": "IGNORE"}, {"equal_schemes": {"dbfs": "file"}}]):
        if number:
            scene.strays(1)
            scene.age()
        outcome = scene.remove(lambda: spark, scene.spec(**settings))
        assert outcome.status is Status.DONE, outcome.reason
        assert stray not in scene.files()
        assert other in scene.files()


# Without one


def test_too_many_orphans_for_garbage_are_listed_and_left(scene):
    strays = scene.strays(30)
    scene.age()
    before = scene.files()
    outcome = scene.remove(no_session, scene.spec())
    assert outcome.status is Status.FAILED
    assert re.search(r"30 of \d+ files \(\d\d%\) would go.*max_share is 10%", outcome.reason)
    assert all(str(path) in outcome.details["iceberg/orphans"] for path in strays)
    assert scene.files() >= before
    preview = foretell_orphans(scene.profile, scene.spec(), now=NOW)
    assert (preview.due, len(preview.removes)) == (False, 30)
    assert foretell_orphans(scene.profile, scene.spec(), now=NOW, force=True).due


def test_a_table_of_another_profile_in_the_same_place_is_left_alone(scene, tmp_path, profile):
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "other.yaml").write_text(
        f"catalog: {{name: other, type: jdbc, uri: 'sqlite:///{tmp_path}/other.db', warehouse: '{tmp_path}/w'}}"
    )
    other = load_profile("other", root=tmp_path)
    other.prepare()
    other.pyiceberg().create_namespace("elsewhere")
    other.pyiceberg().create_table("elsewhere.guest", _SCHEMA, location=f"file://{scene.folder}/guest")
    scene.strays()
    scene.age()
    before = scene.files()
    # The table's own catalog under another name is not another catalog.
    again = profile.model_copy(update={"name": "again"})
    assert foretell_orphans(scene.profile, scene.spec(), now=NOW, profiles=[again]).due
    outcome = scene.remove(no_session, scene.spec(), profiles=[again, other])
    assert outcome.status is Status.SKIPPED
    assert "table elsewhere.guest of profile 'other' is at" in outcome.reason
    assert scene.files() >= before


def test_a_neighbour_that_cannot_be_read_keeps_every_file_and_is_named(scene):
    """Nobody knows where its files are; and whoever looks after this table has to know which one to mend."""
    scene.strays()
    scene.age()
    before, broken = scene.files(), scene.name.removesuffix("t") + "broken"
    location = plain(scene.catalog.create_table(broken, _SCHEMA).metadata_location)
    Path(location).unlink()
    try:
        outcome = scene.remove(no_session, scene.spec())
    finally:
        scene.catalog.drop_table(broken)
    assert (outcome.status, outcome.retryable) == (Status.SKIPPED, True)
    assert f"the metadata of table {broken} cannot be read" in outcome.reason
    assert scene.files() == before


@pytest.mark.parametrize("name", ["self-optimizing.enabled", "iceberg-assets.owner"])
def test_what_somebody_else_maintains_is_not_maintained_twice(scene, name):
    value = "true" if name == "self-optimizing.enabled" else "their deployment"
    with scene.catalog.load_table(scene.name).transaction() as transaction:
        transaction.set_properties({name: value})
    spec, asked = scene.spec(), Asked([DAY], NOW, {})
    for operation in Operation:
        outcome = maintain(operation, no_session, scene.profile, spec, asked).outcomes[DAY]
        assert (outcome.status, outcome.green) == (Status.SKIPPED, True)
        assert f"{name} is '{value}'" in outcome.reason
        assert not foretell(operation, scene.profile, spec, asked)[DAY].due
    if name == "iceberg-assets.owner":
        ours = spec.model_copy(update={"properties": {name: value}})
        assert foretell(Operation.REMOVE_ORPHANS, scene.profile, ours, asked)[DAY].reason.startswith("0 orphans")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"older_than": NOW + timedelta(days=1)}, "a cut-off in the future takes live files"),
        ({"older_than": NOW - timedelta(hours=23)}, "expected at least 24h"),
        ({"older_than": timedelta(hours=1)}, "expected at least 24h"),
        ({"prefix_mismatch_mode": "DELETE"}, "deletes live files"),
    ],
)
def test_a_cut_off_that_takes_live_files_is_refused(scene, given, message):
    with pytest.raises(ConfigurationError, match=message):
        foretell(Operation.REMOVE_ORPHANS, scene.profile, scene.spec(), Asked([DAY], NOW, given))


def test_less_than_icebergs_three_days_is_warned_of(scene):
    preview = foretell_orphans(scene.profile, scene.spec(older_than="36h"), now=NOW)
    assert any("older_than 36h is less than Iceberg's 3d" in note for note in preview.notes)
    assert foretell_orphans(scene.profile, scene.spec(), now=NOW).notes == ()


def test_a_move_that_is_killed_loses_nothing(scene, monkeypatch: pytest.MonkeyPatch):
    """In a store that knows no rename the copy is made whole before anything is deleted."""
    table = scene.catalog.load_table(scene.name)
    stray, io = scene.put("data/stray.parquet"), file_io(table)
    target = scene.put("_iceberg_assets_orphans/20240101T000000Z/data/stray.parquet")
    target.write_bytes(b"by")  # Of a move that was killed.
    copy_then_delete(io, f"file://{stray}", f"file://{target}")
    assert (stray.exists(), target.read_bytes()) == (False, b"bytes")
    scene.put("data/stray.parquet")
    with pytest.raises(OrphansError, match=r"data/stray\.parquet is there already"):
        put_back(table, f"file://{target}")
    with pytest.raises(OrphansError, match="is not among the files set aside"):
        put_back(table, f"file://{stray}")


def test_the_command_line_lists_and_restores(scene, monkeypatch: pytest.MonkeyPatch, tmp_path):
    project = Path(scene.profile.catalog.warehouse).parents[1]
    declare(
        project, scene.name, {"table": scene.name, "profile": "local", "dates": {"column": "ts", "start": "2024-01-01"}}
    )
    monkeypatch.chdir(project)
    moved = scene.put("_iceberg_assets_orphans/20240101T000000Z/data/stray.parquet")
    run: Callable[..., str] = lambda *words: CliRunner().invoke(app, ["quarantine", *words]).output  # noqa: E731
    shown = run("list", scene.name).strip()
    assert plain(shown) == str(moved)
    assert "restored file://" in run("restore", scene.name, shown)
    assert (scene.folder / "data/stray.parquet").exists()
    assert "nothing of" in run("list", scene.name)

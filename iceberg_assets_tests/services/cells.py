"""The suite: what every catalog has to be able to do, cell by cell, in this order, on one Spark session."""

import contextlib
import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from typer.testing import CliRunner

from iceberg_assets.cli import app
from iceberg_assets.health import metadata_pointers, plan, read_health
from iceberg_assets.maintenance import call_procedure, foretell, health_of, maintain
from iceberg_assets.profiles import list_catalog
from iceberg_assets.spark import call, literal, quote
from iceberg_assets.spec import Operation, Status
from iceberg_assets.spec.procedures import PROCEDURES
from iceberg_assets_tests import on_paper
from iceberg_assets_tests.services.catalogs import Catalog
from iceberg_assets_tests.services.process import SECRET
from iceberg_assets_tests.services.world import D1, D2, Declared, World


@dataclass
class Suite:
    """What the cells of a catalog have in common.

    Attributes:
        events: the table that most cells are about.
    """

    catalog: Catalog
    world: World
    events: Declared


@dataclass(frozen=True)
class Cell:
    """One row of the support table.

    Attributes:
        name: as ``docs/services.json`` has it.
        what: is shown by it, for people.
        run: shows it, or raises; what it gives is worth telling.
    """

    name: str
    what: str
    run: Callable[[Suite], str | None]


# Appending


def created(suite: Suite) -> None:
    events = suite.events
    events.land(D1, "a", range(3))
    events.materialize(D1)
    made = suite.world.profile.pyiceberg().load_table(events.spec.table)
    assert [field.name for field in made.schema().fields] == ["id", "ts"]
    assert [str(field.transform) for field in made.spec().fields] == ["day"]
    assert events.shown(D1)["iceberg/status"] == "done"


def exactly_once(suite: Suite) -> None:
    events = suite.events
    for number in range(2):
        events.land(D1, f"b{number}", [10 + number])
        events.land(D2, f"c{number}", [20 + number])
        events.materialize(D1, D2)
    events.materialize(D1, D2)
    assert events.by_pyiceberg() == [0, 1, 2, 10, 11, 20, 21]


def where_it_was(suite: Suite) -> None:
    """Both engines, and the catalog itself, name one metadata file; PyIceberg's cheap look names it, too."""
    events = suite.events
    file, snapshot = _by_spark(suite, events)
    table = suite.world.profile.pyiceberg().load_table(events.spec.table)
    assert (_place(table.metadata_location), table.metadata.current_snapshot_id) == (_place(file), snapshot)
    assert _place(suite.world.running.answer(events.spec.table)) == _place(file)
    (pointer,) = metadata_pointers(suite.world.profile, [events.spec.table]).values()
    assert _place(pointer) == _place(file)
    assert events.by_spark() == events.by_pyiceberg()


def _by_spark(suite: Suite, table: Declared) -> tuple[str, int]:
    """The metadata file that Spark takes for the newest, and the snapshot that it reads."""
    log = f"SELECT file, latest_snapshot_id FROM {table.sql}.metadata_log_entries ORDER BY timestamp DESC, file DESC"
    row = suite.world.spark.sql(f"{log} LIMIT 1").collect()[0]
    return row[0], row[1]


def _place(location: str) -> str:
    """One spelling for a local path's three."""
    return location.replace("file://", "").replace("file:", "")


def raw_of_the_other_scheme(suite: Suite) -> None:
    *_, other = suite.world.running.raw
    table = suite.world.table("shop.other_scheme", scheme=other)
    table.land(D1, "a", [1, 2])
    table.materialize(D1)
    assert table.by_spark() == [1, 2]


ODD_COLUMNS = ("with space", "dot.ted", "qu'o\"tes", "back`quote", "select", "größe", "数")
_ODD_TABLE = "shop.odd_columns"


def evolved(suite: Suite) -> None:
    """New columns of the raw files become columns of the table; where a file lacks them they are null."""
    table = suite.world.table(_ODD_TABLE)
    table.land(D1, "a", [1])
    table.materialize(D1)
    table.land(D1, "b", [2], **{name: pa.array([name]) for name in ODD_COLUMNS})
    table.materialize(D1)
    made = suite.world.profile.pyiceberg().load_table(_ODD_TABLE)
    assert [field.name for field in made.schema().fields] == ["id", "ts", *ODD_COLUMNS]


def odd_columns(suite: Suite) -> None:
    """What was written by these names is read back by them, by both engines."""
    world = suite.world
    found = world.profile.pyiceberg().load_table(_ODD_TABLE).scan().to_arrow().sort_by("id")
    assert {name: found[name].to_pylist() for name in ODD_COLUMNS} == {name: [None, name] for name in ODD_COLUMNS}
    columns, table = ", ".join(map(quote, ODD_COLUMNS)), quote(world.profile.catalog.name, *_ODD_TABLE.split("."))
    rows = world.spark.sql(f"SELECT {columns} FROM {table} WHERE {quote('dot.ted')} IS NOT NULL").collect()
    assert [tuple(row) for row in rows] == [ODD_COLUMNS]


def odd_name(suite: Suite) -> None:
    """The name comes through appends, a CALL, and the catalog's list."""
    table = suite.world.table(["shop", suite.catalog.odd or "l'été"])
    if "odd name" in suite.catalog.refuses:
        # It is refused, and then nobody goes on declaring it.
        table.land(D1, "a", [1])
        wrong = table.run(D1)
        shutil.rmtree(suite.world.root / "defs" / table.folder)
        raise AssertionError(wrong)
    for number in range(2):
        table.land(D1, str(number), [number])
        table.materialize(D1)
    table.materialize(D1, assets=[Operation.COMPACT.value])
    assert table.shown(D1, Operation.COMPACT)["iceberg/data_files"] == 1
    assert table.by_spark() == [0, 1]
    assert table.spec.table in _listed(suite)


def nested_namespace(suite: Suite) -> None:
    table = suite.world.table("shop.inner.events")
    table.land(D1, "a", [1])
    table.materialize(D1)
    _called(table, "compute_table_stats", {})
    assert table.by_spark() == [1]
    assert table.spec.table in _listed(suite)


def _listed(suite: Suite) -> set[tuple[str, ...]]:
    return {one.name for one in list_catalog(suite.world.profile.pyiceberg()).objects}


# Looking, without a JVM


def health(suite: Suite) -> None:
    found = read_health(suite.world.profile, suite.events.spec)
    assert found is not None
    assert (found.rows, found.data_files, len(found.manifests)) == (7, 5, 3)
    assert {day: len(found.dates[day].files) for day in (D1, D2)} == {D1: 3, D2: 2}


def planned(suite: Suite) -> None:
    spec, found = suite.events.spec, read_health(suite.world.profile, suite.events.spec)
    (request, *_) = plan(spec, found, (), (), datetime.now(UTC)).requests
    assert (request.operations, request.dates) == ((Operation.COMPACT,), (D1, D2))


def ticked(suite: Suite) -> None:
    """Before anything else: whatever a tick brings along is seen, since neither PySpark nor a JVM are there yet."""
    world, before = suite.world, {child.pid for child in psutil.Process().children(recursive=True)}
    table = world.table("shop.on_paper")
    world.profile.prepare()
    on_paper.append(on_paper.make(world.profile.pyiceberg(), "shop.on_paper"), [D1], 5)
    assert table.tick() == ["compacted"], world.said[-2:]
    assert not {"pyspark", "py4j", "dagster_pyspark"} & set(sys.modules)
    # PostgreSQL has a process for each connection.
    begun = {child.name() for child in psutil.Process().children(recursive=True) if child.pid not in before}
    assert begun <= {"postgres"}, begun
    # Its data files were never there.
    world.profile.pyiceberg().drop_table("shop.on_paper")


def dry_runs(suite: Suite) -> None:
    events, before = suite.events, suite.world.running.answer(suite.events.spec.table)
    for operation in Operation:
        for preview in foretell(operation, suite.world.profile, events.spec, events.asked(D1, D2)).values():
            assert preview.due is not (operation is Operation.REMOVE_ORPHANS), preview.reason
    config = {"ops": {"__".join([*events.asset.key.path, "compacted"]): {"config": {"dry_run": True}}}}
    events.materialize(D1, D2, assets=["compacted"], config=config)
    assert suite.world.running.answer(events.spec.table) == before


# Maintenance


def compacted(suite: Suite) -> None:
    _maintained(suite, Operation.COMPACT, data_files=1)


def manifests_rewritten(suite: Suite) -> None:
    _maintained(suite, Operation.REWRITE_MANIFESTS, table_manifests=1)


def snapshots_expired(suite: Suite) -> None:
    _maintained(suite, Operation.EXPIRE_SNAPSHOTS, table_snapshots=1)


def _maintained(suite: Suite, operation: Operation, **expected: int) -> None:
    events = suite.events
    before = events.by_pyiceberg()
    events.materialize(D1, D2, assets=[operation.value])
    shown = events.shown(D1, operation)
    assert (shown["iceberg/status"], shown["iceberg/productive"]) == ("done", True), shown["iceberg/reason"]
    assert {name: shown[f"iceberg/{name}"] for name in expected} == expected
    assert events.by_spark() == before


def orphans_removed(suite: Suite) -> None:
    """A stray goes, what is alive stays; the clock is put on, since an object store's times cannot be put back."""
    world, events = suite.world, suite.events
    table = world.profile.pyiceberg().load_table(events.spec.table)
    before, stray = events.by_spark(), f"{table.location()}/data/stray.parquet"
    _write(table, stray)
    young = maintain(Operation.REMOVE_ORPHANS, lambda: world.spark, world.profile, events.spec, events.asked())
    assert young.outcomes[D1].status is Status.NOTHING_TO_DO, young.outcomes[D1].reason
    assert table.io.new_input(stray).exists()
    # Iceberg refuses a cut-off that is younger than a day, but in its own tests.
    settings = world.spark._jsparkSession.sessionState().conf()
    settings.setConfString("spark.testing", "true")
    try:
        later = events.asked(now=datetime.now(UTC) + timedelta(days=4))
        preview = foretell(Operation.REMOVE_ORPHANS, world.profile, events.spec, later)[D1]
        # Commits that lost a race have left manifests of their own behind.
        assert stray in preview.removes, preview.reason
        assert not set(preview.removes) & _reachable(events)
        done = maintain(Operation.REMOVE_ORPHANS, lambda: world.spark, world.profile, events.spec, later).outcomes[D1]
    finally:
        settings.unsetConf("spark.testing")
    assert (done.status, done.details["iceberg/removed_orphans"]) == (Status.DONE, len(preview.removes)), done.reason
    assert not table.io.new_input(stray).exists()
    assert events.by_spark() == before


def _reachable(table: Declared) -> set[str]:
    """What any snapshot refers to, by Spark's own metadata tables."""
    of = {"all_files": "file_path", "all_manifests": "path", "snapshots": "manifest_list"}
    parts = (f"SELECT {column} FROM {table.sql}.{name}" for name, column in of.items())
    return {row[0] for row in table.world.spark.sql(" UNION ".join(parts)).collect()}


def orphans_asset(suite: Suite) -> None:
    suite.events.materialize(D1, D2, assets=[Operation.REMOVE_ORPHANS.value])
    assert suite.events.shown(D1, Operation.REMOVE_ORPHANS)["iceberg/status"] == "nothing_to_do"


def orphans_of_a_list(suite: Suite) -> None:
    """Iceberg's own search over a listing with ages made up: the stray of the list goes, the live file of it stays."""
    world, events = suite.world, suite.events
    table = world.profile.pyiceberg().load_table(events.spec.table)
    stray, before = f"{table.location()}/data/stray-of-a-list.parquet", events.by_spark()
    _write(table, stray)
    alive = [task.file.file_path for task in table.scan().plan_files()]
    old = datetime(2024, 1, 1, tzinfo=UTC)
    # Of literals: rows of Python's would start processes of Python beside the JVM.
    rows = ", ".join(f"({literal(path)}, {literal(old)})" for path in (stray, *alive))
    world.spark.sql(f"CREATE TEMPORARY VIEW listed AS SELECT * FROM VALUES {rows} AS t(file_path, last_modified)")
    named = {"table": quote(*events.spec.table), "file_list_view": "listed", "older_than": old + timedelta(days=1)}
    catalog = world.profile.catalog.name
    listed = world.spark.sql(call(catalog, "remove_orphan_files", dry_run=True, **named)).collect()
    assert [row[0] for row in listed] == [stray]
    world.spark.sql(call(catalog, "remove_orphan_files", **named)).collect()
    assert not table.io.new_input(stray).exists()
    assert events.by_spark() == before


def prefixes(suite: Suite) -> None:
    """By real listings: s3a is s3, and a scheme that nobody has said to be the same stops the removal."""
    world, table = suite.world, suite.world.table("shop.prefixes")
    catalog = world.profile.pyiceberg()
    made = on_paper.make(catalog, "shop.prefixes")
    scheme, _, place = made.location().rpartition("://") if "://" in made.location() else ("", "", made.location())
    spelled = {"s3": "s3a", "s3a": "s3"}.get(scheme, scheme)
    for number, prefix in enumerate((spelled, scheme, "oss")):
        path = f"{place}/data/{number}.parquet"
        _write(made, f"{scheme}://{path}" if scheme else path)
        on_paper.name_files(made, [(f"{prefix}://{path}" if prefix else path, D1)])
        later = table.asked(now=datetime.now(UTC) + timedelta(days=4))
        preview = foretell(Operation.REMOVE_ORPHANS, world.profile, table.spec, later)[D1]
        if prefix == "oss":
            assert "equal_schemes" in " ".join(preview.notes), preview
        assert preview.due is False, preview.reason
        assert not preview.removes
    catalog.drop_table("shop.prefixes")


def _write(table: Any, path: str) -> None:
    with table.io.new_output(path).create(overwrite=True) as file:
        file.write(b"nobody's")


def procedures(suite: Suite) -> None:
    """Those without an asset of their own, by hand: each is measured by what the metadata says afterwards."""
    events, head = suite.events, health_of(suite.world.profile, suite.events.spec)
    earlier, before = next(one.id for one in head.snapshots if one.id != head.snapshot_id), events.by_pyiceberg()
    _called(events, "compute_table_stats", {})
    _called(events, "rollback_to_snapshot", {"snapshot_id": earlier})
    assert events.by_pyiceberg() != before
    _called(events, "set_current_snapshot", {"snapshot_id": head.snapshot_id})
    assert events.by_spark() == before


def partition_statistics(suite: Suite) -> None:
    _called(suite.events, "compute_partition_stats", {})


def _called(table: Declared, name: str, values: Mapping[str, Any]) -> None:
    world, now = table.world, datetime.now(UTC)
    called = call_procedure(lambda: world.spark, world.profile, table.spec, PROCEDURES[name], values, now=now)
    assert called.status is Status.DONE, f"{name}: {called.reason}"


def beside_others(suite: Suite) -> None:
    """Views, and tables of other formats in the same namespace, are no tables of ours, and in nobody's way."""
    world, catalog = suite.world, suite.world.profile.catalog
    if suite.world.running.stranger:
        suite.world.running.stranger()
    elif catalog.session:
        world.spark.sql("CREATE TABLE spark_catalog.shop.plain (id BIGINT) USING parquet")
        world.spark.sql("INSERT INTO spark_catalog.shop.plain VALUES (1)")
        world.spark.sql("CREATE VIEW spark_catalog.shop.shown AS SELECT id FROM spark_catalog.shop.plain")
        assert world.spark.table("spark_catalog.shop.shown").count() == 1
    else:
        world.spark.sql(f"CREATE VIEW {quote(catalog.name, 'shop', 'shown')} AS SELECT id FROM {suite.events.sql}")
    tables = {one.name for one in list_catalog(world.profile.pyiceberg()).objects if not one.is_view}
    assert suite.events.spec.table in tables
    assert not {("shop", "plain"), ("shop", "shown")} & tables
    suite.events.materialize(D1, assets=[Operation.COMPACT.value])


# What goes wrong, and what is shown


def whole_job(suite: Suite) -> None:
    """The whole-catalog job over everything that the cells before have left."""
    file = suite.world.root / "job.conf"
    file.write_text(
        f"catalog: {suite.world.profile.catalog.name}, databases: [], remove_orphan_files.enabled: false\n"
        'rewrite_data_files { quiet_for: 0s, options { "min-input-files": "2" } }\n'
    )
    told = json.loads(_command(suite, "maintain", str(file), "--profile", suite.world.profile.name, "--json"))
    assert told["counts"].get("done"), told["counts"]


def stopped(suite: Suite) -> None:
    """Without the service a run fails, names the profile, leaves nothing half done; afterwards it is made up for."""
    events = suite.events
    before = events.by_pyiceberg()
    events.land(D2, "while it was away", [77])
    suite.world.running.stop()
    began = time.monotonic()
    try:
        wrong = events.run(D2)
    finally:
        suite.world.running.start()
    assert wrong is not None, "the run did not need the service"
    assert time.monotonic() - began < 180, "retries are bounded"
    assert f"profile '{suite.world.profile.name}'" in wrong, wrong[:2000]
    assert events.by_pyiceberg() == before
    events.materialize(D2)
    assert events.by_pyiceberg() == sorted([*before, 77])


def secrets(suite: Suite) -> None:
    """The one secret is in none of the places where people and programs look."""
    world = suite.world
    for command in (["health", "--json"], ["plan", "--json"], ["history", "--json"]):
        _command(suite, *command)
    described = world.spark.sql(f"DESCRIBE TABLE EXTENDED {suite.events.sql}").collect()
    world.said += [str(row) for row in (*described, *world.spark.sql("SET").collect())]
    world.said += [str(world.profile), world.profile.model_dump_json()]
    places = {f"said {number}": text for number, text in enumerate(world.said)}
    places |= {
        str(path): path.read_text(errors="replace") for path in Path(world.root, "events").rglob("*") if path.is_file()
    }
    assert any("SparkListenerEnvironmentUpdate" in text for text in places.values()), "Spark has written its events"
    shown = [where for where, text in places.items() if SECRET in text]
    assert not shown, [(where, _around(places[where])) for where in shown[:3]]


def _around(text: str) -> str:
    at = text.index(SECRET)
    return f"{text[max(0, at - 120) : at]}…"


def _command(suite: Suite, *words: str) -> str:
    """What a command of the project says, in its folder."""
    with contextlib.chdir(suite.world.root):
        ended = CliRunner().invoke(app, words)
    suite.world.said.append(ended.output)
    assert ended.exit_code == 0, f"{words}: {ended.output[-2000:]} {ended.exception!r}"
    return ended.stdout


CELLS: tuple[Cell, ...] = (
    Cell("sensor tick", "both sensors pick the catalog in a process without a JVM", ticked),
    Cell("create", "namespace and table made of the first raw file", created),
    Cell("exactly once", "files appended once however often a date is materialized", exactly_once),
    Cell("one table", "Spark, PyIceberg and the catalog's own answer name one metadata file", where_it_was),
    Cell("health", "files, rows and manifests read without Spark", health),
    Cell("plan", "the plan asks for the compaction of both dates", planned),
    Cell("dry runs", "each operation foretold, nothing touched", dry_runs),
    Cell("other procedures", "statistics, rollback and back, by hand", procedures),
    Cell("partition statistics", "`compute_partition_stats`, by hand", partition_statistics),
    Cell("compacted", "the asset", compacted),
    Cell("manifests_rewritten", "the asset", manifests_rewritten),
    Cell("snapshots_expired", "the asset", snapshots_expired),
    Cell("orphans_removed", "the asset", orphans_asset),
    Cell("a stray", "a stray file goes, what is alive stays", orphans_removed),
    Cell("a stray of a list", "the same by `file_list_view` with ages made up", orphans_of_a_list),
    Cell("raw files", "read by the second spelling of their place (`s3://` beside `s3a://`)", raw_of_the_other_scheme),
    Cell("evolution", "new columns of the raw files", evolved),
    Cell("odd columns", "dots, spaces, quotes, back-quotes, Unicode in column names, written and read", odd_columns),
    Cell("odd name", "the same in a table's name", odd_name),
    Cell("nested namespace", "a table two levels down", nested_namespace),
    Cell("beside others", "views, and plain tables of the session's catalog, left alone", beside_others),
    Cell("whole-catalog job", "`iceberg-assets maintain` over all tables of the suite", whole_job),
    Cell("prefixes", "files named below another scheme are alive: nothing goes, and the setting is named", prefixes),
    Cell("service stopped", "a run fails, names the profile, loses nothing, and is made up for", stopped),
    Cell("no secret", "in events, logs, JSON, `DESCRIBE EXTENDED`, `SET` and Spark's event log", secrets),
)

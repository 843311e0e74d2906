"""A catalog with every kind of table: each is told what became of it, and none stands in another one's way."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psutil
import pytest
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table import Table

from iceberg_assets.cli.interrupt import interruptible
from iceberg_assets.job import Event, JobSettings, Summary, Surveyed, find, read_settings, run
from iceberg_assets.job.summary import NAMED, TableSummary
from iceberg_assets.maintenance import GC_BEFORE
from iceberg_assets.maintenance.lease import lease, standing_lease
from iceberg_assets.maintenance.orphans import files_aside
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec import Operation, Status, TableSpec
from iceberg_assets.spec.table import WHOLE_TABLE
from iceberg_assets_tests.faults.runner import PATIENCE
from iceberg_assets_tests.job import lake
from iceberg_assets_tests.job.written import written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Job:
    """Runs of the job over one namespace."""

    def __init__(self, profile: Profile, folder: Path, namespace: str) -> None:
        profile.prepare()
        self.profile, self.folder, self.namespace = profile, folder, namespace
        self.catalog = profile.pyiceberg()

    def name(self, table: str) -> str:
        return f"{self.namespace}.{table}"

    def table(self, name: str, files: int, *more: Any, **properties: str) -> Table:
        return lake.table(self.catalog, self.name(name), files, *more, **properties)

    def settings(self, text: str = "") -> JobSettings:
        return written(self.folder, f"catalog: local, databases: [{self.namespace}]\n{text}")

    def run(
        self,
        spark: "Callable[[], SparkSession]",
        text: str = "",
        on: Callable[[Event], None] = lambda _: None,
        stop: threading.Event | None = None,
    ) -> Summary:
        settings, summary = self.settings(text), Summary()
        objects = find(self.profile, settings).objects
        for event in run(self.profile, settings, objects, spark=spark, stop=stop or threading.Event()):
            summary.add(event)
            on(event)
        return summary

    def start(self, text: str, project: Path) -> "subprocess.Popen[str]":
        """The same as a process of its own, in a group of its own with its JVM."""
        self.settings(text)
        command = ["-c", "from iceberg_assets.cli import app; app()", "maintain", str(self.folder / "job.conf")]
        more = {"PYTHONUNBUFFERED": "1", "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
        return subprocess.Popen(
            [sys.executable, *command],
            cwd=project,
            env=os.environ | more,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def verdicts(self, summary: Summary) -> dict[str, str]:
        return {name.removeprefix(f"{self.namespace}."): one.verdict for name, one in summary.tables.items()}

    def files(self, table: str) -> list[str]:
        return [one.file.file_path for one in self.catalog.load_table(self.name(table)).scan().plan_files()]

    def ids(self, table: str) -> list[int]:
        return sorted(self.catalog.load_table(self.name(table)).scan().to_arrow()["id"].to_pylist())

    def snapshots(self, table: str) -> int:
        return len(self.catalog.load_table(self.name(table)).metadata.snapshots)

    def properties(self, table: str) -> dict[str, str]:
        return self.catalog.load_table(self.name(table)).properties

    def leases(self) -> list[str]:
        """The holders of leases that are no holds."""
        tables = [self.catalog.load_table(one) for one in self.catalog.list_tables(self.namespace)]
        standing = [standing_lease(self.profile, str(one.metadata.table_uuid)) for one in tables]
        return [one.holder for one in standing if one is not None and not one.for_ever]


@pytest.fixture
def job(profile: Profile, tmp_path: Path, namespace: str) -> Iterator[Job]:
    made = Job(profile, tmp_path, namespace)
    yield made
    # A broken one would keep the other tests from telling whose files are whose.
    for table in made.catalog.list_tables(namespace):
        made.catalog.drop_table(table)


def _no_spark() -> Any:
    raise AssertionError("no table has work for Spark")


WHOLE = """
parallelism: 3
gc_handling.enabled: true
rewrite_manifests.use_caching: false
iceberg_assets.orphans: remove
table_overrides.by_condition.rewrite_data_files { where: "id < 25", options { "min-input-files": 2 } }
"""


def test_each_kind_of_table_gets_what_it_needs_and_nobody_stands_in_anothers_way(
    job: Job, spark: "SparkSession"
) -> None:
    job.table("by_condition", 6, PartitionSpec())
    job.table("clean", 1)
    job.table("dirty", 22)
    job.table("dropped_after_the_look", 6)
    shared = job.table("gc_is_off", 6, gc_enabled="false")
    elsewhere = job.table("maintained_elsewhere", 6)
    with elsewhere.transaction() as change:
        change.set_properties({"self-optimizing.enabled": "true"})
    job.table("on_hold", 6)
    held = TableSpec(table=(job.namespace, "on_hold"), dates=WHOLE_TABLE)
    with lease(job.profile, held, "compacted") as taken:
        taken.hold_table("rows changed")
    lake.row(job.catalog, job.name("a_view"), "VIEW")
    lake.row(job.catalog, job.name("of_another_kind"), "HIVE")
    strays = {name: lake.stray(job.catalog.load_table(job.name(name))) for name in ("clean", "dirty", "gc_is_off")}
    ids = {name: job.ids(name) for name in ("by_condition", "dirty", "gc_is_off")}

    def on(event: Event) -> None:
        if isinstance(event, Surveyed) and event.name == job.name("dropped_after_the_look"):
            job.catalog.drop_table(event.name)

    summary = job.run(lambda: spark, WHOLE, on)
    assert job.verdicts(summary) == {
        "a_view": "skipped",
        "by_condition": "done",
        "clean": "done",
        "dirty": "done",
        "dropped_after_the_look": "skipped",
        "gc_is_off": "done",
        "maintained_elsewhere": "skipped",
        "on_hold": "on_hold",
    }
    assert {name: job.ids(name) for name in ids} == ids
    assert not any(stray.exists() for stray in strays.values())
    assert [step.operation.value for step in summary.tables[job.name("dirty")].steps] == [
        "compacted",
        "manifests_rewritten",
        "snapshots_expired",
        "orphans_removed",
    ]
    assert (len(job.files("dirty")), len(job.files("gc_is_off"))) == (1, 1)
    assert len(job.files("by_condition")) == 4, "three of six files have rows that the condition selects"
    assert len(job.files("maintained_elsewhere")) == len(job.files("on_hold")) == 6
    assert "self-optimizing.enabled" in summary.tables[job.name("maintained_elsewhere")].reason
    assert "rows changed" in "\n".join(summary.complaints())
    assert job.properties("gc_is_off") == shared.properties, "switched off again, and no word of it left"
    assert job.snapshots("gc_is_off") < 6, "its old snapshots have gone"
    assert job.leases() == []


def test_without_work_there_is_no_session_and_a_broken_table_is_named(job: Job) -> None:
    job.table("clean", 1)
    broken = job.table("broken", 1)
    Path(broken.metadata_location.removeprefix("file://")).write_text("{}")
    summary = job.run(_no_spark, "iceberg_assets.orphans: off")
    assert job.verdicts(summary) == {"broken": "failed", "clean": "nothing_to_do"}
    assert list(summary.bad) == [job.name("broken")]
    assert "\n" not in "".join(summary.complaints())


def test_what_breaks_a_tables_turn_off_fails_the_job(job: Job) -> None:
    """Not an error of an operation, which is its outcome: what ends the thread, and is nobody's."""
    job.table("a", 6)
    job.table("b", 6)

    def session() -> Any:
        raise SystemExit("no more threads")

    summary = job.run(session, "iceberg_assets.orphans: off")
    assert job.verdicts(summary) == {"a": "failed", "b": "failed"}
    assert list(summary.complaints()) == [f"{job.name(one)}: failed: SystemExit: no more threads" for one in "ab"]
    assert job.leases() == []


def test_a_jvm_that_a_signal_ended_with_the_run_is_no_failure_of_a_table(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a service manager, which sends it to every process of the service."""
    from pyspark import SparkContext

    job.table("a", 6)
    stop = threading.Event()
    with subprocess.Popen(["true"]) as jvm:
        jvm.wait()

    def session() -> Any:
        stop.set()
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
        raise ConnectionRefusedError(111, "Connection refused")

    summary = job.run(session, "iceberg_assets.orphans: off", stop=stop)
    assert (job.verdicts(summary), summary.bad) == ({"a": "unfinished"}, {})
    assert "stopped, and Spark's JVM with it" in summary.tables[job.name("a")].reason
    assert job.leases() == []


def test_what_fails_or_is_dropped_in_the_middle_fails_the_job_after_the_others_had_their_turn(
    job: Job, spark: "SparkSession"
) -> None:
    job.table("a_dropped", 6)
    failing = job.table("b_failing", 6)
    job.table("c_dirty", 6)
    for task in failing.scan().plan_files():
        Path(task.file.file_path.removeprefix("file://")).unlink()

    def session() -> "SparkSession":
        # The first table that needs Spark goes while it is at work.
        job.catalog.drop_table(job.name("a_dropped"))
        return spark

    summary = job.run(session, "parallelism: 1, iceberg_assets.orphans: off")
    assert job.verdicts(summary) == {"a_dropped": "failed", "b_failing": "failed", "c_dirty": "done"}
    said = list(summary.complaints())
    assert "dropped by somebody in the middle of it" in said[0]
    assert said[1].startswith(f"{job.name('b_failing')}: failed: compacted:")
    assert job.leases() == []


@pytest.mark.parametrize("name", ["compaction.conf", "compaction-first.conf"])
def test_the_file_that_people_start_from_runs_as_it_stands(tmp_path: Path, name: str) -> None:
    local = load_profile("local", tmp_path)
    catalog = {"name": "spark_catalog", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path / "w")}
    profile = local.model_copy(update={"catalog": local.catalog.model_copy(update=catalog)})
    profile.prepare()
    lake.table(profile.pyiceberg(), "sales.orders", 1)
    settings, summary = read_settings(Path(__file__).parent / "files" / name), Summary()
    objects = find(profile, settings).objects
    for event in run(profile, settings, objects, spark=_no_spark, stop=threading.Event()):
        summary.add(event)
    assert [(step.operation, step.status) for step in summary.tables["sales.orders"].steps] == [
        (Operation.REMOVE_ORPHANS, Status.NOTHING_TO_DO)
    ]


def test_what_a_killed_run_left_switched_on_is_put_back_by_the_next_one(job: Job) -> None:
    left = job.table("left", 1, gc_enabled="true")
    with left.transaction() as change:
        change.set_properties({GC_BEFORE: "false"})
    summary = job.run(_no_spark)
    assert "gc.enabled was switched on by a run that was killed" in summary.tables[job.name("left")].looked.reason
    assert job.properties("left") == {"gc.enabled": "false"}
    assert "gc.enabled is false" in job.run(_no_spark).tables[job.name("left")].reason


def test_what_a_run_had_switched_on_when_it_was_killed_is_put_back(job: Job, project: Path) -> None:
    """A SIGKILL at the very moment, while its JVM begins: the next run needs none to see it."""
    lake.stray(job.table("killed", 1, gc_enabled="false"))
    child = job.start("gc_handling.enabled: true, iceberg_assets.orphans: remove", project)
    while job.properties("killed") == {"gc.enabled": "false"}:
        assert child.poll() is None
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    assert job.properties("killed") == {"gc.enabled": "true", GC_BEFORE: "false"}
    job.run(_no_spark)
    assert job.properties("killed") == {"gc.enabled": "false"}


def test_orphans_are_set_aside_unless_the_catalogs_file_says_otherwise(job: Job, spark: "SparkSession") -> None:
    made = job.table("clean", 1)
    stray = lake.stray(made)
    assert "iceberg_assets.orphans is not set" in "\n".join(job.settings().notes)
    assert job.verdicts(job.run(_no_spark, "iceberg_assets.orphans: off")) == {"clean": "nothing_to_do"}
    assert stray.exists()
    assert job.verdicts(job.run(lambda: spark)) == {"clean": "done"}
    assert [Path(one.origin).name for one in files_aside(made)] == [stray.name]


def test_a_stop_is_waited_for_and_the_next_run_carries_on(job: Job, spark: "SparkSession", project: Path) -> None:
    """A real process, ended as a service manager ends one: what is at hand ends, nothing is held, nothing begins."""
    names = ["a", "b", "c"]
    for name in names:
        job.table(name, 6)
    text = "parallelism: 1, iceberg_assets.orphans: off"
    child = job.start(text, project)
    # Its lease is taken, and its JVM begins: the first table is at hand.
    while not job.leases() or not psutil.Process(child.pid).children():
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    said, _ = child.communicate(timeout=PATIENCE)
    assert child.returncode == 128 + signal.SIGTERM, said
    assert f"{job.name('a')} compacted: done" in said
    assert f"{job.name('b')} unfinished" in said or "not looked at" in said
    assert job.leases() == []
    assert len(job.files("c")) == 6
    assert set(job.verdicts(job.run(lambda: spark, text)).values()) == {"done"}, "a had snapshots left to expire"
    assert [len(job.files(name)) for name in names] == [1, 1, 1]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_a_wish_that_is_told_by_the_exit_code(number: signal.Signals, code: int) -> None:
    with interruptible() as interruption:
        os.kill(os.getpid(), number)
        assert interruption.asked.wait(5)
    assert interruption.exit_code == code


def test_of_very_many_tables_that_failed_some_are_named_and_all_are_counted() -> None:
    failed = {f"s.t{n}": TableSummary(Surveyed(("s", f"t{n}"), "failed", "x" * 10_000)) for n in range(NAMED + 5)}
    lines = list(Summary(failed).complaints())
    assert lines[-1] == "and 5 more"
    assert max(map(len, lines)) < 1_000

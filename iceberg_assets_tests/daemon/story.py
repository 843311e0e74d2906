"""What happens to one table while everything around it is killed in turn; told once, for several tests to look at.

A backfill leaves ten dates due. The daemon dies when it has asked for their compaction; the run, its JVM with it, when
some dates are done and some are not; the code server while the plan waits to ask again. Then all is left in peace.
"""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import dagster as dg
from dagster._core.scheduler.instigation import TickStatus

from iceberg_assets.health import read_health
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets_tests.daemon.deployment import Deployment, until
from iceberg_assets_tests.daemon.lake import DATES, PACKAGE, TABLE, spec

KEY = dg.AssetKey(["lake", "events"])
COMPACTION = "iceberg_compaction"

_NOTHING = "no group of files is due"
_SENSOR = "dagster/sensor_name"
_SKIPPED = TickStatus.SKIPPED
_SUCCESS, _FAILURE = dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE

_SECONDS = 240
"""For each of the steps; a run starts a JVM, and the machine may be busy."""

_SWITCH_ON = """
mutation SwitchOn($sensor: SensorSelector!) {
  startSensor(sensorSelector: $sensor) { __typename ... on PythonError { message } }
}
"""

_BACKFILL = """
mutation Backfill($of: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $of) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}
"""


@dataclass(frozen=True)
class Rows:
    """The table as PyIceberg reads it.

    Attributes:
        ids: how often the id of each row is there.
        files: data files by date.
        rewrites: commits that put fewer data files in the place of others.
    """

    ids: Mapping[int, int]
    files: Mapping[date, int]
    rewrites: int


@dataclass(frozen=True)
class Story:
    """What was seen.

    Attributes:
        appended: the table when the backfill had ended.
        killed: the table when the run had been killed.
        at_last: the table when nothing was due any more.
        asked: the run that was asked for before the daemon died.
        waited: the seconds from the end of the run that was killed to the request for the next one.
        runs: all runs of the sensors, oldest first.
    """

    appended: Rows
    killed: Rows
    at_last: Rows
    asked: str
    waited: float
    runs: tuple[dg.DagsterRun, ...]


def tell(deployment: Deployment, instance: dg.DagsterInstance) -> Story:
    """Let it happen."""
    profile = load_profile("local", root=deployment.root)
    deployment.start("daemon", "web")
    switch_on(deployment, COMPACTION)
    backfill(deployment)
    until("append", _SECONDS, lambda: _succeeded(instance, by=None))
    appended = look(profile)

    asked = until("request for a compaction", _SECONDS, lambda: sensor_runs(instance, COMPACTION), every=0.02)[0].run_id
    deployment.kill("daemon")
    deployment.start("daemon")

    until("compacted dates", _SECONDS, lambda: look(profile).rewrites >= 2, every=0.05)
    deployment.kill_run()
    until("failed run", _SECONDS, lambda: instance.get_runs(dg.RunsFilter([asked], statuses=[_FAILURE])))
    killed = look(profile)

    deployment.kill("code")
    deployment.start("code")

    until("second compaction", _SECONDS, lambda: _succeeded(instance, by=COMPACTION))
    done = time.time()
    until(
        "tick with nothing due", _SECONDS, lambda: any(_NOTHING in why for why in skipped(instance, COMPACTION, done))
    )
    # What is shown from here on stands still.
    deployment.kill("daemon")
    first, second = instance.get_run_records(dg.RunsFilter(tags={_SENSOR: COMPACTION}), ascending=True)
    waited = second.create_timestamp.timestamp() - (first.end_time or 0)
    return Story(appended, killed, look(profile), asked, waited, sensor_runs(instance))


def switch_on(deployment: Deployment, sensor: str) -> None:
    """Start a sensor, as the UI does; the other stays off, since each run of its own would start a JVM."""
    selector = {"repositoryName": "__repository__", "repositoryLocationName": PACKAGE, "sensorName": sensor}
    (answer,) = deployment.query(_SWITCH_ON, sensor=selector).values()
    assert answer["__typename"] == "Sensor", answer


def backfill(deployment: Deployment) -> None:
    """Ask for the append of all dates, as the UI does."""
    asked = {
        "assetSelection": [{"path": KEY.path}],
        "partitionNames": [day.isoformat() for day in DATES],
        "title": f"{len(DATES)} dates",
    }
    (answer,) = deployment.query(_BACKFILL, of=asked).values()
    assert answer["__typename"] == "LaunchBackfillSuccess", answer


def skipped(instance: dg.DagsterInstance, sensor: str, after: float) -> list[str]:
    """The reasons of a sensor's ticks since then that asked for nothing, newest first."""
    (state,) = (one for one in instance.all_instigator_state() if one.instigator_name == sensor)
    ticks = instance.get_ticks(state.instigator_origin_id, state.selector_id, after=after, statuses=[_SKIPPED])
    return [tick.skip_reason or "" for tick in ticks]


def sensor_runs(instance: dg.DagsterInstance, *sensors: str) -> tuple[dg.DagsterRun, ...]:
    """The runs that these sensors asked for, or any, oldest first."""
    records = instance.get_run_records(ascending=True)
    of_sensors = [one.dagster_run for one in records if _SENSOR in one.dagster_run.tags]
    return tuple(run for run in of_sensors if not sensors or run.tags[_SENSOR] in sensors)


def look(profile: Profile) -> Rows:
    """The table now; empty where there is none."""
    catalog = profile.pyiceberg()
    if not catalog.table_exists(TABLE):
        return Rows({}, {}, 0)
    table = catalog.load_table(TABLE)
    health = read_health(profile, spec())
    assert health is not None
    summaries = [snapshot.summary for snapshot in table.snapshots()]
    return Rows(
        ids=Counter(table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist()),
        files={day: found.data_files for day, found in sorted(health.dates.items())},
        rewrites=sum(bool(one and one["deleted-data-files"]) for one in summaries),
    )


def _succeeded(instance: dg.DagsterInstance, by: str | None) -> bool:
    """Whether a run has, that this sensor asked for, or no sensor."""
    return any(run.tags.get(_SENSOR) == by for run in instance.get_runs(dg.RunsFilter(statuses=[_SUCCESS])))

"""The real Dagster daemon as a child process, and what its sensors' runs came to, read from the instance."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import psutil

from demo.verify import MAINTENANCE, SensorRun

_SENSOR_NAME = "dagster/sensor_name"
_UNFINISHED = dg.RunsFilter(
    statuses=[
        dg.DagsterRunStatus.QUEUED,
        dg.DagsterRunStatus.NOT_STARTED,
        dg.DagsterRunStatus.STARTING,
        dg.DagsterRunStatus.STARTED,
        dg.DagsterRunStatus.CANCELING,
    ]
)
_SECONDS_TO_STOP = 30


@contextmanager
def daemon(workspace: Path, log: Path) -> Iterator[psutil.Popen]:
    """``dagster-daemon run``, with its code server; both are gone when the context is left.

    Args:
        workspace: the workspace file.
        log: where its output goes.
    """
    command = [str(Path(sys.executable).with_name("dagster-daemon")), "run", "--workspace", str(workspace)]
    with log.open("wb") as output:
        process = psutil.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=workspace.parent)
        try:
            yield process
        finally:
            family = [process, *process.children(recursive=True)]
            process.terminate()
            _, alive = psutil.wait_procs(family, timeout=_SECONDS_TO_STOP)
            for left in alive:
                left.kill()


def wait_until_done(
    instance: dg.DagsterInstance, process: psutil.Popen, seconds: float, say: Callable[[str], None]
) -> bool:
    """Wait until sensors' runs have done every maintenance operation, none is left, and the checks are green.

    Args:
        instance: the daemon's instance.
        process: the daemon; when it ends, there is nothing to wait for.
        seconds: give up after so many.
        say: told once a second what there is to wait for.

    Returns:
        Whether it came to that in time.
    """
    deadline = time.monotonic() + seconds
    while (began := time.monotonic()) < deadline and process.poll() is None:
        done = {operation for run in sensor_runs(instance) for operation in run.operations}
        missing = [operation for operation in MAINTENANCE if operation not in done]
        red = [name for name, results in check_results(instance).items() if not results[-1]]
        unfinished = instance.get_runs_count(_UNFINISHED)
        if not missing and not red and not unfinished:
            return True
        say(
            f"runs under way: {unfinished}; still to come: {', '.join(missing) or 'nothing'}; "
            f"checks not green: {', '.join(red) or 'none'}"
        )
        # All that ever happened is read again, of a year some seconds: whoever asks must not be who is waited for.
        time.sleep(1 + 10 * (time.monotonic() - began))
    return False


def sensor_runs(instance: dg.DagsterInstance) -> tuple[SensorRun, ...]:
    """The successful runs that did maintenance operations, oldest first."""
    records = instance.get_run_records(dg.RunsFilter(statuses=[dg.DagsterRunStatus.SUCCESS]), ascending=True)
    runs = []
    for run in (record.dagster_run for record in records):
        seconds = {
            step.step_key.split("__")[-1]: (step.end_time or 0) - (step.start_time or 0)
            for step in instance.get_run_step_stats(run.run_id)
        }
        if done := {operation: seconds[operation] for operation in MAINTENANCE if operation in seconds}:
            runs.append(SensorRun(run.run_id, run.tags.get(_SENSOR_NAME, ""), done))
    return tuple(runs)


def check_results(instance: dg.DagsterInstance) -> dict[str, tuple[bool, ...]]:
    """The results of each asset check, oldest first, by ``<asset> <check>``; from runs and from the sensors' ticks."""
    results: dict[str, tuple[bool, ...]] = {}
    evaluated = dg.EventRecordsFilter(dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    for record in instance.event_log_storage.get_event_records(evaluated, ascending=True):
        event = record.event_log_entry.dagster_event
        if event is not None:
            evaluation = event.asset_check_evaluation_data
            name = f"{evaluation.asset_key.to_user_string()} {evaluation.check_name}"
            results[name] = (*results.get(name, ()), evaluation.passed)
    return results

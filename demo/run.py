"""The whole story, headless: raw flights land, are appended, and the daemon's sensors make a healthy table of them.

It works in ``build/demo``, afresh each time, and exits with 1 if any figure is not what it must be. With ``--days 366``
it is the whole year, its last UTC date included.
"""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

import dagster as dg
import psutil
from rich.console import Console

from demo.daemon import check_results, daemon, sensor_runs, wait_until_done
from demo.feed import DAYS, FIRST_DATE
from demo.look import load, local_path, longest_gap, look, raw_rows, seconds_since_last_commit
from demo.memory import PeakMemory
from demo.report import report
from demo.steps import Steps
from demo.verify import Figures, verify
from demo.waves import waves
from iceberg_assets.cli import declared_tables
from iceberg_assets.errors import IcebergAssetsError

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "demo"
RAW, CATALOG, WAREHOUSE, HOME = (BUILD / name for name in ("raw", "catalog.db", "warehouse", "dagster_home"))
DAY = 86_400


def main() -> None:
    """Run the demo, print its tables, exit with 1 where a figure is wrong."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--days", type=int, default=DAYS, help=f"dates from {FIRST_DATE} on")
    days = arguments.parse_args().days
    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 120)
    steps = Steps(console)
    try:
        figures = run(steps, days)
    except IcebergAssetsError as error:
        console.print(f"[red]refused:[/] {error}")
        sys.exit(2)
    console.print(report(figures, steps.seconds, time.time() - psutil.Process().create_time()))
    problems = verify(figures)
    for problem in problems:
        console.print(f"[red]not as it must be:[/] {problem}")
    if problems:
        console.print(f"The daemon's log is {BUILD / 'daemon.log'}.")
        sys.exit(1)
    console.print("[green]All figures are what they must be.[/]")


def run(steps: Steps, days: int) -> Figures:
    """The demo itself, and what it came to."""
    start_afresh()
    # A wave of a year takes longer than the pause that a date of two weeks needs to be quiet.
    os.environ["ICEBERG_ASSETS_QUIET_FOR"] = f"{max(30, days // 2)}s"
    with PeakMemory() as memory:
        appended = []
        for wave in waves(RAW, days):
            appended.append(wave)
            steps.add(f"wave {wave.number + 1}", wave.seconds, f"{wave.files} raw files, {len(wave.dates)} dates")

        table = load(CATALOG, WAREHOUSE)
        old_strays, fresh_stray = leave_strays(Path(local_path(table.location())))
        with steps.step("look before") as result:
            before = look(table)
            result.append(f"{before.rows:,} rows, {before.files} data files, {len(before.orphans)} orphan files")

        quiet_for = declared_tables(ROOT)[0].maintenance.quiet_for.total_seconds()
        with steps.step("dates grow quiet"):
            # Sooner, the sensors would tidy up first, and once more after the compaction.
            time.sleep(max(0.0, quiet_for - seconds_since_last_commit(table)))

        with steps.step("daemon and sensors") as result, daemon(ROOT / "workspace.yaml", BUILD / "daemon.log") as child:
            instance = dg.DagsterInstance.get()
            done = wait_until_done(instance, child, 600 + 5 * days, steps.say)
            result.append(f"{len(sensor_runs(instance))} runs{'' if done else ', and the time is up'}")

        with steps.step("look after") as result:
            after = look(load(CATALOG, WAREHOUSE))
            result.append(f"{after.rows:,} rows, {after.files} data files, {len(after.orphans)} orphan files")
    return Figures(
        raw_rows=raw_rows(RAW),
        dates_by_wave=tuple(len(wave.dates) for wave in appended),
        longest_gap=longest_gap(table),
        quiet_for=quiet_for,
        before=before,
        after=after,
        old_strays=old_strays,
        fresh_stray=fresh_stray,
        sensor_runs=sensor_runs(instance),
        checks=check_results(instance),
        peak_memory=memory.bytes,
    )


def start_afresh() -> None:
    """An empty ``build/demo`` with a Dagster instance of its own, and an environment that leads there."""
    shutil.rmtree(BUILD, ignore_errors=True)
    HOME.mkdir(parents=True)
    shutil.copy(ROOT / "dagster.yaml", HOME)
    environment()


def environment() -> None:
    """What processes of the demo find it by."""
    os.environ |= {
        "DAGSTER_HOME": str(HOME),
        "PROFILE": "local",
        # Launching a run starts a process; on a busy machine that outlasts Dagster's 60 s.
        "DAGSTER_GRPC_TIMEOUT_SECONDS": "180",
        "ICEBERG_ASSETS_RAW": str(RAW),
        "ICEBERG_ASSETS_CATALOG": str(CATALOG),
        "ICEBERG_ASSETS_WAREHOUSE": str(WAREHOUSE),
    }


def leave_strays(table: Path) -> tuple[frozenset[str], str]:
    """Leave four files that nothing refers to, as writers that died do.

    Returns:
        Three that are four days old, and a fresh one.
    """
    raw = next(RAW.rglob("*.parquet"))
    strays = [Path(shutil.copy(raw, table / "data" / f"stray-{number}.parquet")) for number in range(4)]
    four_days_ago = time.time() - 4 * DAY
    for stray in strays[:3]:
        os.utime(stray, (four_days_ago, four_days_ago))
    return frozenset(str(stray) for stray in strays[:3]), str(strays[3])


if __name__ == "__main__":
    main()

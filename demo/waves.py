"""The appends: each wave lands, and its dates are materialized by one range run; all of them in one process of its own.

When that process ends, so does its JVM, and the memory is free for the runs of the daemon.
"""

import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

import dagster as dg

from demo.feed import WAVES, land

TABLE = dg.AssetKey(["demo", "flights"])
JOB = "iceberg__demo__flights"


@dataclass(frozen=True)
class Wave:
    """A wave that landed and was appended.

    Attributes:
        files: raw files that landed.
        dates: the dates that they belong to.
        seconds: from the first file to the end of the run; the first wave starts Spark.
    """

    number: int
    files: int
    dates: tuple[date, ...]
    run_id: str
    seconds: float


def waves(raw: Path, days: int) -> Iterator[Wave]:
    """Land and append wave after wave.

    Args:
        raw: the landing place that the table's YAML names.
        days: how many dates the flights are of.
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as process:
        for number in range(WAVES):
            yield process.submit(_land_and_append, raw, number, days).result()


def _land_and_append(raw: Path, number: int, days: int) -> Wave:
    begin = time.monotonic()
    landed = land(raw, number, days=days)
    job, instance = _job_and_instance()
    result = job.execute_in_process(
        # The demo has its own line for each wave; the events are in the instance.
        run_config={"loggers": {"console": {"config": {"log_level": "ERROR"}}}},
        instance=instance,
        asset_selection=[TABLE],
        tags={
            "dagster/asset_partition_range_start": min(landed).isoformat(),
            "dagster/asset_partition_range_end": max(landed).isoformat(),
        },
    )
    files = sum(len(paths) for paths in landed.values())
    return Wave(number, files, tuple(landed), result.run_id, time.monotonic() - begin)


@cache
def _job_and_instance() -> tuple[dg.JobDefinition, dg.DagsterInstance]:
    from iceberg_assets.definitions import defs

    return defs().resolve_job_def(JOB), dg.DagsterInstance.get()

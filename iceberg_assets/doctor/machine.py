"""What the machine has, whatever the profile: Java, and a Dagster instance with its limits."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from iceberg_assets.doctor.finding import Findings, fail, ok, warn
from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import documents
from iceberg_assets.spark.session import require_java


def _java() -> Findings:
    home = os.environ.get("JAVA_HOME")
    by = f"JAVA_HOME={home}" if home else "the PATH, since JAVA_HOME is not set"
    try:
        yield ok(f"{require_java()}, found by {by}")
    except ConfigurationError as error:
        yield fail(str(error))


def _pools() -> Findings:
    home = os.environ.get("DAGSTER_HOME")
    if not home:
        yield warn(
            "DAGSTER_HOME is not set, so this is no place of a Dagster instance, and its pool limits are not known",
            "nothing, where only the command line is used; else run this where the daemon runs",
        )
        return
    file = Path(home) / "dagster.yaml"
    way_out = (
        f"set concurrency.pools.default_limit: 1 in {file}, or a limit for each pool: dagster instance concurrency"
    )
    if not file.is_file():
        yield warn(f"{file} is not there, so that pools have no limit, and two runs may be at one table", way_out)
        return
    limit: object = next(iter(documents(file)), None)
    for key in ("concurrency", "pools", "default_limit"):
        limit = limit.get(key) if isinstance(limit, Mapping) else None
    if limit == 1:
        yield ok("pools have a limit of 1: one run at a time is at a table")
    else:
        yield warn(f"in {file} the default limit of pools is {limit}, so that two runs may be at one table", way_out)


OF_MACHINE: Mapping[str, Callable[[], Findings]] = {"java": _java, "pools": _pools}
"""By the name that a finding is listed under."""

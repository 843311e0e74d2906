"""The whole-catalog job: maintenance of tables that nobody declared one by one."""

from iceberg_assets.job.read import read_settings
from iceberg_assets.job.report import attempts_of, reported
from iceberg_assets.job.run import Begun, Event, History, Left, run
from iceberg_assets.job.settings import JobSettings
from iceberg_assets.job.summary import Summary
from iceberg_assets.job.survey import Surveyed, Verdict, find, require_catalog, survey
from iceberg_assets.job.table import Ended

__all__ = [
    "Begun",
    "Ended",
    "Event",
    "History",
    "JobSettings",
    "Left",
    "Summary",
    "Surveyed",
    "Verdict",
    "attempts_of",
    "find",
    "read_settings",
    "reported",
    "require_catalog",
    "run",
    "survey",
]

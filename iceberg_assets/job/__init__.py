"""The whole-catalog job: maintenance of tables that nobody declared one by one."""

from iceberg_assets.job.read import read_settings
from iceberg_assets.job.settings import JobSettings
from iceberg_assets.job.survey import Surveyed, find, survey

__all__ = ["JobSettings", "Surveyed", "find", "read_settings", "survey"]

"""What is missing on a machine or in its settings, told before Spark starts."""

from iceberg_assets.doctor.examine import CHECKS, Examined, examine
from iceberg_assets.doctor.finding import Finding, Level

__all__ = ["CHECKS", "Examined", "Finding", "Level", "examine"]

"""What was done to a catalog's tables, by whom, and what it came to: kept in Iceberg tables of the same catalog."""

from iceberg_assets.history.attempts import Attempts
from iceberg_assets.history.cost import Cost, costs
from iceberg_assets.history.record import (
    UNFINISHED,
    Failure,
    Record,
    Who,
    called_record,
    outcome_records,
    shadow_records,
    unmeasured_records,
)
from iceberg_assets.history.recorder import Recorder
from iceberg_assets.history.saved import saved
from iceberg_assets.history.store import Wanted, read_failures, read_records

__all__ = [
    "UNFINISHED",
    "Attempts",
    "Cost",
    "Failure",
    "Record",
    "Recorder",
    "Wanted",
    "Who",
    "called_record",
    "costs",
    "outcome_records",
    "read_failures",
    "read_records",
    "saved",
    "shadow_records",
    "unmeasured_records",
]

"""What: declarations and records. Frozen types, no I/O."""

from iceberg_assets.spec.declaration import parse_table
from iceberg_assets.spec.outcome import Attempt, Operation, Outcome, Status
from iceberg_assets.spec.table import TableSpec

__all__ = ["Attempt", "Operation", "Outcome", "Status", "TableSpec", "parse_table"]

"""Asset checks: a table's health, its upkeep, its ledger and its raw files, and rows before and after."""

from iceberg_assets.orchestration.checks.evaluate import (
    evaluate_declaration,
    evaluate_health,
    evaluate_source,
    evaluate_unreadable,
    evaluate_upkeep,
    health_checks,
)
from iceberg_assets.orchestration.checks.figure import evaluations
from iceberg_assets.orchestration.checks.rows import (
    REWRITES,
    ROWS_PRESERVED,
    doubts,
    rows_preserved,
)

__all__ = [
    "REWRITES",
    "ROWS_PRESERVED",
    "doubts",
    "evaluate_declaration",
    "evaluate_health",
    "evaluate_source",
    "evaluate_unreadable",
    "evaluate_upkeep",
    "evaluations",
    "health_checks",
    "rows_preserved",
]

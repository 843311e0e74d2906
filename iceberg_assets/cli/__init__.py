"""The command line: look at the project's tables, append to them, maintain them, and settle what their ledgers say."""

from iceberg_assets.cli import (
    append,
    call,
    doctor,
    health,
    history,
    import_conf,
    ledger,
    maintain,
    metrics,
    quarantine,
    sql,
    undo,
)
from iceberg_assets.cli.common import app, declared_tables

# In the order of the help; each module adds its commands to the application.
__all__ = [
    "app",
    "append",
    "call",
    "declared_tables",
    "doctor",
    "health",
    "history",
    "import_conf",
    "ledger",
    "maintain",
    "metrics",
    "quarantine",
    "sql",
    "undo",
]

"""Create, append and the ledger: each raw file's rows are in the table once."""

from iceberg_assets.tables.append import AppendOutcome, append
from iceberg_assets.tables.claims import LedgerState
from iceberg_assets.tables.create import check_places, ensure_table
from iceberg_assets.tables.ledger import Ledger
from iceberg_assets.tables.misfit import misfits
from iceberg_assets.tables.recover import protected_since, recover
from iceberg_assets.tables.source import RawFile, raw_files
from iceberg_assets.tables.standing import completeness
from iceberg_assets.tables.waiting import Watch, keep_watch, waiting_files

__all__ = [
    "AppendOutcome",
    "Ledger",
    "LedgerState",
    "RawFile",
    "Watch",
    "append",
    "check_places",
    "completeness",
    "ensure_table",
    "keep_watch",
    "misfits",
    "protected_since",
    "raw_files",
    "recover",
    "waiting_files",
]

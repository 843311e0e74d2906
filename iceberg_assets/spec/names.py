"""Names: where the project keeps its own tables, and what Dagster allows less in than Iceberg does."""

import hashlib
import re

STATE_NAMESPACE = "iceberg_assets_state"
"""Where the project keeps its own tables, in the same catalog as the tables it cares for."""

RESERVED_COLUMNS = frozenset(
    {
        "_change_ordinal",
        "_change_type",
        "_commit_snapshot_id",
        "_deleted",
        "_file",
        "_last_updated_sequence_number",
        "_metadata",
        "_partition",
        "_pos",
        "_row_id",
        "_spec_id",
    }
)
"""Columns that every table has without being asked: those of Iceberg's MetadataColumns, and Spark's of a file scan."""


def is_reserved(column: str) -> bool:
    """Whether a column of that name would hide, or be hidden by, one that Iceberg or Spark adds; neither heeds case."""
    return column.casefold() in RESERVED_COLUMNS


def slug(*parts: str) -> str:
    """One word of ``[A-Za-z0-9_]`` for a name of several parts, different for different names.

    ``slug("demo", "flights")`` is ``demo__flights``; where a character was lost, or could be taken for the seam of two
    parts, six characters of a hash follow.
    """
    kept = "__".join(re.sub(r"[^A-Za-z0-9_]", "_", part) for part in parts)
    if kept.split("__") == list(parts):
        return kept
    return f"{kept}_{hashlib.sha256(repr(parts).encode()).hexdigest()[:6]}"

"""Names that Dagster and catalogs allow less in than Iceberg does."""

import hashlib
import re


def slug(*parts: str) -> str:
    """One word of ``[A-Za-z0-9_]`` for a name of several parts, different for different names.

    ``slug("demo", "flights")`` is ``demo__flights``; where a character was lost, or could be taken for the seam of two
    parts, six characters of a hash follow.
    """
    kept = "__".join(re.sub(r"[^A-Za-z0-9_]", "_", part) for part in parts)
    if kept.split("__") == list(parts):
        return kept
    return f"{kept}_{hashlib.sha256(repr(parts).encode()).hexdigest()[:6]}"

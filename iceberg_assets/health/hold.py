"""Whether a table is on hold: a rewrite has changed its rows, and a person has to say what becomes of them. Pure."""

from collections.abc import Collection
from datetime import date

from iceberg_assets.spec import Operation

Doubted = Collection[tuple[Operation, date]]
"""Rewrites that changed rows, by operation and date, and that nobody has settled."""


def on_hold(doubted: Doubted) -> str | None:
    """Why no operation touches a table, and the two ways out; None: it is not on hold.

    More rewrites would bury the one in doubt, expiry may take the snapshot to roll back to, and what became of files
    that are in doubt is best read from a table that stands still.
    """
    if not doubted:
        return None
    days = {operation: sorted(day for one, day in doubted if one is operation) for operation in Operation}
    rewrites = {f"'{operation.value}'": ", ".join(map(str, found)) for operation, found in days.items() if found}
    changed = "; ".join(f"{name} of {found} changed rows" for name, found in rewrites.items())
    return (
        f"on hold: {changed}. Either roll back to the snapshot that rows_preserved or the failed run names, and write "
        "again what was committed since, or keep the rows as they are; then materialize "
        f"{' and '.join(rewrites)} of these dates by hand with force: true"
    )

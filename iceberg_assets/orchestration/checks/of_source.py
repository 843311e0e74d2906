"""What is checked of a table's declaration and of what feeds it: columns, raw files, the ledger."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from iceberg_assets.orchestration.checks.figure import Figure, in_seconds
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec.units import format_age
from iceberg_assets.tables import RawFile, completeness, misfits

# The checks of every table, and those of a table that has a source.
OF_DECLARATION = {
    "schema_as_declared": "Date column, partition_by, derive and the raw files' columns against the table's.",
}
OF_SOURCE = {
    "ledger_complete": "Every batch that the ledger says is in main is there, and no claim is in doubt.",
    "freshness": "Age of the oldest raw file that is landed and not in the table.",
}


def schema_as_declared(table: TableAsset, waiting: Sequence[RawFile] = ()) -> Figure:
    """What the next append would refuse, before it is tried."""
    wrong = misfits(table.profile, table.spec, waiting)
    words = "; ".join(wrong) or "the table's columns and partitions are as declared, and so are the raw files that wait"
    return Figure(len(wrong), words)


def ledger_complete(table: TableAsset) -> Figure:
    """The ledger against main."""
    found, name = completeness(table.profile, table.spec), table.spec.name
    wrong = []
    if found and found.rolled_back:
        dates = sorted({entry.file.day for entry in found.rolled_back})
        wrong.append(
            f"the rows of {len(found.rolled_back)} files of {dates[0]} to {dates[-1]} are not in main any more: "
            f"somebody rolled it back. Roll forward again, or: iceberg-assets ledger forget {name} --after-rollback, "
            "and materialize these dates"
        )
    wrong += [
        f"whether claim {claim.id} is in cannot be told, and nothing is appended until somebody does: "
        f"iceberg-assets ledger resolve {name} {claim.id}"
        for claim in (found.doubtful if found else ())
    ]
    if found and found.unaccounted:
        wrong.append(found.unaccounted)
    batches = found.batches if found else 0
    return Figure(
        len(wrong),
        "; ".join(wrong) or f"{batches} batches are in the ledger, and none is missing from main",
        more={
            "iceberg/batches": batches,
            "iceberg/rolled_back_files": len(found.rolled_back) if found else 0,
            "iceberg/claims_in_doubt": len(found.doubtful) if found else 0,
        },
    )


def freshness(waiting: Sequence[RawFile]) -> Figure:
    """The raw files against the ledger.

    Args:
        waiting: files that are not in the table, oldest first.
    """
    oldest = waiting[0] if waiting else None
    age = datetime.now(UTC) - oldest.modified if oldest and oldest.modified else timedelta(0)
    words = "every raw file is in the table"
    if oldest:
        words = (
            f"{len(waiting)} raw files are not in the table, the oldest for {format_age(in_seconds(age))}: "
            f"{oldest.path}"
        )
    return Figure(
        age,
        words,
        f"materialize {oldest.day}" if oldest else "",
        {"iceberg/waiting_files": len(waiting)},
    )

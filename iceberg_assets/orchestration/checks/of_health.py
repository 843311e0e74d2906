"""What is checked of a table's own metadata: files, deletes, snapshots, metadata files. Pure functions.

All of it changes with a commit only.
"""

from collections.abc import Callable
from datetime import datetime

from iceberg_assets.health import DateHealth, TableHealth, outside, pinned_by
from iceberg_assets.health.properties import whole_number
from iceberg_assets.orchestration.checks.figure import Figure
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.units import format_count

_Measure = Callable[[TableSpec, TableHealth, datetime], Figure]

_COMPACT = "materialize 'compacted' of the dates, or let its sensor do it once they are quiet"
_KEEPS_OLD = "write.metadata.delete-after-commit.enabled"
_KEPT = "write.metadata.previous-versions-max"
_DEFAULT_KEPT = 100
"""Iceberg's own default of :data:`_KEPT`."""


def _small_files(spec: TableSpec, health: TableHealth, now: datetime) -> Figure:
    worst = _worst(health, lambda found: found.small_files)
    where = f"; most on {worst.day}: {worst.small_files}" if worst and worst.small_files else ""
    beyond = outside(spec, health, now)
    words = (
        f"compaction would remove {health.small_files} of {health.data_files} data files{where} "
        f"({health.small_files_waiting} more are small but below the rule)" + (f"; {beyond}" if beyond else "")
    )
    return Figure(health.small_files, words, _COMPACT)


def _files_per_date(spec: TableSpec, health: TableHealth, now: datetime) -> Figure:  # noqa: ARG001
    worst = _worst(health, lambda found: found.data_files)
    if worst is None:
        return Figure(0, "no date has data files")
    due = f", {worst.small_files} of which compaction would remove"
    return Figure(
        worst.data_files,
        f"{format_count(worst.data_files, 'data file')} on {worst.day}{due if worst.small_files else ''}",
        "compact the date; where no file is small, write.target-file-size-bytes or partition_by cut it too fine",
    )


def _delete_ratio(spec: TableSpec, health: TableHealth, now: datetime) -> Figure:  # noqa: ARG001
    worst = _worst(health, lambda found: found.delete_ratio)
    ratio = round(worst.delete_ratio, 4) if worst else 0.0
    where = f"{ratio:.0%} of the rows written to {worst.day} are" if worst and ratio else "no row is"
    return Figure(
        ratio,
        f"{where} deleted by files that every reader applies anew ({health.delete_ratio:.0%} over the table)",
        _UNDO_DELETES,
        {"iceberg/table_delete_ratio": round(health.delete_ratio, 4)},
    )


def _delete_files(spec: TableSpec, health: TableHealth, now: datetime) -> Figure:  # noqa: ARG001
    worst = _worst(health, lambda found: found.delete_files)
    most = worst.delete_files if worst else 0
    where = f"{format_count(most, 'delete file')} {'apply' if most > 1 else 'applies'} to {worst.day}" if worst else ""
    return Figure(
        most,
        f"{where if most else 'no delete file applies to a date'} ({health.delete_files} in the table)",
        _UNDO_DELETES,
        {"iceberg/table_delete_files": health.delete_files},
    )


# The planner counts deletes that are not of one file alone only where it is told to.
_UNDO_DELETES = (
    "set maintenance.compact.options {delete-file-threshold: 1}, or {delete-ratio-threshold: …} where each delete file "
    "is of one data file, and materialize 'compacted' of the date"
)


def _snapshots(spec: TableSpec, health: TableHealth, now: datetime) -> Figure:
    pins = pinned_by(health, spec.maintenance.expire, now)
    kinds = {ref.name: ref.kind for ref in health.refs}
    held = "".join(
        f"; {kinds[name]} '{name}' holds back {format_count(len(snapshots), 'snapshot')}"
        for name, snapshots in sorted(pins.items())
    )
    return Figure(
        len(health.snapshots),
        f"the table lists {format_count(len(health.snapshots), 'snapshot')}{held}",
        "materialize 'snapshots_expired', shorten maintenance.expire"
        + (", or drop the ref with ALTER TABLE … DROP TAG or BRANCH" if pins else ""),
        {"iceberg/pinned_snapshots": len({one.id for snapshots in pins.values() for one in snapshots})},
    )


def _metadata_files(spec: TableSpec, health: TableHealth, now: datetime) -> Figure:  # noqa: ARG001
    """Expiry does not touch them: commits delete the oldest where the table says so, and nothing else does."""
    deletes = health.properties.get(_KEEPS_OLD, "false").lower() == "true"
    kept = whole_number(health.properties, _KEPT, _DEFAULT_KEPT) + 1
    left = max(0, health.metadata_files - kept) if deletes else health.metadata_files
    way = (
        f"each commit deletes all but {kept}" if deletes else f"{_KEEPS_OLD} is not set, so that no commit deletes one"
    )
    return Figure(
        left,
        f"{format_count(health.metadata_files, 'metadata file')} tracked; {way}",
        f"ALTER TABLE {spec.name} SET TBLPROPERTIES ('{_KEEPS_OLD}'='true', '{_KEPT}'='20')",
        {"iceberg/table_metadata_files": health.metadata_files},
    )


def _worst(health: TableHealth, figure: Callable[[DateHealth], float]) -> DateHealth | None:
    return max(health.dates.values(), key=figure, default=None)


# Check name, which is also its key under ``checks`` in the YAML: what it is about, and how it is measured.
OF_HEALTH: dict[str, tuple[str, _Measure]] = {
    "small_files": ("Data files that compaction would remove, by the planner's own rule.", _small_files),
    "files_per_date": ("Data files of the date that has most.", _files_per_date),
    "delete_ratio": ("Deletes for each row written, on the date with the largest share.", _delete_ratio),
    "delete_files": ("Delete files that apply to one date, where they are most.", _delete_files),
    "snapshots": ("Snapshots that the table's metadata lists, and which ref holds them back.", _snapshots),
    "metadata_files": ("metadata.json files that no commit will delete.", _metadata_files),
}

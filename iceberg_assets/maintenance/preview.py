"""What an operation would do, told without doing it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from iceberg_assets.health import DataFile, DeleteFile, Manifest, TableHealth


@dataclass(frozen=True)
class Preview:
    """What an operation would do to a table as it is now.

    Attributes:
        operation: the procedure, by Iceberg's name.
        due: whether it would do anything.
        reason: one sentence with the numbers behind that.
        removes: path and bytes of the files that the table would not refer to any more (compaction, manifests,
            position deletes), or that would be deleted (expiry, orphans).
        adds: of those that it would refer to from then on, where that is known beforehand (``add_files``).
        snapshots: those that would leave the table (expiry), or main (a rollback).
        details: further figures, by metadata key.
        modified: of files that would be deleted for their age (orphans): when they were last written.
        notes: what cannot be foretold, and what is worth knowing.
    """

    operation: str
    due: bool
    reason: str
    removes: Mapping[str, int] = field(default_factory=dict)
    snapshots: tuple[int, ...] = ()
    details: Mapping[str, int | float | str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    modified: Mapping[str, datetime] = field(default_factory=dict)
    adds: Mapping[str, int] = field(default_factory=dict)


def sizes(files: Iterable[DataFile | DeleteFile | Manifest]) -> dict[str, int]:
    """Path and bytes of files, as ``Preview.removes`` has them."""
    return {file.path: file.size for file in files}


def without_deletes(health: TableHealth, gone: Collection[DeleteFile]) -> dict[str, int]:
    """Path and bytes of the delete files that a table has no more without these.

    Deletion vectors share files: one that another vector still uses stays.
    """
    left = set(gone)
    staying = {one.path for one in health.deletes if one not in left}
    return sizes(one for one in gone if one.path not in staying)

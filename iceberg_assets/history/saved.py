"""What an operation was to gain and what it gained, in files, bytes and snapshots. Pure."""

from collections.abc import Callable, Mapping
from datetime import date, datetime

from iceberg_assets.health import manifests_after
from iceberg_assets.maintenance import Maintained, rewritten
from iceberg_assets.spec import Operation, Outcome, TableSpec

FILES = "iceberg/saved_files"
BYTES = "iceberg/saved_bytes"
SNAPSHOTS = "iceberg/saved_snapshots"
MANIFESTS = "iceberg/saved_manifests"
SAVED = (FILES, BYTES, SNAPSHOTS, MANIFESTS)
"""So many fewer than before, by metadata key; below zero where there are more. Files are those of data and deletes."""

_Figures = Mapping[str, int]


def saved(spec: TableSpec, operation: Operation, result: Maintained, now: datetime) -> Mapping[date, _Figures]:
    """By date, what the operation gained there; what one on the whole table gained, it gained once, on every date.

    Orphans that are set aside still lie there: they are gained when their time is over, and of those the bytes are not
    known.
    """
    if operation is Operation.COMPACT:
        bytes_of = {
            day: sum(file.size for file in files.before) - sum(file.size for file in files.after)
            for day, files in rewritten(spec, result, now).items()
        }
        return {day: {**_compacted(one), BYTES: bytes_of.get(day, 0)} for day, one in result.outcomes.items()}
    gained = _kept_aside if _sets_aside(spec, operation) else _GAINED[operation]
    return {day: gained(one) for day, one in result.outcomes.items()}


def predicted(operation: Operation, result: Maintained) -> Mapping[date, _Figures]:
    """By date, what the metadata of before said that would come of it."""
    if operation is Operation.COMPACT:
        return {
            day: {
                "iceberg/planned_data_files": sum(len(group.files) for group in found.groups),
                "iceberg/expected_data_files": sum(group.outputs for group in found.groups),
                "iceberg/planned_bytes": sum(file.size for group in found.groups for file in group.files),
            }
            for day in result.outcomes
            if (found := result.before.dates.get(day))
        }
    if operation is Operation.REWRITE_MANIFESTS:
        # Where none was rewritten, perhaps because a property of the table is no number, nothing was foreseen.
        rewrote = [day for day, one in result.outcomes.items() if "iceberg/manifests_before" in one.details]
        current = [one for one in result.before.manifests if one.spec_id == result.before.spec_id]
        return {day: {"iceberg/expected_manifests": manifests_after(result.before, current)} for day in rewrote}
    key = "iceberg/expirable_snapshots"
    return {day: {key: _figure(one, key)} for day, one in result.outcomes.items() if key in one.details}


def _figure(outcome: Outcome, key: str) -> int:
    return int(outcome.details.get(key, 0))


def _compacted(outcome: Outcome) -> _Figures:
    fewer = _figure(outcome, "iceberg/removed_data_files") - _figure(outcome, "iceberg/added_data_files")
    return {FILES: fewer + _figure(outcome, "iceberg/cleared_position_deletes")}


def _manifests(outcome: Outcome) -> _Figures:
    return {MANIFESTS: _figure(outcome, "iceberg/manifests_before") - _figure(outcome, "iceberg/manifests_after")}


def _expired(outcome: Outcome) -> _Figures:
    return {SNAPSHOTS: _figure(outcome, "iceberg/expired_snapshots")}


def _removed(outcome: Outcome) -> _Figures:
    gone = _figure(outcome, "iceberg/removed_orphans") + _figure(outcome, "iceberg/purged_orphans")
    return {FILES: gone, BYTES: _figure(outcome, "iceberg/removed_orphan_bytes")}


def _kept_aside(outcome: Outcome) -> _Figures:
    return {FILES: _figure(outcome, "iceberg/purged_orphans")}


def _sets_aside(spec: TableSpec, operation: Operation) -> bool:
    return operation is Operation.REMOVE_ORPHANS and spec.maintenance.orphans.quarantine is not None


_GAINED: Mapping[Operation, Callable[[Outcome], _Figures]] = {
    Operation.REWRITE_MANIFESTS: _manifests,
    Operation.EXPIRE_SNAPSHOTS: _expired,
    Operation.REMOVE_ORPHANS: _removed,
}

"""Orphans removed: listed first, then deleted, then looked for again."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime

from iceberg_assets.health import TableHealth
from iceberg_assets.maintenance.engine import EngineError, execute, refused
from iceberg_assets.maintenance.garbage import forbidden, strangers
from iceberg_assets.maintenance.lease import Lease
from iceberg_assets.maintenance.maintained import Maintained, on_the_table
from iceberg_assets.maintenance.measure import load
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, call, quote
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec

_NAMED = 50
"""So many paths are named in the outcome; the page that shows it has to stay readable."""


def remove_orphans(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    days: Sequence[date],
    *,
    now: datetime,
    landing_places: Sequence[str] = (),
) -> Maintained:
    """Delete the files below the table's location that no snapshot reaches and that are older than the policy says.

    Args:
        landing_places: folders in which raw files of other tables land.
    """
    raw = [*landing_places, *([spec.source.root] if spec.source else [])]

    def left_alone(before: TableHealth) -> Outcome | None:
        if reason := forbidden(before):
            return _outcome(Status.SKIPPED, reason)
        try:
            others = strangers(profile, before, raw)
        except Exception as error:  # noqa: BLE001 (whatever keeps us from knowing whose files these are)
            words = f"whose files lie in {before.location} cannot be told: {type(error).__name__}: {error}"
            return Outcome(Operation.REMOVE_ORPHANS, Status.SKIPPED, words, retryable=True)
        if others:
            return _outcome(
                Status.SKIPPED,
                f"the location {before.location} is not the table's alone: {'; '.join(others)}. What lives there would "
                "be taken for orphans of the table: move it to a place of its own",
            )
        return None

    def operate(_before: TableHealth, _held: Lease | None) -> Outcome:
        cut_off = now - spec.maintenance.orphans.older_than
        arguments = {"table": quote(*spec.table), "older_than": cut_off}
        try:
            listed = _paths(execute(spark(), _call(profile, **arguments, dry_run=True)))
            if not listed:
                return _outcome(Status.NOTHING_TO_DO, f"no orphan older than {cut_off:%Y-%m-%d %H:%M:%S %Z}")
            execute(spark(), _call(profile, **arguments))
        except EngineError as error:
            return refused(Operation.REMOVE_ORPHANS, error)
        files = load(profile, spec).io
        left = [path for path in listed if files.new_input(path).exists()]
        gone = len(listed) - len(left)
        status = Status.DONE if not left else Status.PARTIAL if gone else Status.FAILED
        return replace(
            _outcome(status, f"{gone} of {len(listed)} orphans removed" + (f", left: {left[:_NAMED]}" if left else "")),
            productive=gone > 0,
            details={"iceberg/removed_orphans": gone, "iceberg/orphans": "\n".join(listed[:_NAMED])},
        )

    return on_the_table(spark, profile, spec, days, Operation.REMOVE_ORPHANS, operate, left_alone=left_alone)


def _call(profile: Profile, **arguments: object) -> str:
    return call(profile.catalog.name, "remove_orphan_files", **arguments)


def _paths(rows: Iterable[Sequence[str]]) -> list[str]:
    return sorted(row[0] for row in rows)


def _outcome(status: Status, reason: str) -> Outcome:
    return Outcome(Operation.REMOVE_ORPHANS, status, reason)

"""Snapshots expired, with regard for branches, tags, running rewrites and unfinished appends."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

from iceberg_assets.health import TableHealth, expirable, expire_arguments
from iceberg_assets.maintenance.engine import EngineError, execute, refused
from iceberg_assets.maintenance.garbage import forbidden
from iceberg_assets.maintenance.lease import Lease
from iceberg_assets.maintenance.maintained import Maintained, health_of, on_the_table
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, call, quote
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec
from iceberg_assets.tables import protected_since


def expire_snapshots(
    spark: Session, profile: Profile, spec: TableSpec, days: Sequence[date], *, now: datetime
) -> Maintained:
    """Expire what the policy lets go, once for all dates.

    Unfinished appends are recovered first: once the snapshot with their token is gone, a stalled second pick of the
    same rows would be accepted.
    """

    def would_go(before: TableHealth) -> tuple[datetime, int, set[int]]:
        keep_from = protected_since(profile, spec) if spec.source else None
        policy = spec.maintenance.expire
        going = {snapshot.id for snapshot in expirable(before, policy, now, keep_from)}
        return *expire_arguments(before, policy, now, keep_from), going

    def left_alone(before: TableHealth) -> Outcome | None:
        if reason := forbidden(before):
            return _outcome(Status.SKIPPED, reason)
        cut_off, retain_last, going = would_go(before)
        if going:
            return None
        kept = f"{len(before.snapshots)} snapshots, none to go before {cut_off:%Y-%m-%d %H:%M:%S %Z}"
        return _outcome(Status.NOTHING_TO_DO, f"{kept}, {retain_last} kept in any case")

    def operate(before: TableHealth, _held: Lease | None) -> Outcome:
        cut_off, retain_last, going = would_go(before)
        statement = call(
            profile.catalog.name,
            "expire_snapshots",
            table=quote(*spec.table),
            older_than=cut_off,
            retain_last=retain_last,
            stream_results=True,
        )
        try:
            execute(spark(), statement)
        except EngineError as error:
            return refused(Operation.EXPIRE_SNAPSHOTS, error)
        left = {snapshot.id for snapshot in health_of(profile, spec).snapshots}
        gone = {snapshot.id for snapshot in before.snapshots} - left
        return replace(
            _outcome(
                Status.PARTIAL if going & left else Status.DONE,
                f"{len(gone)} of {len(before.snapshots)} snapshots expired, {len(going)} were to go",
            ),
            productive=bool(gone),
            details={"iceberg/expired_snapshots": len(gone), "iceberg/expirable_snapshots": len(going)},
        )

    return on_the_table(spark, profile, spec, days, Operation.EXPIRE_SNAPSHOTS, operate, left_alone=left_alone)


def _outcome(status: Status, reason: str) -> Outcome:
    return Outcome(Operation.EXPIRE_SNAPSHOTS, status, reason)

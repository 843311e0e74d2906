"""Manifests rewritten: ``rewrite_manifests`` where it at least halves them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from iceberg_assets.health import TableHealth, manifests_due
from iceberg_assets.maintenance.engine import EngineError, execute, refused
from iceberg_assets.maintenance.maintained import Maintained, health_of, on_the_table
from iceberg_assets.maintenance.measure import replacements, roll_back
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, call, quote
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec


def rewrite_manifests(spark: Session, profile: Profile, spec: TableSpec, days: Sequence[date]) -> Maintained:
    """Rewrite the data manifests of the current spec, once for all dates."""

    def operate(before: TableHealth) -> Outcome:
        due = manifests_due(spec.maintenance.manifests, before)
        if not due.due:
            return _outcome(Status.NOTHING_TO_DO, due.reason)
        try:
            execute(spark(), call(profile.catalog.name, "rewrite_manifests", table=quote(*spec.table)))
        except EngineError as error:
            return refused(Operation.REWRITE_MANIFESTS, error)
        for one in replacements(spark(), profile, spec, before.snapshot_id, None):
            if not one.rows_preserved:
                back = "main was put back" if roll_back(profile, spec, one) else "others have committed since"
                reason = f"rows changed from {one.rows_before} to {one.rows_after}; {back}"
                return replace(_outcome(Status.FAILED, reason), rows_preserved=False)
        was, now = len(before.manifests), len(health_of(profile, spec).manifests)
        return replace(
            _outcome(Status.DONE if now < was else Status.FAILED, f"{was} manifests became {now}"),
            productive=now < was,
            rows_preserved=True,
            details={"iceberg/manifests_before": was, "iceberg/manifests_after": now},
        )

    return on_the_table(profile, spec, days, operate)


def _outcome(status: Status, reason: str) -> Outcome:
    return Outcome(Operation.REWRITE_MANIFESTS, status, reason)

"""Whether rewrites left the rows as they were, and what waits until they are known to have."""

from collections.abc import Mapping
from datetime import date

import dagster as dg
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec import Operation, Outcome

ROWS_PRESERVED = "rows_preserved"

REWRITES = (Operation.COMPACT, Operation.REWRITE_MANIFESTS)
"""The operations whose materialization comes with the check."""

_ENDED = {AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED}


def rows_preserved(table: TableAsset, operation: Operation, outcomes: Mapping[date, Outcome]) -> dg.AssetCheckResult:
    """Whether each rewrite left the rows as they were."""
    changed = [f"{day}: {outcome.reason}" for day, outcome in outcomes.items() if outcome.rows_preserved is False]
    rewritten = sum(outcome.rows_preserved is not None for outcome in outcomes.values())
    return dg.AssetCheckResult(
        check_name=ROWS_PRESERVED,
        asset_key=table.key_of(operation),
        passed=not changed,
        severity=dg.AssetCheckSeverity.ERROR,
        description="; ".join(changed) or f"{rewritten} of {len(outcomes)} dates rewritten, rows as before",
        metadata={"iceberg/dates_changed": len(changed), "iceberg/dates_rewritten": rewritten},
    )


def rows_in_doubt(instance: dg.DagsterInstance, table: TableAsset) -> str | None:
    """What keeps snapshots from being expired: the one to roll back to may be among them. None: nothing.

    A blocking check holds what comes after it in its own run; expiry mostly has a run of its own.
    """
    for operation in REWRITES:
        key = dg.AssetCheckKey(table.key_of(operation), ROWS_PRESERVED)
        # Of a run that died, a check is planned and never evaluated: the one before it counts.
        ended = instance.event_log_storage.get_asset_check_execution_history(key, limit=1, status=_ENDED)
        said = ended[0].evaluation if ended else None
        if said and not said.passed:
            return (
                f"rows_preserved of '{operation.value}' is red, and the snapshot to roll back to may be among those "
                f"that would go ({said.description}). Settle that, then materialize '{operation.value}' of its dates, "
                "which evaluates the check anew"
            )
    return None

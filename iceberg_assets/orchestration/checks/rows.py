"""Whether rewrites left the rows as they were, and which of them are in doubt."""

from collections.abc import Mapping, Set
from datetime import date

import dagster as dg
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec import Operation, Outcome

ROWS_PRESERVED = "rows_preserved"

REWRITES = (Operation.COMPACT, Operation.REWRITE_MANIFESTS)
"""The operations whose materialization comes with the check."""

_IN_DOUBT = "iceberg/dates_in_doubt"

_ENDED = {AssetCheckExecutionRecordStatus.SUCCEEDED, AssetCheckExecutionRecordStatus.FAILED}


def rows_preserved(
    table: TableAsset,
    operation: Operation,
    outcomes: Mapping[date, Outcome],
    doubted: Set[tuple[Operation, date]] = frozenset(),
    *,
    settles: bool,
) -> dg.AssetCheckResult:
    """Whether each rewrite left the rows as they were, this run's and those before it.

    Args:
        table: whose.
        operation: the rewrite.
        outcomes: by date, what this run came to.
        doubted: what earlier runs left in doubt. A date is until a person has the operation end well on it: that
            another one went well says nothing of its rows.
        settles: whether a person says so with this run.
    """
    changed = {day: outcome.reason for day, outcome in outcomes.items() if outcome.rows_preserved is False}
    settled = {day for day, outcome in outcomes.items() if settles and outcome.green}
    before = {day for one, day in doubted if one is operation}
    older = sorted(before - settled - changed.keys())
    rewritten = sum(outcome.rows_preserved is not None for outcome in outcomes.values())
    words = [f"{day}: {reason}" for day, reason in changed.items()]
    if older:
        words.append(f"an earlier run changed the rows of {', '.join(map(str, older))}, and that is not settled")
    return dg.AssetCheckResult(
        check_name=ROWS_PRESERVED,
        asset_key=table.key_of(operation),
        passed=not words,
        # What an earlier run did must not fail this one; the table is on hold all the same.
        severity=dg.AssetCheckSeverity.ERROR if changed or not older else dg.AssetCheckSeverity.WARN,
        description="; ".join(words) or f"{rewritten} of {len(outcomes)} dates rewritten, rows as before",
        metadata={
            "iceberg/dates_changed": len(changed),
            "iceberg/dates_rewritten": rewritten,
            _IN_DOUBT: ", ".join(map(str, sorted({*changed, *older}))),
        },
    )


def doubts(instance: dg.DagsterInstance, table: TableAsset) -> frozenset[tuple[Operation, date]]:
    """The rewrites that changed rows, by operation and date, and that nobody has settled.

    A blocking check holds what comes after it in its own run; a table that is on hold refuses other runs, too.
    """
    found: set[tuple[Operation, date]] = set()
    for operation in REWRITES:
        said = _evaluated(instance, table, operation)
        days = str(said.metadata[_IN_DOUBT].value) if said and _IN_DOUBT in said.metadata else ""
        found |= {(operation, date.fromisoformat(day)) for day in days.split(", ") if day}
    return frozenset(found)


def _evaluated(instance: dg.DagsterInstance, table: TableAsset, operation: Operation) -> dg.AssetCheckEvaluation | None:
    """What the check said last. Of a run that died, it is planned and never evaluated: the one before it counts."""
    key = dg.AssetCheckKey(table.key_of(operation), ROWS_PRESERVED)
    ended = instance.event_log_storage.get_asset_check_execution_history(key, limit=1, status=_ENDED)
    return ended[0].evaluation if ended else None

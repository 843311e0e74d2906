"""The checks of one table evaluated: by the sensor's tick, and by hand. They read metadata only and start no JVM."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import dagster as dg

from iceberg_assets.health import Plan, TableHealth, plan, read_health
from iceberg_assets.orchestration.checks.figure import Figure, result
from iceberg_assets.orchestration.checks.of_health import OF_HEALTH
from iceberg_assets.orchestration.checks.of_source import (
    OF_DECLARATION,
    OF_SOURCE,
    freshness,
    ledger_complete,
    schema_as_declared,
)
from iceberg_assets.orchestration.checks.of_upkeep import OF_UPKEEP, Upkeep
from iceberg_assets.orchestration.checks.rows import doubts
from iceberg_assets.orchestration.event_log import Events, attempts
from iceberg_assets.orchestration.metadata import REASON
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec import Attempt, Operation
from iceberg_assets.tables import RawFile, waiting_files


def evaluate_health(table: TableAsset, health: TableHealth) -> list[dg.AssetCheckResult]:
    """What changes with a commit to the table."""
    now = datetime.now(UTC)
    return [result(table, name, measure(table.spec, health, now)) for name, (_, measure) in OF_HEALTH.items()]


def evaluate_upkeep(
    instance: dg.DagsterInstance, table: TableAsset, health: TableHealth, history: Sequence[Attempt], decided: Plan
) -> list[dg.AssetCheckResult]:
    """What changes with time, and with the runs that look after the table."""
    seen = Upkeep(
        spec=table.spec,
        health=health,
        plan=decided,
        history=history,
        pool=(table.maintenance_pool, _pool_limit(instance, table.maintenance_pool)),
        orphans=_last_reason(instance, table.key_of(Operation.REMOVE_ORPHANS)),
        now=datetime.now(UTC),
    )
    return [result(table, name, measure(seen)) for name, (_, measure) in OF_UPKEEP.items()]


def evaluate_declaration(table: TableAsset, waiting: Sequence[RawFile] = ()) -> list[dg.AssetCheckResult]:
    """What changes with the declaration, with the table's columns, and with the files that land.

    Args:
        table: whose.
        waiting: raw files that are not in it, oldest first.
    """
    return [result(table, "schema_as_declared", schema_as_declared(table, waiting))]


def evaluate_unreadable(table: TableAsset, error: Exception) -> list[dg.AssetCheckResult]:
    """The declaration of a table that could not be looked at: what contradicts it, else what kept us from looking."""
    try:
        results = evaluate_declaration(table)
    except Exception:  # noqa: BLE001 (it is the same that kept us from looking)
        results = []
    if any(not one.passed for one in results):
        return results
    words = f"the table could not be looked at, so that nothing is done about it: {type(error).__name__}: {error}"
    return [result(table, "schema_as_declared", Figure(1, words))]


def evaluate_source(table: TableAsset, waiting: Sequence[RawFile]) -> list[dg.AssetCheckResult]:
    """What changes with the files that land, and with the ledger; of tables with a source only."""
    return [
        result(table, "ledger_complete", ledger_complete(table)),
        result(table, "freshness", freshness(waiting)),
    ]


def health_checks(table: TableAsset) -> dg.AssetChecksDefinition:
    """The checks of one table, runnable by themselves."""
    about = {name: words for name, (words, _) in (OF_HEALTH | OF_UPKEEP).items()}
    about |= OF_DECLARATION | (OF_SOURCE if table.spec.source else {})

    @dg.multi_asset_check(
        name=f"{table.slug}__health",
        specs=[dg.AssetCheckSpec(name, asset=table.key, description=words) for name, words in about.items()],
    )
    def check(context: dg.AssetCheckExecutionContext) -> Iterable[dg.AssetCheckResult]:
        instance, now = context.instance, datetime.now(UTC)
        waiting = waiting_files(table.profile, table.spec, now) if table.spec.source else ()
        # First, since a table whose column of dates is gone tells nothing else.
        yield from evaluate_declaration(table, waiting)
        if table.spec.source:
            yield from evaluate_source(table, waiting)
        health = read_health(table.profile, table.spec)
        if health is None:
            raise dg.Failure(
                f"there is no table {table.spec.name} yet: {table.spec.way_into_being}", allow_retries=False
            )
        history = attempts(Events(instance, {}), table)
        yield from evaluate_health(table, health)
        decided = plan(table.spec, health, history, (), now, doubts(instance, table))
        yield from evaluate_upkeep(instance, table, health, history, decided)

    return check


def _pool_limit(instance: dg.DagsterInstance, pool: str) -> int | None:
    """The limit of a pool that was given one, else the instance's for all pools; None: no limit."""
    given = {one.name: one.limit for one in instance.event_log_storage.get_pool_limits()}
    return given.get(pool, instance.global_op_concurrency_default_limit)


def _last_reason(instance: dg.DagsterInstance, key: dg.AssetKey) -> str:
    records = instance.fetch_materializations(key, limit=1).records
    shown = records[0].asset_materialization if records else None
    return str(shown.metadata[REASON].value) if shown and REASON in shown.metadata else ""

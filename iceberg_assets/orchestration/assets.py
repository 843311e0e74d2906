"""The assets of one table: the append, and the maintenance operations downstream of it."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime

import dagster as dg

from iceberg_assets import maintenance
from iceberg_assets.errors import IcebergAssetsError
from iceberg_assets.health import TableHealth, on_hold
from iceberg_assets.history import Failure, Recorder, Who, outcome_records, saved
from iceberg_assets.maintenance import Asked, Maintained, Preview
from iceberg_assets.orchestration.checks import (
    REWRITES,
    ROWS_PRESERVED,
    doubts,
    evaluations,
    rows_preserved,
)
from iceberg_assets.orchestration.launchpad import asked, launchpad
from iceberg_assets.orchestration.metadata import (
    REASON,
    STATUS,
    event_metadata,
    observed,
    outcome_metadata,
    preview_metadata,
    problem_table,
)
from iceberg_assets.orchestration.pictures import file_sizes, snapshots_timeline
from iceberg_assets.orchestration.rewritten import file_table
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spark import Session
from iceberg_assets.spec import Operation, Outcome, Status
from iceberg_assets.tables import AppendOutcome, append

_DESCRIPTIONS = {
    Operation.COMPACT: "Small files of quiet dates rewritten into few (Iceberg's rewrite_data_files, binpack), "
    "one commit a date. Runs when the planner's own rule says that a rewrite pays.",
    Operation.REWRITE_MANIFESTS: "Manifests rewritten (rewrite_manifests). Runs when there are many of them and a "
    "rewrite at least halves them.",
    Operation.EXPIRE_SNAPSHOTS: "Old snapshots expired (expire_snapshots), with regard for branches, tags and "
    "unfinished appends. Runs when a snapshot would go.",
    Operation.REMOVE_ORPHANS: "Files that no snapshot reaches deleted (remove_orphan_files). Runs once in the "
    "table's orphans.every, and after a run that died.",
}

_WHY = " Why a run was started, and what came of it, is in iceberg/reason of each date and in the sensor's tick."


class AppendConfig(dg.Config):
    """Launchpad settings of an append.

    Attributes:
        replace: in the same commit, the rows go that the dates' files brought earlier.
    """

    replace: bool = False


def append_asset(table: TableAsset) -> dg.AssetsDefinition:
    """The asset of the table itself: materializing a date appends the raw Parquet landed under it."""

    @dg.asset(
        key=table.key,
        description=f"Iceberg table {table.spec.name}: raw Parquet of {table.spec.source and table.spec.source.path}, "
        "appended exactly once however often a date is materialized. Its plots show the files of each date, whoever "
        "wrote them.",
        partitions_def=table.partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
        required_resource_keys={table.resource_key},
        kinds={"iceberg", "spark"},
        group_name=table.slug,
        pool=table.append_pool,
    )
    def appended(context: dg.AssetExecutionContext, config: AppendConfig) -> dg.MaterializeResult:  # type: ignore[type-arg]
        days, spark = _days(context), _session(context, table)
        outcomes = append(spark, table.profile, table.spec, days, replaces=config.replace)
        bad = {day: outcome.reason for day, outcome in outcomes.items() if outcome.status is Status.FAILED}
        reports = {f"{day} by file": problem_table(outcome) for day, outcome in outcomes.items() if outcome.problems}
        if bad.keys() == outcomes.keys():
            # Perhaps there is no table yet, and so no health to show.
            raise _failure(bad, reports)
        done = [day for day, outcome in outcomes.items() if outcome.status is Status.DONE]
        compacted = _compact_after_append(context, table, done) if done else {}
        bad |= {day: one.reason for day, one in compacted.items() if one.rows_preserved is False}
        health = maintenance.health_of(table.profile, table.spec)
        _observe_late_dates(context, table, health, outcomes)
        said = {
            day: _said_of_append(outcome) | _said_of_compaction(compacted.get(day)) for day, outcome in outcomes.items()
        }
        _materialize(context, table, table.key, health, said, bad, reports=reports)
        return dg.MaterializeResult()

    return appended


def external_asset(table: TableAsset) -> dg.AssetSpec:
    """The asset of a table that somebody else writes."""
    return dg.AssetSpec(
        table.key,
        description=f"Iceberg table {table.spec.name}: written by others, maintained here.",
        partitions_def=table.partitions,
        kinds={"iceberg"},
        group_name=table.slug,
    )


def maintenance_asset(table: TableAsset, operation: Operation) -> dg.AssetsDefinition:
    """The asset of one operation, downstream of the operation before it."""
    before = list(Operation).index(operation)
    upstream = table.key_of(list(Operation)[before - 1]) if before else table.key

    @dg.asset(
        key=table.key_of(operation),
        deps=[upstream],
        description=_DESCRIPTIONS[operation] + _WHY,
        partitions_def=table.partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
        required_resource_keys={table.resource_key},
        check_specs=[_check_of_rows(table, operation)] if operation in REWRITES else [],
        config_schema=launchpad(operation),
        # A dry run ends well and leaves its dates as they are, neither green nor red.
        output_required=False,
        kinds={"iceberg", "spark"},
        group_name=table.slug,
        pool=table.maintenance_pool,
    )
    def maintained(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:  # type: ignore[type-arg]
        config = context.op_execution_context.op_config
        wanted = asked(operation, table, _days(context), config)
        if config["dry_run"]:
            _observe_previews(
                context, table, operation, maintenance.foretell(operation, table.profile, table.spec, wanted)
            )
            if operation in REWRITES:
                yield rows_preserved(table, operation, {}, doubts(context.instance, table), settles=False)
            return
        doubted = doubts(context.instance, table)
        answered = operation in REWRITES and wanted.force
        if (hold := on_hold(doubted)) and not answered:
            raise dg.Failure(f"nothing was done: the table is {hold}", allow_retries=False)
        if answered and any((operation, day) in doubted for day in wanted.days):
            maintenance.release(table.profile, table.spec)
        result = _maintain(context, table, operation, wanted)
        shown = _shown(operation, table, result)
        said = {day: outcome_metadata(outcome) | shown.get(day, {}) for day, outcome in result.outcomes.items()}
        bad = {day: outcome.reason for day, outcome in result.outcomes.items() if not outcome.green}
        checks = []
        if operation in REWRITES:
            doubted = doubts(context.instance, table)
            checks = [rows_preserved(table, operation, result.outcomes, doubted, settles=wanted.force)]
        _materialize(context, table, table.key_of(operation), result.after, said, bad, checks)
        yield dg.MaterializeResult(check_results=checks)

    return maintained


def _maintain(context: dg.AssetExecutionContext, table: TableAsset, operation: Operation, wanted: Asked) -> Maintained:
    """Run an operation, and write what came of it to the catalog's history."""
    who = Who.here(table.profile, context.run.run_id)
    with Recorder(table.profile, who, tell=context.log.warning) as recorder:
        try:
            result = maintenance.maintain(operation, _session(context, table), table.profile, table.spec, wanted)
        except Exception as error:
            recorder.fail(Failure.raised(who, datetime.now(UTC), table.spec, operation, wanted.days, error))
            raise
        recorder.add(outcome_records(table.spec, operation, result, who, datetime.now(UTC)))
        return result


def _observe_previews(
    context: dg.AssetExecutionContext, table: TableAsset, operation: Operation, previews: Mapping[date, Preview]
) -> None:
    """Show what would be done on each date, without materializing it."""
    of = event_metadata(table.spec, maintenance.health_of(table.profile, table.spec))
    for day, preview in previews.items():
        words = observed(f"dry run: {preview.reason}") | preview_metadata(preview)
        context.log_event(
            dg.AssetObservation(table.key_of(operation), partition=day.isoformat(), metadata=of(day, words))
        )


def _check_of_rows(table: TableAsset, operation: Operation) -> dg.AssetCheckSpec:
    """Blocking: what comes after a rewrite that changed rows must not take away what it would be taken back to."""
    words = "Whether the rewrite left the rows as they were: counted in its snapshot and in that snapshot's parent."
    return dg.AssetCheckSpec(ROWS_PRESERVED, asset=table.key_of(operation), blocking=True, description=words)


def _shown(operation: Operation, table: TableAsset, result: Maintained) -> dict[date, dict[str, object]]:
    """What an operation shows beside its figures, by date. A picture is of the whole run: its last date has it."""
    now = datetime.now(UTC)
    shown: dict[date, dict[str, object]] = {
        day: dict(gains) for day, gains in saved(table.spec, operation, result, now).items()
    }
    if operation is Operation.COMPACT:
        files = maintenance.rewritten(table.spec, result, now)
        for day, one in files.items():
            shown[day]["iceberg/files"] = file_table(one)
        if files:
            sizes = (
                [file.size for one in files.values() for file in getattr(one, side)] for side in ("before", "after")
            )
            shown[max(files)]["iceberg/file_sizes"] = file_sizes(*sizes)
    if operation is Operation.EXPIRE_SNAPSHOTS and result.before.snapshots and result.outcomes:
        left = {snapshot.id for snapshot in result.after.snapshots}
        shown[max(result.outcomes)]["iceberg/snapshots"] = snapshots_timeline(result.before.snapshots, left)
    return shown


def _session(context: dg.AssetExecutionContext, table: TableAsset) -> Session:
    return lambda: getattr(context.resources, table.resource_key).session


def _days(context: dg.AssetExecutionContext) -> list[date]:
    return [date.fromisoformat(key) for key in context.partition_keys]


def _materialize(
    context: dg.AssetExecutionContext,
    table: TableAsset,
    key: dg.AssetKey,
    health: TableHealth,
    said: Mapping[date, Mapping[str, object]],
    bad: Mapping[date, str],
    checks: list[dg.AssetCheckResult] | None = None,
    reports: Mapping[str, dg.MarkdownMetadataValue] | None = None,
) -> None:
    """Give each date its metadata; where some are bad, record the good ones and fail the run, naming the bad.

    ``reports`` say more about bad dates than their reason does.

    Raises:
        dagster.Failure: at least one date is bad.
    """
    of = event_metadata(table.spec, health)
    if not bad:
        for day, words in said.items():
            context.add_asset_metadata(of(day, words), asset_key=key, partition_key=day.isoformat())
        return
    # Only on this path: logging and returning a result would double the events.
    for day, words in said.items():
        if day not in bad:
            context.log_event(dg.AssetMaterialization(key, partition=day.isoformat(), metadata=of(day, words)))
    for check in evaluations(checks or []):
        context.log_event(check)
    raise _failure(bad, reports or {})


def _failure(bad: Mapping[date, str], reports: Mapping[str, dg.MarkdownMetadataValue]) -> dg.Failure:
    return dg.Failure(
        description="; ".join(f"{day}: {reason}" for day, reason in bad.items()),
        metadata={**{f"{day}": reason for day, reason in bad.items()}, **reports},
        # A date that failed for its input or for a conflict fails again at once; the sensor asks again in time.
        allow_retries=False,
    )


def _said_of_append(outcome: AppendOutcome) -> dict[str, object]:
    return {
        STATUS: outcome.status.value,
        REASON: outcome.reason,
        "iceberg/appended_files": outcome.files,
        "iceberg/appended_rows": outcome.rows,
        "iceberg/late_rows": sum(outcome.late.values()),
        "iceberg/notes": "; ".join(outcome.notes),
        "iceberg/seconds": round(outcome.seconds, 3),
    }


def _compact_after_append(
    context: dg.AssetExecutionContext, table: TableAsset, days: list[date]
) -> Mapping[date, Outcome]:
    """Compact the dates that were appended to, where the table's YAML says so.

    The writer is ourselves, so that no date has to be quiet. An append is done whatever becomes of its compaction: what
    that leaves undone stays due, and the sensor asks for it. Changed rows alone are another matter: the check of the
    asset ``compacted`` turns red, as if it had been its own run.
    """
    if not table.spec.maintenance.compact.after_append:
        return {}
    if hold := on_hold(doubts(context.instance, table)):
        reason = f"nothing was done: the table is {hold}"
        return dict.fromkeys(days, Outcome(Operation.COMPACT, Status.SKIPPED, reason, retryable=True))
    wanted = Asked(days, datetime.now(UTC), values={}, force=True)
    try:
        result = _maintain(context, table, Operation.COMPACT, wanted)
    except IcebergAssetsError as error:
        return dict.fromkeys(days, Outcome(Operation.COMPACT, Status.FAILED, str(error)))
    if any(one.rows_preserved is False for one in result.outcomes.values()):
        doubted = doubts(context.instance, table)
        for check in evaluations([rows_preserved(table, Operation.COMPACT, result.outcomes, doubted, settles=False)]):
            context.instance.report_runless_asset_event(check)
    return result.outcomes


def _said_of_compaction(outcome: Outcome | None) -> dict[str, object]:
    if outcome is None:
        return {}
    said = {"iceberg/compaction_status": outcome.status.value, "iceberg/compaction_reason": outcome.reason}
    return {**outcome.details, **said}


def _observe_late_dates(
    context: dg.AssetExecutionContext, table: TableAsset, health: TableHealth, outcomes: Mapping[date, AppendOutcome]
) -> None:
    """Other dates that the batch's rows fell on changed too: show it on them."""
    late: dict[date, int] = {}
    for outcome in outcomes.values():
        for day, rows in outcome.late.items():
            late[day] = late.get(day, 0) + rows
    of = event_metadata(table.spec, health)
    for day in sorted(late.keys() - outcomes.keys()):
        words = observed(f"{late[day]} late rows were appended with another date's files")
        context.log_event(dg.AssetObservation(table.key, partition=day.isoformat(), metadata=of(day, words)))

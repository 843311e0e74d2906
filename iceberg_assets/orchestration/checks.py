"""Asset checks: a table's health against the limits of its YAML, and rows against what they were."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date

import dagster as dg

from iceberg_assets.health import TableHealth, read_health
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec import Operation, Outcome
from iceberg_assets.spec.policy import Check

ROWS_PRESERVED = "rows_preserved"


def _small_files(health: TableHealth) -> tuple[int, str]:
    worst = max(health.dates.values(), key=lambda found: found.small_files, default=None)
    where = f"; most on {worst.day}: {worst.small_files}" if worst and worst.small_files else ""
    return health.small_files, (
        f"compaction would remove {health.small_files} of {health.data_files} data files{where} "
        f"({health.small_files_waiting} more are small but below the rule)"
    )


def _snapshots(health: TableHealth) -> tuple[int, str]:
    return len(health.snapshots), f"the table lists {len(health.snapshots)} snapshots"


# Check name, which is also its key under ``checks`` in the YAML → the figure that is held to the limit, in words.
_FIGURES: dict[str, tuple[Callable[[TableHealth], tuple[int, str]], str, str]] = {
    "small_files": (
        _small_files,
        "Data files that compaction would remove, by the planner's own rule.",
        "materialize 'compacted' of the dates, or let its sensor do it once they are quiet",
    ),
    "snapshots": (
        _snapshots,
        "Snapshots that the table's metadata lists.",
        "materialize 'snapshots_expired', or shorten maintenance.expire",
    ),
}


def evaluate(table: TableAsset, health: TableHealth) -> list[dg.AssetCheckResult]:
    """The table's checks on that health."""
    results = []
    for name, (figure, _, way_out) in _FIGURES.items():
        limit: Check = getattr(table.spec.checks, name)
        value, words = figure(health)
        passed = value <= limit.max
        results.append(
            dg.AssetCheckResult(
                check_name=name,
                asset_key=table.key,
                passed=passed,
                severity=dg.AssetCheckSeverity[limit.severity.upper()],
                description=f"{words}; at most {limit.max} are fine" + ("" if passed else f": {way_out}"),
                metadata={f"iceberg/{name}": value, "iceberg/limit": limit.max},
            )
        )
    return results


def evaluations(table: TableAsset, health: TableHealth) -> list[dg.AssetCheckEvaluation]:
    """The same, as events that a sensor may record without a run."""
    return [
        dg.AssetCheckEvaluation(
            asset_key=table.key,
            check_name=result.check_name or "",
            passed=result.passed,
            severity=result.severity,
            description=result.description,
            metadata=result.metadata,
        )
        for result in evaluate(table, health)
    ]


def health_checks(table: TableAsset) -> dg.AssetChecksDefinition:
    """The checks of one table, runnable by themselves; they read metadata only and start no JVM."""

    @dg.multi_asset_check(
        name=f"{table.slug}__health",
        specs=[dg.AssetCheckSpec(name, asset=table.key, description=about) for name, (_, about, _) in _FIGURES.items()],
    )
    def check() -> Iterable[dg.AssetCheckResult]:
        health = read_health(table.profile, table.spec)
        if health is None:
            raise dg.Failure(f"there is no table {table.spec.name} yet: materialize a date of it", allow_retries=False)
        yield from evaluate(table, health)

    return check


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
    )

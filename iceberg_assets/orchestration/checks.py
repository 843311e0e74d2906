"""Asset checks: a table's health, its ledger and its raw files against its YAML, and rows against what they were."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

import dagster as dg

from iceberg_assets.health import TableHealth, outside, read_health
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec import Operation, Outcome, TableSpec
from iceberg_assets.spec.policy import Check
from iceberg_assets.spec.units import format_age
from iceberg_assets.tables import RawFile, completeness, waiting_files

ROWS_PRESERVED = "rows_preserved"


def _small_files(spec: TableSpec, health: TableHealth) -> tuple[int, str]:
    worst = max(health.dates.values(), key=lambda found: found.small_files, default=None)
    where = f"; most on {worst.day}: {worst.small_files}" if worst and worst.small_files else ""
    beyond = outside(spec, health, datetime.now(UTC))
    return health.small_files, (
        f"compaction would remove {health.small_files} of {health.data_files} data files{where} "
        f"({health.small_files_waiting} more are small but below the rule)" + (f"; {beyond}" if beyond else "")
    )


def _snapshots(_: TableSpec, health: TableHealth) -> tuple[int, str]:
    return len(health.snapshots), f"the table lists {len(health.snapshots)} snapshots"


# Check name, which is also its key under ``checks`` in the YAML → the figure that is held to the limit, in words.
_FIGURES: dict[str, tuple[Callable[[TableSpec, TableHealth], tuple[int, str]], str, str]] = {
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
        value, words = figure(table.spec, health)
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


# The checks of a table that has a source.
_OF_SOURCE = {
    "ledger_complete": "Every batch that the ledger says is in main is there, and no claim is in doubt.",
    "freshness": "Age of the oldest raw file that is landed and not in the table.",
}


def evaluate_source(table: TableAsset, waiting: Sequence[RawFile]) -> list[dg.AssetCheckResult]:
    """The checks of what the table is fed with: its ledger against main, its raw files against the ledger.

    Unlike the others they may change without a commit to the table. ``waiting`` are files that are not in it, oldest
    first.
    """
    return [_ledger_complete(table), _freshness(table, waiting)]


def _ledger_complete(table: TableAsset) -> dg.AssetCheckResult:
    found, name = completeness(table.profile, table.spec), table.spec.name
    wrong = []
    if found and found.rolled_back:
        dates = sorted({entry.file.day for entry in found.rolled_back})
        wrong.append(
            f"the rows of {len(found.rolled_back)} files of {dates[0]} to {dates[-1]} are not in main any more: "
            f"somebody rolled it back. Roll forward again, or: iceberg-assets ledger forget {name} --after-rollback, "
            "and materialize these dates"
        )
    wrong += [
        f"whether claim {claim.id} is in cannot be told, and nothing is appended until somebody does: "
        f"iceberg-assets ledger resolve {name} {claim.id}"
        for claim in (found.doubtful if found else ())
    ]
    batches = found.batches if found else 0
    return dg.AssetCheckResult(
        check_name="ledger_complete",
        asset_key=table.key,
        passed=not wrong,
        severity=dg.AssetCheckSeverity[table.spec.checks.ledger_complete.severity.upper()],
        description="; ".join(wrong) or f"{batches} batches are in the ledger, and none is missing from main",
        metadata={
            "iceberg/batches": batches,
            "iceberg/rolled_back_files": len(found.rolled_back) if found else 0,
            "iceberg/claims_in_doubt": len(found.doubtful) if found else 0,
        },
    )


def _freshness(table: TableAsset, waiting: Sequence[RawFile]) -> dg.AssetCheckResult:
    limit, now = table.spec.checks.freshness, datetime.now(UTC)
    oldest = waiting[0] if waiting else None
    age = now - oldest.modified if oldest and oldest.modified else timedelta(0)
    passed = age <= limit.max
    words = "every raw file is in the table"
    if oldest:
        words = (
            f"{len(waiting)} raw files are not in the table, the oldest for {format_age(_rounded(age))}: "
            f"{oldest.path}; at most {format_age(limit.max)} is fine"
        )
    return dg.AssetCheckResult(
        check_name="freshness",
        asset_key=table.key,
        passed=passed,
        severity=dg.AssetCheckSeverity[limit.severity.upper()],
        description=words + ("" if passed or not oldest else f": materialize {oldest.day}"),
        metadata={
            "iceberg/waiting_files": len(waiting),
            "iceberg/oldest_waiting_seconds": round(age.total_seconds()),
            "iceberg/limit_seconds": round(limit.max.total_seconds()),
        },
    )


def _rounded(age: timedelta) -> timedelta:
    return timedelta(seconds=round(age.total_seconds()))


def evaluations(results: Iterable[dg.AssetCheckResult]) -> list[dg.AssetCheckEvaluation]:
    """The same, as events that a sensor may record without a run."""
    return [
        dg.AssetCheckEvaluation(
            asset_key=result.asset_key or dg.AssetKey([]),
            check_name=result.check_name or "",
            passed=result.passed,
            severity=result.severity,
            description=result.description,
            metadata=result.metadata,
        )
        for result in results
    ]


def health_checks(table: TableAsset) -> dg.AssetChecksDefinition:
    """The checks of one table, runnable by themselves; they read metadata only and start no JVM."""
    about = {name: words for name, (_, words, _) in _FIGURES.items()} | (_OF_SOURCE if table.spec.source else {})

    @dg.multi_asset_check(
        name=f"{table.slug}__health",
        specs=[dg.AssetCheckSpec(name, asset=table.key, description=words) for name, words in about.items()],
    )
    def check() -> Iterable[dg.AssetCheckResult]:
        health = read_health(table.profile, table.spec)
        if health is None:
            raise dg.Failure(
                f"there is no table {table.spec.name} yet: {table.spec.way_into_being}", allow_retries=False
            )
        yield from evaluate(table, health)
        if table.spec.source:
            yield from evaluate_source(table, waiting_files(table.profile, table.spec, datetime.now(UTC)))

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

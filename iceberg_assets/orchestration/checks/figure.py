"""A check's figure, and the result that it comes to against its limit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import dagster as dg

from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.spec.units import format_age


@dataclass(frozen=True)
class Figure:
    """What a check has measured.

    Attributes:
        value: what is held to the check's ``max``; where it has none, how many things are wrong.
        words: the same as a sentence with numbers.
        way_out: what to do where it is too much.
        more: further figures, by metadata key.
    """

    value: float | timedelta
    words: str
    way_out: str = ""
    more: Mapping[str, int | float | str] = field(default_factory=dict)


def result(table: TableAsset, name: str, figure: Figure) -> dg.AssetCheckResult:
    """The result of the check of that name, which is also its key under ``checks`` in the YAML."""
    declared = getattr(table.spec.checks, name)
    limit = getattr(declared, "max", None)
    passed = figure.value <= (limit if limit is not None else 0)  # type: ignore[operator]
    said = [figure.words]
    if limit is not None:
        said.append(f"at most {format_age(limit) if isinstance(limit, timedelta) else f'{limit:g}'} is fine")
    if not passed and figure.way_out:
        said.append(figure.way_out)
    limits = {} if limit is None else {_key("iceberg/limit", limit): _number(limit)}
    return dg.AssetCheckResult(
        check_name=name,
        asset_key=table.key,
        passed=passed,
        severity=dg.AssetCheckSeverity[declared.severity.upper()],
        description="; ".join(said),
        metadata={_key(f"iceberg/{name}", figure.value): _number(figure.value), **limits, **figure.more},
    )


def _key(name: str, value: float | timedelta) -> str:
    return f"{name}_seconds" if isinstance(value, timedelta) else name


def _number(value: float | timedelta) -> float:
    return round(value.total_seconds()) if isinstance(value, timedelta) else value


def in_seconds(age: timedelta) -> timedelta:
    """Without the fraction, which would only be noise in a sentence."""
    return timedelta(seconds=round(age.total_seconds()))


def evaluations(results: Iterable[dg.AssetCheckResult]) -> list[dg.AssetCheckEvaluation]:
    """The same, as events that are recorded without a run, or on the failing path of one."""
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

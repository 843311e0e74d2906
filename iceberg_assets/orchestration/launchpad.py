"""The Launchpad's fields of a maintenance asset, made from what is declared of its procedure."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import dagster as dg

from iceberg_assets.maintenance import OFFERED, Asked, procedure_of
from iceberg_assets.orchestration.table_asset import TableAsset
from iceberg_assets.profiles import load_profile
from iceberg_assets.spec import Operation
from iceberg_assets.spec.procedure import Argument, Kind

_OWN = {
    "dry_run": dg.Field(
        bool, default_value=False, description="Say what would be done, in an observation of each date; touch nothing."
    ),
}

_FORCE: Mapping[Operation, str] = {
    Operation.COMPACT: "Also dates that data was added to within maintenance.quiet_for. Of a date whose rows an "
    "earlier rewrite changed: a person has settled that.",
    Operation.REWRITE_MANIFESTS: "Of a table whose rows an earlier rewrite changed: a person has settled that.",
    Operation.REMOVE_ORPHANS: "Also where more than maintenance.orphans.max_share of the table's files would go.",
}
"""What force does, by operation; the others have none."""

_TYPES: Mapping[Kind, Any] = {
    "count": dg.Int,
    "factor": dg.Float,
    "flag": dg.Bool,
    "list": [str],
    "map": dg.Map(str, str),  # type: ignore[no-untyped-call]
    "ratio": dg.Float,
}
"""Dagster's type of a kind; of all others text, as on the command line."""


def launchpad(operation: Operation) -> dict[str, dg.Field]:
    """The fields, each with its sentence; what is left out is as the table's YAML says."""
    procedure = procedure_of(operation)
    arguments = {one.name: one for one in (*procedure.arguments, *procedure.options)}
    force = _FORCE.get(operation)
    own = {"force": dg.Field(bool, default_value=False, description=force)} if force else {}
    return _OWN | own | {name: _field(arguments[name]) for name in OFFERED[operation]}


def _field(argument: Argument) -> dg.Field:
    choices = f" One of {', '.join(argument.choices)}." if argument.choices else ""
    default = f" Iceberg's default: {argument.default}." if argument.default else ""
    described = argument.sentence + choices + default
    return dg.Field(_TYPES.get(argument.kind, dg.String), is_required=False, description=described)


def asked(operation: Operation, table: TableAsset, days: list[date], config: Mapping[str, Any]) -> Asked:
    """What a run asks for.

    Raises:
        dagster.Failure: a value is not of its kind; nothing was touched.
    """
    given = {name: value for name, value in config.items() if name not in (*_OWN, "force")}
    try:
        values = procedure_of(operation).parse(given)
    except ValueError as error:
        raise dg.Failure(f"{error}: nothing was touched", allow_retries=False) from None
    profiles = [load_profile(name, table.root) for name in table.profiles]
    return Asked(days, datetime.now(UTC), values, bool(config.get("force")), table.landing_places, profiles)

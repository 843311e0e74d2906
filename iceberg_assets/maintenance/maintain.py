"""The operations by name, for whoever starts them: an asset, or a person at the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.maintenance.compact import compact, foretell_compaction
from iceberg_assets.maintenance.engine import EngineError
from iceberg_assets.maintenance.expire import expire_snapshots, foretell_expiry
from iceberg_assets.maintenance.maintained import Maintained, health_of, not_ours
from iceberg_assets.maintenance.manifests import foretell_manifests, rewrite_manifests
from iceberg_assets.maintenance.orphans import foretell_orphans, remove_orphans
from iceberg_assets.maintenance.preview import Preview
from iceberg_assets.profiles import Profile, naming_the_service, of_service
from iceberg_assets.spark import Session
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec
from iceberg_assets.spec.model import explain
from iceberg_assets.spec.policy import MaintenancePolicy
from iceberg_assets.spec.procedure import Procedure, Value, option_text
from iceberg_assets.spec.procedures import PROCEDURES


@dataclass(frozen=True)
class Asked:
    """What is asked of an operation beyond the table's policy.

    Attributes:
        days: that it is asked for.
        now: with a zone.
        values: arguments and options of its procedure that stand in for the policy's, as ``Procedure.parse`` has them.
        force: also what the policy holds back: dates that data was added to within ``quiet_for``, more orphans than
            ``max_share``.
        landing_places: folders in which raw files of other tables land.
        profiles: of all declared tables.
        where: only such rows are compacted, as Spark SQL; of a table that is taken as a whole.
        gc_handling: expire and remove also where the table's ``gc.enabled`` is false.
    """

    days: Sequence[date]
    now: datetime
    values: Mapping[str, Value]
    force: bool = False
    landing_places: Sequence[str] = ()
    profiles: Sequence[Profile] = ()
    where: str | None = None
    gc_handling: bool = False


def maintain(operation: Operation, spark: Session, profile: Profile, spec: TableSpec, asked: Asked) -> Maintained:
    """Run an operation.

    Raises:
        ConfigurationError: the values do not fit the table. Nothing was touched.
        ServiceError: the catalog or the store refused, or did not answer.
    """
    with naming_the_service(profile):
        done = _maintained(operation, spark, profile, with_values(spec, operation, asked), asked)
    return replace(done, outcomes={day: _named(profile, one) for day, one in done.outcomes.items()})


def _named(profile: Profile, outcome: Outcome) -> Outcome:
    """A statement that a service failed says which one."""
    if outcome.green or not (sentence := of_service(profile, EngineError(outcome.reason))):
        return outcome
    return replace(outcome, reason=sentence)


def _maintained(operation: Operation, spark: Session, profile: Profile, spec: TableSpec, asked: Asked) -> Maintained:
    days, now = asked.days, asked.now
    if reason := not_ours(profile, spec):
        health = health_of(profile, spec)
        return Maintained(health, health, dict.fromkeys(days, Outcome(operation, Status.SKIPPED, reason)))
    match operation:
        case Operation.COMPACT:
            return compact(spark, profile, spec, days, now=now, force=asked.force, where=asked.where)
        case Operation.REWRITE_MANIFESTS:
            arguments = procedure_of(operation).call_arguments(asked.values, now)
            return rewrite_manifests(spark, profile, spec, days, arguments=arguments)
        case Operation.EXPIRE_SNAPSHOTS:
            return expire_snapshots(spark, profile, spec, days, now=now, gc_handling=asked.gc_handling)
        case Operation.REMOVE_ORPHANS:
            gc = asked.gc_handling
            return remove_orphans(spark, profile, spec, days, now=now, gc_handling=gc, **_elsewhere(asked))


def foretell(operation: Operation, profile: Profile, spec: TableSpec, asked: Asked) -> Mapping[date, Preview]:
    """What the operation would do, by date; of one on the whole table, the same for each. Nothing is touched.

    Raises:
        ConfigurationError: the values do not fit the table, or what the operation does cannot be foretold.
    """
    spec, now = with_values(spec, operation, asked), asked.now
    if reason := not_ours(profile, spec):
        return dict.fromkeys(asked.days, Preview(procedure_of(operation).name, False, reason))
    match operation:
        case Operation.COMPACT:
            return foretell_compaction(profile, spec, asked.days, now=now, force=asked.force)
        case Operation.REWRITE_MANIFESTS:
            arguments = procedure_of(operation).call_arguments(asked.values, now)
            return dict.fromkeys(asked.days, foretell_manifests(profile, spec, arguments=arguments))
        case Operation.EXPIRE_SNAPSHOTS:
            return dict.fromkeys(asked.days, foretell_expiry(profile, spec, now=now))
        case Operation.REMOVE_ORPHANS:
            return dict.fromkeys(asked.days, foretell_orphans(profile, spec, now=now, **_elsewhere(asked)))


def _elsewhere(asked: Asked) -> dict[str, Any]:
    """What the search for orphans has to know beyond its table."""
    return {"landing_places": asked.landing_places, "profiles": asked.profiles, "force": asked.force}


def procedure_of(operation: Operation) -> Procedure:
    """The procedure that the operation calls."""
    return next(one for one in PROCEDURES.values() if one.asset == operation.value)


OFFERED: Mapping[Operation, Sequence[str]] = {
    Operation.COMPACT: [
        "strategy",
        "sort_order",
        *(one.name for one in PROCEDURES["rewrite_data_files"].options if not one.refused),
    ],
    Operation.REWRITE_MANIFESTS: [one.name for one in PROCEDURES["rewrite_manifests"].arguments],
    Operation.EXPIRE_SNAPSHOTS: ["older_than", "retain_last"],
    Operation.REMOVE_ORPHANS: ["older_than", "prefix_mismatch_mode", "equal_schemes", "equal_authorities"],
}
"""By operation: the arguments and options of its procedure that may stand in for the policy's."""


def with_values(spec: TableSpec, operation: Operation, asked: Asked) -> TableSpec:
    """The table's declaration with the values in the place of its policy's, checked as if its YAML had them.

    Raises:
        ConfigurationError: a value is none that the operation offers, or one that the policy refuses.
    """
    values = asked.values
    if beyond := [name for name in values if name not in OFFERED[operation]]:
        name = procedure_of(operation).name
        raise ConfigurationError(f"{name}: {', '.join(beyond)} is not offered; {', '.join(OFFERED[operation])} are")
    policy = spec.maintenance
    match operation:
        case Operation.COMPACT:
            changed = {"compact": _compact(policy, values)}
        case Operation.EXPIRE_SNAPSHOTS:
            changed = {"expire": policy.expire.model_dump() | _aged(values, asked.now)}
        case Operation.REMOVE_ORPHANS:
            changed = {"orphans": policy.orphans.model_dump() | _aged(values, asked.now)}
        case Operation.REWRITE_MANIFESTS:
            return spec
    try:
        policy = MaintenancePolicy.model_validate(policy.model_dump() | changed)
    except ValidationError as error:
        raise explain(error, spec.name) from None
    return spec.model_copy(update={"maintenance": policy})


def _compact(policy: MaintenancePolicy, values: Mapping[str, Value]) -> dict[str, Any]:
    own = {name: value for name, value in values.items() if name in ("strategy", "sort_order")}
    options = {name: option_text(value) for name, value in values.items() if name not in own}
    if "sort_order" in own:
        own.setdefault("strategy", "sort")
    elif own.get("strategy") == "binpack":
        own["sort_order"] = None  # type: ignore[assignment]
    declared = policy.compact
    return {**declared.model_dump(), **own, "options": {**declared.options, **options}}


def _aged(values: Mapping[str, Value], now: datetime) -> dict[str, Value | timedelta]:
    """Points in time as ages, which is what policies have."""
    return {name: now - value if isinstance(value, datetime) else value for name, value in values.items()}

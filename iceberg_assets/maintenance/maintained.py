"""What every operation takes and gives, and the one door to a table: its lease."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import date

from iceberg_assets.errors import ConfigurationError, IcebergAssetsError
from iceberg_assets.health import TableHealth, read_health
from iceberg_assets.maintenance.elsewhere import maintained_elsewhere
from iceberg_assets.maintenance.gc_enabled import BEFORE as GC_BEFORE
from iceberg_assets.maintenance.gc_enabled import put_back, switched_on
from iceberg_assets.maintenance.lease import Lease, LeaseTakenError, lease
from iceberg_assets.maintenance.measure import replacements_since
from iceberg_assets.maintenance.rewrite import AUDIT_PREFIX, RowsChangedError, drop_audit_branches, require_rows
from iceberg_assets.profiles import Profile, brief_of, shown_cause
from iceberg_assets.spark import Session
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec
from iceberg_assets.tables.target import existing_target, load_target


class UncomparedError(IcebergAssetsError):
    """Rows of an earlier rewrite cannot be compared now, and nothing goes on before they are."""


@dataclass(frozen=True)
class Maintained:
    """What an operation did.

    Attributes:
        outcomes: by date; of an operation on the whole table, the same for each.
    """

    before: TableHealth
    after: TableHealth
    outcomes: Mapping[date, Outcome]


def health_of(profile: Profile, spec: TableSpec, before: TableHealth | None = None) -> TableHealth:
    """The table's health now; ``before``, one of this very run, spares reading again what is as it was.

    Raises:
        ConfigurationError: there is no such table.
        ServiceError: the catalog or the store refused, or did not answer.
    """
    table = load_target(profile, spec)
    if table is not None and before is not None and table.metadata_location == before.metadata_location:
        return before
    health = read_health(profile, spec, before=before, loaded=table) if table is not None else None
    if health is None:
        raise ConfigurationError(
            f"there is no table {spec.name} in the catalog '{profile.catalog.name}' of profile '{profile.name}': "
            f"{spec.way_into_being}"
        )
    return health


def on_the_table(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    days: Iterable[date],
    operation: Operation,
    operate: Callable[[TableHealth, Lease], Outcome],
    *,
    left_alone: Callable[[TableHealth], Outcome | None] = lambda _: None,
    gc_handling: bool = False,
) -> Maintained:
    """Run an operation that is about the whole table once, under its lease, and give each date its outcome.

    Args:
        operate: does it, and is given the lease, so that it can put the table on hold.
        left_alone: the outcome where there is nothing to do, or something stands against it: no lease is taken then.
        gc_handling: switch the table's ``gc.enabled`` on meanwhile.
    """
    started = time.monotonic()
    before = health_of(profile, spec)
    outcome = left_alone(before)
    if outcome is None:
        try:
            with at_work(spark, profile, spec, operation.value, gc_handling=gc_handling) as held:
                # What was seen before may have been another maintainer's work, half done.
                seen, before = before, health_of(profile, spec, before)
                outcome = (left_alone(before) if before is not seen else None) or operate(before, held)
        except (LeaseTakenError, RowsChangedError) as error:
            outcome = kept_away(operation, error)
    outcome = replace(outcome, seconds=time.monotonic() - started)
    return Maintained(before, health_of(profile, spec, before), dict.fromkeys(days, outcome))


@contextmanager
def at_work(
    spark: Session, profile: Profile, spec: TableSpec, what: str, *, gc_handling: bool = False
) -> Iterator[Lease]:
    """Hold the table's lease, with what a killed maintainer left cleared away, and the rows of its rewrites compared.

    Args:
        what: is done, for others to read.
        gc_handling: switch the table's ``gc.enabled`` on meanwhile.

    Raises:
        ConfigurationError: this place may not write to the profile.
        LeaseTakenError: somebody else maintains the table, or it is on hold.
        RowsChangedError: a rewrite before this changed rows; it was taken back, or the table is on hold now.
        UncomparedError: its rows cannot be compared.
    """
    profile.require_writable()
    with lease(profile, spec, what) as held:
        table = existing_target(profile, spec)
        if any(name.startswith(AUDIT_PREFIX) for name in table.metadata.refs):
            drop_audit_branches(spark, profile, spec)
        if GC_BEFORE in table.properties:
            put_back(spark, profile, spec)
        _compare_left_over(spark, profile, spec, held)
        try:
            with switched_on(spark, profile, spec) if gc_handling else nullcontext():
                yield held
        except Exception:
            # It may have committed before it failed. Where that cannot be told now, whoever comes next does it.
            with suppress(UncomparedError):
                _compare_left_over(spark, profile, spec, held)
            raise
        _compare_left_over(spark, profile, spec, held)


def _compare_left_over(spark: Session, profile: Profile, spec: TableSpec, held: Lease) -> None:
    """Compare rows of rewrites that were committed, as it may be, by somebody who did not live to do it."""
    if held.uncompared_since is None:
        return
    try:
        hashed = spec.maintenance.compact.verify == "hash"
        commits = replacements_since(spark, profile, spec, held.uncompared_since, hashed=hashed)
    except Exception as error:  # noqa: BLE001 (each engine has its own words for what it cannot read)
        raise UncomparedError(
            f"rows of {spec.name} that were rewritten since {held.uncompared_since:%Y-%m-%d %H:%M:%S %Z} are not "
            f"compared yet, and cannot be now: {brief_of(profile, error)}; if it stays so, look at them, and "
            f"iceberg-assets hold {spec.name} --release lets maintenance go on without"
        ) from shown_cause(profile, error)
    require_rows(profile, spec, held, commits)
    held.uncompared_since = None


def without_leftovers(health: TableHealth) -> TableHealth:
    """The table as :func:`at_work` makes it: what a killed maintainer left holds nothing back."""
    return replace(health, refs=tuple(ref for ref in health.refs if not ref.name.startswith(AUDIT_PREFIX)))


def not_ours(profile: Profile, spec: TableSpec) -> str | None:
    """Why the table is not to be maintained by us; None: it is, or is not there."""
    table = load_target(profile, spec)
    return maintained_elsewhere(table, spec.properties) if table else None


def kept_away(operation: Operation, error: LeaseTakenError | RowsChangedError) -> Outcome:
    """The outcome where somebody else has the lease, which passes by itself or by a person's word, or changed rows."""
    if isinstance(error, RowsChangedError):
        return rows_changed(operation, error)
    return Outcome(operation, Status.SKIPPED, str(error), retryable=True)


def rows_changed(operation: Operation, error: RowsChangedError) -> Outcome:
    """The outcome of a rewrite that changed rows."""
    return replace(Outcome(operation, Status.FAILED, str(error)), rows_preserved=False)

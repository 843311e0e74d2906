"""Data files rewritten and verified: on main, or on a branch of their own that main is moved to afterwards."""

from collections.abc import Sequence

from iceberg_assets.errors import ConfigurationError, IcebergAssetsError
from iceberg_assets.health import TableHealth
from iceberg_assets.maintenance.engine import EngineError, execute
from iceberg_assets.maintenance.lease import Lease
from iceberg_assets.maintenance.measure import Replacement, load, replacements
from iceberg_assets.maintenance.undo import take_back
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, call, quote
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.policy import Compact
from iceberg_assets.tables.target import load_target, sql_name

AUDIT_PREFIX = "iceberg_assets_audit_"
"""Branches of rewrites that are not verified yet; with the number of the lease that they were made under."""

_TRIES = 10


class RowsChangedError(IcebergAssetsError):
    """A rewrite changed rows; the message says how, and what became of it."""


class MainMovedError(IcebergAssetsError):
    """Somebody committed to main while its next head was prepared; nothing was changed."""


def rewrite(
    spark: Session, profile: Profile, spec: TableSpec, health: TableHealth, where: str | None, held: Lease
) -> Sequence[Replacement]:
    """Rewrite as the table's policy says, and compare the rows; the commits, oldest first.

    Args:
        health: of before.
        where: the rows that it is confined to.

    Raises:
        EngineError: Spark or Iceberg refused.
        RowsChangedError: it was taken back, or the table is on hold now.
        MainMovedError: with ``verify: branch``.
    """
    verify = spec.maintenance.compact.verify
    if verify == "branch":
        return _on_a_branch(spark, profile, spec, health, where, held.row.number)
    execute(spark(), statement(profile, spec, where=where))
    commits = replacements(spark(), profile, spec, health.snapshot_id, where, hashed=verify != "rows")
    require_rows(profile, spec, held, commits)
    return commits


def check_order(profile: Profile, spec: TableSpec, policy: Compact) -> None:
    """Refuse what the table cannot be sorted by, before Spark is asked for.

    Raises:
        ConfigurationError: a column that it does not have, say; or there is no order, the policy's nor the table's own.
    """
    if policy.strategy != "sort":
        return
    table = load(profile, spec)
    if policy.order is None and table.sort_order().is_unsorted:
        raise ConfigurationError(
            f"{spec.name}: maintenance.compact.strategy is sort, without a sort_order, and the table has none of its "
            "own: give one, or ALTER TABLE … WRITE ORDERED BY"
        )
    if policy.order and (mistake := policy.order.mistake(table.schema().column_names)):
        raise ConfigurationError(f"{spec.name}: maintenance.compact.{mistake}")


def require_rows(profile: Profile, spec: TableSpec, held: Lease, commits: Sequence[Replacement]) -> None:
    """Take back what changed rows.

    Raises:
        RowsChangedError: one of the commits did.
    """
    if broken := next((one for one in commits if not one.rows_preserved), None):
        raise RowsChangedError(take_back(profile, spec, held, broken, broken.difference))


def statement(profile: Profile, spec: TableSpec, **arguments: object) -> str:
    """The CALL that rewrites data files as the table's policy says."""
    policy = spec.maintenance.compact
    return call(
        profile.catalog.name,
        "rewrite_data_files",
        table=quote(*spec.table),
        strategy=policy.strategy,
        sort_order=policy.sort_order,
        options=dict(policy.options),
        **arguments,
    )


def _on_a_branch(
    spark: Session, profile: Profile, spec: TableSpec, health: TableHealth, where: str | None, number: int
) -> Sequence[Replacement]:
    name = f"{AUDIT_PREFIX}{number}"
    execute(spark(), f"ALTER TABLE {sql_name(profile, spec)} CREATE BRANCH {quote(name)}")
    try:
        execute(spark(), statement(profile, spec, where=where, branch=name))
        commits = replacements(spark(), profile, spec, health.snapshot_id, where, name, hashed=True)
        if broken := next((one for one in commits if not one.rows_preserved), None):
            raise RowsChangedError(
                f"rows changed on a branch, which is dropped: {broken.difference}; main is as it was"
            )
        if commits:
            _move_main(spark, profile, spec, name, commits)
        return commits
    finally:
        drop_audit_branches(spark, profile, spec)


def _move_main(spark: Session, profile: Profile, spec: TableSpec, name: str, commits: Sequence[Replacement]) -> None:
    move = call(profile.catalog.name, "fast_forward", table=quote(*spec.table), branch="main", to=name)
    for attempt in range(1, _TRIES + 1):
        try:
            execute(spark(), move)
            return
        except EngineError:
            head = load(profile, spec).metadata.current_snapshot_id
            if head == commits[-1].snapshot_id:
                return
            if head != commits[0].parent_id:
                raise MainMovedError(f"main moves: somebody committed snapshot {head} meanwhile") from None
            # Another commit to the table, and not to main: a tag, for example.
            if attempt == _TRIES:
                raise


def drop_audit_branches(spark: Session, profile: Profile, spec: TableSpec) -> None:
    """Drop those that are there: the own one, and what a killed maintainer left. One that stays goes the next time."""
    for _ in range(_TRIES):
        table = load_target(profile, spec)
        left = [name for name in (table.metadata.refs if table else ()) if name.startswith(AUDIT_PREFIX)]
        if not left:
            return
        for name in left:
            try:
                execute(spark(), f"ALTER TABLE {sql_name(profile, spec)} DROP BRANCH IF EXISTS {quote(name)}")
            except EngineError as error:
                if not error.conflict:
                    raise

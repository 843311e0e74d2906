"""Manifests rewritten: ``rewrite_manifests`` where it at least halves them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import TableHealth, manifests_after, manifests_due
from iceberg_assets.maintenance import core
from iceberg_assets.maintenance.engine import EngineError, execute, refused
from iceberg_assets.maintenance.lease import Lease
from iceberg_assets.maintenance.maintained import Maintained, health_of, on_the_table
from iceberg_assets.maintenance.measure import (
    COUNTS_OF_FILES,
    Replacement,
    live_files,
    load,
    replacements,
    summary_of,
)
from iceberg_assets.maintenance.preview import Preview, sizes
from iceberg_assets.maintenance.undo import take_back
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, call, quote
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec
from iceberg_assets.tables.target import load_target

_NAME = "rewrite_manifests"


def rewrite_manifests(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    days: Sequence[date],
    *,
    arguments: Mapping[str, object] | None = None,
) -> Maintained:
    """Rewrite the manifests of the current spec, once for all dates.

    Args:
        arguments: of the procedure, by Iceberg's names; with any, it is done whether it pays or not.

    Raises:
        ConfigurationError: the table has no such partition spec, or no such field in it. Nothing was touched.
    """
    _check(profile, spec, arguments or {})

    def left_alone(before: TableHealth) -> Outcome | None:
        foretold = _foretold(spec, before, arguments or {})
        return None if foretold.due else _outcome(Status.NOTHING_TO_DO, foretold.reason)

    def operate(before: TableHealth, held: Lease) -> Outcome:
        foretold = _foretold(spec, before, arguments or {})
        try:
            # Whether the session is a remote one is known once it has begun.
            session = spark()
            if not arguments and _is_all_into_one(before, foretold) and core.at_hand():
                core.rewrite_manifests(session, profile, spec)
            else:
                execute(session, call(profile.catalog.name, _NAME, table=quote(*spec.table), **(arguments or {})))
        except EngineError as error:
            return refused(Operation.REWRITE_MANIFESTS, error)
        for one in replacements(spark(), profile, spec, before.snapshot_id, None):
            if difference := _difference(profile, spec, one):
                end = take_back(profile, spec, held, one, difference)
                return replace(_outcome(Status.FAILED, end), rows_preserved=False)
        after = health_of(profile, spec).manifests
        was, now = len(before.manifests), len(after)
        left = foretold.removes.keys() & {one.path for one in after}
        status = Status.FAILED if left or (now >= was and not arguments) else Status.DONE
        return replace(
            _outcome(status, f"{was} manifests became {now}"),
            productive=now < was,
            rows_preserved=True,
            details={"iceberg/manifests_before": was, "iceberg/manifests_after": now},
        )

    return on_the_table(spark, profile, spec, days, Operation.REWRITE_MANIFESTS, operate, left_alone=left_alone)


def foretell_manifests(profile: Profile, spec: TableSpec, *, arguments: Mapping[str, object] | None = None) -> Preview:
    """What :func:`rewrite_manifests` would do, and raise. Needs no Spark."""
    _check(profile, spec, arguments or {})
    return _foretold(spec, health_of(profile, spec), arguments or {})


def _check(profile: Profile, spec: TableSpec, arguments: Mapping[str, object]) -> None:
    if not arguments or (table := load_target(profile, spec)) is None:
        return
    specs = table.specs()
    spec_id = int(str(arguments.get("spec_id", table.spec().spec_id)))
    if spec_id not in specs:
        known = ", ".join(str(one) for one in sorted(specs))
        raise ConfigurationError(f"{spec.name}: spec_id: the table has no partition spec {spec_id}; it has {known}")
    names = [field.name for field in specs[spec_id].fields]
    wanted = arguments.get("sort_by", ())
    if isinstance(wanted, tuple) and (unknown := [str(one) for one in wanted if one not in names]):
        raise ConfigurationError(
            f"{spec.name}: sort_by: partition spec {spec_id} has no field {', '.join(unknown)}; it has "
            f"{', '.join(names) or 'none'}"
        )


def _foretold(spec: TableSpec, health: TableHealth, arguments: Mapping[str, object]) -> Preview:
    if not arguments and not (due := manifests_due(spec.maintenance.manifests, health)).due:
        return Preview(_NAME, False, due.reason)
    spec_id = int(str(arguments.get("spec_id", health.spec_id)))
    taken, after = [], 0
    for content in ("data", "deletes"):
        found = [one for one in health.manifests if (one.content, one.spec_id) == (content, spec_id)]
        expected = manifests_after(health, found)
        # RewriteManifestsSparkAction leaves a single one that is not too large as it is.
        if found and (len(found), expected) != (1, 1):
            taken += found
            after += expected
    reason = f"{len(taken)} of {len(health.manifests)} manifests would become {after}"
    details = {"iceberg/manifests_before": len(taken), "iceberg/manifests_after": after}
    return Preview(_NAME, bool(taken), reason, sizes(taken), details=details)


def _is_all_into_one(health: TableHealth, foretold: Preview) -> bool:
    """Whether every data manifest goes into a single one, and nothing else: no order of partitions is lost then."""
    data = {one.path for one in health.manifests if one.content == "data"}
    return foretold.removes.keys() == data and foretold.details["iceberg/manifests_after"] == 1


def _difference(profile: Profile, spec: TableSpec, commit: Replacement) -> str:
    """What of the files is not as it was. Totals of rows tell nothing: they are copied from the summary before."""
    table = load(profile, spec)
    snapshot = table.snapshot_by_id(commit.snapshot_id)
    # Others may share the Spark session: a rewrite that counts files is somebody's rewrite of those.
    if snapshot and any(summary_of(snapshot, key) for key in COUNTS_OF_FILES):
        return ""
    after, before = (live_files(table, one) for one in (commit.snapshot_id, commit.parent_id))
    if after == before:
        return ""
    lost, came = sorted((before - after).elements()), sorted((after - before).elements())
    counts = f"lacks {len(lost)} files of its parent {commit.parent_id} and has {len(came)} more"
    return f"snapshot {commit.snapshot_id} {counts}: {', '.join([*lost, *came][:5])}"


def _outcome(status: Status, reason: str) -> Outcome:
    return Outcome(Operation.REWRITE_MANIFESTS, status, reason)

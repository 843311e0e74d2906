"""Any procedure, by hand: foretold from the metadata, called, and measured from the metadata again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from pydantic import ValidationError

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import DataFile, TableHealth, dropped_with, groups, read_health, rule
from iceberg_assets.maintenance.bring_in import foretell_add_files, foretell_register
from iceberg_assets.maintenance.condition import files_matched
from iceberg_assets.maintenance.engine import EngineError, execute
from iceberg_assets.maintenance.lease import Lease, LeaseTakenError, require_idle
from iceberg_assets.maintenance.maintained import at_work, health_of, not_ours
from iceberg_assets.maintenance.measure import load, replacements
from iceberg_assets.maintenance.position_deletes import foretell_position_deletes
from iceberg_assets.maintenance.preview import Preview, sizes, without_deletes
from iceberg_assets.maintenance.refs import MOVES, Move, foretell_move
from iceberg_assets.maintenance.rewrite import RowsChangedError, check_order, require_rows
from iceberg_assets.profiles import Profile, of_service
from iceberg_assets.spark import Session, quote
from iceberg_assets.spark import call as render
from iceberg_assets.spec import Status, TableSpec
from iceberg_assets.spec.model import explain
from iceberg_assets.spec.policy import Compact
from iceberg_assets.spec.procedure import Procedure, Value, option_text
from iceberg_assets.spec.procedures import PROCEDURES


@dataclass(frozen=True)
class Called:
    """What a call came to.

    Attributes:
        reason: one sentence with the numbers behind the status.
        details: further figures, by metadata key.
    """

    procedure: str
    status: Status
    reason: str
    details: Mapping[str, int | float | str] = field(default_factory=dict)


def foretell_call(
    profile: Profile, spec: TableSpec, procedure: Procedure, values: Mapping[str, Value], *, now: datetime
) -> Preview:
    """What :func:`call_procedure` would do. Needs no Spark.

    Args:
        procedure: one that no operation of its own is for.
        values: its arguments, as ``Procedure.parse`` gives them.
        now: that ages are counted from.
    """
    if procedure.name in MOVES:
        return foretell_move(procedure.name, health_of(profile, spec), values, now)[1]
    if procedure.name not in _BY_A_PERSON and (reason := not_ours(profile, spec)):
        return Preview(procedure.name, False, reason)
    return _FORETOLD[procedure.name](profile, spec, values)


_BY_A_PERSON = {*MOVES, "add_files", "register_table"}
"""What changes rows or names is no maintenance: a person's own commit, which takes no lease."""


def call_procedure(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    procedure: Procedure,
    values: Mapping[str, Value],
    *,
    now: datetime,
) -> Called:
    """Do what :func:`foretell_call` says, and look at what came of it.

    What moves a branch may be what a table on hold waits for. A rewrite that changed rows is rolled back, on the
    condition that nothing was committed after it.
    """
    name = procedure.name
    if name not in _BY_A_PERSON and (reason := not_ours(profile, spec)):
        return Called(name, Status.SKIPPED, reason)
    foretold = foretell_call(profile, spec, procedure, values, now=now)
    if not foretold.due:
        refused = name in MOVES and foretell_move(name, health_of(profile, spec), values, now)[0].refusal
        return Called(name, Status.FAILED if refused else Status.NOTHING_TO_DO, foretold.reason)
    work = _by_a_person if name in _BY_A_PERSON else _maintained
    statement = render(profile.catalog.name, name, table=quote(*spec.table), **procedure.call_arguments(values, now))
    try:
        return work(spark, profile, spec, name, statement, values, now)
    except (LeaseTakenError, RowsChangedError) as error:
        return Called(name, Status.SKIPPED if isinstance(error, LeaseTakenError) else Status.FAILED, str(error))
    except EngineError as error:
        # What a pick finds in its way does not pass by itself.
        if error.conflict and name not in MOVES:
            return Called(name, Status.SKIPPED, f"main moves: {error}")
        return Called(name, Status.FAILED, of_service(profile, error) or str(error))


def _maintained(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    name: str,
    statement: str,
    values: Mapping[str, Value],
    _now: datetime,
) -> Called:
    with at_work(spark, profile, spec, name) as held:
        branch = str(values.get("branch", "main")) if name == "rewrite_data_files" else "main"
        before = _look(profile, spec, branch)
        if name.startswith("compute_"):
            execute(spark(), statement)
            return _computed(profile, spec, name, before, values)
        with held.comparing():
            execute(spark(), statement)
            return _rewritten(spark, profile, spec, name, before, values, held)


def _by_a_person(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    name: str,
    statement: str,
    values: Mapping[str, Value],
    now: datetime,
) -> Called:
    if name == "register_table":
        profile.require_writable()
        execute(spark(), statement)
        head = load(profile, spec).metadata.current_snapshot_id
        return Called(name, Status.DONE, f"{spec.name} is registered, on snapshot {head}")
    if name in MOVES:
        require_idle(profile, spec)
    profile.require_writable()
    before = health_of(profile, spec)
    execute(spark(), statement)
    if name in MOVES:
        return _moved(profile, spec, name, before, foretell_move(name, before, values, now)[0])
    came = _paths(health_of(profile, spec)) - _paths(before)
    status = Status.DONE if came else Status.NOTHING_TO_DO
    return Called(name, status, f"{len(came)} files were added", {"iceberg/added_files": len(came)})


_WHERE_NARROWS = "where narrows this: which files it leaves out is decided by Iceberg while it plans"


def _look(profile: Profile, spec: TableSpec, branch: str) -> TableHealth:
    return health_of(profile, spec) if branch == "main" else _of_branch(profile, spec, branch)


def _of_branch(profile: Profile, spec: TableSpec, branch: str) -> TableHealth:
    health = read_health(profile, spec, branch=branch)
    assert health is not None, "it was there a moment ago"
    return health


def _foretell_rewrite(profile: Profile, spec: TableSpec, values: Mapping[str, Value]) -> Preview:
    main = health_of(profile, spec)
    branch = str(values.get("branch", "main"))
    if any(ref.name == branch and ref.kind == "tag" for ref in main.refs):
        raise ConfigurationError(f"{spec.name}: '{branch}' is a tag, and only a branch can be rewritten")
    health = _look(profile, spec, branch)
    options = _options(PROCEDURES["rewrite_data_files"], values)
    check_order(profile, spec, _checked(spec, values, options))
    files, notes = _found(profile, spec, health, str(values["where"]) if "where" in values else None)
    due = [group for group in groups(files, health.spec_id, rule(options, health.properties)) if group.due]
    taken = [file for group in due for file in group.files]
    outputs = sum(group.outputs for group in due)
    reason = f"{len(taken)} of {len(files)} files would become {outputs}: {due[0].reason}" if due else "no group is due"
    details = {"iceberg/planned_data_files": len(taken), "iceberg/expected_data_files": outputs}
    removes = sizes(taken) | without_deletes(health, dropped_with(taken, health))
    return Preview("rewrite_data_files", bool(due), reason, removes, details=details, notes=notes)


def _checked(spec: TableSpec, values: Mapping[str, Value], options: Mapping[str, str]) -> Compact:
    """Strategy, order and options as a declaration would have them, under the same rules."""
    order = values.get("sort_order")
    strategy = values.get("strategy", "sort" if order else "binpack")
    try:
        return Compact.model_validate({"strategy": strategy, "sort_order": order, "options": options})
    except ValidationError as error:
        raise explain(error, spec.name) from None


def _foretell_statistics(name: str, profile: Profile, spec: TableSpec, values: Mapping[str, Value]) -> Preview:
    """Whether there is something to count."""
    health = health_of(profile, spec)
    if health.snapshot_id is None:
        return Preview(name, False, "the table has no snapshot")
    wanted = values.get("snapshot_id", health.snapshot_id)
    if wanted not in {one.id for one in health.snapshots}:
        raise ConfigurationError(f"the table has no snapshot {wanted}")
    columns, known = values.get("columns"), health.schema.column_names
    if isinstance(columns, tuple) and (unknown := [str(one) for one in columns if one not in known]):
        raise ConfigurationError(f"the table has no column {', '.join(unknown)}; it has {', '.join(known)}")
    if name == "compute_partition_stats" and not any(health.specs.values()):
        raise ConfigurationError("the table has no partitions")
    return Preview(name, True, "a statistics file would be written; no file of the table changes")


def _foretell_position_deletes(profile: Profile, spec: TableSpec, values: Mapping[str, Value]) -> Preview:
    health, options = health_of(profile, spec), _options(PROCEDURES["rewrite_position_delete_files"], values)
    return foretell_position_deletes(health, health.deletes, options, (_WHERE_NARROWS,) if "where" in values else ())


_FORETOLD: Mapping[str, Callable[[Profile, TableSpec, Mapping[str, Value]], Preview]] = {
    "rewrite_data_files": _foretell_rewrite,
    "rewrite_position_delete_files": _foretell_position_deletes,
    "compute_table_stats": partial(_foretell_statistics, "compute_table_stats"),
    "compute_partition_stats": partial(_foretell_statistics, "compute_partition_stats"),
    "add_files": foretell_add_files,
    "register_table": foretell_register,
}
"""By procedure: what it would do. Those that move a branch have ``MOVES``."""


def _found(
    profile: Profile, spec: TableSpec, health: TableHealth, where: str | None
) -> tuple[Sequence[DataFile], tuple[str, ...]]:
    """The data files that a condition may match; and what is not certain about it."""
    if where is None:
        return health.files, ()
    paths = files_matched(load(profile, spec), health.snapshot_id, where)
    if paths is None:
        return health.files, (_WHERE_NARROWS,)
    return [file for file in health.files if file.path in paths], ()


def _options(procedure: Procedure, values: Mapping[str, Value]) -> dict[str, str]:
    return {one.name: option_text(values[one.name]) for one in procedure.options if one.name in values}


def _moved(profile: Profile, spec: TableSpec, name: str, before: TableHealth, move: Move) -> Called:
    """Whether the branch is where it was to go, and nobody's commit was left behind."""
    table = load(profile, spec)
    head = table.snapshot_by_name(move.branch)
    if head is None:
        return Called(name, Status.FAILED, f"{move.branch} is gone")
    details = {"iceberg/head_after": str(head.snapshot_id)}
    known = {one.id for one in before.snapshots}
    between = [one.snapshot_id for one in table.metadata.snapshot_log if one.snapshot_id not in known]
    left = [one for one in between if one != head.snapshot_id] if move.branch == "main" else []
    if left:
        way_out = f"iceberg-assets call set_current_snapshot {spec.name} snapshot_id={left[-1]}"
        reason = f"others committed {left} meanwhile, and main left that behind; to have it back: {way_out}"
        return Called(name, Status.FAILED, reason, details)
    summary = head.summary
    picked = summary is not None and summary.get("source-snapshot-id") == str(move.source)
    there = picked if move.head is None else head.snapshot_id == move.head
    reason = f"{move.branch} is on snapshot {head.snapshot_id}"
    return Called(name, Status.DONE if there else Status.FAILED, reason, details)


def _computed(profile: Profile, spec: TableSpec, name: str, before: TableHealth, values: Mapping[str, Value]) -> Called:
    """Whether the metadata has a statistics file of the snapshot."""
    metadata = load(profile, spec).metadata
    wanted = values.get("snapshot_id", before.snapshot_id)
    kept = metadata.statistics if name == "compute_table_stats" else metadata.partition_statistics
    found = [one.statistics_path for one in kept if one.snapshot_id == wanted]
    if not found:
        return Called(name, Status.NOTHING_TO_DO, f"no statistics of snapshot {wanted} were written")
    return Called(name, Status.DONE, f"statistics of snapshot {wanted} are in {found[0]}")


def _rewritten(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    name: str,
    before: TableHealth,
    values: Mapping[str, Value],
    held: Lease,
) -> Called:
    """Whether a rewrite took what it was to take and left the rows as they were."""
    branch = str(values.get("branch", "main"))
    where = str(values["where"]) if "where" in values else None
    hashed = spec.maintenance.compact.verify != "rows"
    commits = replacements(spark(), profile, spec, before.snapshot_id, where, branch, hashed=hashed)
    if branch == "main":
        require_rows(profile, spec, held, commits)
    elif broken := next((one for one in commits if not one.rows_preserved), None):
        back = f"to take it back, set {branch} to snapshot {broken.parent_id}"
        return Called(name, Status.FAILED, f"rows changed: {broken.difference}; {back}")
    after = _look(profile, spec, branch)
    gone = _paths(before) - _paths(after)
    came = _paths(after) - _paths(before)
    details = {"iceberg/removed_files": len(gone), "iceberg/added_files": len(came)}
    status = Status.DONE if gone else Status.NOTHING_TO_DO if "where" in values else Status.FAILED
    return Called(name, status, f"{len(gone)} files became {len(came)}, rows as before", details)


def _paths(health: TableHealth) -> set[str]:
    return {one.path for one in health.files} | {one.path for one in health.deletes}

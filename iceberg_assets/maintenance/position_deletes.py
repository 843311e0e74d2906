"""Position deletes: those that delete nothing any more are cleared by ``rewrite_position_delete_files``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iceberg_assets.health import DataFile, DeleteFile, TableHealth, Unit, dangling_deletes, position_delete_groups
from iceberg_assets.maintenance.engine import EngineError, execute
from iceberg_assets.maintenance.maintained import health_of
from iceberg_assets.maintenance.measure import Replacement, replacements
from iceberg_assets.maintenance.preview import Preview
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session, call, quote
from iceberg_assets.spec import TableSpec

_ALL: Mapping[str, str] = {"rewrite-all": "true"}
_NAME = "rewrite_position_delete_files"


@dataclass(frozen=True)
class Cleared:
    """What clearing a unit came to.

    Attributes:
        before, after: position delete files on the unit; ``after`` is read from the metadata, as all of it.
        commits: its replace snapshots, oldest first.
        refusal: why the engine did not do it; None: it did, or nothing was to do.
    """

    before: int = 0
    after: int = 0
    commits: Sequence[Replacement] = ()
    refusal: EngineError | None = None


def foretell_position_deletes(
    health: TableHealth, deletes: Sequence[DeleteFile], options: Mapping[str, str], notes: tuple[str, ...] = ()
) -> Preview:
    """What ``rewrite_position_delete_files`` would do with these delete files."""
    due = [group for group in position_delete_groups(deletes, options, health.properties) if group.due]
    old = [one for one in deletes if one.kind == "position"]
    if not due or (health.format_version >= 3 and not old):
        kinds = ", ".join(f"{number} {kind}" for kind, number in count_kinds(deletes).items() if number)
        return Preview(_NAME, False, f"no group of delete files is due ({kinds or 'there are none'})", notes=notes)
    taken = {file.path: file.size for group in due for file in group.files}
    free = sum(one.path in taken for one in dangling_deletes(deletes, health.files))
    reason = f"{len(taken)} position delete files would be rewritten, {free} of them apply to nothing any more"
    details = {"iceberg/position_deletes": len(taken), "iceberg/dangling_deletes": free}
    return Preview(_NAME, True, reason, taken, details=details, notes=notes)


def of_unit(health: TableHealth, unit: Unit) -> list[DeleteFile]:
    """The delete files whose partition may hold rows of the unit: those that its ``where`` finds."""
    return [one for one in health.deletes if one.within(unit.first, unit.last)]


def to_clear(health: TableHealth, unit: Unit, without: Sequence[DataFile] = ()) -> list[DeleteFile]:
    """The position delete files of the unit that a rewrite takes, where some of them delete nothing any more.

    It takes all of them, also those that still delete something. Deletion vectors go with their data file by
    themselves; only beside position deletes, which a v3 table turns into vectors, they are rewritten too.

    Args:
        without: data files that are about to go.
    """
    gone = {file.path for file in without}
    found = of_unit(health, unit)
    left = dangling_deletes(found, [file for file in health.files if file.path not in gone])
    if not any(one.kind == "position" for one in left):
        return []
    return [one for one in found if one.kind == "position" or (one.kind == "vector" and one.referenced not in gone)]


def clear(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    health: TableHealth,
    unit: Unit,
    where: str | None,
    *,
    hashed: bool = False,
) -> Cleared:
    """Rewrite the unit's position deletes where some of them delete nothing any more."""
    if not to_clear(health, unit):
        return Cleared()
    before = count_kinds(of_unit(health, unit))["position"]
    statement = call(profile.catalog.name, _NAME, table=quote(*spec.table), options=dict(_ALL), where=where)
    refusal = None
    try:
        execute(spark(), statement)
    except EngineError as error:
        refusal = error
    # A refusal may come after a commit.
    commits = replacements(spark(), profile, spec, health.snapshot_id, where, hashed=hashed)
    return Cleared(before, count_kinds(of_unit(health_of(profile, spec, health), unit))["position"], commits, refusal)


def count_kinds(deletes: Sequence[DeleteFile]) -> dict[str, int]:
    """How many of each kind."""
    return {kind: sum(one.kind == kind for one in deletes) for kind in ("position", "equality", "vector")}

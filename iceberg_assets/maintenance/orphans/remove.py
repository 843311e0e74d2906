"""Orphans removed: found by us, refuted by nothing that Iceberg reads, and only then deleted or set aside."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from urllib.parse import urlsplit

from iceberg_assets.errors import IcebergAssetsError
from iceberg_assets.health import TableHealth
from iceberg_assets.health.entries import naming_the_table
from iceberg_assets.maintenance import core
from iceberg_assets.maintenance.engine import EngineError
from iceberg_assets.maintenance.garbage import forbidden, strangers
from iceberg_assets.maintenance.lease import Lease
from iceberg_assets.maintenance.maintained import Maintained, health_of, on_the_table
from iceberg_assets.maintenance.measure import load
from iceberg_assets.maintenance.orphans.aside import Aside, files_aside, set_aside
from iceberg_assets.maintenance.preview import Preview
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import Session
from iceberg_assets.spec import Operation, Outcome, Status, TableSpec
from iceberg_assets.spec.policy import Orphans, Quarantine
from iceberg_assets.spec.units import format_age, format_count
from iceberg_assets.tables.stored import StoredFile, delete, place_of
from iceberg_assets.tables.unreferenced import Found, references, search

_NAME = "remove_orphan_files"
_NAMED = 50
"""So many paths are named in the outcome; the page that shows it has to stay readable."""
_FEW = 20
"""So many files may go whatever their share is: a young table's first failed append may be most of it."""
_USUAL = timedelta(days=3)
"""Iceberg's own ``older_than``."""


def remove_orphans(
    spark: Session,
    profile: Profile,
    spec: TableSpec,
    days: Sequence[date],
    *,
    now: datetime,
    landing_places: Sequence[str] = (),
    profiles: Sequence[Profile] = (),
    force: bool = False,
    gc_handling: bool = False,
) -> Maintained:
    """Remove the files below the table's location that nothing refers to and that are older than the policy says.

    What goes is what our own search names and Iceberg's readers in the JVM do not find in the metadata. We delete it
    ourselves, path by path: the CALL would list and decide anew, and could only delete what nobody has looked at.

    Args:
        landing_places: folders in which raw files of other tables land.
        profiles: of other declared tables, whose catalogs may have tables in this one's location.
        force: also where more than ``max_share`` of the files would go.
        gc_handling: also where the table's ``gc.enabled`` is false: it is switched on meanwhile.
    """
    policy = spec.maintenance.orphans

    def left_alone(before: TableHealth) -> Outcome | None:
        if not gc_handling and (reason := forbidden(before)):
            return _outcome(Status.SKIPPED, reason)
        return _not_alone(profile, spec, before, landing_places, profiles)

    def operate(_before: TableHealth, _held: Lease) -> Outcome:
        cut_off = now - policy.older_than
        found = _found(profile, spec, cut_off)
        if refusal := _refusal(found, policy, force):
            return _outcome(Status.FAILED, refusal, found.orphans)
        purged = _purge(profile, spec, policy, now)
        if not found.orphans:
            said = f"no orphan older than {cut_off:%Y-%m-%d %H:%M:%S %Z}{_warning(policy)}"
            if not purged:
                return _outcome(Status.NOTHING_TO_DO, said)
            return _purged(replace(_outcome(Status.DONE, said), productive=True), purged)
        try:
            alive = _alive(spark, profile, spec)
        except EngineError as error:
            return _purged(_outcome(Status.FAILED, f"no orphan was removed: {error}", found.orphans), purged)
        both = [file for file in found.orphans if not alive & _spellings(file.path)]
        left = _take(profile, spec, both, now)
        return _purged(_told(policy, found, both, left), purged)

    removal = Operation.REMOVE_ORPHANS
    return on_the_table(spark, profile, spec, days, removal, operate, left_alone=left_alone, gc_handling=gc_handling)


def foretell_orphans(
    profile: Profile,
    spec: TableSpec,
    *,
    now: datetime,
    landing_places: Sequence[str] = (),
    profiles: Sequence[Profile] = (),
    force: bool = False,
) -> Preview:
    """What :func:`remove_orphans` would do. Needs no Spark: the files are those of our own search."""
    policy = spec.maintenance.orphans
    health = health_of(profile, spec)
    if reason := forbidden(health):
        return Preview(_NAME, False, reason)
    if against := _not_alone(profile, spec, health, landing_places, profiles):
        return Preview(_NAME, False, against.reason)
    cut_off = now - policy.older_than
    found = _found(profile, spec, cut_off)
    over = _over(profile, spec, policy, now)
    refusal = _refusal(found, policy, force)
    what = "would be set aside" if policy.quarantine else "would be deleted"
    orphans, share = len(found.orphans), f"of {format_count(found.listed, 'file')}"
    reason = f"{format_count(orphans, 'orphan')} {share} older than {cut_off:%Y-%m-%d %H:%M:%S %Z} {what}"
    notes = [refusal or "", _warning(policy).lstrip("; ")]
    notes += [f"{format_count(len(over), 'file')} set aside would be deleted: their time is over"] if over else []
    return Preview(
        _NAME,
        bool(found.orphans or over) and not refusal,
        reason,
        {file.path: file.size for file in (*found.orphans, *(one.file for one in over))},
        details={"iceberg/orphans_found": orphans, "iceberg/files_listed": found.listed},
        notes=tuple(note for note in notes if note),
        modified={file.path: file.modified_at for file in found.orphans},
    )


def _found(profile: Profile, spec: TableSpec, cut_off: datetime) -> Found:
    with naming_the_table(spec.name):
        return search(lambda: load(profile, spec), spec.maintenance.orphans, cut_off)


def _not_alone(
    profile: Profile,
    spec: TableSpec,
    before: TableHealth,
    landing_places: Sequence[str],
    profiles: Sequence[Profile],
) -> Outcome | None:
    """The outcome where files below the table's location may be somebody else's."""
    raw = [*landing_places, *([spec.source.root] if spec.source else [])]
    try:
        others = strangers([profile, *profiles], before, raw)
    except Exception as error:  # noqa: BLE001 (whatever keeps us from knowing whose files these are)
        words = f"whose files lie in {before.location} cannot be told: {type(error).__name__}: {error}"
        return replace(_outcome(Status.SKIPPED, words), retryable=True)
    if others:
        return _outcome(
            Status.SKIPPED,
            f"the location {before.location} is not the table's alone: {'; '.join(others)}. What lives there would "
            "be taken for orphans of the table: move it to a place of its own",
        )
    return None


def _refusal(found: Found, policy: Orphans, force: bool) -> str | None:
    """Why none of what was found may go."""
    if found.conflicts and policy.prefix_mismatch_mode == "ERROR":
        (listed, named), path = next(iter(sorted(found.conflicts.items())))
        return (
            f"nothing was removed: {path} is listed below {listed}, and the metadata names that very path below "
            f"{named}. If the two are the same place, say so in maintenance.orphans.equal_schemes or equal_authorities "
            f"({_mapping(listed, named)}); if not, prefix_mismatch_mode: IGNORE leaves such files alone"
        )
    share = len(found.orphans) / max(found.listed, 1)
    if len(found.orphans) > _FEW and share > policy.max_share and not force:
        return (
            f"nothing was removed: {len(found.orphans)} of {found.listed} files ({share:.0%}) would go, and "
            f"maintenance.orphans.max_share is {policy.max_share:.0%}. See what they are (a dry run lists all of "
            "them); if they are garbage, run it once with force, or set quarantine to be able to put them back"
        )
    return None


def _mapping(listed: str, named: str) -> str:
    """The entry that makes two prefixes one."""
    (scheme, _, authority), (other, _, of_other) = listed.partition("://"), named.partition("://")
    if scheme != other:
        return f'equal_schemes: {{"{other}": "{scheme}"}}'
    return f'equal_authorities: {{"{of_other}": "{authority}"}}'


def _warning(policy: Orphans) -> str:
    if policy.older_than >= _USUAL:
        return ""
    age = format_age(policy.older_than)
    return f"; older_than {age} is less than Iceberg's 3d: files of a write that takes {age} would be taken"


def _alive(spark: Session, profile: Profile, spec: TableSpec) -> set[str]:
    """What Iceberg itself reads in the table's metadata; of each path its spellings."""
    session = spark()
    read = core.reachable if core.at_hand() else core.reachable_by_sql
    return {one for path in read(session, profile, spec) for one in _spellings(path)}


def _spellings(path: str) -> set[str]:
    """A path within its store by two readings, so that neither's mistake makes a live file an orphan."""
    return {place_of(path).path, urlsplit(path).path}


def _take(profile: Profile, spec: TableSpec, files: Sequence[StoredFile], now: datetime) -> dict[str, str]:
    """Delete the files, or set them aside; those that could not be, each with the reason."""
    table, left = load(profile, spec), dict[str, str]()
    for file in files:
        try:
            if spec.maintenance.orphans.quarantine:
                set_aside(table, file.path, now)
            else:
                delete(table, file.path)
        except (OSError, IcebergAssetsError) as error:
            left[file.path] = str(error)
    return left


def _over(profile: Profile, spec: TableSpec, policy: Orphans, now: datetime) -> list[Aside]:
    """The files set aside whose time is over, and that nobody has made a table's files meanwhile."""
    table, lasts = load(profile, spec), (policy.quarantine or Quarantine()).lasts
    over = {place_of(one.file.path).path: one for one in files_aside(table) if one.since + lasts <= now}
    for path in references(table) if over else ():
        over.pop(place_of(path).path, None)
    return list(over.values())


def _purge(profile: Profile, spec: TableSpec, policy: Orphans, now: datetime) -> int:
    """Delete the files set aside whose time is over; how many."""
    table, over = load(profile, spec), _over(profile, spec, policy, now)
    for one in over:
        delete(table, one.file.path)
    return len(over)


def _purged(outcome: Outcome, purged: int) -> Outcome:
    if not purged:
        return outcome
    reason = f"{outcome.reason}; {format_count(purged, 'file')} set aside before deleted"
    return replace(outcome, reason=reason, details={**outcome.details, "iceberg/purged_orphans": purged})


def _told(policy: Orphans, found: Found, both: Sequence[StoredFile], left: dict[str, str]) -> Outcome:
    gone = len(both) - len(left)
    status = Status.DONE if not left and both else Status.PARTIAL if gone else Status.FAILED
    reason = f"{gone} of {len(found.orphans)} orphans {'set aside' if policy.quarantine else 'removed'}"
    if doubted := len(found.orphans) - len(both):
        reason += f"; {doubted} left, since Iceberg finds them in the metadata"
    if left:
        reason += f"; left: {dict(list(left.items())[:_NAMED])}"
    return replace(
        _outcome(status, reason + _warning(policy), both),
        productive=gone > 0,
        details={
            "iceberg/removed_orphans": gone,
            "iceberg/removed_orphan_bytes": sum(file.size for file in both if file.path not in left),
            **_list(both),
        },
    )


def _list(files: Sequence[StoredFile]) -> dict[str, str]:
    lines = [f"{file.path} ({file.size} bytes, {file.modified_at:%Y-%m-%d %H:%M})" for file in files[:_NAMED]]
    more = [f"and {len(files) - _NAMED} more: a dry run lists all"] if len(files) > _NAMED else []
    return {"iceberg/orphans": "\n".join([*lines, *more])} if files else {}


def _outcome(status: Status, reason: str, orphans: Sequence[StoredFile] = ()) -> Outcome:
    return Outcome(Operation.REMOVE_ORPHANS, status, reason, details=_list(orphans))

"""Which tables of a catalog have work: one walk through PyIceberg, one table's health at a time, no JVM."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pyiceberg.exceptions import NoSuchIcebergTableError, NoSuchTableError
from pyiceberg.table import Table

from iceberg_assets.errors import ConfigurationError, IcebergAssetsError
from iceberg_assets.health import ManifestCache, Request, open_catalog, plan, read_health
from iceberg_assets.job.overrides import Name
from iceberg_assets.job.selection import Selection, select, takes_namespace
from iceberg_assets.job.settings import JobSettings
from iceberg_assets.job.task import Task, task_of
from iceberg_assets.maintenance import GC_BEFORE
from iceberg_assets.maintenance.elsewhere import maintained_elsewhere
from iceberg_assets.maintenance.garbage import forbidden, remember_places
from iceberg_assets.profiles import Listed, Profile, list_catalog
from iceberg_assets.spec import Attempt, Operation
from iceberg_assets.spec.table import format_identifier

_LONGEST_REASON = 500
_DELETING = (Operation.EXPIRE_SNAPSHOTS, Operation.REMOVE_ORPHANS)


Verdict = Literal["due", "planned", "waiting", "nothing_to_do", "skipped", "failed"]


@dataclass(frozen=True)
class Surveyed:
    """What one table needs.

    Attributes:
        verdict: ``due``: it needs something now; ``planned``: it does, and gets nothing, since the profile is a shadow;
            ``waiting``: it does, and something is against that; ``skipped``: not an Iceberg table, gone, or maintained
            by somebody else; ``failed``: it cannot be told.
        reason: why, with numbers.
        task: None where it was skipped or failed.
        requests: the parts of the plan, each with its operations and dates.
        snapshot_id: main's head; None: there is none, or it was not looked at.
    """

    table: Name
    verdict: Verdict
    reason: str
    task: Task | None = None
    requests: tuple[Request, ...] = ()
    snapshot_id: int | None = None

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What is due, in the order in which it runs."""
        asked = {operation for request in self.requests for operation in request.operations}
        return tuple(operation for operation in Operation if operation in asked)

    @property
    def name(self) -> str:
        """``namespace.table`` for people."""
        return format_identifier(self.table)


def require_catalog(profile: Profile, settings: JobSettings) -> None:
    """Refuse a file that is about another catalog than the profile's.

    Raises:
        ConfigurationError: it is.
    """
    if settings.catalog != profile.catalog.name:
        raise ConfigurationError(
            f"catalog is '{settings.catalog}', and profile '{profile.name}' has '{profile.catalog.name}': choose the "
            "profile of that catalog with --profile or PROFILE"
        )


def find(profile: Profile, settings: JobSettings) -> Selection:
    """The tables and views of the profile's catalog that the file is about.

    Raises:
        ConfigurationError: the profile's catalog is another one than the file's.
    """
    require_catalog(profile, settings)
    return select(settings, list_catalog(open_catalog(profile), lambda one: takes_namespace(settings, one)))


def survey(
    profile: Profile,
    settings: JobSettings,
    found: Listed,
    *,
    history: Sequence[Attempt],
    now: datetime,
    cache: ManifestCache | None = None,
) -> Surveyed:
    """What one table needs. Whatever is wrong with it is its verdict, and stands in no other table's way.

    Args:
        found: what the catalog lists.
        history: earlier attempts on it.
        now: with a zone.
        cache: spares reading a manifest twice.
    """
    name = found.name
    if found.is_view:
        return Surveyed(name, "skipped", "a view")
    try:
        table = profile.pyiceberg().load_table(name)
        # The search for orphans asks it of the whole catalog, and here each table is at hand.
        remember_places(profile, table)
        return _planned(profile, table, task_of(settings, name, table.metadata), settings, history, now, cache)
    except NoSuchIcebergTableError:
        return Surveyed(name, "skipped", "not an Iceberg table")
    except NoSuchTableError:
        return Surveyed(name, "skipped", "dropped since it was listed")
    except IcebergAssetsError as error:
        return Surveyed(name, "failed", _in_a_line(str(error)))
    except Exception as error:  # noqa: BLE001 (a table may be broken in any way, and the others have their turn)
        return Surveyed(name, "failed", _in_a_line(f"{type(error).__name__}: {error}"))


def _in_a_line(said: str) -> str:
    """A reason is a line of the list of tables, however an engine breaks its own."""
    return " ".join(said.split())[:_LONGEST_REASON]


def _planned(
    profile: Profile,
    table: Table,
    task: Task,
    settings: JobSettings,
    history: Sequence[Attempt],
    now: datetime,
    cache: ManifestCache | None,
) -> Surveyed:
    health = read_health(profile, task.spec, cache=cache, loaded=table)
    if health is None:
        raise NoSuchTableError
    if reason := maintained_elsewhere(table, task.spec.properties):
        return Surveyed(task.spec.table, "skipped", reason)
    barred = None if settings.gc_handling.enabled else forbidden(health)
    operations = [one for one in task.operations if not (barred and one in _DELETING)]
    planned = plan(task.spec, health, history, (), now, operations=operations, at_once=True)
    # What is held back has dates; what is not due has none.
    held = tuple(one for one in planned.waiting if one.dates or one.stuck)
    told = planned.requests or held or planned.waiting
    reason = "; ".join(one.reason for one in told) or "every operation is switched off"
    if barred:
        reason += f"; neither expiry nor orphans: {barred}, and gc_handling is off"
    switched = GC_BEFORE in health.properties
    if switched:
        reason = f"gc.enabled was switched on by a run that was killed, and is put back; {reason}"
    verdict: Verdict = "due" if planned.requests or switched else "waiting" if held else "nothing_to_do"
    return Surveyed(task.spec.table, verdict, reason, task, planned.requests, health.snapshot_id)

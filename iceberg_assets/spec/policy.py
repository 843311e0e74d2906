"""How one table is to be maintained and watched."""

import difflib
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from iceberg_assets.spec.model import SpecModel
from iceberg_assets.spec.options import REWRITE_DATA_FILES
from iceberg_assets.spec.units import Age

ORPHAN_FLOOR = timedelta(hours=24)
"""Iceberg's remove_orphan_files refuses a younger cut-off: files of a running write look like orphans."""


def _rewrite_options(value: object) -> dict[str, str]:
    """Each option of ``rewrite_data_files`` by its own rule, as Iceberg's map of strings."""
    if not isinstance(value, Mapping):
        raise ValueError("expected a map of rewrite_data_files options")
    parsed: dict[str, str] = {}
    for name, given in value.items():
        option = REWRITE_DATA_FILES.get(name)
        if option is None:
            nearest = difflib.get_close_matches(str(name), REWRITE_DATA_FILES, n=1)
            hint = f"did you mean '{nearest[0]}'?" if nearest else f"known are {', '.join(REWRITE_DATA_FILES)}"
            raise ValueError(f"unknown option '{name}'; {hint}")
        parsed[name] = option.parse(given)
    return parsed


class Compact(SpecModel):
    """``rewrite_data_files`` on quiet dates, one commit a date."""

    strategy: Literal["binpack"] = "binpack"
    options: Annotated[Mapping[str, str], BeforeValidator(_rewrite_options)] = Field(default_factory=dict)
    after_append: Literal[False] = False
    verify: Literal["rows"] = "rows"


class Manifests(SpecModel):
    """``rewrite_manifests``: due from ``min_count`` manifests on, where a rewrite would at least halve them."""

    min_count: int = Field(default=20, ge=2)


class Expire(SpecModel):
    """``expire_snapshots``.

    Attributes:
        older_than: expire snapshots older than this; unset: the table's ``history.expire.max-snapshot-age-ms``,
            else 5 d.
        retain_last: keep at least so many; unset: the table's ``history.expire.min-snapshots-to-keep``, else 1.
        minimum_age: nothing younger goes, so that a running rewrite's starting snapshot is never expired.
    """

    older_than: Age | None = None
    retain_last: int | None = Field(default=None, ge=1)
    minimum_age: Age = timedelta(hours=24)


class Orphans(SpecModel):
    """``remove_orphan_files``: files older than ``older_than``, looked for once in ``every``."""

    older_than: Age = timedelta(days=3)
    every: Age = timedelta(days=7)

    @field_validator("older_than")
    @classmethod
    def _keep_the_floor(cls, value: timedelta) -> timedelta:
        if value < ORPHAN_FLOOR:
            raise ValueError("expected at least 24h: files of a write in progress are not in any metadata yet")
        return value


class MaintenancePolicy(SpecModel):
    """What is done to a table, and when.

    Attributes:
        quiet_for: a date is left alone until no commit has added data to it for this long.
    """

    quiet_for: Age = timedelta(minutes=15)
    compact: Compact = Compact()
    manifests: Manifests = Manifests()
    expire: Expire = Expire()
    orphans: Orphans = Orphans()


class Check(SpecModel):
    """A limit that the table's health is held to."""

    max: int = Field(ge=0)
    severity: Literal["warn", "error"] = "warn"


class Freshness(SpecModel):
    """How old a raw file may grow that is landed and not in the table."""

    max: Age = timedelta(days=1)
    severity: Literal["warn", "error"] = "warn"


class LedgerComplete(SpecModel):
    """Whether all that the ledger says is in main still is; there is no limit but none."""

    severity: Literal["warn", "error"] = "error"


class Checks(SpecModel):
    """The asset checks of one table; the last two only where it has a source.

    Attributes:
        small_files: data files that compaction would remove, less those it would write.
        snapshots: snapshots that the table's metadata lists.
        freshness: age of the oldest raw file that is landed and not in the ledger.
        ledger_complete: batches in main that the ledger says are; claims in doubt.
    """

    small_files: Check = Check(max=0)
    snapshots: Check = Check(max=1000)
    freshness: Freshness = Freshness()
    ledger_complete: LedgerComplete = LedgerComplete()

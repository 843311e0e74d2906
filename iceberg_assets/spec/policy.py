"""How one table is to be maintained and watched."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema, field_validator, model_validator

from iceberg_assets.spec.model import SpecModel
from iceberg_assets.spec.procedure import argument_schema, option_text
from iceberg_assets.spec.procedures import PROCEDURES
from iceberg_assets.spec.sort_order import SortOrder, parse_sort_order
from iceberg_assets.spec.units import Age, Number, Whole

ORPHAN_FLOOR = timedelta(hours=24)
"""Iceberg's remove_orphan_files refuses a younger cut-off: files of a running write look like orphans."""


def _rewrite_options(value: object) -> dict[str, str]:
    """Each option of ``rewrite_data_files`` by its own rule, as Iceberg's map of strings."""
    if not isinstance(value, Mapping):
        raise ValueError("expected a map of rewrite_data_files options")
    if of_its_own := [str(name) for name in value if name in _OF_ITS_OWN]:
        raise ValueError(f"{', '.join(of_its_own)}: not an option, {_OF_ITS_OWN[of_its_own[0]]}")
    parsed = REWRITE.parse({str(name): given for name, given in value.items()}, complete=False)
    return {name: option_text(given) for name, given in parsed.items()}


REWRITE = PROCEDURES["rewrite_data_files"]
_OF_ITS_OWN = {
    "strategy": "it stands beside options",
    "sort_order": "it stands beside options",
    "where": "a date is rewritten as a whole; for a part of the table: iceberg-assets call rewrite_data_files",
    "branch": "main is what is maintained; for a branch: iceberg-assets call rewrite_data_files",
}


RewriteOptions = Annotated[
    Mapping[str, str],
    BeforeValidator(_rewrite_options),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {one.name: argument_schema(one) for one in REWRITE.options if not one.refused},
        }
    ),
]
SortOrderText = Annotated[
    str | None, BeforeValidator(lambda value: None if value is None else parse_sort_order(value).text)
]


class Compact(SpecModel):
    """``rewrite_data_files`` on quiet dates, one commit a date.

    Attributes:
        strategy: ``sort`` sorts the rows of the files that it takes, by ``sort_order`` or else by the table's own
            order. Which files these are is the same rule for both; with ``rewrite-all`` every file of the date.
        options: those of ``rewrite_data_files``, by Iceberg's names.
        after_append: compact the dates of an append in its own run, right after it, quiet or not.
        verify: what is compared of a rewrite's snapshot and its parent: the number of ``rows``, or a ``hash`` of all
            that they hold; ``branch`` hashes as well, on a branch, and main moves there only if they agree.
        respec: where files of older partition specs would become more than they are: leave them, or rewrite them.
    """

    strategy: Literal["binpack", "sort"] = "binpack"
    sort_order: SortOrderText = None
    options: RewriteOptions = Field(default_factory=dict)
    after_append: bool = False
    respec: Literal["refuse", "allow"] = "refuse"
    verify: Literal["rows", "hash", "branch"] = "rows"

    @model_validator(mode="after")
    def _options_of_the_strategy(self) -> "Compact":
        if self.sort_order is not None and self.strategy != "sort":
            raise ValueError("sort_order needs strategy: sort")
        of = {"", self.strategy, *(["z-order"] if self.order and self.order.kind == "zorder" else [])}
        for one in REWRITE.options:
            if one.name in self.options and one.only not in of:
                wanted = "strategy: sort" if one.only == "sort" else "sort_order: zorder(…)"
                raise ValueError(f"options: {one.name} needs {wanted}")
        return self

    @property
    def order(self) -> SortOrder | None:
        """What is sorted by; None: as the table's own order says, or not at all."""
        return None if self.sort_order is None else parse_sort_order(self.sort_order)


class Manifests(SpecModel):
    """``rewrite_manifests``: due from ``min_count`` manifests on, where a rewrite would at least halve them."""

    min_count: Whole = Field(default=20, ge=2)


class Protect(SpecModel):
    """Readers that are behind: what they have still to read is kept.

    Attributes:
        tags: patterns of the names of tags and branches at which readers stand, such as ``reader_*``. The snapshot of
            each that matches stays, and every later one.
        lag: how far behind a reader may be: nothing younger than this goes.
    """

    tags: tuple[str, ...] = ()
    lag: Age = timedelta(0)


class Expire(SpecModel):
    """``expire_snapshots``.

    Attributes:
        older_than: expire snapshots older than this; unset: the table's ``history.expire.max-snapshot-age-ms``,
            else 5 d.
        retain_last: keep at least so many; unset: the table's ``history.expire.min-snapshots-to-keep``, else 1.
        minimum_age: nothing younger goes, so that a running rewrite's starting snapshot is never expired.
        protect: readers whose snapshots are kept.
    """

    older_than: Age | None = None
    retain_last: Whole | None = Field(default=None, ge=1)
    minimum_age: Age = timedelta(hours=24)
    protect: Protect = Protect()


class Quarantine(SpecModel):
    """Orphans are moved out of the way first, and deleted when ``for`` has passed."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True)

    lasts: Age = Field(default=timedelta(days=7), alias="for")


class Orphans(SpecModel):
    """``remove_orphan_files``: files older than ``older_than``, looked for once in ``every``.

    Attributes:
        max_share: where more than this share of the files below the table's location would go, none goes: it is
            rather a mistake than garbage. The first 20 files always may.
        quarantine: move orphans out of the way first. Unset: they are deleted.
        prefix_mismatch_mode: what becomes of files whose path is that of a live file, under another scheme or
            authority. ``ERROR`` removes nothing and says so; ``IGNORE`` leaves those files alone.
        equal_schemes, equal_authorities: those that mean the same, such as ``{"s3a,s3n": "s3"}``.
    """

    older_than: Age = timedelta(days=3)
    every: Age = timedelta(days=7)
    max_share: Number = Field(default=0.1, gt=0, le=1)
    quarantine: Quarantine | None = None
    prefix_mismatch_mode: Literal["ERROR", "IGNORE"] = "ERROR"
    equal_schemes: Mapping[str, str] = Field(default_factory=dict)
    equal_authorities: Mapping[str, str] = Field(default_factory=dict)

    @field_validator("older_than")
    @classmethod
    def _keep_the_floor(cls, value: timedelta) -> timedelta:
        if value < timedelta(0):
            raise ValueError("expected an age, or a moment in the past: a cut-off in the future takes live files")
        if value < ORPHAN_FLOOR:
            raise ValueError("expected at least 24h: files of a write in progress are not in any metadata yet")
        return value

    @field_validator("prefix_mismatch_mode", mode="before")
    @classmethod
    def _never_delete_what_may_live(cls, value: object) -> object:
        if str(value).upper() == "DELETE":
            raise ValueError(
                "DELETE deletes live files where a table's paths have two spellings; say which are the same with "
                "equal_schemes or equal_authorities"
            )
        return str(value).upper()


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


Severity = Literal["warn", "error"]


class Count(SpecModel):
    """The most that is fine of something counted."""

    max: Whole = Field(ge=0)
    severity: Severity = "warn"


class Ratio(SpecModel):
    """The most that is fine of a ratio; 0.3 are three in ten."""

    max: Number = Field(ge=0)
    severity: Severity = "warn"


class Span(SpecModel):
    """The longest that is fine."""

    max: Age
    severity: Severity = "warn"


class Verdict(SpecModel):
    """Right or wrong: there is no limit but none."""

    severity: Severity = "warn"


class Checks(SpecModel):
    """The asset checks of one table, by name: what is measured is in ``docs/checks.md``.

    ``freshness`` and ``ledger_complete`` are those of tables with a source. Of a check that is named here, what is left
    out stays as it is here.
    """

    small_files: Count = Count(max=0)
    files_per_date: Count = Count(max=1000)
    delete_ratio: Ratio = Ratio(max=0.3)
    delete_files: Count = Count(max=100)
    snapshots: Count = Count(max=1000)
    snapshots_overdue: Span = Span(max=timedelta(days=14))
    metadata_files: Count = Count(max=100)
    schema_as_declared: Verdict = Verdict(severity="error")
    freshness: Span = Span(max=timedelta(days=1))
    ledger_complete: Verdict = Verdict(severity="error")
    orphans: Verdict = Verdict()
    orphans_overdue: Span = Span(max=timedelta(days=7))
    unproductive_maintenance: Verdict = Verdict(severity="error")
    pool_limit: Verdict = Verdict()

    @model_validator(mode="before")
    @classmethod
    def _keep_what_is_left_out(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        defaults = {name: field.default.model_dump() for name, field in cls.model_fields.items()}
        return {
            name: defaults[name] | given if name in defaults and isinstance(given, Mapping) else given
            for name, given in data.items()
        }

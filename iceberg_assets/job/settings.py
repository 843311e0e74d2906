"""The whole-catalog job's file as frozen types: which tables, and what is done to them.

The keys are those of IOMETE's data-compaction job, so that a file written for it is read as it stands. What its keys
leave open has the meaning that it has for every other table here.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from iceberg_assets.job.overrides import Name, by_table, one_spelling, parse_name
from iceberg_assets.spec.model import SpecModel
from iceberg_assets.spec.policy import (
    ORPHAN_FLOOR,
    Compact,
    Expire,
    MaintenancePolicy,
    Orphans,
    Quarantine,
    RewriteOptions,
    SortOrderText,
)
from iceberg_assets.spec.table import format_identifier
from iceberg_assets.spec.units import Age, Number, Whole, format_age

Names = tuple[Annotated[Name, BeforeValidator(parse_name)], ...]
# A hundred years: more is a slip of the hand, and no date can be counted back from it.
Days = Annotated[Number, Field(ge=0, le=36_500)]


class ExpireSnapshots(SpecModel):
    """``expire_snapshot``: what is left out is the table's ``history.expire.*``, else 5 days and 1 snapshot.

    However short ``older_than_days`` is, nothing younger than a day goes: a running rewrite needs its first snapshot.
    """

    enabled: bool = True
    retain_last: Whole | None = Field(default=None, ge=1)
    older_than_days: Days | None = None


def _flat(value: object) -> object:
    """HOCON reads an unquoted ``partial-progress.enabled`` as two keys, one inside the other."""
    if not isinstance(value, Mapping):
        return value
    return dict(_leaves(value, ()))


def _leaves(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, Mapping):
            yield from _leaves(item, (*path, key))
        else:
            yield ".".join((*path, key)), item


class RewriteDataFiles(SpecModel):
    """``rewrite_data_files``.

    Attributes:
        sort_order: counts where ``strategy`` is ``sort``.
        where: only such rows are rewritten, as Spark SQL. It says which rows are at rest, so that ``quiet_for`` has
            nothing to say.
        options: of the procedure. Those of an override stand in the place of all that the file has for every table.
        quiet_for: no data was added for this long: to the date, or to the table where no partition tells a date.
    """

    enabled: bool = True
    strategy: Literal["binpack", "sort"] = "binpack"
    sort_order: SortOrderText = None
    where: Annotated[str, Field(pattern=r"\S")] | None = None
    options: Annotated[RewriteOptions, BeforeValidator(_flat)] = Field(default_factory=dict)
    quiet_for: Age = timedelta(minutes=15)

    @property
    def compact(self) -> Compact:
        """As the policy of a table.

        Raises:
            ValidationError: an option is none of the strategy's.
        """
        order = self.sort_order if self.strategy == "sort" else None
        return Compact(strategy=self.strategy, sort_order=order, options=self.options)


class RewriteManifests(SpecModel):
    """``rewrite_manifests``; ``use_caching`` is passed on where it is given, false as well as true."""

    enabled: bool = True
    use_caching: bool | None = None


class RemoveOrphanFiles(SpecModel):
    """``remove_orphan_files``; of ``max_files_per_record`` paths at most one record of the history is made."""

    enabled: bool = True
    older_than_days: Days = 3
    max_files_per_record: Whole = Field(default=100, ge=1)

    @field_validator("older_than_days")
    @classmethod
    def _keep_the_floor(cls, value: float) -> float:
        if timedelta(days=value) < ORPHAN_FLOOR:
            raise ValueError(
                f"expected at least 1, got {value:g}: files of a write in progress are not in any metadata yet"
            )
        return value


class GcHandling(SpecModel):
    """Whether ``gc.enabled=false`` of a table is switched off for the time of the run."""

    enabled: bool = False


class Lock(SpecModel):
    """IOMETE's lock in a table property. Each table is maintained under a lease in any case."""

    enabled: bool = False
    ttl_seconds: Whole = Field(default=172_800, ge=1)


class OwnSettings(SpecModel):
    """``iceberg_assets``: what the other job's file has no key for.

    Attributes:
        orphans: what becomes of the orphans of this catalog: left where they are, moved out of the way and deleted
            when a week has passed, or deleted at once.
        max_share: where more than this share of a table's files would go as orphans, none goes.
    """

    # YAML reads off as false.
    orphans: Annotated[
        Literal["off", "quarantine", "remove"], BeforeValidator(lambda value: "off" if value is False else value)
    ] = "quarantine"
    max_share: Number = Field(default=Orphans().max_share, gt=0, le=1)


class Operations(SpecModel):
    """The four operations, each with what the file says of it."""

    expire_snapshot: ExpireSnapshots = ExpireSnapshots()
    rewrite_data_files: RewriteDataFiles = RewriteDataFiles()
    rewrite_manifests: RewriteManifests = RewriteManifests()
    remove_orphan_files: RemoveOrphanFiles = RemoveOrphanFiles()

    @model_validator(mode="before")
    @classmethod
    def _one_spelling(cls, data: Any) -> Any:
        return one_spelling(data)

    def policy(self) -> MaintenancePolicy:
        """The same as the policy of a declared table.

        Raises:
            ValidationError: parts of it do not fit each other.
        """
        expire, rewrite = self.expire_snapshot, self.rewrite_data_files
        age = expire.older_than_days
        return MaintenancePolicy(
            quiet_for=rewrite.quiet_for if rewrite.where is None else timedelta(0),
            compact=rewrite.compact,
            expire=Expire(older_than=None if age is None else timedelta(days=age), retain_last=expire.retain_last),
            orphans=Orphans(older_than=timedelta(days=self.remove_orphan_files.older_than_days)),
        )


_OVERRIDABLE = tuple(Operations.model_fields)


class JobSettings(Operations):
    """The file.

    Attributes:
        catalog: as Spark knows it.
        databases: namespaces, each by itself and without those below it; none: all.
        table_include: ``table`` in any database, or ``database.table``; where there is one, no other table is touched.
        table_exclude: likewise; of no effect where there is a ``table_include``.
        stats_batch_size: outcomes written together.
        parallelism: tables maintained at the same time.
        table_overrides: by table, what differs; ``database.table`` goes before ``table``.
    """

    catalog: str = Field(min_length=1)
    databases: Names = ()
    table_include: Names = ()
    table_exclude: Names = ()
    stats_batch_size: Whole = Field(default=100, ge=1)
    parallelism: Whole = Field(default=4, ge=1)
    gc_handling: GcHandling = GcHandling()
    lock: Lock = Lock()
    iceberg_assets: OwnSettings = OwnSettings()
    table_overrides: Annotated[
        Mapping[Annotated[Name, BeforeValidator(parse_name)], Operations],
        BeforeValidator(lambda value: by_table(value, _OVERRIDABLE)),
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _what_comes_together_fits(self) -> Self:
        merged = [(f"table_overrides.{_text(name)}.", self.of(name)) for name in self.table_overrides]
        for path, operations in [("", self.of(())), *merged]:
            try:
                operations.policy()
            except ValidationError as error:
                reason = error.errors()[0]["msg"].removeprefix("Value error, ")
                raise ValueError(f"{path}rewrite_data_files.{reason}") from None
        return self

    def of(self, table: Name) -> Operations:
        """What is done to a table: that of the file, with what its overrides say in its place, be it false or zero."""
        said: Operations = self
        for name in (table[-1:], table):
            if name in self.table_overrides:
                said = _over(said, self.table_overrides[name])
        return Operations(**{name: getattr(said, name) for name in _OVERRIDABLE})

    def policy_of(self, asked: Operations) -> MaintenancePolicy:
        """The policy of a table of which so much is asked, with what the catalog says of its orphans.

        Raises:
            ValidationError: parts of it do not fit each other.
        """
        policy, ours = asked.policy(), self.iceberg_assets
        aside = Quarantine() if ours.orphans == "quarantine" else None
        orphans = policy.orphans.model_copy(update={"quarantine": aside, "max_share": ours.max_share})
        return policy.model_copy(update={"orphans": orphans})

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person who wrote the file should know of how it is read."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        if self.table_include and self.table_exclude:
            yield "table_exclude has no effect: table_include says which tables there are"
        if self.lock.enabled:
            yield "lock has no effect: each table is maintained under a lease, which its holder prolongs"
        if "orphans" not in self.iceberg_assets.model_fields_set:
            yield (
                f"iceberg_assets.orphans is not set: orphans are moved to a folder beside the data, and deleted after "
                f"{format_age(Quarantine().lasts)}; remove deletes them at once, off leaves them alone"
            )
        for path, one in self._blocks():
            rewrite, orphans = one.rewrite_data_files, one.remove_orphan_files
            if rewrite.sort_order is not None and self._strategy(path, one) != "sort":
                yield f"{path}rewrite_data_files.sort_order has no effect: strategy is not sort"
            if 1 <= orphans.older_than_days < 3:
                yield (
                    f"{path}remove_orphan_files.older_than_days is {orphans.older_than_days:g}: a write that takes "
                    "longer than that loses its files"
                )

    def _blocks(self) -> Iterator[tuple[str, Operations]]:
        """The file's own operations, and those of each override, with the key that leads to them."""
        yield "", self
        for name, one in self.table_overrides.items():
            yield f"table_overrides.{_text(name)}.", one

    def _strategy(self, path: str, one: Operations) -> str:
        said = "strategy" in one.rewrite_data_files.model_fields_set
        return (one if said or not path else self).rewrite_data_files.strategy


_Model = TypeVar("_Model", bound=SpecModel)


def _over(below: Operations, above: Operations) -> Operations:
    """The operations below, with every key that was written above in its place."""
    changed = {name: _replaced(getattr(below, name), getattr(above, name)) for name in above.model_fields_set}
    return below.model_copy(update=changed)


def _replaced(below: _Model, above: _Model) -> _Model:
    return below.model_copy(update={name: getattr(above, name) for name in above.model_fields_set})


def _text(name: Name) -> str:
    return format_identifier(name)

"""``TableSpec``: one table's declaration."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, field_validator, model_validator

from iceberg_assets.spec.flat_location import strange_fields, with_provider
from iceberg_assets.spec.landing import ambiguity
from iceberg_assets.spec.model import SpecModel
from iceberg_assets.spec.names import STATE_NAMESPACE, is_reserved
from iceberg_assets.spec.policy import Checks, MaintenancePolicy
from iceberg_assets.spec.units import Age, Whole, parse_age, parse_bytes

_PART = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")


def parse_identifier(value: object) -> tuple[str, ...]:
    """``demo.flights`` as its parts; a part that holds a dot stands in back-quotes, or all of them in a list.

    Raises:
        ValueError: fewer than two parts, or an empty one.
    """
    if isinstance(value, list | tuple) and len(value) > 1 and all(isinstance(part, str) and part for part in value):
        return tuple(value)
    if isinstance(value, str) and len(parts := parse_parts(value)) > 1:
        return parts
    raise ValueError("expected namespace.table, such as demo.flights")


def parse_parts(text: str) -> tuple[str, ...]:
    """A dotted name as its parts; none where the text is no name."""
    parts: list[str] = []
    position = 0
    while match := _PART.match(text, position):
        parts.append(match[1].replace("``", "`") if match[1] else match[2])
        position = match.end() + 1
        if text[match.end() :][:1] != ".":
            break
    return tuple(parts) if position == len(text) + 1 else ()


def format_identifier(parts: tuple[str, ...]) -> str:
    """The inverse of :func:`parse_identifier`."""
    return ".".join(part if re.fullmatch(r"[^.`]+", part) else f"`{part.replace('`', '``')}`" for part in parts)


Identifier = Annotated[
    tuple[str, ...],
    BeforeValidator(parse_identifier, json_schema_input_type=str),
    PlainSerializer(format_identifier, return_type=str),
]


def _property(name: str, value: object) -> str:
    """A table property as Iceberg stores it; sizes and ages may carry a unit."""
    if isinstance(value, bool):
        return str(value).lower()
    if name.endswith("-bytes"):
        return str(parse_bytes(int(value) if isinstance(value, str) and value.isdigit() else value))
    if name.endswith("-ms") and isinstance(value, str) and not value.isdigit():
        return str(round(parse_age(value).total_seconds() * 1000))
    return str(value)


def _properties(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError("expected a map of table properties")
    for name, given in value.items():
        if not isinstance(given, str | int | float | bool):
            raise ValueError(f"{name}: expected a text, a number or true/false")
    return with_provider({str(name): _property(str(name), given) for name, given in value.items()})


class PartitionField(SpecModel):
    """One field of the partition spec.

    ``{col: carrier, type: bucket, size: 4}`` is ``bucket(4, carrier)``, ``{col: time_hour, type: date, func: day}``
    is ``day(time_hour)``.
    """

    col: str = Field(min_length=1)
    type: Literal["identity", "bucket", "truncate", "date"]
    size: Whole | None = Field(default=None, ge=1)
    func: Literal["year", "month", "day", "hour"] | None = None

    @model_validator(mode="after")
    def _size_and_func_where_they_belong(self) -> "PartitionField":
        if (self.size is not None) != (self.type in ("bucket", "truncate")):
            raise ValueError(f"type {self.type} {'needs' if self.size is None else 'takes no'} size")
        if (self.func is not None) != (self.type == "date"):
            raise ValueError(f"type {self.type} {'needs' if self.func is None else 'takes no'} func")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """What it may be called by: its column's name, and its own, which Iceberg makes of column and transform."""
        suffix = {"identity": "", "bucket": "_bucket", "truncate": "_trunc", "date": f"_{self.func}"}[self.type]
        return tuple(dict.fromkeys((self.col, self.col + suffix)))


class Source(SpecModel):
    """Raw Parquet that lands by date.

    Attributes:
        path: a glob with strftime fields of the date, such as ``data/raw/%Y-%m-%d/*.parquet``.
        late: what to do with rows of another date than the folder's: append them, or fail the batch.
        new_columns: what to do with columns that the table lacks: fail the date; ignore them, and say so; or evolve the
            table, which also widens types where Iceberg allows it.
        bad_files: what to do with files that are empty, truncated or not Parquet: fail the date, or move them to
            ``_quarantine`` in the root of the path.
        still_for: files written to more recently are left for the next time. Unset: 0s, for files that are landed
            complete, by renaming them; with ``bad_files: quarantine`` 1m, since a file still being written looks bad.
    """

    path: str
    late: Literal["append", "fail"] = "append"
    new_columns: Literal["fail", "ignore", "evolve"] = "fail"
    bad_files: Literal["fail", "quarantine"] = "fail"
    still_for: Age | None = None

    @model_validator(mode="after")
    def _a_folder_for_each_date(self) -> "Source":
        if why := ambiguity(self.path):
            raise ValueError(
                "path: expected the date in it as strftime fields, such as data/raw/%Y-%m-%d/*.parquet, and each file "
                f"under one date: {why}"
            )
        return self

    @model_validator(mode="after")
    def _quarantine_only_what_is_still(self) -> "Source":
        if self.bad_files == "quarantine":
            if "://" in self.path:
                raise ValueError("bad_files: quarantine needs a file system with rename, and path is a URL")
            if self.still_for is not None and self.still_for < timedelta(seconds=1):
                raise ValueError("still_for: expected at least 1s: quarantine would move files still being written")
        return self

    @property
    def stillness(self) -> timedelta:
        """How long a file must not have been written to."""
        if self.still_for is not None:
            return self.still_for
        return timedelta(minutes=1 if self.bad_files == "quarantine" else 0)

    def pattern(self, day: date) -> str:
        """The glob of one date."""
        return day.strftime(self.path)

    @property
    def root(self) -> str:
        """The longest part of the path that no date and no wildcard is in."""
        scheme, separator, path = self.path.rpartition("://")
        parts = []
        for part in PurePosixPath(path).parts:
            if re.search(r"[%*?\[{]", part):
                break
            parts.append(part)
        return f"{scheme}{separator}{PurePosixPath(*parts)}" if parts else "."


class Dates(SpecModel):
    """The partitions of the asset.

    Attributes:
        column: the timestamp or date column that a row's date is read from; None, which has to be said: there is none,
            and the table is maintained as a whole.
        start: the first date.
        end: the last date; unset: today, growing.
    """

    column: Annotated[str, Field(min_length=1)] | None
    start: date
    end: date | None = None
    timezone: Literal["UTC"] = "UTC"

    @model_validator(mode="after")
    def _end_not_before_start(self) -> "Dates":
        if self.end is not None and self.end < self.start:
            raise ValueError(f"end {self.end} lies before start {self.start}")
        return self

    def last(self, now: datetime) -> date:
        """The newest partition at that moment."""
        today = now.astimezone(UTC).date()
        return min(self.end, today) if self.end else today

    def between(self, first: date, last: date, now: datetime) -> list[date]:
        """The partitions from first to last, both included."""
        first, last = max(first, self.start), min(last, self.last(now))
        return [first + timedelta(days=n) for n in range((last - first).days + 1)]


WHOLE_TABLE = Dates(column=None, start=date(1970, 1, 1), end=date(1970, 1, 1))
"""Of a table without a column of dates: one partition, always the same, so that earlier attempts are found again."""


class TableSpec(SpecModel):
    """One table: where its rows come from, how it is laid out, maintained and watched.

    Without a ``source`` the table is written by somebody else and only maintained.
    """

    table: Identifier
    profile: str | None = None
    source: Source | None = None
    derive: Mapping[str, str] = Field(default_factory=dict)
    dates: Dates
    partition_by: tuple[PartitionField, ...] = ()
    properties: Annotated[Mapping[str, str], BeforeValidator(_properties)] = Field(default_factory=dict)
    maintenance: MaintenancePolicy = MaintenancePolicy()
    checks: Checks = Checks()

    @model_validator(mode="before")
    @classmethod
    def _table_is_named(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(data.get("derive"), Mapping):
            for name, expression in data["derive"].items():
                if not isinstance(expression, str) or not expression.strip():
                    raise ValueError(f"derive.{name}: expected a Spark SQL expression")
                if is_reserved(str(name)):
                    raise ValueError(f"derive.{name}: Iceberg and Spark keep that name for themselves; choose another")
        return data

    @field_validator("table")
    @classmethod
    def _not_one_of_our_own(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value[0].casefold() == STATE_NAMESPACE:
            raise ValueError(
                f"the namespace {STATE_NAMESPACE} holds ledgers and is looked after by iceberg_assets itself; "
                "keep tables in another namespace"
            )
        return value

    @model_validator(mode="after")
    def _a_source_has_dates(self) -> "TableSpec":
        if self.source and self.dates.column is None:
            raise ValueError("dates.column: a table with a source needs one, since its raw files land by date")
        return self

    @model_validator(mode="after")
    def _only_a_source_is_derived_from(self) -> "TableSpec":
        if self.derive and self.source is None:
            raise ValueError("derive needs a source: without one nothing is written to the table")
        return self

    @model_validator(mode="after")
    def _the_flat_location_shows_partition_fields(self) -> "TableSpec":
        known = [name for field in self.partition_by for name in field.names]
        # Not declared, it is the table's own, which is looked at where the table is.
        if "partition_by" in self.model_fields_set and (strange := list(strange_fields(self.properties, known))):
            raise ValueError("; ".join(f"properties.{one}" for one in strange))
        return self

    @property
    def name(self) -> str:
        """``namespace.table`` for people, logs and keys."""
        return format_identifier(self.table)

    @property
    def way_into_being(self) -> str:
        """Who makes the table where it does not exist yet, as words to a person."""
        return "materialize a date of it" if self.source else "its writer has to create it, nothing here does"

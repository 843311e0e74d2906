"""What the job has to see to of one table: the file's settings, and what the table itself says. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import DateType, TimestampNanoType, TimestampType, TimestamptzNanoType, TimestamptzType

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.health import Grain, grain_of
from iceberg_assets.job.overrides import Name
from iceberg_assets.job.settings import JobSettings, Operations
from iceberg_assets.spec import Operation, TableSpec
from iceberg_assets.spec.table import WHOLE_TABLE, Dates, format_identifier

_TIMES = (DateType, TimestampType, TimestamptzType, TimestampNanoType, TimestamptzNanoType)


@dataclass(frozen=True)
class Task:
    """One table, as the job has to maintain it.

    Attributes:
        spec: as if it had been declared: no source, its maintenance from the file, its dates from its partitions.
        asked: what the file says of the operations.
        orphans: whether the catalog lets any of them go.
    """

    spec: TableSpec
    asked: Operations
    orphans: bool

    @property
    def operations(self) -> tuple[Operation, ...]:
        """Those that are switched on, in the order in which they run."""
        enabled: Mapping[Operation, bool] = {
            Operation.COMPACT: self.asked.rewrite_data_files.enabled,
            Operation.REWRITE_MANIFESTS: self.asked.rewrite_manifests.enabled,
            Operation.EXPIRE_SNAPSHOTS: self.asked.expire_snapshot.enabled,
            Operation.REMOVE_ORPHANS: self.asked.remove_orphan_files.enabled and self.orphans,
        }
        return tuple(operation for operation in Operation if enabled[operation])


def task_of(settings: JobSettings, table: Name, metadata: TableMetadata) -> Task:
    """The task of a table.

    Raises:
        ConfigurationError: the table cannot be sorted as the file says.
    """
    asked = settings.of(table)
    policy = settings.policy_of(asked)
    order = policy.compact.order if asked.rewrite_data_files.enabled else None
    if order and (mistake := order.mistake(metadata.schema().column_names)):
        raise ConfigurationError(f"{format_identifier(table)}: rewrite_data_files.{mistake}")
    # A condition of the file's own says what is rewritten, and no date may be put in its place.
    dates = dates_of(metadata) if asked.rewrite_data_files.where is None else WHOLE_TABLE
    spec = TableSpec(table=table, dates=dates, maintenance=policy)
    return Task(spec, asked, orphans=settings.iceberg_assets.orphans != "off")


def dates_of(metadata: TableMetadata) -> Dates:
    """The dates of a table that nobody declared.

    Where a partition is a date's, the rewrite of one date waits for nobody who writes to another, so that a table which
    is written to all the time is compacted all the same. Any other table is taken as a whole.
    """
    top = {field.field_id: field for field in metadata.schema().fields}
    for field in metadata.spec().fields:
        source = top.get(field.source_id)
        if source and isinstance(source.field_type, _TIMES) and grain_of([str(field.transform)]) is Grain.DATE:
            return Dates(column=source.name, start=date.min)
    return WHOLE_TABLE

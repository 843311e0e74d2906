"""Stage a claim's rows on a branch of its own, where no reader sees them, and hold them against what was meant."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from math import prod
from typing import TYPE_CHECKING

from iceberg_assets.errors import IcebergAssetsError, SourceError
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import quote
from iceberg_assets.spec import TableSpec
from iceberg_assets.spec.table import PartitionField
from iceberg_assets.tables.claims import CLAIM_PROPERTY, Claim
from iceberg_assets.tables.count import read_raw
from iceberg_assets.tables.lineage import Lineage, said
from iceberg_assets.tables.replace import delete_dates
from iceberg_assets.tables.source import raw_files
from iceberg_assets.tables.target import existing_target, sql_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DISTRIBUTION = "write.distribution-mode"
_FANOUT = "write.spark.fanout.enabled"
# A year of dates by four buckets, 1,464 of them, filled a heap of 1 GB.
_MOST_WRITERS = 200
# Another commit in between is the rule where several runners begin at once, five of them in a row are not.
_TRIES = 5


def stage(
    spark: "SparkSession",
    profile: Profile,
    spec: TableSpec,
    claim: Claim,
    going: Mapping[date, int],
    on_step: Callable[[str], None],
) -> int:
    """Write the claim's rows to its own branch, once those it replaces are deleted there.

    On a table without a snapshot Iceberg gives the new branch an empty one, which goes with the branch.

    Args:
        going: of a claim that replaces: by date, how many rows its earlier files brought.
        on_step: told when the branch is there.

    Returns:
        The staged snapshot.

    Raises:
        SourceError: there are more or fewer rows to be deleted than the ledger knows of.
    """
    # The name is the claim's own: where the branch is there after a refusal, it is this one.
    move_ref(spark, f"ALTER TABLE {sql_name(profile, spec)} CREATE BRANCH IF NOT EXISTS {quote(claim.branch)}")
    on_step("branched")
    if claim.replaces:
        delete_dates(spark, profile, spec, claim, going)
    writer = (
        read_raw(spark, profile, spec, claim.files)
        .writeTo(sql_name(profile, spec, f"branch_{claim.branch}"))
        .option("snapshot-property.wap.id", claim.token)
        .option(f"snapshot-property.{CLAIM_PROPERTY}", claim.id)
    )
    properties = newest(profile, spec).metadata.properties
    writer.options(**write_options(properties, partitions(spec.partition_by, len(claim.days))))
    writer.append()
    staged = newest(profile, spec).staged.get(claim.id, frozenset())
    if len(staged) != 1:
        raise IcebergAssetsError(f"{spec.name}: claim {claim.id} was staged {len(staged)} times; try again")
    return next(iter(staged))


def move_ref(spark: "SparkSession", statement: str) -> None:
    """Carry out a statement that makes or moves a branch, again where another commit came in between.

    Iceberg's appends begin anew by themselves then; its UpdateSnapshotReferencesOperation does not, and is refused.
    """
    for left in reversed(range(_TRIES)):
        try:
            spark.sql(statement).collect()
            return
        except Exception as error:
            if not left or "CommitFailedException" not in str(error):
                raise


def partitions(fields: Iterable[PartitionField], days: int) -> int:
    """How many partitions the rows of so many dates lie in, as far as the declaration tells: identities do not."""
    return days * prod(_in_a_day(field) for field in fields)


def _in_a_day(field: PartitionField) -> int:
    match field:
        case PartitionField(type="bucket", size=int(buckets)):
            return buckets
        case PartitionField(func="hour"):
            return 24
    return 1


def write_options(properties: Mapping[str, str], partitions: int) -> dict[str, str]:
    """What the table says of writing, as options, which outweigh whatever the session is set to.

    Where it says nothing of fanout, Iceberg's Spark keeps a Parquet writer open for each partition: with few that is
    the quickest, and with many it fills the heap. Those are sorted by partition, so that one writer is open at a time.
    """
    options = {"distribution-mode": properties[_DISTRIBUTION]} if _DISTRIBUTION in properties else {}
    if _FANOUT in properties or partitions > _MOST_WRITERS:
        options["fanout-enabled"] = properties.get(_FANOUT, "false")
    return options


def compare(profile: Profile, spec: TableSpec, claim: Claim, staged: int, rows: int) -> None:
    """Refuse what is not the rows that were counted, of the files that were listed, in the table that was meant.

    Raises:
        SourceError: names the files that changed.
        IcebergAssetsError: the table was dropped and made again.
    """
    lineage = newest(profile, spec)
    if lineage.table_uuid != claim.table_uuid:
        raise IcebergAssetsError(f"{spec.name} was dropped and made again while being appended to; try again")
    listed = {file for day in claim.days for file in raw_files(spec, day, profile.store)}
    if changed := [file.path for file in claim.files if file not in listed]:
        raise SourceError(f"{', '.join(changed)} changed while being appended; land files complete, by renaming them")
    snapshot = lineage.metadata.snapshot_by_id(staged)
    written = said(snapshot, "added-records") if snapshot else None
    if written != str(rows):
        raise SourceError(f"{spec.name}: {rows} rows were counted in the raw files, and {written} written; try again")


def newest(profile: Profile, spec: TableSpec) -> Lineage:
    """The table's metadata as it is now.

    Raises:
        TableDroppedError: it was there a moment ago, and is not any more.
    """
    return Lineage(existing_target(profile, spec).metadata)

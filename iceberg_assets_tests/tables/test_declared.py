"""What is said where a declaration and a table that exists differ. No engine: the tables are PyIceberg's."""

from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, VoidTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

from iceberg_assets.errors import ConfigurationError, TableDroppedError, TableUnreadableError
from iceberg_assets.maintenance.measure import load
from iceberg_assets.profiles import load_profile
from iceberg_assets.spec import Status, TableSpec
from iceberg_assets.tables import append, recover
from iceberg_assets.tables.declared import check_table
from iceberg_assets.tables.publish import Publisher
from iceberg_assets.tables.target import load_target
from iceberg_assets_tests.job.lake import row
from iceberg_assets_tests.tables.helpers import D1, Feed, make_feed, no_spark

BY_DAY_AND_BUCKET = PartitionSpec(
    PartitionField(2, 1000, DayTransform(), "ts_day"),
    PartitionField(1, 1001, VoidTransform(), "once_by_id"),
    PartitionField(3, 1002, BucketTransform(2), "carrier_bucket"),
)


def made(feed: Feed, *more: NestedField, **properties: str) -> None:
    """The feed's table, as it is declared unless a test declares something else."""
    feed.profile.pyiceberg().create_namespace(feed.spec.table[:-1])
    columns = (
        NestedField(1, "id", LongType(), required=False),
        NestedField(2, "ts", TimestamptzType(), required=False),
        NestedField(3, "carrier", StringType(), required=False),
    )
    given = {name.replace("__", "-").replace("_", "."): value for name, value in properties.items()}
    feed.profile.pyiceberg().create_table(
        feed.spec.table, Schema(*columns, *more), partition_spec=BY_DAY_AND_BUCKET, properties=given
    )


def declared(feed: Feed, **changes: Any) -> Feed:
    return make_feed(feed.profile, feed.raw, list(feed.spec.table), **changes)


def test_a_declaration_that_says_what_the_table_is_has_nothing_to_note(feed: Feed) -> None:
    made(feed, owner="we")
    both = {"owner": "we", "format-version": 2}
    assert check_table(declared(feed, properties=both).spec, feed.table) == ()
    turned = [{"col": "carrier", "type": "bucket", "size": 2}, {"col": "ts", "type": "date", "func": "day"}]
    assert check_table(declared(feed, partition_by=turned).spec, feed.table) == (), "in another order"
    unsaid = feed.spec.model_copy(update={"partition_by": ()})
    unsaid.model_fields_set.remove("partition_by")
    assert check_table(unsaid, feed.table) == (), "without partition_by the table is taken as it is"


def test_a_flat_location_of_fields_that_the_table_has_not_is_refused(feed: Feed) -> None:
    """Iceberg would ask the class at the first write, and each would fail."""
    made(feed, write_location__provider_flat_fields="carrier, ts_day, id")
    assert check_table(feed.spec, feed.table) == (), "fields, and columns, which an older spec may be made of"
    with feed.table.transaction() as change:
        change.set_properties({"write.location-provider.flat.fields": "carrier,carrier_buckets"})
    with pytest.raises(
        ConfigurationError, match=r"the table's .*'carrier_buckets' is no partition field; did you mean"
    ):
        check_table(feed.spec, feed.table)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"partition_by": [{"col": "ts", "type": "date", "func": "month"}]},
            r"partition_by: declared is month\(ts\), .* by day\(ts\), bucket\[2\]\(carrier\); declare that, or change",
        ),
        ({"partition_by": []}, r"partition_by: declared is nothing, .* by day\(ts\), bucket"),
        (
            {"derive": {"carier": "upper(id)"}},
            "derive.carier: the table has no column 'carier'; did you mean 'carrier'",
        ),
        ({"derive": {"hour": "hour(ts)"}}, "derive.hour: .* add it with ALTER TABLE .* ADD COLUMN, or take it out"),
        ({"dates": {"column": "tss", "start": "2013-01-01"}}, "dates.column: there is no column 'tss'"),
    ],
)
def test_a_declaration_that_an_existing_table_contradicts_is_refused_before_anything_is_touched(
    feed: Feed, changes: dict[str, Any], said: str
) -> None:
    made(feed)
    spec = declared(feed, **changes).spec
    feed.land(D1, "a", [1])
    before = feed.table.metadata_location
    with pytest.raises(ConfigurationError, match=said):
        append(no_spark, feed.profile, spec, [D1])
    assert feed.table.metadata_location == before
    assert not feed.ledger().open


def test_properties_that_differ_are_noted_with_both_values(feed: Feed) -> None:
    made(feed, owner="others")
    wanted = declared(feed, properties={"owner": "we", "write.target-file-size-bytes": "1MB", "format-version": 3})
    (feed.raw / D1.isoformat()).mkdir(parents=True)
    outcome = append(no_spark, feed.profile, wanted.spec, [D1])[D1]
    assert outcome.notes == (
        "properties.owner is others in the table, which counts, and we in the declaration: ALTER TABLE changes it",
        "properties.write.target-file-size-bytes is not set in the table, which counts, and 1048576 in the "
        "declaration: ALTER TABLE changes it",
        "properties.format-version is 2 in the table, which counts, and 3 in the declaration: ALTER TABLE changes it",
    )


@pytest.mark.parametrize("name", ["_metadata", "_file", "_pos", "_SPEC_ID", "_row_id"])
def test_a_raw_column_by_a_name_that_the_engines_keep_for_themselves_is_refused(feed: Feed, name: str) -> None:
    bad = feed.land(D1, "a", [1], **{name: pa.array(["x"])})
    outcome = append(no_spark, feed.profile, feed.spec, [D1])[D1]
    assert outcome.status is Status.FAILED
    assert f"{bad}: column '{name}' has a name that Iceberg and Spark keep for themselves; rename it" in outcome.reason


def test_a_table_with_such_a_column_is_refused(feed: Feed) -> None:
    made(feed, NestedField(4, "_pos", LongType(), required=False))
    with pytest.raises(ConfigurationError, match="the table's column '_pos' for themselves; rename it"):
        append(no_spark, feed.profile, feed.spec, [D1])


def test_a_table_whose_columns_are_one_to_spark_is_refused(feed: Feed) -> None:
    made(feed, NestedField(4, "ID", LongType(), required=False))
    with pytest.raises(ConfigurationError, match="the table's 'id' and 'ID' differ in case only"):
        append(no_spark, feed.profile, feed.spec, [D1])


def test_a_table_in_a_place_whose_name_ends_a_url_is_not_taken_for_one_that_is_gone(tmp_path: Path) -> None:
    """It is there, and to drop it from the catalog would be no way out."""
    lake = load_profile("local", root=tmp_path)
    lake.prepare()
    file = tmp_path / "sales" / "#1" / "metadata" / "00000-1.metadata.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    row(lake.pyiceberg(), "sales.#1", "TABLE", f"file:{file}")
    spec = TableSpec.model_validate({"table": ["sales", "#1"], "dates": {"column": "ts", "start": "2024-01-01"}})
    with pytest.raises(TableUnreadableError, match=r"ends a path at a # or \?, and the table's is .*LOCATION"):
        load_target(lake, spec)


def test_a_table_whose_metadata_file_is_gone_is_named_with_the_file(feed: Feed) -> None:
    made(feed)
    metadata = Path(urlparse(feed.table.metadata_location).path)
    away = metadata.rename(metadata.with_suffix(".away"))
    with pytest.raises(
        TableUnreadableError, match=rf"{feed.spec.name}: the metadata file .*{metadata.name}.* register"
    ):
        append(no_spark, feed.profile, feed.spec, [D1])
    # The catalog is that of all tests, and orphan removal goes by the metadata of every table in it.
    away.rename(metadata)


def test_a_table_that_is_dropped_in_the_middle_of_a_run_is_said_to_be(feed: Feed) -> None:
    made(feed)
    feed.profile.pyiceberg().drop_table(feed.spec.table)
    assert recover(feed.profile, feed.spec) is None
    publisher = Publisher(None, feed.profile, feed.spec, lambda: None, lambda _: None)  # type: ignore[arg-type,return-value]
    (said,) = {message_of(lambda: publisher.publish({})), message_of(lambda: load(feed.profile, feed.spec))}
    assert said.startswith(f"{feed.spec.name} was dropped by somebody in the middle of this run")
    assert "materialize a date of it" in said


def message_of(work: Any) -> str:
    with pytest.raises(TableDroppedError) as refused:
        work()
    return str(refused.value)

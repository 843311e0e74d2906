"""Paths of data files show the listed partition fields and no others, whoever writes them; asked of ``.files``."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.maintenance import compact
from iceberg_assets.spark import literal, quote
from iceberg_assets.spark.jars import OWN_JAR
from iceberg_assets.spec import Status
from iceberg_assets.spec.flat_location import FIELDS, IMPLEMENTATION, PROVIDER
from iceberg_assets.tables import append
from iceberg_assets_tests.jar import compiled
from iceberg_assets_tests.tables.helpers import D1, Feed, make_feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD = "a.b c/d%ü"
LATER = datetime(2030, 1, 1, tzinfo=UTC)


def folders(spark: "SparkSession", name: str) -> set[str]:
    """What stands between the table's data folder and the names of its data files."""
    paths = [row.file_path for row in spark.sql(f"SELECT file_path FROM {name}.files").collect()]
    return {path.rsplit("/data/", 1)[1].rpartition("/")[0] for path in paths}


class Written:
    """A table of every transform, and the folders of what one more row brings."""

    def __init__(self, spark: "SparkSession", namespace: str, version: int) -> None:
        self.spark, self.name = spark, quote("local", namespace, f"t{version}")
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS local.{namespace}")
        spark.sql(
            f"CREATE TABLE {self.name} (id BIGINT, {quote(ODD)} STRING, note STRING, y TIMESTAMP, m TIMESTAMP, d DATE, "
            f"h TIMESTAMP_NTZ) USING iceberg PARTITIONED BY ({quote(ODD)}, bucket(4, id), truncate(3, note), years(y), "
            "months(m), days(d), hours(h)) "
            f"TBLPROPERTIES ('format-version' = '{version}', '{IMPLEMENTATION}' = '{PROVIDER}')"
        )

    def have(self, properties: Mapping[str, str]) -> None:
        pairs = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in properties.items())
        self.spark.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ({pairs})")

    def folder(self, fields: str | None = None) -> str:
        """Of one row more, written with that list."""
        if fields is not None:
            self.have({FIELDS: fields})
        before = self._paths()
        moment = "2024-05-30 05:01:30"
        self.spark.sql(
            f"INSERT INTO {self.name} VALUES (1, 'x/y = z%ü', NULL, TIMESTAMP '{moment}', TIMESTAMP '{moment}', "
            f"DATE '2024-05-30', TIMESTAMP_NTZ '{moment}')"
        )
        (path,) = self._paths() - before
        return path.rpartition("/")[0]

    def _paths(self) -> set[str]:
        return {row.file_path for row in self.spark.sql(f"SELECT file_path FROM {self.name}.files").collect()}


def test_what_is_listed_is_in_the_path_as_iceberg_itself_spells_it(spark: "SparkSession", namespace: str) -> None:
    table = Written(spark, namespace, 2)
    default = table.folder()
    root, whole = default.rsplit("/data/", 1)
    parts = whole.split("/")
    assert len(parts) == 7, "without a list it is Iceberg's own layout"
    odd, bucket, truncate, year, month, day, hour = parts
    assert day == "d_day=2024-05-30"
    for fields, expected in {
        "": (),
        ODD: (odd,),
        "id": (bucket,),
        "id_bucket,  note": (bucket, truncate),
        "h, y_year": (year, hour),
        f"m,d_day,{ODD}": (odd, month, day),
    }.items():
        assert table.folder(fields) == "/".join((f"{root}/data", *expected)), fields


def test_a_field_that_the_table_has_not_is_refused_by_whoever_writes(spark: "SparkSession", namespace: str) -> None:
    table = Written(spark, namespace, 2)
    with pytest.raises(Exception, match=f"{FIELDS} lists 'nosuch', which is neither a partition field nor a column"):
        table.folder("id,nosuch")


def test_a_field_that_was_dropped_shows_what_iceberg_shows_of_it(spark: "SparkSession", namespace: str) -> None:
    """Tables of format version 1 keep it, as void; older files of other tables are still written by its old spec."""
    table = Written(spark, namespace, 1)
    spark.sql(f"ALTER TABLE {table.name} DROP PARTITION FIELD truncate(3, note)")
    assert table.folder("note").endswith("/data/note_trunc=null")
    spark.sql(f"ALTER TABLE {table.name} DROP PARTITION FIELD years(y)")
    assert table.folder("y,d").endswith("/data/y_year=null/d_day=2024-05-30")


def test_the_data_folder_is_where_the_table_says(spark: "SparkSession", namespace: str) -> None:
    table = Written(spark, namespace, 2)
    place = table.folder().rsplit("/data/", 1)[0] + "/elsewhere"
    table.have({"write.data.path": place, "write.object-storage.enabled": "true"})
    assert re.search(rf"^{re.escape(place)}/[01/]+/", table.folder()), "without a list, Iceberg's hashes"
    assert table.folder("d") == f"{place}/d_day=2024-05-30"


def flat(feed: Feed, fields: str, **changes: Any) -> Feed:
    return make_feed(feed.profile, feed.raw, list(feed.spec.table), properties={FIELDS: fields}, **changes)


def test_appends_compactions_and_sorts_keep_the_layout(spark: "SparkSession", feed: Feed) -> None:
    name, ids = quote("local", *feed.spec.table), iter(range(100))
    for how in ({"strategy": "binpack"}, {"strategy": "sort", "sort_order": "id DESC"}):
        layout = flat(feed, "carrier", maintenance={"compact": {**how, "options": {"min-input-files": 2}}})
        for _ in range(2):
            layout.land(D1, f"a{next(ids)}", [next(ids) for _ in range(4)])
            assert append(lambda: spark, feed.profile, layout.spec, [D1])[D1].status is Status.DONE
        rows = feed.ids()
        done = compact(lambda: spark, feed.profile, layout.spec, [D1], now=LATER)
        assert done.outcomes[D1].status is Status.DONE, done.outcomes[D1].reason
        assert done.before.dates[D1].data_files > done.after.dates[D1].data_files == 2
        assert folders(spark, name) == {"carrier_bucket=0", "carrier_bucket=1"}
        assert feed.ids() == rows
    assert [str(field.transform) for field in feed.table.spec().fields] == ["day", "bucket[2]"]


def test_a_class_that_executors_lack_is_told_before_the_table_is_made(spark: "SparkSession", feed: Feed) -> None:
    """It showed at the first write, when the table was there."""
    nowhere = make_feed(feed.profile, feed.raw, list(feed.spec.table), properties={IMPLEMENTATION: "com.example.No"})
    feed.land(D1, "a", [1])
    with pytest.raises(
        ConfigurationError, match=r"executors have no class com\.example\.No.*add its jar to the profile"
    ):
        append(lambda: spark, feed.profile, nowhere.spec, [D1])
    assert not feed.profile.pyiceberg().namespace_exists(feed.spec.table[:-1])


def test_a_table_whose_declaration_leaves_partitions_out_has_none_to_list(spark: "SparkSession", feed: Feed) -> None:
    spec = flat(feed, "carrier").spec.model_copy(update={"partition_by": ()})
    spec.model_fields_set.remove("partition_by")
    feed.land(D1, "a", [1])
    with pytest.raises(
        ConfigurationError, match=f"properties.{FIELDS}: 'carrier' is no partition field; there are none"
    ):
        append(lambda: spark, feed.profile, spec, [D1])


def test_the_jar_is_the_compile_of_its_source(spark: "SparkSession") -> None:
    """``make jar`` where it is not; nobody needs a JDK to install the package."""
    assert compiled(spark) == OWN_JAR.read_bytes()

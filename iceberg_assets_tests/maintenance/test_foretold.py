"""What a compaction says beforehand is what it does: the same files, to the path, and nothing before it is asked to."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.maintenance import compact, foretell_compaction, health_of
from iceberg_assets.maintenance.undo import last_maintenance
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import quote
from iceberg_assets.spec import Status, TableSpec
from iceberg_assets_tests.maintenance.files_of import live_files, untouched
from iceberg_assets_tests.parity.parquet import write_equality_deletes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST, SECOND = date(2024, 1, 30), date(2024, 1, 31)
NOW = datetime(2030, 1, 1, tzinfo=UTC)
BY_DAY = "PARTITIONED BY (days(ts))"
MERGE_ON_READ = {"write.delete.mode": "merge-on-read", "format-version": "2"}


class Scene:
    """A table of ``id``, ``ts`` and ``name``, and what becomes of it."""

    def __init__(self, spark: "SparkSession", profile: Profile, namespace: str) -> None:
        self.spark, self.profile, self.namespace = spark, profile, namespace

    def table(self, policy: dict[str, Any], properties: dict[str, str], by: str = BY_DAY, name: str = "t") -> TableSpec:
        """Six files of each of two dates."""
        spec = TableSpec.model_validate(
            {
                "table": [self.namespace, name],
                "dates": {"column": "ts", "start": "2024-01-01", "end": "2024-02-29"},
                "maintenance": {"compact": policy},
            }
        )
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS local.{self.namespace}")
        given = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
        options = f"TBLPROPERTIES ({given})" if given else ""
        self.spark.sql(
            f"CREATE TABLE {self.sql(spec)} (id BIGINT, ts TIMESTAMP, name STRING) USING iceberg {by} {options}"
        )
        self.write(spec, [FIRST, SECOND])
        return spec

    def sql(self, spec: TableSpec) -> str:
        return quote("local", *spec.table)

    def write(self, spec: TableSpec, days: Sequence[date], files: int = 6) -> None:
        """So many files for each of the days, in one commit, two rows each."""
        moments = ", ".join(f"TIMESTAMP '{day} 01:00:00+00:00'" for day in days)
        rows = self.spark.range(0, files * 2, 1, files).selectExpr(
            "(id * 7) % 12 AS id", f"explode(array({moments})) AS ts", "CAST(id AS STRING) AS name"
        )
        rows.writeTo(self.sql(spec)).option("distribution-mode", "none").option("fanout-enabled", "true").append()

    def rows(self, spec: TableSpec) -> list[tuple[object, ...]]:
        return sorted(tuple(row) for row in self.spark.sql(f"SELECT * FROM {self.sql(spec)}").collect())

    def compact_as_foretold(self, spec: TableSpec, day: date = SECOND) -> tuple[Any, Any]:
        """Preview and outcome of a date: the preview touched nothing, and what it named is what went."""
        before, rows, state = live_files(self.spark, spec), self.rows(spec), untouched(self.profile, spec)
        preview = foretell_compaction(self.profile, spec, [day], now=NOW)[day]
        assert untouched(self.profile, spec) == state
        outcome = compact(lambda: self.spark, self.profile, spec, [day], now=NOW).outcomes[day]
        after = live_files(self.spark, spec)
        assert dict(preview.removes) == {path: size for path, size in before.items() if path not in after}
        assert self.rows(spec) == rows
        return preview, outcome


@pytest.fixture
def scene(spark: "SparkSession", profile: Profile, namespace: str) -> Scene:
    return Scene(spark, profile, namespace)


ALL = {"rewrite-all": True}


@pytest.mark.parametrize(
    ("policy", "properties"),
    [
        ({}, {}),
        ({"options": {"min-input-files": 1}}, {"format-version": "1"}),
        ({"strategy": "sort", "sort_order": "id DESC NULLS LAST"}, {"format-version": "3"}),
        ({"strategy": "sort", "sort_order": "zorder(id, name)", "options": {"max-output-size": 8}}, {}),
        ({"strategy": "sort", "sort_order": "hilbert(id, name)", "options": ALL}, {}),
        ({}, {"write.format.default": "avro"}),
        ({}, {"write.format.default": "orc"}),
    ],
    ids=["binpack", "two files", "sort", "z-order", "hilbert", "avro", "orc"],
)
def test_the_files_named_are_the_files_rewritten(scene, policy, properties):
    spec = scene.table(policy, properties)
    preview, outcome = scene.compact_as_foretold(spec)
    assert preview.due
    assert len(preview.removes) == 6
    assert outcome.status is Status.DONE, outcome.reason
    assert outcome.details["iceberg/added_data_files"] == preview.details["iceberg/expected_data_files"] == 1
    again, repeated = scene.compact_as_foretold(spec)
    due = spec.maintenance.compact.options.get("rewrite-all") == "true"
    assert again.due is due
    assert repeated.status is (Status.DONE if due else Status.NOTHING_TO_DO)


def test_a_sorted_date_is_sorted(scene):
    spec = scene.table({"strategy": "sort", "sort_order": "id DESC NULLS LAST"}, {})
    scene.compact_as_foretold(spec)
    (path,) = [file.path for file in health_of(scene.profile, spec).files if file.within(SECOND, SECOND)]
    ids = [row.id for row in scene.spark.read.parquet(path.removeprefix("file:")).coalesce(1).collect()]
    assert ids == sorted(ids, reverse=True)


def test_what_cannot_be_sorted_by_is_refused_before_spark(scene):
    spec = scene.table({"strategy": "sort", "sort_order": "zorder(id, nam)"}, {})
    state = untouched(scene.profile, spec)

    def no_session() -> "SparkSession":
        raise AssertionError("a session was asked for")

    with pytest.raises(ConfigurationError, match="the table has no column nam"):
        compact(no_session, scene.profile, spec, [SECOND], now=NOW)
    curved = spec.maintenance.compact.model_copy(update={"sort_order": "zorder(id, name)"})
    spec = spec.model_copy(update={"maintenance": spec.maintenance.model_copy(update={"compact": curved})})
    unordered = curved.model_copy(update={"sort_order": None})
    unordered = spec.model_copy(update={"maintenance": spec.maintenance.model_copy(update={"compact": unordered})})
    with pytest.raises(ConfigurationError, match="without a sort_order, and the table has none of its own"):
        compact(no_session, scene.profile, unordered, [SECOND], now=NOW)
    assert untouched(scene.profile, spec) == state
    scene.spark.sql(f"ALTER TABLE {scene.sql(spec)} ADD COLUMN icezvalue INT")
    with pytest.raises(ConfigurationError, match="the table has a column icezvalue, and zorder needs that name"):
        compact(no_session, scene.profile, spec, [SECOND], now=NOW)


@pytest.mark.parametrize("granularity", ["file", "partition"])
def test_position_deletes_that_delete_nothing_any_more_are_cleared_with_the_date(scene, granularity):
    spec = scene.table({}, {**MERGE_ON_READ, "write.delete.granularity": granularity})
    scene.spark.sql(f"DELETE FROM {scene.sql(spec)} WHERE id % 3 = 0")
    deletes = health_of(scene.profile, spec).delete_files
    _, outcome = scene.compact_as_foretold(spec)
    assert outcome.status is Status.DONE, outcome.reason
    assert outcome.rows_preserved is True
    assert outcome.details["iceberg/cleared_position_deletes"] == deletes / 2
    assert health_of(scene.profile, spec).delete_files == deletes / 2, "the other date keeps its own"
    assert f"{deletes // 2} position delete files became 0" in outcome.reason
    assert f": {deletes // 2} delete files removed)" in last_maintenance(scene.profile, spec).words


def test_deletion_vectors_go_with_their_files(scene):
    spec = scene.table({}, {**MERGE_ON_READ, "format-version": "3"})
    scene.spark.sql(f"DELETE FROM {scene.sql(spec)} WHERE id % 3 = 0")
    assert {one.kind for one in health_of(scene.profile, spec).deletes} == {"vector"}
    preview, outcome = scene.compact_as_foretold(spec)
    assert preview.details["iceberg/deletion_vectors"] == 4
    assert outcome.details["iceberg/deletion_vectors"] == 0


def test_equality_deletes_are_applied_and_the_outcome_names_what_stays_of_them(scene, tmp_path):
    spec = scene.table({}, {"format-version": "2"})
    path = tmp_path / "equality.parquet"
    write_equality_deletes(path, [1, 2])
    jvm = scene.spark._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(scene.spark._jsparkSession, scene.sql(spec))
    columns = scene.spark._sc._gateway.new_array(jvm.int, 1)
    columns[0] = 1
    builder = jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec()).ofEqualityDeletes(columns)
    builder = builder.withPath(str(path)).withFormat("parquet").withFileSizeInBytes(path.stat().st_size)
    delete = builder.withPartitionPath(f"ts_day={SECOND}").withRecordCount(2).build()
    table.newRowDelta().addDeletes(delete).commit()
    preview, outcome = scene.compact_as_foretold(spec)
    assert preview.details["iceberg/equality_delete_files"] == 1
    assert (outcome.status, outcome.rows_preserved) == (Status.DONE, True), outcome.reason
    assert outcome.reason.endswith("left: 1 equality delete file")
    assert len(scene.rows(spec)) == 22
    # Once every data file is younger, the commit of the rewrite drops it, whichever date that is of.
    scene.write(spec, [SECOND], files=1)
    again = spec.maintenance.compact.model_copy(update={"options": {"rewrite-all": "true"}})
    spec = spec.model_copy(update={"maintenance": spec.maintenance.model_copy(update={"compact": again})})
    scene.compact_as_foretold(spec)
    preview, _ = scene.compact_as_foretold(spec, FIRST)
    assert str(path) in preview.removes
    assert health_of(scene.profile, spec).delete_files == 0


def test_files_of_an_older_spec_are_not_multiplied_unless_the_table_says_so(scene):
    spec = scene.table({}, {}, by="PARTITIONED BY (months(ts))")
    days = [date(2024, 2, day) for day in range(1, 21)]
    scene.write(spec, days)
    scene.spark.sql(f"ALTER TABLE {scene.sql(spec)} REPLACE PARTITION FIELD ts_month WITH days(ts)")
    preview, outcome = scene.compact_as_foretold(spec, days[3])
    assert not preview.due
    assert outcome.status is Status.SKIPPED
    assert outcome.green
    assert "6 files, 6 of them of older partition specs, would become about 20" in outcome.reason
    assert "maintenance.compact.respec: allow" in outcome.reason
    allowed = spec.maintenance.compact.model_copy(update={"respec": "allow"})
    spec = spec.model_copy(update={"maintenance": spec.maintenance.model_copy(update={"compact": allowed})})
    preview, outcome = scene.compact_as_foretold(spec, days[3])
    assert preview.details["iceberg/expected_data_files"] == 20
    assert (outcome.status, outcome.details["iceberg/added_data_files"]) == (Status.DONE, 20)
    assert outcome.productive is False


def test_a_table_whose_names_are_odd_is_foretold_and_compacted(scene):
    policy = {"strategy": "sort", "sort_order": '`a "b"` DESC NULLS LAST, `c.d ``e`'}
    spec = scene.table(policy, {}, by=BY_DAY, name="it's `a` \\ table.x")
    for old, new in (("id", 'a "b"'), ("name", "c.d `e")):
        scene.spark.sql(f"ALTER TABLE {scene.sql(spec)} RENAME COLUMN {old} TO {quote(new)}")
    _, outcome = scene.compact_as_foretold(spec)
    assert outcome.status is Status.DONE, outcome.reason

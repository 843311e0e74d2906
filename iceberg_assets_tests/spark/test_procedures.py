"""What is declared of Iceberg's procedures is what the jar has: no argument too few, and none too many."""

import pytest

from iceberg_assets.spec.procedures import PROCEDURES

pytestmark = pytest.mark.usefixtures("spark")


def test_every_parameter_of_iceberg_is_declared(spark):
    catalog = spark._jsparkSession.sessionState().catalogManager().catalog("local")
    for procedure in PROCEDURES.values():
        builder = spark._jvm.org.apache.iceberg.spark.procedures.SparkProcedures.newBuilder(procedure.name)
        parameters = builder.withTableCatalog(catalog).build().bind(None).parameters()
        theirs = {one.name(): one.defaultValue() is None for one in parameters}
        ours = {"table": True, **{one.name: one.required for one in procedure.arguments}}
        assert ours == {name: required for name, required in theirs.items() if name != "options"}
        assert ("options" in theirs) == bool(procedure.options), procedure.name


def test_every_option_of_iceberg_is_declared(spark, namespace):
    name = f"local.{namespace}.t"
    spark.sql(f"CREATE NAMESPACE local.{namespace}")
    spark.sql(f"CREATE TABLE {name} (a INT, b INT) USING iceberg")
    jvm = spark._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)
    planners = jvm.org.apache.iceberg.actions
    of_data_files = {
        *_static_options(spark, "RewriteDataFilesSparkAction"),
        *planners.BinPackRewriteFilePlanner(table).validOptions(),
        *_runner_options(spark, "SparkZOrderFileRewriteRunner", table, ["a", "b"]),
        _static_field(spark, "SparkShufflingDataRewritePlanner", "COMPRESSION_FACTOR"),
    }
    of_position_deletes = {
        *_static_options(spark, "RewritePositionDeleteFilesSparkAction"),
        *planners.BinPackRewritePositionDeletePlanner(table).validOptions(),
    }
    assert {one.name for one in PROCEDURES["rewrite_data_files"].options} == of_data_files
    assert {one.name for one in PROCEDURES["rewrite_position_delete_files"].options} == of_position_deletes


def _class_of(spark, name: str):
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return spark._jvm.java.lang.Class.forName(f"org.apache.iceberg.spark.actions.{name}", True, loader)


def _static_field(spark, of: str, name: str):
    field = _class_of(spark, of).getDeclaredField(name)
    field.setAccessible(True)
    return field.get(None)


def _static_options(spark, of: str) -> set[str]:
    return set(_static_field(spark, of, "VALID_OPTIONS"))


def _runner_options(spark, of: str, table, columns: list[str]) -> set[str]:
    constructor = _class_of(spark, of).getDeclaredConstructors()[0]
    constructor.setAccessible(True)
    given = spark._jvm.java.util.ArrayList()
    for column in columns:
        given.add(column)
    arguments = spark.sparkContext._gateway.new_array(spark._jvm.java.lang.Object, 3)
    arguments[0], arguments[1], arguments[2] = spark._jsparkSession, table, given
    return set(constructor.newInstance(arguments).validOptions())

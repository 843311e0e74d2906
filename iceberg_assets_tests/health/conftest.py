"""Real tables of small files, one for each test."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from iceberg_assets.health import TableHealth, read_health
from iceberg_assets.profiles import Profile
from iceberg_assets.spark import call, quote
from iceberg_assets.spec import TableSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY, NEXT, LATER = date(2024, 1, 10), date(2024, 1, 11), date(2024, 2, 20)
# A file of 5,000 rows takes some 90 kB: large enough for the planner's splits of 5 kB overhead to be in proportion.
ROWS = 5_000


@dataclass
class Example:
    """One table of the test's own, and what is done to it."""

    spark: "SparkSession"
    profile: Profile
    spec: TableSpec

    @property
    def name(self) -> str:
        return quote(self.profile.catalog.name, *self.spec.table)

    def sql(self, statement: str) -> list[Mapping[str, object]]:
        return [row.asDict() for row in self.spark.sql(statement.replace("{t}", self.name)).collect()]

    def append(self, *days: date, rows: int = ROWS, files: int = 1) -> None:
        """As many files for each of the days, with rows that do not compress, in one commit a file."""
        from pyspark.sql import functions as f

        for number in range(files):
            start = f.to_timestamp(f.element_at(f.array(*(f.lit(str(day)) for day in days)), f.col("n")))
            (
                self.spark.range(0, rows * len(days), 1, 1)
                .withColumn("n", (f.col("id") % len(days) + 1).cast("int"))
                .withColumn("ts", start + f.expr("make_interval(0, 0, 0, 0, cast(id % 24 as int))"))
                .select("id", "ts", f.rand(number).alias("x"), f.rand(number + 99).alias("y"))
                .writeTo(self.name)
                .append()
            )

    def call(self, procedure: str, **arguments: object) -> None:
        self.spark.sql(call(self.profile.catalog.name, procedure, table=quote(*self.spec.table), **arguments))

    def java(self) -> Any:
        """The table as Iceberg's own API has it: its planners tell what they would do, without doing it."""
        return self.iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, self.name)

    @property
    def iceberg(self) -> Any:
        """Iceberg's Java packages."""
        jvm: Any = self.spark._jvm
        return jvm.org.apache.iceberg

    def health(self) -> TableHealth:
        found = read_health(self.profile, self.spec)
        assert found is not None
        return found


@pytest.fixture
def example(spark: "SparkSession", profile: Profile, namespace: str) -> Callable[..., Example]:
    def make(
        partitions: str = "days(ts)",
        options: Mapping[str, object] | None = None,
        ts: str = "timestamp",
        **properties: str,
    ) -> Example:
        spec = TableSpec.model_validate(
            {
                "table": [namespace, "odd`name"],
                "dates": {"column": "ts", "start": "2024-01-01", "end": "2024-03-31"},
                "maintenance": {"compact": {"options": options or {}}},
            }
        )
        made = Example(spark, profile, spec)
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quote(profile.catalog.name, namespace)}")
        layout = f"PARTITIONED BY ({partitions})" if partitions else ""
        given = {"write.distribution-mode": "none"} | {name.replace("_", "."): properties[name] for name in properties}
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
        columns = f"id bigint, ts {ts}, x double, y double"
        made.sql(f"CREATE TABLE {{t}} ({columns}) USING iceberg {layout} TBLPROPERTIES ({listed})")
        return made

    return make

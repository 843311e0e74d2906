"""Creating the declared table."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import Profile
from iceberg_assets.spec import Status
from iceberg_assets.tables import append, check_places, ensure_table
from iceberg_assets_tests.tables.helpers import D1, D2, Feed, columns_of, make_feed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NINE = datetime(2013, 1, 1, 9, 30, tzinfo=UTC)


def test_every_transform_in_any_mix(spark: "SparkSession", profile: Profile, tmp_path: Path, namespace: str) -> None:
    for func in ("year", "month", "day", "hour"):
        feed = make_feed(
            profile,
            tmp_path / func,
            f"{namespace}.by_{func}",
            partition_by=[
                {"col": "carrier", "type": "identity"},
                {"col": "ts", "type": "date", "func": func},
                {"col": "id", "type": "bucket", "size": 16},
                {"col": "note", "type": "truncate", "size": 3},
            ],
            properties={"write.target-file-size-bytes": "128MB", "odd": "it's \\ odd"},
        )
        path = feed.land(D1, "a", range(4), note=pa.array(["abcd"] * 4))
        assert ensure_table(spark, profile, feed.spec, columns_of(path))
        table = feed.table
        fields = [(field.name, str(field.transform)) for field in table.spec().fields]
        assert fields == [
            ("carrier", "identity"),
            (f"ts_{func}", func),
            ("id_bucket", "bucket[16]"),
            ("note_trunc", "truncate[3]"),
        ]
        assert table.properties["write.target-file-size-bytes"] == str(128 * 1024**2)
        assert table.properties["odd"] == "it's \\ odd"
        assert not table.metadata.snapshots, "creating leaves no empty snapshot"
        assert not ensure_table(spark, profile, feed.spec, columns_of(path)), "it is there"


def test_odd_names_of_namespace_table_and_columns(
    spark: "SparkSession", profile: Profile, tmp_path: Path, namespace: str
) -> None:
    odd = "a.b c'd\"e`f ü select"
    feed = make_feed(
        profile,
        tmp_path / "raw ü",
        [f"{namespace} n.s'\"`ß", f"t {odd}"],
        dates={"column": f"{odd}2", "start": "2013-01-01"},
        derive={f"{odd}2": "`" + odd.replace("`", "``") + "` + INTERVAL 0 DAYS"},
        partition_by=[
            {"col": f"{odd}2", "type": "date", "func": "hour"},
            {"col": "id", "type": "bucket", "size": 2},
            {"col": "n m", "type": "identity"},
        ],
    )
    rows = pa.table(
        {
            "id": [1, 2],
            odd: pa.array([NINE, NINE], pa.timestamp("us")),
            "n m": ["x", "y"],
            "s": [{"x y": 1, "z": [1]}, {"x y": 2, "z": []}],
        }
    )
    feed.land_table(D1, "p art %20 [0] #1", rows)
    outcome = append(lambda: spark, profile, feed.spec, [D1])[D1]
    assert outcome.status is Status.DONE, outcome.reason
    assert feed.ids() == [1, 2]
    assert append(lambda: spark, profile, feed.spec, [D1])[D1].status is Status.NOTHING_TO_DO
    assert not feed.branches()


def test_a_derived_column_gets_the_type_that_spark_infers(spark: "SparkSession", feed: Feed) -> None:
    spec = make_feed(
        feed.profile,
        feed.raw,
        list(feed.spec.table),
        derive={"at": "timestamp_millis(millis)"},
        dates={"column": "at", "start": "2013-01-01"},
        partition_by=[{"col": "at", "type": "date", "func": "day"}],
    ).spec
    millis = round(NINE.timestamp() * 1000)
    feed.land_table(D1, "a", pa.table({"id": [1], "millis": [millis]}))
    assert append(lambda: spark, feed.profile, spec, [D1])[D1].status is Status.DONE
    rows = feed.table.scan().to_arrow()
    assert rows["at"].to_pylist() == [NINE]
    assert str(feed.table.schema().find_type("at")) == "timestamptz"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dates": {"column": "tss", "start": "2013-01-01"}}, "dates.column: there is no column 'tss'.*'ts'"),
        ({"dates": {"column": "carrier", "start": "2013-01-01"}}, "dates.column: column 'carrier' is string, expected"),
        ({"partition_by": [{"col": "carier", "type": "identity"}]}, "partition_by.0.col: .*'carier'.*'carrier'"),
        ({"partition_by": [{"col": "id", "type": "date", "func": "day"}]}, "partition_by.0.col: column 'id' is long"),
        ({"derive": {"carrier": "upper(carrier)"}}, "derive.carrier: the raw files have a column of that name"),
        ({"derive": {"Carrier": "upper(carrier)"}}, "'carrier' and 'Carrier' differ in case only"),
        ({"derive": {"x": "nosuch(carrier)"}}, "derive.x: .*nosuch"),
        ({"derive": {"x": "carrier ||"}}, "derive.x: .*PARSE_SYNTAX_ERROR"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused_with_nothing_touched(
    spark: "SparkSession", feed: Feed, changes: dict[str, Any], said: str
) -> None:
    spec = make_feed(feed.profile, feed.raw, list(feed.spec.table), **changes).spec
    feed.land(D1, "a", [1])
    with pytest.raises(ConfigurationError, match=said):
        append(lambda: spark, feed.profile, spec, [D1])
    assert not feed.profile.pyiceberg().namespace_exists(feed.spec.table[:-1])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"properties": {"format-version": 9}}, "Unsupported format version: v9"),
        ({"properties": {"location": "/x"}}, "location is a reserved table property"),
        ({"partition_by": [{"col": "ts", "type": "truncate", "size": 4}]}, "Invalid source type timestamptz"),
    ],
)
def test_what_iceberg_refuses_to_create_is_said_in_a_sentence(
    spark: "SparkSession", feed: Feed, changes: dict[str, Any], said: str
) -> None:
    """It was the engine's own error, with its stack."""
    spec = make_feed(feed.profile, feed.raw, list(feed.spec.table), **changes).spec
    feed.land(D1, "a", [1])
    with pytest.raises(ConfigurationError) as refused:
        append(lambda: spark, feed.profile, spec, [D1])
    assert f"{spec.name} cannot be made as it is declared: " in str(refused.value)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not feed.profile.pyiceberg().table_exists(feed.spec.table)


def test_derive_that_does_not_work_on_an_existing_table_is_refused_before_a_claim(
    spark: "SparkSession", feed: Feed
) -> None:
    def declared(expression: str) -> Feed:
        return make_feed(feed.profile, feed.raw, list(feed.spec.table), derive={"hour": expression})

    feed.land(D1, "a", [1])
    append(lambda: spark, feed.profile, declared("hour(ts)").spec, [D1])
    feed.land(D2, "a", [2])
    before = feed.table.metadata_location, len(feed.ledger_rows())
    for expression, said in {
        "hour(ts": "derive.hour: .*PARSE_SYNTAX_ERROR",
        "hour(tss)": "derive.hour: .*tss",
        "date(ts)": "derive.hour: 'date\\(ts\\)' is date, and the table's column is int; CAST it AS INT",
    }.items():
        with pytest.raises(ConfigurationError, match=said):
            append(lambda: spark, feed.profile, declared(expression).spec, [D2])
    assert (feed.table.metadata_location, len(feed.ledger_rows())) == before
    assert append(lambda: spark, feed.profile, declared("id * 2").spec, [D2])[D2].status is Status.DONE, "long to int"


def test_columns_that_differ_in_case_only_are_refused(spark: "SparkSession", feed: Feed) -> None:
    bad = feed.land(D1, "a", [1], Carrier=pa.array(["x"]))
    reason = append(lambda: spark, feed.profile, feed.spec, [D1])[D1].reason
    assert f"{bad}: columns 'carrier' and 'Carrier' differ in case only" in reason
    feed.land(D2, "a", [1], x=pa.array([1]))
    other = feed.land(D2, "b", [1], X=pa.array([1]))
    reason = append(lambda: spark, feed.profile, feed.spec, [D2])[D2].reason
    assert f"{other}: column 'X' differs in case only from the table's 'x'" in reason


def test_the_widest_type_of_the_sample_becomes_the_column(spark: "SparkSession", feed: Feed) -> None:
    narrow = feed.land(D1, "a", [1], n=pa.array([1], pa.int32()))
    wide = feed.land(D1, "b", [2], n=pa.array([2**40], pa.int64()))
    ensure_table(spark, feed.profile, feed.spec, columns_of(narrow, wide))
    assert str(feed.table.schema().find_type("n")) == "long"


def test_made_by_several_at_once(spark: "SparkSession", profile: Profile, tmp_path: Path, namespace: str) -> None:
    for attempt in range(3):
        feed = make_feed(profile, tmp_path / str(attempt), f"{namespace}_{attempt}.t")
        path = feed.land(D1, "a", [1])
        barrier = threading.Barrier(4)

        def make(feed: Feed, path: Path, barrier: threading.Barrier) -> bool:
            session = spark.newSession()
            barrier.wait()
            return ensure_table(session, feed.profile, feed.spec, columns_of(path))

        with ThreadPoolExecutor(4) as pool:
            made = list(pool.map(lambda _: make(feed, path, barrier), range(4)))  # noqa: B023 - ends in this round
        assert sum(made) == 1


def test_files_that_disagree_about_a_type_make_no_table(spark: "SparkSession", feed: Feed) -> None:
    feed.land(D1, "a", [1], n=pa.array([1], pa.int32()))
    other = feed.land(D1, "b", [2], n=pa.array(["x"]))
    outcome = append(lambda: spark, feed.profile, feed.spec, [D1])[D1]
    assert f"{other}: column 'n' is string, and the table's is int" in outcome.reason
    assert not feed.profile.pyiceberg().namespace_exists(feed.spec.table[:-1])


def test_raw_files_may_not_land_in_the_warehouse_nor_the_warehouse_among_them(profile: Profile, namespace: str) -> None:
    warehouse = Path(profile.catalog.warehouse)
    for raw in (warehouse / "raw", warehouse.parent, warehouse):
        with pytest.raises(ConfigurationError, match="neither may contain the other"):
            check_places(profile, make_feed(profile, raw, f"{namespace}.t").spec)
    check_places(profile, make_feed(profile, warehouse.with_name("warehouse_raw"), f"{namespace}.t").spec)


def test_raw_files_may_not_land_in_the_place_that_an_existing_table_has(
    spark: "SparkSession", feed: Feed, tmp_path: Path
) -> None:
    catalog = feed.profile.pyiceberg()
    catalog.create_namespace(feed.spec.table[:-1])
    path = feed.land(D1, "a", [1])
    catalog.create_table(feed.spec.table, pa.schema([("ts", pa.timestamp("us"))]), location=f"file://{tmp_path}")
    with pytest.raises(ConfigurationError, match="neither may contain the other"):
        ensure_table(spark, feed.profile, feed.spec, columns_of(path))

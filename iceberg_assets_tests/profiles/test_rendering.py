"""One profile for two engines: what each is told of a catalog and its store, and what is refused. No JVM."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.profiles.packages import excluded
from iceberg_assets.profiles.store import S3_SCHEMES

STORE = {
    "endpoint": "http://store:8333",
    "path_style": True,
    "access_key": "AK",
    "secret_key": "SK",
    "buckets": {
        "raw": {"endpoint": "https://s3.eu-central-1.amazonaws.com", "region": "eu-central-1", "secret_key": "RK"}
    },
}


def profile(catalog: dict[str, Any], store: dict[str, Any] | None = None, **more: Any) -> Profile:
    return Profile.model_validate({"name": "p", "catalog": {"name": "lake", **catalog}, "store": store, **more})


def told(found: Profile) -> tuple[dict[str, str], dict[str, str]]:
    """Of the catalog: to Spark, without the prefix, and to PyIceberg."""
    prefix = "spark.sql.catalog.lake."
    spark = {key.removeprefix(prefix): value for key, value in found.spark_settings().items() if key.startswith(prefix)}
    return spark, found.pyiceberg_properties()


@pytest.mark.parametrize(
    ("catalog", "spark", "pyiceberg"),
    [
        (
            {
                "type": "jdbc",
                "uri": "postgresql://db:5432/c?sslmode=require",
                "user": "u@x",
                "password": "p:w/",
                "warehouse": "/wh",
            },
            {
                "uri": "jdbc:postgresql://db:5432/c?sslmode=require",
                "jdbc.user": "u@x",
                "jdbc.password": "p:w/",
                "warehouse": "file:///wh",
            },
            {"uri": "postgresql+psycopg2://u%40x:p%3Aw%2F@db:5432/c?sslmode=require&connect_timeout=10", "type": "sql"},
        ),
        (
            {"type": "hive", "uri": "thrift://ms:9083", "lock_enabled": True},
            {"type": "hive", "uri": "thrift://ms:9083", "hadoop.iceberg.engine.hive.lock-enabled": "true"},
            {"uri": "thrift://ms:9083", "engine.hive.lock-enabled": "true", "hive.hive2-compatible": "true"},
        ),
        (
            {"type": "hive", "uri": "thrift://ms:9083"},
            {"hadoop.iceberg.engine.hive.lock-enabled": "false"},
            {"py-catalog-impl": "iceberg_assets.profiles.hive.ComparingHiveCatalog"},
        ),
        (
            {
                "type": "glue",
                "endpoint": "http://g",
                "id": "12",
                "region": "eu-west-1",
                "skip_archive": False,
                "warehouse": "s3://lake/wh",
            },
            {
                "type": "glue",
                "glue.endpoint": "http://g",
                "glue.id": "12",
                "client.region": "eu-west-1",
                "glue.skip-archive": "false",
            },
            {
                "type": "glue",
                "glue.endpoint": "http://g",
                "glue.id": "12",
                "glue.region": "eu-west-1",
                "glue.skip-archive": "false",
            },
        ),
        (
            {
                "type": "rest",
                "uri": "http://r",
                "warehouse": "wh",
                "credential": "id:pw",
                "scope": "all",
                "oauth2_server_uri": "http://o/t",
            },
            {
                "uri": "http://r",
                "warehouse": "wh",
                "credential": "id:pw",
                "scope": "all",
                "oauth2-server-uri": "http://o/t",
            },
            {
                "uri": "http://r",
                "warehouse": "wh",
                "credential": "id:pw",
                "scope": "all",
                "oauth2-server-uri": "http://o/t",
            },
        ),
        (
            {
                "type": "rest",
                "uri": "http://r",
                "sigv4": {"region": "r1", "name": "s3tables", "access_key": "a", "secret_key": "s"},
            },
            {
                "rest.sigv4-enabled": "true",
                "rest.signing-region": "r1",
                "rest.signing-name": "s3tables",
                "rest.access-key-id": "a",
                "rest.secret-access-key": "s",
            },
            {
                "rest.sigv4-enabled": "true",
                "rest.signing-region": "r1",
                "rest.signing-name": "s3tables",
                "client.access-key-id": "a",
                "client.secret-access-key": "s",
            },
        ),
        (
            {
                "catalog_impl": "com.dlf.Catalog",
                "properties": {"dlf.id": 7},
                "pyiceberg": {"type": "rest", "uri": "http://r"},
            },
            {"catalog-impl": "com.dlf.Catalog", "dlf.id": "7"},
            {"type": "rest", "uri": "http://r", "dlf.id": "7"},
        ),
    ],
)
def test_each_engine_is_told_by_the_names_that_it_knows(
    catalog: dict[str, Any], spark: dict[str, str], pyiceberg: dict[str, str]
) -> None:
    to_spark, to_pyiceberg = told(profile(catalog))
    assert spark.items() <= to_spark.items()
    assert pyiceberg.items() <= to_pyiceberg.items()


def test_both_engines_reach_the_warehouses_bucket_in_the_same_way() -> None:
    spark, pyiceberg = told(profile({"type": "hive", "uri": "thrift://ms:9083", "warehouse": "s3://lake/wh"}, STORE))
    assert spark["io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    assert spark["s3.path-style-access"] == "true"
    assert pyiceberg["s3.force-virtual-addressing"] == "false", "PyIceberg says the opposite of path style"
    # Some region has to be signed for, whatever a store of one's own makes of it.
    assert (spark["client.region"], pyiceberg["client.region"]) == ("us-east-1", "us-east-1")
    for name, value in (
        ("s3.endpoint", "http://store:8333"),
        ("s3.access-key-id", "AK"),
        ("s3.secret-access-key", "SK"),
    ):
        assert spark[name] == pyiceberg[name] == value


def test_a_bucket_of_its_own_is_reached_in_its_own_way() -> None:
    in_raw = profile({"type": "hive", "uri": "thrift://ms:9083", "warehouse": "s3://raw/wh"}, STORE)
    spark, pyiceberg = told(in_raw)
    for engine in (spark, pyiceberg):
        assert engine["s3.secret-access-key"] == "RK"
        assert engine["s3.access-key-id"] == "AK", "what it leaves out is as the store has it"
        assert engine["client.region"] == "eu-central-1"
    hadoop = in_raw.spark_settings()
    assert hadoop["spark.hadoop.fs.s3a.secret.key"] == "SK"
    assert hadoop["spark.hadoop.fs.s3a.connection.ssl.enabled"] == "false"
    assert hadoop["spark.hadoop.fs.s3a.bucket.raw.secret.key"] == "RK"
    assert hadoop["spark.hadoop.fs.s3a.bucket.raw.connection.ssl.enabled"] == "true"
    for scheme in ("s3", "s3a", "s3n"):
        assert hadoop[f"spark.hadoop.fs.{scheme}.impl"] == "org.apache.hadoop.fs.s3a.S3AFileSystem"


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ({"endpoint": "http://minio:9000"}, {"s3.path-style-access": "true", "client.region": "us-east-1"}),
        (
            {"endpoint": "http://minio:9000", "path_style": False, "region": "x"},
            {"s3.path-style-access": "false", "client.region": "x"},
        ),
        ({"endpoint": "https://s3.eu-west-1.amazonaws.com", "region": "eu-west-1"}, {"client.region": "eu-west-1"}),
    ],
)
def test_a_store_that_is_not_awss_has_buckets_in_its_path_and_any_region(
    store: dict[str, Any], said: dict[str, str]
) -> None:
    spark, _ = told(profile({"type": "hive", "uri": "thrift://ms:9083", "warehouse": "s3://lake/wh"}, store))
    names = ("s3.path-style-access", "client.region")
    assert {name: spark[name] for name in names if name in spark} == said


def test_a_local_warehouse_stays_on_disk_where_raw_files_lie_in_a_store() -> None:
    spark, _ = told(profile({"type": "hadoop", "warehouse": "/wh"}, STORE))
    assert "io-impl" not in spark


def test_the_session_catalog_is_sparks_own_on_the_same_metastore() -> None:
    found = profile(
        {"name": "spark_catalog", "session": True, "type": "hive", "uri": "thrift://ms:9083", "warehouse": "/wh"}
    )
    settings = found.spark_settings()
    assert settings["spark.sql.catalog.spark_catalog"] == "org.apache.iceberg.spark.SparkSessionCatalog"
    assert settings["spark.sql.catalogImplementation"] == "hive"
    assert settings["spark.hadoop.hive.metastore.uris"] == "thrift://ms:9083"
    assert settings["spark.sql.warehouse.dir"] == "file:///wh"


def test_what_the_profile_says_itself_counts_most() -> None:
    found = profile(
        {
            "type": "rest",
            "uri": "http://r",
            "properties": {"io-impl": "mine", "page-size": 5},
            "pyiceberg": {"page-size": 6},
        },
        STORE,
        spark={"spark.sql.shuffle.partitions": 7},
    )
    spark, pyiceberg = told(found)
    assert (spark["io-impl"], spark["page-size"], pyiceberg["page-size"]) == ("mine", "5", "6")
    assert found.spark_settings()["spark.sql.shuffle.partitions"] == "7"


@pytest.mark.parametrize(
    ("catalog", "words"),
    [
        ({"type": "hive"}, "catalog: uri: a catalog of type hive needs it"),
        (
            {"type": "hadoop", "warehouse": "w", "token": "t"},
            "token: a catalog of type hadoop takes none; its keys are",
        ),
        ({"type": "jdbc", "uri": "mysql://x", "warehouse": "w"}, "expected sqlite:///.* or postgresql://"),
        ({"type": "hive", "uri": "thrift://x", "session": True}, "with session it has to be spark_catalog"),
        ({}, "expected type .hadoop, hive, glue, rest, jdbc., or catalog_impl"),
        ({"type": "hive", "uri": "thrift://x", "catalog_impl": "a.B"}, "expected type"),
        (
            {"type": "hive", "uri": "thrift://x", "warehouse": "s3://lake/wh"},
            "store: the warehouse s3://lake/wh is in one",
        ),
        ({"type": "hive", "uri": "thrift://x", "lock_enable": True}, "did you mean 'lock_enabled'"),
        ({"type": "hive", "uri": "thrift://x", "properties": {"a": ["b"]}}, "properties: a: expected a text, a number"),
    ],
)
def test_a_catalog_that_cannot_be_is_refused_when_it_is_loaded(
    tmp_path: Path, catalog: dict[str, Any], words: str
) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "bad.yaml").write_text(yaml.safe_dump({"catalog": {"name": "lake", **catalog}}))
    with pytest.raises(ConfigurationError, match=words):
        load_profile("bad", tmp_path)


def test_jars_follow_from_catalog_and_store() -> None:
    def names(found: Profile) -> list[str]:
        return [one.split(":")[1] for one in found.maven]

    runtime = "iceberg-spark-runtime-4.1_2.13"
    assert names(profile({"type": "hadoop", "warehouse": "/wh"})) == [runtime]
    assert names(profile({"type": "jdbc", "uri": "postgresql://h/d", "warehouse": "/wh"})) == [runtime, "postgresql"]
    assert names(profile({"type": "glue", "warehouse": "s3://lake/wh"})) == [runtime, "iceberg-aws-bundle"]
    s3 = ["iceberg-aws-bundle", "hadoop-aws", "s3-transfer-manager", "apache-client"]
    assert names(profile({"type": "rest", "uri": "http://r"}, STORE)) == [runtime, *s3]


def test_a_package_of_the_profile_replaces_ours_of_another_version() -> None:
    other = "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0"
    assert profile({"type": "hadoop", "warehouse": "/wh"}, packages=[other, "a:b:1"]).maven == (other, "a:b:1")


def test_no_package_of_ours_brings_awss_whole_sdk() -> None:
    left_out = excluded(profile({"type": "rest", "uri": "http://r"}, STORE).maven)
    assert "software.amazon.awssdk:bundle" in left_out
    assert "software.amazon.awssdk:s3-transfer-manager" not in left_out


def test_an_empty_store_is_none_so_that_a_local_catalog_needs_no_jars_of_s3() -> None:
    empty = {"endpoint": "", "path_style": "", "region": "", "access_key": "", "secret_key": ""}
    assert profile({"type": "hadoop", "warehouse": "/wh"}, empty).store is None
    assert profile({"type": "hadoop", "warehouse": "s3a://lake/wh"}, empty).store, "AWS's own settings count"


def test_two_profiles_of_one_catalog_are_known_to_be() -> None:
    def identity(**catalog: Any) -> tuple[str, ...]:
        return profile(catalog).catalog.identity

    jdbc = {"type": "jdbc", "uri": "sqlite:////tmp/../tmp/c.db", "warehouse": "/one"}
    assert identity(**jdbc) == identity(**jdbc | {"uri": "sqlite:////tmp/c.db", "warehouse": "/other"})
    assert identity(**jdbc) != identity(**jdbc, name="other"), "rows of another name"
    rest = {"type": "rest", "uri": "http://r"}
    assert identity(**rest, warehouse="a") != identity(**rest, warehouse="b")
    assert identity(**rest) == identity(**rest | {"uri": "http://r/"})
    places = [f"{scheme}://lake/wh{end}" for scheme in S3_SCHEMES for end in ("", "/")]
    hadoop = {profile({"type": "hadoop", "warehouse": place}, STORE).catalog.identity for place in places}
    assert len(hadoop) == 1, "one place in three spellings"
    assert identity(type="hadoop", warehouse="/a") != identity(type="hadoop", warehouse="/b")

"""A catalog that cannot be opened is told in one sentence, with the key to look at. No JVM."""

from typing import Any

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import Profile, kinds
from iceberg_assets.spec import TableSpec
from iceberg_assets.tables.target import load_target

NOBODY = "127.0.0.1:9"
"""Nothing listens on the port of discard."""


def profile(**catalog: Any) -> Profile:
    return Profile.model_validate({"name": "far", "catalog": {"name": "lake", **catalog}})


def opened(found: Profile) -> None:
    found.prepare()
    found.pyiceberg()


@pytest.mark.parametrize(
    ("catalog", "words"),
    [
        (
            {"type": "hive", "uri": f"thrift://{NOBODY}"},
            "type hive at thrift://.*Look at catalog.uri; start the service",
        ),
        ({"type": "rest", "uri": f"http://{NOBODY}"}, "type rest at http://.*Look at catalog.uri; start the service"),
        (
            {"type": "jdbc", "uri": f"postgresql://{NOBODY}/c", "warehouse": "/wh"},
            "type jdbc at postgresql://.*Look at catalog.uri, user or password; start the database",
        ),
        (
            {"type": "hadoop", "warehouse": "/dev/null/wh"},
            "catalog.warehouse: the folder /dev/null/wh cannot be written",
        ),
        ({"catalog_impl": "com.dlf.Catalog"}, "catalog.pyiceberg: nothing says how PyIceberg reaches the catalog"),
    ],
)
def test_what_cannot_be_reached_is_named_with_its_key(catalog: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=f"profile 'far'.*{words}") as refused:
        opened(profile(**catalog))
    assert "\n" not in str(refused.value)


def test_the_sentence_of_a_catalog_that_cannot_be_opened_is_not_put_into_another_one() -> None:
    """It lost its end, which is the way out."""
    spec = TableSpec.model_validate({"table": "a.b", "dates": {"column": None, "start": "2024-01-01"}})
    away = profile(type="jdbc", uri=f"postgresql://{NOBODY}/c", warehouse="/wh")
    with pytest.raises(ConfigurationError, match=r"^profile 'far': a catalog .* start the database, or correct them$"):
        load_target(away, spec)


@pytest.mark.parametrize(
    ("catalog", "module", "extra"),
    [
        ({"type": "hive", "uri": "thrift://ms"}, "thrift", "hive"),
        ({"type": "glue", "warehouse": "s3://lake/wh"}, "boto3", "glue"),
        ({"type": "rest", "uri": "http://r", "sigv4": {"region": "x"}}, "boto3", "rest-sigv4"),
        ({"type": "jdbc", "uri": "postgresql://h/d", "warehouse": "/wh"}, "psycopg2", "postgres"),
    ],
)
def test_a_python_package_that_is_missing_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, catalog: dict[str, Any], module: str, extra: str
) -> None:
    monkeypatch.setattr(kinds, "find_spec", lambda name: None if name == module else name)
    with pytest.raises(ConfigurationError, match=rf"needs the Python package {module}: pip install .*\[{extra}\]'"):
        profile(**catalog).pyiceberg()


def test_a_catalog_that_only_spark_knows_is_not_in_the_way_of_a_session() -> None:
    profile(catalog_impl="com.dlf.Catalog").require_reachable()

"""A canary in every secret of a profile: it reaches the engines, and nothing that is shown. No JVM."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.profiles.values import REDACTED, without_secrets

CANARY = "canary-4711"
KEYS = {"access_key": f"{CANARY}-ak", "secret_key": f"{CANARY}-sk", "session_token": f"{CANARY}-st"}
CATALOGS: dict[str, dict[str, Any]] = {
    "jdbc": {
        "type": "jdbc",
        "uri": "postgresql://127.0.0.1:9/c",
        "user": "u",
        "password": f"{CANARY}-pw",
        "warehouse": "/wh",
    },
    "rest": {
        "type": "rest",
        "uri": "http://127.0.0.1:9",
        "token": f"{CANARY}-to",
        "credential": f"id:{CANARY}-cr",
        "sigv4": KEYS,
    },
    "impl": {
        "catalog_impl": "a.B",
        "properties": {"dlf.access-key": f"{CANARY}-dlf", "dlf.token-endpoint": f"{CANARY}-te"},
        "pyiceberg": {"type": "hive", "uri": "thrift://127.0.0.1:9", "some.password": f"{CANARY}-py"},
    },
}


def full(which: str) -> Profile:
    settings = {
        "name": which,
        "catalog": {"name": "lake", **CATALOGS[which]},
        "store": {"endpoint": "http://127.0.0.1:9", **KEYS, "buckets": {"raw": {"secret_key": f"{CANARY}-bucket"}}},
        "spark": {"spark.hadoop.fs.s3a.bucket.other.secret.key": f"{CANARY}-spark"},
        "on_failure": {"command": f"tell {CANARY}-command", "url": f"https://hook/{CANARY}-url"},
    }
    return Profile.model_validate(settings)


@pytest.mark.parametrize("which", CATALOGS)
def test_a_secret_is_in_nothing_that_shows_a_profile(which: str) -> None:
    profile = full(which)
    shown = [repr(profile), str(profile), f"{profile.model_dump()}", profile.model_dump_json(), f"{profile.catalog!r}"]
    shown.append(json.dumps(profile.model_dump(mode="json")))
    assert not [text for text in shown if CANARY in text]
    given = f"{profile.spark_settings()} {profile.pyiceberg_properties()}"
    assert CANARY in given, "engines get it"


@pytest.mark.parametrize("which", CATALOGS)
def test_every_setting_of_spark_with_a_secret_is_one_that_spark_masks(which: str) -> None:
    settings = full(which).spark_settings()
    assert settings["spark.redaction.regex"] == REDACTED
    # What Spark masks options of tables and data sources by.
    assert REDACTED in settings["spark.sql.redaction.options.regex"]
    assert not [name for name, value in settings.items() if CANARY in value and not re.search(REDACTED, name)]


@pytest.mark.parametrize("which", CATALOGS)
def test_an_error_on_the_way_to_the_catalog_holds_no_secret(which: str) -> None:
    with pytest.raises(ConfigurationError, match=f"profile '{which}': .* cannot be opened") as refused:
        full(which).pyiceberg()
    assert CANARY not in str(refused.value)
    assert refused.value.__suppress_context__, "a traceback would show the driver's own words"


@pytest.mark.parametrize(
    "wrong",
    [
        {"catalog": {"name": "lake", "typ": "rest", "token": CANARY}},
        {"catalog": {"type": "rest", "token": CANARY}},
        {"catalog": {"name": "lake", "type": "hive", "uri": "thrift://x", "token": CANARY}},
        {"catalog": {"name": "lake", "type": "rest", "uri": f"http://user:{CANARY}@host"}},
        {"catalog": {"name": "lake", "type": "rest", "uri": "http://r", "token": [CANARY]}},
        {
            "catalog": {"name": "lake", "type": "rest", "uri": "http://r"},
            "store": {"endpoint": f"http://{CANARY}@host"},
        },
        {"catalog": {"name": "lake", "type": "rest", "uri": "http://r"}, "store": {"secret": CANARY}},
        {"catalog": {"name": "lake", "type": "rest", "uri": "http://r", "sigv4": {"secret_key": {"a": CANARY}}}},
        {
            "catalog": {
                "name": "lake",
                "type": "rest",
                "uri": "http://r",
                "sigv4": {"region": {"a": 1}, "token": CANARY},
            }
        },
        {"catalog": {"name": "lake", "type": "rest", "uri": "http://r"}, "spark": {"a.token": [CANARY]}},
    ],
)
def test_a_mistake_in_a_file_is_told_without_the_secret_beside_it(tmp_path: Path, wrong: dict[str, Any]) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "bad.yaml").write_text(yaml.safe_dump(wrong))
    with pytest.raises(ConfigurationError) as refused:
        load_profile("bad", tmp_path)
    assert CANARY not in str(refused.value)


def test_what_a_service_says_is_told_without_secrets() -> None:
    said = without_secrets(f"refused: {CANARY}-cr of {CANARY}-to, {CANARY}-sk", full("rest").catalog)
    assert said == "refused: … of …, …"


def test_dagsters_EnvVar_stands_for_the_variables_value(monkeypatch: pytest.MonkeyPatch) -> None:
    import dagster as dg

    monkeypatch.setenv("LAKE_TOKEN", CANARY)
    catalog = {"name": "lake", "type": "rest", "uri": "http://r", "token": dg.EnvVar("LAKE_TOKEN")}
    profile = Profile.model_validate({"name": "p", "catalog": catalog})
    assert profile.pyiceberg_properties()["token"] == CANARY
    assert CANARY not in repr(profile)

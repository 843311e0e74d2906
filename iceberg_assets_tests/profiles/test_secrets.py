"""A canary in every secret of a profile: it reaches the engines, and nothing that is shown. No JVM."""

import base64
import json
import re
import traceback
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from iceberg_assets.errors import ConfigurationError, ServiceError
from iceberg_assets.profiles import Profile, load_profile, naming_the_service
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
        "properties": {
            "dlf.access-key": f"{CANARY}-dlf",
            "dlf.token-endpoint": f"{CANARY}-te",
            "header.Authorization": f"Bearer {CANARY}-h",
            "header.X-Api-Key": f"{CANARY}-k",
            "adls.connection-string.acc": f"{CANARY}-cs",
            "adls.auth.shared-key.account.key": f"{CANARY}-az",
            "some.url": f"jdbc:x://user:{CANARY}-url@h/d",
        },
        "pyiceberg": {"type": "sql", "uri": f"postgresql+psycopg2://u:{CANARY}-py@127.0.0.1:9/d"},
    },
}


def full(which: str) -> Profile:
    settings = {
        "name": which,
        "catalog": {"name": "lake", **CATALOGS[which]},
        "store": {"endpoint": "http://127.0.0.1:9", **KEYS, "buckets": {"raw": {"secret_key": f"{CANARY}-bucket"}}},
        "spark": {
            "spark.hadoop.fs.s3a.bucket.other.secret.key": f"{CANARY}-spark",
            "spark.hadoop.fs.azure.account.key.acc.dfs.core.windows.net": f"{CANARY}-azure",
        },
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
    assert not [
        name for name, value in settings.items() if CANARY in value and not re.search(REDACTED, f"{name} {value}")
    ]


@pytest.mark.parametrize("which", CATALOGS)
def test_an_error_on_the_way_to_the_catalog_holds_no_secret(which: str) -> None:
    with pytest.raises(ConfigurationError, match=f"profile '{which}': .* cannot be opened") as refused:
        full(which).pyiceberg()
    assert CANARY not in str(refused.value)
    assert refused.value.__suppress_context__, "a traceback would show the driver's own words"


REST: dict[str, Any] = {"catalog": {"name": "lake", "type": "rest", "uri": "http://r"}}
PLACES = (f"thrift://a:1,thrift://user:{CANARY}@b:2", f"thrift://user:{CANARY}@b:2", f"thrift://b:2?token={CANARY}")


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
        # A text or a list where keys belong.
        *({**REST, key: value} for key in ("store", "on_failure", "production") for value in (CANARY, [{"x": CANARY}])),
        {**REST, "store": {"buckets": {"raw": CANARY}}},
        [{"token": CANARY}],
        # Places with a secret in them.
        *({"catalog": {"name": "lake", "type": "hive", "uri": uri}} for uri in PLACES),
        {"catalog": {"name": "l", "type": "jdbc", "warehouse": "/w", "uri": f"postgresql://h/d?password={CANARY}"}},
        {"catalog": {**REST["catalog"], "warehouse": f"s3://key:{CANARY}@bucket/w"}},
        # What is no YAML.
        f'catalog: {{token: "{CANARY}',
        f"catalog:\n\ttoken: {CANARY}",
        f"catalog: {{token: *{CANARY}}}",
        f"catalog: {{token: !{CANARY} x}}",
        # Of a file, with its line break, which a header's own refusal would repeat.
        {"catalog": {**REST["catalog"], "token": f"{CANARY}\n"}},
    ],
)
def test_a_mistake_in_a_file_is_told_without_the_secret_beside_it(tmp_path: Path, wrong: object) -> None:
    (tmp_path / "profiles").mkdir()
    text = wrong if isinstance(wrong, str) else yaml.safe_dump(wrong)
    (tmp_path / "profiles" / "bad.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        load_profile("bad", tmp_path)
    assert CANARY not in str(refused.value)


def test_what_a_service_says_is_told_without_secrets() -> None:
    said = without_secrets(f"refused: {CANARY}-cr of {CANARY}-to, {CANARY}-sk", full("rest").catalog)
    assert said == "refused: … of …, …"


@pytest.mark.parametrize(
    "spelled",
    [
        lambda secret: secret,
        urllib.parse.quote,
        urllib.parse.quote_plus,
        repr,
        json.dumps,
        lambda secret: base64.b64encode(secret.encode()).decode(),
    ],
)
def test_a_secret_is_taken_out_however_others_spell_it(spelled: Callable[[str], str]) -> None:
    secret = f'a b/{CANARY}"\\+ü'
    catalog = {"name": "lake", "type": "rest", "uri": "http://r", "token": secret}
    profile = Profile.model_validate({"name": "p", "catalog": catalog})
    assert without_secrets(f"<{spelled(secret).strip(chr(34) + chr(39))}>", profile) == "<…>"


def test_dagsters_EnvVar_stands_for_the_variables_value_in_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    import dagster as dg

    monkeypatch.setenv("LAKE_TOKEN", CANARY)
    monkeypatch.setenv("LAKE_URI", "http://r")
    own = {"uri": dg.EnvVar("LAKE_URI"), "token": dg.EnvVar("LAKE_TOKEN")}
    properties = {"header.Authorization": dg.EnvVar("LAKE_TOKEN")}
    catalog = {"name": "lake", "type": "rest", **own, "properties": properties}
    profile = Profile.model_validate({"name": "p", "catalog": catalog})
    given = profile.pyiceberg_properties()
    assert (given["uri"], given["token"], given["header.Authorization"]) == ("http://r", CANARY, CANARY)
    assert CANARY not in f"{profile!r} {profile.model_dump()}"


def test_a_cause_that_repeats_a_secret_is_not_shown_with_the_sentence() -> None:
    profile = full("rest")
    with pytest.raises(ServiceError, match="profile 'rest': of nobody: …") as told, naming_the_service(profile):
        raise ValueError(f"of nobody: {CANARY}-to")
    assert told.value.__suppress_context__
    for repeats, word in ((True, f"{CANARY}-to"), (False, "it")):
        with pytest.raises(ServiceError) as told, naming_the_service(profile):
            raise ConnectionError(f"refused: {word}")
        shown = "".join(traceback.format_exception(told.value)).replace(f'"{CANARY}', "")
        assert ("ConnectionError: refused: it" in shown) is not repeats
        assert CANARY not in shown

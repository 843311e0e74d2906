"""An error of a catalog or store names profile and key, whichever engine met it, and shows no secret."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.clientserver import ClientServerConnection, JavaParameters, PythonParameters

from iceberg_assets.errors import ConfigurationError, ServiceError
from iceberg_assets.profiles import Profile, load_profile, naming_the_service, of_service

PROFILE = """\
catalog: {name: lake, type: rest, uri: "http://127.0.0.1:9", warehouse: "s3://lake/wh", token: canary}
store: {endpoint: "http://127.0.0.1:8", access_key: admin, secret_key: canary, region: us-east-1}
"""


@pytest.fixture
def rest(tmp_path: Path) -> Profile:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "prod.yaml").write_text(PROFILE)
    return load_profile("prod", tmp_path)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError("When reading key 'a' in bucket 'lake': AWS Error NETWORK_CONNECTION during HeadObject"), "store at"),
        (
            RuntimeError("software.amazon.awssdk.services.s3.model.S3Exception: (Status Code: 503)"),
            "store at",
        ),
        (RuntimeError("org.apache.iceberg.exceptions.NotAuthorizedException: canary"), "catalog at http://127.0.0.1:9"),
        (RuntimeError("org.apache.iceberg.jdbc.UncheckedSQLException: Failed to get table"), "catalog at"),
        (ConnectionError("refused"), "catalog or store"),
        (ConnectionError('endpoint URL: "http://127.0.0.1:8/raw/a.parquet"'), "store at http://127.0.0.1:8"),
    ],
)
def test_the_profile_and_the_key_are_named_and_no_secret(rest, error, says):
    sentence = of_service(rest, error)
    assert sentence is not None
    assert f"profile 'prod', {says}" in sentence
    assert "canary" not in sentence
    with pytest.raises(ServiceError, match="look at"), naming_the_service(rest):
        raise error


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError("s3://lake/wh/a.avro: AWS Error NO_SUCH_KEY during HeadObject"),
        RuntimeError("software.amazon.awssdk.services.s3.model.NoSuchKeyException: The specified key does not exist"),
        RuntimeError("s3a://raw/a.parquet is not a Parquet file"),
        ValueError("a fault of ours"),
    ],
)
def test_what_no_service_is_to_blame_for_stays_what_it_is(rest, error):
    assert of_service(rest, error) is None
    with pytest.raises(type(error)), naming_the_service(rest):
        raise error
    with pytest.raises(ConfigurationError), naming_the_service(rest):
        raise ConfigurationError("a sentence already, that mentions an S3Exception")


def test_a_jvm_that_was_killed_is_not_taken_for_a_catalog_that_does_not_answer(rest):
    nobody, properties = JavaParameters(port=9), SimpleNamespace(pool=None)
    with pytest.raises(ServiceError, match="the JVM of Spark has ended") as told, naming_the_service(rest):
        ClientServerConnection(nobody, PythonParameters(), properties, None).connect_to_java_server()
    assert "spark.driver.memory" in str(told.value)
    assert "catalog" not in str(told.value)

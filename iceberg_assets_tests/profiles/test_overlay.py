"""base.yaml below the profile's file below the environment, and the profiles that come with the package. No JVM."""

import logging
from pathlib import Path

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import load_profile
from iceberg_assets.profiles.loading import overlaid

SHIPPED = {"local", "docker", "hadoop", "hive", "glue", "rest", "jdbc", "session"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "profiles").mkdir()
    return tmp_path


def write(root: Path, name: str, text: str) -> None:
    (root / "profiles" / f"{name}.yaml").write_text(text)


def test_maps_are_joined_key_by_key_and_all_else_is_replaced() -> None:
    below = {"a": {"x": 1, "y": {"z": 2}}, "list": [1, 2], "kept": True, "gone": {"x": 1}}
    above = {"a": {"y": {"w": 3}}, "list": [3], "gone": None}
    assert overlaid(below, above) == {"a": {"x": 1, "y": {"z": 2, "w": 3}}, "list": [3], "kept": True}


def test_a_profile_lies_over_the_projects_base_and_that_over_the_packages(root: Path) -> None:
    write(root, "base", "shadow: true\nspark: {spark.driver.memory: 3g}\ncatalog: {warehouse: wh}\n")
    write(root, "mine", "catalog: {name: mine, type: hadoop}\nspark: {spark.master: 'local[1]'}\n")
    profile = load_profile("mine", root)
    assert profile.shadow
    assert profile.catalog.warehouse == str(root / "wh")
    settings = profile.spark_settings()
    assert (settings["spark.master"], settings["spark.driver.memory"]) == ("local[1]", "3g")
    assert "TieredStopAtLevel" in settings["spark.driver.extraJavaOptions"], "the package's"
    assert load_profile("local", root).spark_settings()["spark.driver.memory"] == "3g", "of every profile"


def test_a_mistake_names_both_files_where_it_may_stand_in_either(root: Path) -> None:
    write(root, "base", "shadwo: true\n")
    write(root, "mine", "catalog: {name: mine, type: hadoop, warehouse: wh}\n")
    with pytest.raises(
        ConfigurationError, match=r"mine\.yaml over .*base\.yaml is not usable:\n.*did you mean 'shadow'"
    ):
        load_profile("mine", root)


def test_the_base_is_no_profile_itself(root: Path) -> None:
    write(root, "base", "shadow: true\n")
    with pytest.raises(ConfigurationError, match=r"there is no profile 'base': known are docker, glue"):
        load_profile("base", root)


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_a_profile_that_comes_with_the_package_loads_as_it_stands(root: Path, name: str) -> None:
    profile = load_profile(name, root)
    assert profile.spark_settings()[f"spark.sql.catalog.{profile.catalog.name}"]
    assert profile.pyiceberg_properties()


@pytest.mark.parametrize(
    ("name", "variable", "setting"),
    [
        ("hadoop", "ICEBERG_ASSETS_HADOOP_WAREHOUSE", "warehouse"),
        ("hive", "ICEBERG_ASSETS_HIVE_URI", "uri"),
        ("glue", "AWS_ENDPOINT_URL_GLUE", "glue.endpoint"),
        ("rest", "ICEBERG_ASSETS_REST_TOKEN", "token"),
        ("jdbc", "ICEBERG_ASSETS_JDBC_PASSWORD", "jdbc.password"),
        ("session", "ICEBERG_ASSETS_HIVE_URI", "uri"),
        ("docker", "ICEBERG_ASSETS_DOCKER_STORE", "s3.endpoint"),
        ("glue", "AWS_SECRET_ACCESS_KEY", "s3.secret-access-key"),
    ],
)
def test_its_settings_follow_the_environment(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, variable: str, setting: str
) -> None:
    monkeypatch.setenv(variable, "http://from-the-environment")
    profile = load_profile(name, root)
    settings = profile.spark_settings()
    assert settings[f"spark.sql.catalog.{profile.catalog.name}.{setting}"] == "http://from-the-environment"


def test_a_hadoop_catalog_says_once_that_it_has_one_writer(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(root, "folders", "catalog: {name: folders, type: hadoop, warehouse: wh}\n")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            load_profile("folders", root)
    said = [one.getMessage() for one in caplog.records if "one writer" in one.getMessage()]
    assert len(said) == 1
    assert said[0].startswith("profile 'folders': ")


def test_a_jar_of_a_profile_is_found_from_the_project_and_has_to_be_there(root: Path) -> None:
    write(root, "own", "catalog: {name: own, catalog_impl: a.B}\njars: [lib/own.jar]\n")
    with pytest.raises(ConfigurationError, match=rf"profile 'own', jars: there is no file {root}/lib/own\.jar"):
        load_profile("own", root)
    (root / "lib").mkdir()
    (root / "lib" / "own.jar").touch()
    assert load_profile("own", root).jars == (f"{root}/lib/own.jar",)


@pytest.mark.parametrize("text", ["${A:-${B:-x}}", "${A-x}", "${A:?none}", "${}", "${A", "${A B}", "${A.B}"])
def test_what_looks_like_a_variable_and_is_none_is_refused_by_its_key(root: Path, text: str) -> None:
    write(root, "mine", f"catalog: {{name: mine, type: hadoop, warehouse: '/wh/{text}'}}\n")
    with pytest.raises(ConfigurationError, match=r"mine\.yaml: catalog\.warehouse: expected a variable as \${NAME}"):
        load_profile("mine", root)


def test_sparks_own_variables_are_left_to_it(root: Path) -> None:
    write(root, "mine", "catalog: {name: mine, type: hadoop, warehouse: wh}\nspark: {spark.x: '${env:HOME}'}\n")
    assert load_profile("mine", root).spark["spark.x"] == "${env:HOME}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("catalog: {name: a, type: hadoop, warehouse: w}\nshadow: true\nshadow: false\n", "shadow is there twice"),
        ("catalog: {name: a, type: hadoop, warehouse: w}\n---\nshadow: true\n", "one document"),
        ("name: other\ncatalog: {name: a, type: hadoop, warehouse: w}\n", "called as its file is"),
    ],
)
def test_nothing_of_a_file_is_left_out_in_silence(root: Path, text: str, why: str) -> None:
    write(root, "mine", text)
    with pytest.raises(ConfigurationError, match=rf"mine\.yaml is not .*{why}"):
        load_profile("mine", root)


@pytest.mark.parametrize(
    "name", [" ", "mine ", "../profiles/mine", "profiles/mine", "mine.yaml", "*", "m" * 300, "m\0"]
)
def test_a_profile_is_known_by_its_name_and_no_path(root: Path, name: str) -> None:
    write(root, "mine", "catalog: {name: mine, type: hadoop, warehouse: wh}\n")
    for one in (name, str(root / "profiles" / "mine")):
        with pytest.raises(ConfigurationError, match=r"there is no profile .*: known are docker, glue"):
            load_profile(one, root)

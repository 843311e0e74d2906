"""One profile, seen by both engines, with the environment's word over the file's."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles import Profile, load_profile, project_root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def test_local_is_the_default_and_PROFILE_chooses(root, monkeypatch):
    monkeypatch.delenv("PROFILE", raising=False)
    assert load_profile(root=root).name == "local"
    (root / "profiles").mkdir()
    (root / "profiles" / "mine.yaml").write_text(
        "catalog: {name: mine, type: jdbc, uri: 'sqlite:///c.db', warehouse: wh}\n"
    )
    monkeypatch.setenv("PROFILE", "mine")
    assert load_profile(root=root).catalog.warehouse == str(root / "wh")
    assert load_profile("local", root=root).name == "local"


def test_the_projects_own_profile_goes_before_the_packages(root):
    (root / "profiles").mkdir()
    (root / "profiles" / "local.yaml").write_text(
        "catalog: {name: other, type: jdbc, uri: 'sqlite:////abs/c.db', warehouse: /abs/wh}\n"
    )
    assert load_profile("local", root=root).catalog.name == "other"


def test_environment_variables_override_settings_with_a_default(root, monkeypatch):
    monkeypatch.setenv("ICEBERG_ASSETS_WAREHOUSE", "elsewhere/wh")
    monkeypatch.setenv("ICEBERG_ASSETS_MASTER", "local[1]")
    profile = load_profile("local", root=root)
    assert profile.spark_settings()["spark.sql.catalog.local.warehouse"] == f"file://{root}/elsewhere/wh"
    assert profile.spark_settings()["spark.master"] == "local[1]"


def test_both_engines_are_given_the_same_catalog(root):
    profile = load_profile("local", root=root)
    spark, pyiceberg = profile.spark_settings(), profile.pyiceberg_properties()
    assert spark["spark.sql.catalog.local.warehouse"] == pyiceberg["warehouse"]
    database = f"{root}/data/catalog.db"
    assert spark["spark.sql.catalog.local.uri"] == f"jdbc:sqlite:file:{database}"
    assert pyiceberg["uri"].startswith(f"sqlite:///{database}?")


def test_an_unknown_profile_is_refused_with_those_that_are_known(root):
    with pytest.raises(ConfigurationError, match=r"there is no profile 'lokal': known are .*hive, jdbc, local, rest"):
        load_profile("lokal", root=root)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("catalog: {nam: x}", "did you mean 'name'"),
        ("catalog: {name: x, type: jdbc, uri: 'mysql://x', warehouse: w}", "expected sqlite:///"),
        ("catalog: {name: x, type: jdbc, uri: '${NOT_SET_ANYWHERE}', warehouse: w}", "NOT_SET_ANYWHERE"),
        ("catalog: [", "is not YAML"),
        ("- catalog", "expected keys such as catalog"),
    ],
)
def test_a_wrong_profile_is_refused_with_the_files_name(root, text, words):
    (root / "profiles").mkdir()
    (root / "profiles" / "bad.yaml").write_text(text)
    with pytest.raises(ConfigurationError, match=r"bad\.yaml") as refused:
        load_profile("bad", root=root)
    assert words in str(refused.value)


@pytest.mark.parametrize("use", [Profile.prepare, Profile.pyiceberg])
def test_a_catalog_file_that_is_something_else_is_refused_and_left_as_it_is(root, use):
    file = root / "data" / "catalog.db"
    file.parent.mkdir()
    file.write_bytes(b"not a database, and somebody's" * 100)
    with pytest.raises(ConfigurationError, match=rf"catalog\.uri: {file} is not usable as a SQLite catalog.* move it"):
        use(load_profile("local", root=root))
    assert file.read_bytes() == b"not a database, and somebody's" * 100


def test_a_warehouse_that_cannot_be_made_is_refused_before_spark_starts(root, monkeypatch):
    (root / "file").touch()
    monkeypatch.setenv("ICEBERG_ASSETS_WAREHOUSE", "file/wh")
    with pytest.raises(ConfigurationError, match=r"catalog\.warehouse: the folder .*file/wh cannot be written to"):
        load_profile("local", root=root).prepare()


def test_a_profile_is_prepared_by_many_threads_at_once(root):
    profile = load_profile("local", root=root)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: profile.prepare(), range(400)))


def test_the_root_is_the_nearest_folder_with_a_pyproject(root):
    (root / "a" / "b").mkdir(parents=True)
    assert project_root(root / "a" / "b") == root

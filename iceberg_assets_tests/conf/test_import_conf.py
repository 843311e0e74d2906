"""An application's HOCON becomes a profile and a table that load, say the same, and lose nothing in silence."""

import re
from pathlib import Path

import pytest
import yaml

from iceberg_assets.profiles import Profile, load_profile
from iceberg_assets.spec import TableSpec, parse_table
from iceberg_assets_tests.command import run

APPLICATION = """
app {
  name = "events"
  config.spark.sql.catalog.mycatalog { type = "hadoop", warehouse = "s3a://lake/warehouse" }
  s3.from = "s3a://raw/events/"
  iceberg { database = "demo", database = ${?ICEBERG_DB_NAME}, table = "raw_events", table = ${?ICEBERG_TABLE_NAME} }
  partition-by = [
    { col = "sectionId", type = "identity" }
    { col = "dyid", type = "bucket", size = 16, size = ${?DYID_BUCKET_SIZE} }
    { col = "eventType", type = "identity" }
    { col = "ts", type = "date", func = "hour" }      # ts = timestamp_millis(resolvedTimestamp)
  ]
}
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """The project that it is for."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").touch()
    return root


def write(folder: Path, text: str, name: str = "application.conf") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def catalog(settings: str) -> str:
    """The application with another catalog."""
    return APPLICATION.replace('mycatalog { type = "hadoop", warehouse = "s3a://lake/warehouse" }', settings)


def bring(target: Path, *arguments: object) -> str:
    """What the command says beside the files that it wrote."""
    return run("import-conf", *map(str, arguments), "--to", str(target)).stderr


def declared(target: Path, **variables: str) -> TableSpec:
    (file,) = target.glob("**/defs/*/defs.yaml")
    document = yaml.safe_load(file.read_text())
    assert document["type"] == "iceberg_assets.IcebergTable"
    return parse_table(document["attributes"], root=target, variables=variables, where=str(file))


def rendered(profile: Profile, settings: dict[str, str]) -> dict[str, str | None]:
    """What Spark is told of these."""
    return {name: profile.spark_settings().get(name) for name in settings}


def test_an_application_becomes_a_profile_and_a_table(tmp_path: Path, target: Path) -> None:
    bring(target, write(tmp_path, APPLICATION))
    profile = load_profile("application", target)
    assert (profile.catalog.name, profile.catalog.type) == ("mycatalog", "hadoop")
    assert profile.catalog.warehouse == "s3a://lake/warehouse"
    spec = declared(target)
    assert spec.table == ("demo", "raw_events")
    assert spec.profile is None, "PROFILE chooses, as it does there"
    assert spec.source is not None
    assert spec.source.path == "s3a://raw/events/%Y-%m-%d/*.parquet"
    assert spec.dates.column == "ts"
    assert [(field.col, field.type, field.size, field.func) for field in spec.partition_by] == [
        ("sectionId", "identity", None, None),
        ("dyid", "bucket", 16, None),
        ("eventType", "identity", None, None),
        ("ts", "date", None, "hour"),
    ]
    assert spec.maintenance.compact.after_append
    assert spec.maintenance.compact.options == {"min-input-files": "1"}


def test_a_profile_s_file_is_laid_over_and_gives_it_its_name(tmp_path: Path, target: Path) -> None:
    first = write(tmp_path, APPLICATION)
    docker = write(
        tmp_path,
        """
        include "minio"
        app.config.spark.sql.catalog.mycatalog { type = hive, uri = "thrift://metastore:9083" }
        """,
        "application.docker.conf",
    )
    write(
        tmp_path,
        '# {a}\n// b\n{ app.config.spark.hadoop.fs.s3a { endpoint = x, endpoint = "http://minio:9000" } } # the end',
        "minio.conf",
    )
    other = write(tmp_path, 'app.master = "local[4]"', "application.small.conf")
    bring(target, first, "--profile-file", docker, "--profile-file", other)
    profile = load_profile("docker", target)
    assert (profile.catalog.type, profile.catalog.uri) == ("hive", "thrift://metastore:9083")
    assert profile.store is not None
    assert profile.store.endpoint == "http://minio:9000"
    assert load_profile("small", target).spark_settings()["spark.master"] == "local[4]"


def test_variables_stay_variables_with_their_defaults(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment of whoever imports is not what the file says."""
    monkeypatch.setenv("ICEBERG_DB_NAME", "elsewhere")
    monkeypatch.setenv("MINIO_SECRET", "canary")
    text = catalog(
        'mycatalog { type = hadoop, type = ${?KIND}, warehouse = "s3a://"${?BUCKET}"/wh", '
        "s3.secret-access-key = ${?MINIO_SECRET} }"
    )
    bring(target, write(tmp_path, text))
    (yaml_of_profile,) = (target / "profiles").iterdir()
    assert "canary" not in yaml_of_profile.read_text()
    assert declared(target).table == ("demo", "raw_events")
    changed = declared(target, ICEBERG_DB_NAME="prod", ICEBERG_TABLE_NAME="t", DYID_BUCKET_SIZE="4")
    assert changed.table == ("prod", "t")
    assert changed.partition_by[1].size == 4
    monkeypatch.setenv("BUCKET", "other")
    profile = load_profile("application", target)
    assert profile.catalog.warehouse == "s3a://other/wh"
    assert profile.store is not None
    assert profile.store.secret_key is not None
    assert profile.store.secret_key.get_secret_value() == "canary"
    monkeypatch.setenv("KIND", "glue")
    assert load_profile("application", target).catalog.type == "glue"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            'c { type = glue, warehouse = "s3://l/w", glue.id = "1", client.region = eu-west-1 }',
            {"glue.id": "1", "client.region": "eu-west-1"},
        ),
        ('c { catalog-impl = org.apache.iceberg.aws.glue.GlueCatalog, warehouse = "s3://l/w" }', {"type": "glue"}),
        (
            'c { type = rest, uri = "http://h:8181", rest { sigv4-enabled = true, signing-name = s3 }, x.y = 3 }',
            {"rest.sigv4-enabled": "true", "rest.signing-name": "s3", "x.y": "3"},
        ),
        (
            'c { type = jdbc, uri = "jdbc:postgresql://h:5432/d", jdbc.user = u, warehouse = "s3://l/w" }',
            {"uri": "jdbc:postgresql://h:5432/d", "jdbc.user": "u"},
        ),
        (
            'c { type = hive, uri = "thrift://h:9083", s3 { endpoint = "http://h:1", path-style-access = true } }',
            {"s3.endpoint": "http://h:1", "s3.path-style-access": "true"},
        ),
        (
            'c { catalog-impl = "com.aliyun.DlfCatalog", dlf.region = "x", warehouse = "s3://l/w" }',
            {"catalog-impl": "com.aliyun.DlfCatalog", "dlf.region": "x"},
        ),
    ],
)
def test_spark_is_told_what_it_was_told_of_each_catalog(
    tmp_path: Path, target: Path, given: str, expected: dict[str, str]
) -> None:
    bring(target, write(tmp_path, catalog(given)))
    named = {f"spark.sql.catalog.c.{key}": value for key, value in expected.items()}
    assert rendered(load_profile("application", target), named) == named


def test_every_setting_of_hadoop_and_spark_is_passed_on(tmp_path: Path, target: Path) -> None:
    """A size such as 512m was read as minutes."""
    settings = {
        "spark.driver.memory": "512m",
        "spark.network.timeout": "800s",
        "spark.hadoop.fs.s3a.endpoint": "http://minio:9000",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.maximum": "200",
        "spark.hadoop.fs.s3a.bucket.raw.endpoint": "https://s3.eu-west-1.amazonaws.com",
        "spark.sql.catalog.other": "org.example.Catalog",
        "spark.sql.extensions": '"org.example.More,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"',
    }
    lines = "\n".join(f"app.config.{key} = {value}" for key, value in settings.items())
    listed = 'app.config.spark.local.dir = ["/a", "/b"]'
    quoted = re.sub("(http.*)", r'"\1"', lines)
    bring(target, write(tmp_path, f"{APPLICATION}{quoted}\n{listed}"))
    expected = {name: value.strip('"') for name, value in settings.items()} | {"spark.local.dir": "/a,/b"}
    assert rendered(load_profile("application", target), expected) == expected


def test_a_secret_in_clear_stays_where_it_is(tmp_path: Path, target: Path) -> None:
    s3a = (
        'app.config.spark.hadoop.fs.s3a { access.key = admin, secret.key = "canary", bucket.raw.secret.key = "canary" }'
    )
    more = 'app.sink.password = "canary"\napp.config.spark.x.token = canary'
    said = bring(target, write(tmp_path, f"{APPLICATION}\n{s3a}\n{more}"))
    assert "set AWS_SECRET_ACCESS_KEY to it" in said
    assert "set RAW_AWS_SECRET_ACCESS_KEY to it" in said
    assert "without a counterpart: app.sink.password = …" in said
    everything = said + "".join(file.read_text() for file in target.rglob("*.yaml"))
    assert "canary" not in everything


def test_what_has_no_counterpart_is_named_and_kept_as_a_comment(tmp_path: Path, target: Path) -> None:
    more = """
    app.audit { table = "audits", every = 5 m }
    app.from = ${?FIRST}
    app.from = ${?SECOND}
    app.config.spark.sql.catalog.mycatalog { cache-enabled = true, def-impl = com.example.Catalog }
    """
    said = bring(target, write(tmp_path, APPLICATION + more))
    (profile,) = (target / "profiles").iterdir()
    for line in (
        "app.audit.table = audits",
        "app.audit.every = 5 m",
        "app.from = ${SECOND:-}",
        "${FIRST}, since another",
    ):
        assert line in said
        assert f"#   {line}" in profile.read_text()
    assert "cache-enabled = True was left out: cached tables are 30 s old" in said
    assert "def-impl = com.example.Catalog was left out" in said


@pytest.mark.parametrize(
    ("where", "fields", "expected"),
    [
        ("app.iceberg.properties", 'write.location-provider.flat.fields = "sectionId"', "sectionId"),
        ("app.config.spark.sql.catalog.mycatalog.table-default", "commit.retry.num-retries = 9", ""),
    ],
)
def test_its_location_provider_becomes_ours(
    tmp_path: Path, target: Path, where: str, fields: str, expected: str
) -> None:
    """There a class without a list of fields puts all files into one folder."""
    more = f'{where} {{ write.location-provider.impl = "com.example.FlatLocationProvider", {fields} }}'
    assert "became iceberg_assets.jvm.FlatLocationProvider" in bring(target, write(tmp_path, f"{APPLICATION}\n{more}"))
    properties = declared(target).properties
    assert properties["write.location-provider.flat.fields"] == expected
    assert properties["write.location-provider.impl"] == "iceberg_assets.jvm.FlatLocationProvider"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("app.iceberg.table = t", "there is no app.config.spark.sql.catalog.<name> with a type or a catalog-impl"),
        (catalog("c { type = hadop, warehouse = x }"), "profiles/application.yaml.*catalog.type"),
        (APPLICATION.replace('type = "date", func = "hour"', 'type = "identity"'), "name the column .* --date-column"),
        (APPLICATION.replace('"bucket", size = 16', '"bukket", size = 16'), "table is not usable.*partition_by.1.type"),
        (APPLICATION + 'include "nowhere"', "application.conf includes 'nowhere', and there is no .*nowhere.conf"),
        (APPLICATION + 'include "application"', "application.conf includes itself"),
        (APPLICATION.replace("partition-by = [", "partition-by = [a, "), "partition-by: expected a list such as"),
        (catalog("c { type = hive, uri = ${NO_SUCH}, x = ${?NO_SUCH} }"), "needs the environment variable NO_SUCH"),
        ("app { a = [1,", "application.conf is neither HOCON nor JSON from line 1"),
        (APPLICATION + 'include url("http://127.0.0.1:9/a.conf")', r"includes by url\(…\), and nothing is fetched"),
        (APPLICATION + 'a { include package("a:b.conf") }', r"includes by package\(…\)"),
        (APPLICATION + "app.config.spark.l = [a]\napp.config.spark.l += b", r"write \+= \[value\]"),
        (APPLICATION + "a = " + "{ a = " * 2000 + "1" + " }" * 2000, "too much within each other"),
        (APPLICATION + "app.iceberg.table = [a]", "app.iceberg.table: expected one text, got a list"),
        (APPLICATION + 'app.config.spark.a = "${HOME}"', r"spark.a: a profile would read the text \${…} in it"),
        (APPLICATION + """app.iceberg.table = "{{ env('HOME') }}" """, "would read what is in braces"),
        (APPLICATION + 'app.s3.from = "s3a://key:secret@raw/"', "app.s3.from: there are keys in it"),
        (catalog('c { type = jdbc, warehouse = /w, uri = "jdbc:postgresql://h/d?password=x" }'), "catalog.uri: exp"),
    ],
)  # fmt: skip
def test_what_would_not_load_is_refused_with_nothing_written(
    tmp_path: Path, target: Path, text: str, said: str
) -> None:
    refused = run("import-conf", str(write(tmp_path, text)), "--to", str(target), fails=2)
    assert re.search(said, refused.stderr.replace("\n", " ")), refused.stderr
    assert list(target.rglob("*")) == [target / "pyproject.toml"]


def test_nothing_is_written_over(tmp_path: Path, target: Path) -> None:
    bring(target, write(tmp_path, APPLICATION))
    before = {file: file.read_text() for file in target.rglob("*.yaml")}
    again = run("import-conf", str(tmp_path / "application.conf"), "--to", str(target))
    assert again.stdout.count("is there already, and says the same") == 2
    write(tmp_path, APPLICATION.replace("sectionId", "section"))
    refused = run("import-conf", str(tmp_path / "application.conf"), "--to", str(target), fails=2)
    assert "defs.yaml is there, and says something else: nothing was written" in refused.stderr
    assert {file: file.read_text() for file in target.rglob("*.yaml")} == before


def test_the_table_goes_where_a_project_keeps_its_declarations(tmp_path: Path, target: Path) -> None:
    (target / "pyproject.toml").write_text('[tool.dg.project]\nroot_module = "lake.house"\n')
    bring(target, write(tmp_path, APPLICATION))
    assert (target / "lake" / "house" / "defs" / "demo__raw_events" / "defs.yaml").is_file()


def test_includes_are_followed_wherever_they_stand_and_are_none_in_texts(tmp_path: Path, target: Path) -> None:
    write(tmp_path, "spark.a = ${?A}", "more.conf")
    said = """
    app.config { include "more", spark.b = 1 }
    app.config.spark.c = \"\"\"
include "nowhere" \"\"\" # include "nowhere"
    """
    bring(target, write(tmp_path, APPLICATION + said))
    spark = yaml.safe_load((target / "profiles" / "application.yaml").read_text())["spark"]
    assert (spark["spark.a"], spark["spark.b"]) == ("${A:-}", 1)
    assert spark["spark.c"].strip() == 'include "nowhere"'


def test_a_text_is_brought_over_as_it_is_written(tmp_path: Path, target: Path) -> None:
    texts = {"a": "1.10", "b": "007", "c": "1e3", "d": "512m", "e": "10 minutes", "f": "0.5", "g": "16"}
    lines = "\n".join(f"app.config.spark.{key} = {text}" for key, text in texts.items())
    of_a_windows_editor = "\ufeff" + f"{APPLICATION}\n{lines}\napp.config.spark.h = ${{? NAMED_WITH_SPACES }}"
    bring(target, write(tmp_path, of_a_windows_editor))
    spark = load_profile("application", target).spark
    assert {key: spark[f"spark.{key}"] for key in texts} == texts
    assert "${NAMED_WITH_SPACES:-}" in (target / "profiles" / "application.yaml").read_text()


def test_no_secret_is_brought_over_by_whatever_name_and_what_only_sounds_like_one_is(
    tmp_path: Path, target: Path
) -> None:
    provider = "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
    more = f"""
    app.config.spark.sql.catalog.mycatalog.header.Authorization = "Bearer canary"
    app.config.spark.hadoop.fs.azure.account.key.acc = canary
    app.config.spark.driver.extraJavaOptions = "-Djavax.net.ssl.keyStorePassword=canary"
    app.other.url = "jdbc:x://h/d?password=canary"
    app.config.spark.hadoop.fs.s3a.aws.credentials.provider = {provider}
    """
    said = bring(target, write(tmp_path, APPLICATION + more))
    profile = (target / "profiles" / "application.yaml").read_text()
    assert "canary" not in said + profile
    assert f"credentials.provider: {provider}" in profile
    refused = run("import-conf", str(write(tmp_path, 'a.token = "canary')), "--to", str(target), fails=2)
    assert "canary" not in refused.stderr

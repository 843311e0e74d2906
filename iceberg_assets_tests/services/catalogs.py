"""The catalogs that the suite runs against: what each is made of, and what it says by itself of a table."""

import json
import os
import sqlite3
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import yaml
from pyiceberg.catalog.hive import HiveCatalog

from iceberg_assets_tests.services.glue import Glue, glue
from iceberg_assets_tests.services.metastore import Metastore, metastore
from iceberg_assets_tests.services.postgres import PostgreSQL, postgres
from iceberg_assets_tests.services.process import SECRET
from iceberg_assets_tests.services.proxy import proxy
from iceberg_assets_tests.services.seaweedfs import LAKE, RAW, REGION, SeaweedFS, seaweedfs

Name = tuple[str, ...]
PROFILE = "service"


@dataclass(frozen=True)
class Running:
    """A catalog with all that it needs, up and answering.

    Attributes:
        root: a project whose profile ``service`` is this catalog.
        raw: places below which raw files may land, by the scheme that they are written with.
        answer: the metadata file of a table, by the catalog itself: none of the product's code is asked.
        stop, start: of the service without which the catalog is gone.
        store: where raw files land, and perhaps the tables' too; None: all are on local disk.
        stranger: puts what is no Iceberg table beside ours as ``shop.plain``, where Spark can make no view to that end.
    """

    root: Path
    raw: Mapping[str, str]
    answer: Callable[[Name], str]
    stop: Callable[[], None]
    start: Callable[[], None]
    store: SeaweedFS | None = None
    stranger: Callable[[], object] | None = None


@dataclass(frozen=True)
class Catalog:
    """One column of the suite.

    Attributes:
        name: as it is asked for.
        title: for people.
        run: has it up within a folder.
        odd: a table's name of many letters, where the catalog takes one.
        refuses: cells that the catalog cannot do, each with words of the error that says so.
        has_none: cells that are about something that this catalog has not, each with why.
    """

    name: str
    title: str
    run: Callable[[Path], Any]
    odd: str | None = None
    refuses: Mapping[str, str] = field(default_factory=dict)
    has_none: Mapping[str, str] = field(default_factory=dict)


# Profiles


def project(folder: Path, catalog: Mapping[str, Any], store: SeaweedFS | None, endpoint: str | None = None) -> Path:
    """A project with the profile; secrets are variables in it, as they are where people work.

    Args:
        endpoint: of the store, where it is not reached directly.
    """
    root = folder / "project"
    (root / "profiles").mkdir(parents=True)
    (root / "pyproject.toml").touch()
    (root / "events").mkdir()
    written: dict[str, Any] = {
        "catalog": {"name": "lake", **catalog},
        "spark": {
            # What Spark itself writes down is looked through for secrets.
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{root}/events",
            "spark.eventLog.compress": "false",
        },
    }
    if store:
        os.environ["SERVICE_SECRET_KEY"] = store.secret_key
        written["store"] = {
            "endpoint": endpoint or store.endpoint,
            "path_style": True,
            "region": REGION,
            "access_key": store.access_key,
            "secret_key": "${SERVICE_SECRET_KEY}",
        }
    (root / "profiles" / f"{PROFILE}.yaml").write_text(yaml.safe_dump(written))
    return root


RAW_ON_S3 = {scheme: f"{scheme}://{RAW}" for scheme in ("s3a", "s3")}
"""The bucket of raw files, by the schemes that it may be spelled with."""


@contextmanager
def _store(folder: Path) -> Iterator[SeaweedFS]:
    with seaweedfs(folder / "store", SECRET) as store:
        yield store


# Catalogs in files


@contextmanager
def jdbc_sqlite(folder: Path) -> Iterator[Running]:
    """The catalog is a file, the warehouse a folder."""
    file, warehouse = folder / "catalog" / "catalog.db", folder / "warehouse"
    root = project(folder, {"type": "jdbc", "uri": f"sqlite:///{file}", "warehouse": str(warehouse)}, None)

    def answer(table: Name) -> str:
        with sqlite3.connect(file) as connection:
            query = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
            return str(connection.execute(query, (".".join(table[:-1]), table[-1])).fetchone()[0])

    yield Running(root, {"file": str(folder / "raw")}, answer, *_moved_away(file.parent))


@contextmanager
def hadoop_local(folder: Path) -> Iterator[Running]:
    """The catalog is the folders of its warehouse."""
    warehouse = folder / "warehouse"
    root = project(folder, {"type": "hadoop", "warehouse": str(warehouse)}, None)

    def answer(table: Name) -> str:
        found = warehouse.joinpath(*table, "metadata").glob("v*.metadata.json")
        return f"file:{max(found, key=lambda path: _version(path.name))}"

    def stranger() -> None:
        (warehouse / "shop" / "plain").mkdir()
        (warehouse / "shop" / "plain" / "part-0.parquet").write_bytes(b"nobody's")

    yield Running(root, {"file": str(folder / "raw")}, answer, *_moved_away(warehouse), stranger=stranger)


@contextmanager
def hadoop_s3a(folder: Path) -> Iterator[Running]:
    """The same on an object store, which has no rename."""
    with _store(folder) as store:
        root = project(folder, {"type": "hadoop", "warehouse": f"s3a://{LAKE}/hadoop"}, store)

        def answer(table: Name) -> str:
            prefix = "/".join(("hadoop", *table, "metadata", "v"))
            pages = store.client().get_paginator("list_objects_v2").paginate(Bucket=LAKE, Prefix=prefix)
            keys = [one["Key"] for page in pages for one in page.get("Contents", ())]
            newest = max(
                (key for key in keys if key.endswith(".metadata.json")),
                key=lambda key: _version(key.rpartition("/")[2]),
            )
            return f"s3a://{LAKE}/{newest}"

        def stranger() -> None:
            store.client().put_object(Bucket=LAKE, Key="hadoop/shop/plain/part-0.parquet", Body=b"nobody's")

        yield Running(root, RAW_ON_S3, answer, store.service.stop, store.service.start, store, stranger)


def _version(file: str) -> int:
    return int(file.removeprefix("v").partition(".")[0])


def _moved_away(place: Path) -> tuple[Callable[[], None], Callable[[], None]]:
    """What stopping and starting is where a folder is the service: it is moved away, and something is in its place."""
    aside = place.with_name(f"{place.name}-aside")

    def stop() -> None:
        place.rename(aside)
        place.write_text("not a folder")

    def start() -> None:
        place.unlink()
        aside.rename(place)

    return stop, start


# Catalogs of services


@contextmanager
def jdbc_postgresql(folder: Path) -> Iterator[Running]:
    """The catalog is a database."""
    with ExitStack() as up:
        store, database = up.enter_context(_store(folder)), up.enter_context(postgres(folder / "postgres", SECRET))
        os.environ["SERVICE_PASSWORD"] = database.password
        catalog = {
            "type": "jdbc",
            "uri": f"postgresql://{database.address}",
            "user": database.user,
            "password": "${SERVICE_PASSWORD}",
            "warehouse": f"s3://{LAKE}/jdbc",
        }
        root = project(folder, catalog, store)
        yield Running(root, RAW_ON_S3, _row(database), database.service.stop, database.service.start, store)


def _row(database: PostgreSQL) -> Callable[[Name], str]:
    def answer(table: Name) -> str:
        query = (
            "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = :'namespace' AND table_name = :'name'"
        )
        named = ["-v", f"namespace={'.'.join(table[:-1])}", "-v", f"name={table[-1]}"]
        return database.psql(query, *named).strip()

    return answer


@contextmanager
def _hive(folder: Path, **catalog: Any) -> Iterator[Running]:
    warehouse = folder / "warehouse"
    with ExitStack() as up:
        store = up.enter_context(_store(folder))
        service: Metastore = up.enter_context(metastore(folder / "metastore", f"file://{warehouse}"))
        root = project(folder, {"type": "hive", "uri": service.uri, "warehouse": str(warehouse), **catalog}, store)

        def answer(table: Name) -> str:
            with HiveCatalog._create_hive_client({"uri": service.uri}) as client:
                return str(client.get_table(dbname=table[0], tbl_name=table[1]).parameters["metadata_location"])

        yield Running(root, RAW_ON_S3, answer, service.service.stop, service.service.start, store)


@contextmanager
def hive(folder: Path) -> Iterator[Running]:
    """A metastore; the warehouse is a local folder, since the metastore of the wheel knows no object store."""
    with _hive(folder) as running:
        yield running


@contextmanager
def session(folder: Path) -> Iterator[Running]:
    """Iceberg's catalog in the place of Spark's own, on a metastore."""
    with _hive(folder, name="spark_catalog", session=True) as running:
        yield running


@contextmanager
def glue_on_moto(folder: Path) -> Iterator[Running]:
    """Glue, played by moto's server; files lie in SeaweedFS."""
    with ExitStack() as up:
        store, service = up.enter_context(_store(folder)), up.enter_context(glue(folder / "glue"))
        # The server forgets everything when it is stopped, so that its door is closed instead.
        door = up.enter_context(proxy(service.endpoint))
        catalog = {"type": "glue", "endpoint": door.address, "region": REGION, "warehouse": f"s3://{LAKE}/glue"}
        # Glue itself is reached by AWS's usual chain.
        os.environ |= {"AWS_ACCESS_KEY_ID": "moto", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION}
        root = project(folder, catalog, store)

        def stop() -> None:
            door.trouble("refused", inf)

        def stranger() -> None:
            plain = {"Name": "plain", "Parameters": {"classification": "parquet"}}
            service.client().create_table(DatabaseName="shop", TableInput=plain)

        yield Running(root, RAW_ON_S3, _parameter(service), stop, door.calm, store, stranger)


def _parameter(service: Glue) -> Callable[[Name], str]:
    def answer(table: Name) -> str:
        found = service.client().get_table(DatabaseName=table[0], Name=table[1])["Table"]
        return str(found["Parameters"]["metadata_location"])

    return answer


def rest_settings(store: SeaweedFS, how: str) -> dict[str, Any]:
    """The profile's catalog for one way to be known to SeaweedFS's REST catalog; its secret is put into a variable."""
    os.environ["SERVICE_CREDENTIAL"] = f"{store.access_key}:{store.secret_key}"
    os.environ["SERVICE_TOKEN"] = token(store) if how == "token" else ""
    keys: Mapping[str, Mapping[str, Any]] = {
        "token": {"token": "${SERVICE_TOKEN}"},
        "oauth": {"credential": "${SERVICE_CREDENTIAL}", "scope": "catalog", "oauth2_server_uri": store.oauth},
        "sigv4": {
            "sigv4": {
                "region": REGION,
                "name": "s3",
                "access_key": store.access_key,
                "secret_key": "${SERVICE_SECRET_KEY}",
            }
        },
    }
    return {"type": "rest", "uri": store.rest, "warehouse": store.rest_warehouse, **keys[how]}


def _rest(how: str) -> Callable[[Path], Any]:
    @contextmanager
    def run(folder: Path) -> Iterator[Running]:
        with _store(folder) as store:
            root = project(folder, rest_settings(store, how), store)

            def answer(table: Name) -> str:
                return str(load(store, table)["metadata-location"])

            yield Running(root, RAW_ON_S3, answer, store.service.stop, store.service.start, store)

    return run


def token(store: SeaweedFS) -> str:
    """A token of the REST catalog, for its one user."""
    asked = {
        "grant_type": "client_credentials",
        "client_id": store.access_key,
        "client_secret": store.secret_key,
        "scope": "catalog",
    }
    with urllib.request.urlopen(store.oauth, urllib.parse.urlencode(asked).encode()) as answer:
        return str(json.load(answer)["access_token"])


def load(store: SeaweedFS, table: Name) -> dict[str, Any]:
    """What the REST catalog answers of a table."""
    namespace, name = urllib.parse.quote("\x1f".join(table[:-1]), safe=""), urllib.parse.quote(table[-1], safe="")
    address = f"{store.rest}/v1/tables/namespaces/{namespace}/tables/{name}"
    asked = urllib.request.Request(address, headers={"Authorization": f"Bearer {token(store)}"})
    with urllib.request.urlopen(asked) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


_OF_SEAWEEDFS = {
    "odd name": "only 'a-z', '0-9', '_', and '-' are allowed",
    # Its buckets of tables take files by names that it knows, and these are none of them.
    "partition statistics": "S3Exception: Forbidden",
}
_OF_HIVE = {"odd name": "is not a valid object name"}
_NO_VIEWS = {"beside others": "SeaweedFS's catalog has no views"}
_ONE_LEVEL = "has one level of namespaces"
ODD = 'l\'été `à` "Nice". 100% 数'
"""Spaces, quotes of each kind, a dot, a per cent sign, and letters beyond ASCII."""

CATALOGS: Mapping[str, Catalog] = {
    one.name: one
    for one in (
        Catalog("hadoop", "hadoop, local disk", hadoop_local, odd=ODD),
        Catalog("hadoop-s3a", "hadoop, s3a", hadoop_s3a, odd=ODD),
        Catalog("jdbc-sqlite", "jdbc, SQLite", jdbc_sqlite, odd=ODD),
        Catalog("jdbc-postgresql", "jdbc, PostgreSQL", jdbc_postgresql, odd=ODD),
        Catalog("hive", "hive", hive, refuses=_OF_HIVE, has_none={"nested namespace": _ONE_LEVEL}),
        Catalog("session", "session, on hive", session, refuses=_OF_HIVE, has_none={"nested namespace": _ONE_LEVEL}),
        Catalog(
            "glue",
            "glue (moto)",
            glue_on_moto,
            refuses={"odd name": "Invalid table identifier"},
            has_none={"nested namespace": _ONE_LEVEL},
        ),
        Catalog("rest-token", "rest, token", _rest("token"), refuses=_OF_SEAWEEDFS, has_none=_NO_VIEWS),
        Catalog("rest-oauth", "rest, OAuth", _rest("oauth"), refuses=_OF_SEAWEEDFS, has_none=_NO_VIEWS),
        Catalog("rest-sigv4", "rest, SigV4", _rest("sigv4"), refuses=_OF_SEAWEEDFS, has_none=_NO_VIEWS),
    )
}

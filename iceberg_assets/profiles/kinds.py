"""What each type of catalog takes, and what Spark and PyIceberg call it: a table, read by both renderings.

Names of Spark stand below ``spark.sql.catalog.<name>.``. Sources are Iceberg 1.12's configuration pages and its
classes CatalogProperties, AwsProperties and RESTCatalogProperties, and PyIceberg 0.12's catalog modules.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from iceberg_assets.errors import ConfigurationError


@dataclass(frozen=True)
class Names:
    """What a key is called by either engine; None: that one has no such thing."""

    spark: str | None
    pyiceberg: str | None


def _both(name: str) -> Names:
    return Names(name, name)


@dataclass(frozen=True)
class Extra:
    """Something that Python needs beside the package.

    Attributes:
        module: that has to be there.
        extra: of this package, which brings it.
    """

    module: str
    extra: str


def require(extra: Extra, who: str) -> None:
    """Refuse where Python lacks what an extra of the package brings.

    Raises:
        ConfigurationError: names the extra.
    """
    if find_spec(extra.module) is None:
        raise ConfigurationError(
            f"{who} needs the Python package {extra.module}: pip install 'iceberg-assets[{extra.extra}]'"
        )


@dataclass(frozen=True)
class Kind:
    """A type of catalog.

    Attributes:
        keys: of a profile's ``catalog`` that it takes beside those which all take; dotted below a section.
        required: those that have to be there.
        pyiceberg: what PyIceberg is told in any case.
        spark: what Spark is told in any case.
        told_by: the keys that tell two of them with one address apart.
        aws: whether it is reached by AWS's SDK.
        extra: what Python needs for it.
    """

    keys: Mapping[str, Names] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    pyiceberg: Mapping[str, str] = field(default_factory=dict)
    spark: Mapping[str, str] = field(default_factory=dict)
    told_by: tuple[str, ...] = ()
    aws: bool = False
    extra: Extra | None = None


KINDS: Mapping[str, Kind] = {
    "hadoop": Kind(
        required=("warehouse",),
        # PyIceberg has none of its own.
        pyiceberg={"py-catalog-impl": "iceberg_assets.profiles.hadoop.HadoopCatalog"},
        told_by=("warehouse",),
    ),
    "hive": Kind(
        keys={
            "uri": _both("uri"),
            # Spark hands what stands below hadoop. to this catalog's Hadoop configuration.
            "lock_enabled": Names("hadoop.iceberg.engine.hive.lock-enabled", "engine.hive.lock-enabled"),
        },
        required=("uri",),
        # With the metastore's locks commits hung on 2.3.10; without them it compares, since 2.3.10 and 4.0.
        spark={"hadoop.iceberg.engine.hive.lock-enabled": "false"},
        pyiceberg={
            # PyIceberg's own locks always, and never compares: beside writers that compare and do not lock, it would
            # overwrite their commits.
            "py-catalog-impl": "iceberg_assets.profiles.hive.ComparingHiveCatalog",
            # Column types as Spark's client (2.3) writes them; metastores 2.3 refuse a table with newer names.
            "hive.hive2-compatible": "true",
        },
        extra=Extra("thrift", "hive"),
    ),
    "glue": Kind(
        keys={
            "endpoint": _both("glue.endpoint"),
            "id": _both("glue.id"),
            "region": Names("client.region", "glue.region"),
            "skip_archive": _both("glue.skip-archive"),
        },
        required=("warehouse",),
        pyiceberg={"type": "glue"},
        told_by=("id", "region"),
        aws=True,
        extra=Extra("boto3", "glue"),
    ),
    "rest": Kind(
        keys={
            "uri": _both("uri"),
            "token": _both("token"),
            "credential": _both("credential"),
            "scope": _both("scope"),
            "oauth2_server_uri": _both("oauth2-server-uri"),
            "sigv4": _both("rest.sigv4-enabled"),
            "sigv4.region": _both("rest.signing-region"),
            "sigv4.name": _both("rest.signing-name"),
            "sigv4.access_key": Names("rest.access-key-id", "client.access-key-id"),
            "sigv4.secret_key": Names("rest.secret-access-key", "client.secret-access-key"),
            "sigv4.session_token": Names("rest.session-token", "client.session-token"),
        },
        required=("uri",),
        pyiceberg={"py-catalog-impl": "iceberg_assets.profiles.rest.BoundedRestCatalog"},
        # By itself it waits for an answer for ever.
        spark={"rest.client.connection-timeout-ms": "10000", "rest.client.socket-timeout-ms": "60000"},
        told_by=("warehouse",),
    ),
    "jdbc": Kind(
        # Where the two differ is in DIALECTS.
        keys={"uri": Names(None, None), "user": Names("jdbc.user", None), "password": Names("jdbc.password", None)},
        required=("uri", "warehouse"),
        pyiceberg={"type": "sql", "init_catalog_tables": "true"},
        spark={"jdbc.schema-version": "V1"},
        told_by=("name",),
    ),
}

IMPLEMENTATION = Kind(keys={"uri": _both("uri")}, told_by=("warehouse",))
"""Of a ``catalog_impl``: PyIceberg is told what the profile's ``pyiceberg`` says, and nothing else is known of it."""

SIGV4 = Extra("boto3", "rest-sigv4")
RAW_ON_S3 = Extra("s3fs", "s3")

WAIT_SECONDS = 60
"""For a lock of SQLite: longer than any commit of ours holds the database; its own default gives up after 5 s."""


@dataclass(frozen=True)
class Dialect:
    """A database that a JDBC catalog lives in.

    Attributes:
        example: of its uri.
        prefix: what the profile's uri begins with.
        jdbc: what Spark's begins with in its place.
        sqlalchemy: the same of PyIceberg's.
        options: what PyIceberg's uri ends with.
        spark, pyiceberg: what either engine is told beside it.
        package: the driver that Spark needs.
        extra: what Python needs.
    """

    example: str
    prefix: str
    jdbc: str
    sqlalchemy: str
    options: str
    spark: Mapping[str, str]
    pyiceberg: Mapping[str, str]
    package: str
    extra: Extra | None


DIALECTS: Mapping[str, Dialect] = {
    "sqlite": Dialect(
        example="sqlite:///<path of the catalog's file>",
        prefix="sqlite:///",
        jdbc="jdbc:sqlite:file:",
        sqlalchemy="sqlite:///",
        options=f"timeout={WAIT_SECONDS}",
        spark={"jdbc.busy_timeout": str(WAIT_SECONDS * 1000)},
        pyiceberg={},
        package="org.xerial:sqlite-jdbc:3.50.3.0",
        extra=None,
    ),
    "postgresql": Dialect(
        example="postgresql://<host>:<port>/<database>",
        prefix="postgresql://",
        jdbc="jdbc:postgresql://",
        sqlalchemy="postgresql+psycopg2://",
        options="connect_timeout=10",
        # A server started anew has ended every connection; by itself the pool would fail once for each of them.
        spark={"retryable_status_codes": "57P01,57P02,57P03"},
        # A connection that the server has closed meanwhile is not handed out.
        pyiceberg={"pool_pre_ping": "true"},
        package="org.postgresql:postgresql:42.7.8",
        extra=Extra("psycopg2", "postgres"),
    ),
}

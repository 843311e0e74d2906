"""What a profile needs of Maven Central and of PyPI, told from its catalog and store: every version in one place."""

import re
from collections.abc import Iterator, Mapping, Sequence

from iceberg_assets.profiles.catalog import CatalogSettings
from iceberg_assets.profiles.kinds import DIALECTS, SIGV4, Extra
from iceberg_assets.profiles.store import Store, on_s3

_ICEBERG, _HADOOP, _AWS = "1.12.0", "3.4.2", "2.54.17"

ICEBERG = f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{_ICEBERG}"
_AWS_BUNDLE = f"org.apache.iceberg:iceberg-aws-bundle:{_ICEBERG}"
# Raw files by s3a, of the Hadoop that Spark 4.1 carries. The bundle has AWS's SDK in it; hadoop-aws wants two modules
# more, of the bundle's own version. What it declares instead is the whole SDK, 641 MB.
_S3A = (
    f"org.apache.hadoop:hadoop-aws:{_HADOOP}",
    f"software.amazon.awssdk:s3-transfer-manager:{_AWS}",
    f"software.amazon.awssdk:apache-client:{_AWS}",
)

_DECLARED: Mapping[str, tuple[str, ...]] = {
    "org.apache.hadoop:hadoop-aws": (
        "software.amazon.awssdk:bundle",
        "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3",
        "org.wildfly.openssl:wildfly-openssl",
    ),
    "software.amazon.awssdk:s3-transfer-manager": tuple(
        f"software.amazon.awssdk:{module}"
        for module in (
            *("annotations", "auth", "aws-core", "http-client-spi", "json-utils", "protocol-core"),
            *("regions", "s3", "sdk-core", "utils"),
        )
    ),
    "software.amazon.awssdk:apache-client": (
        "software.amazon.awssdk:annotations",
        "software.amazon.awssdk:http-client-spi",
        "software.amazon.awssdk:metrics-spi",
        "software.amazon.awssdk:utils",
        "org.apache.httpcomponents:httpclient",
        "org.apache.httpcomponents:httpcore",
        "commons-codec:commons-codec",
    ),
    "org.postgresql:postgresql": ("org.checkerframework:checker-qual",),
}
"""What packages of ours declare and need not bring: it is in iceberg-aws-bundle or in Spark, or nobody asks for it."""


def packages(catalog: CatalogSettings, store: Store | None, further: Sequence[str]) -> tuple[str, ...]:
    """Maven coordinates that Spark needs; one of the profile's own replaces ours of another version."""
    needed = {_artifact(one): one for one in _needed(catalog, store)}
    return tuple((needed | {_artifact(one): one for one in further}).values())


def excluded(coordinates: Sequence[str]) -> tuple[str, ...]:
    """Modules that a resolver is not to fetch along with these packages, as ``group:artifact``."""
    declared = (module for one in coordinates for module in _DECLARED.get(_artifact(one), ()))
    return tuple(sorted(set(declared)))


def _needed(catalog: CatalogSettings, store: Store | None) -> Iterator[str]:
    yield ICEBERG
    if catalog.type == "jdbc":
        yield DIALECTS[catalog.dialect].package
    if store or catalog.kind.aws or on_s3(catalog.warehouse) or catalog.sigv4:
        yield _AWS_BUNDLE
    if store:
        yield from _S3A


def _artifact(coordinate: str) -> str:
    """Group and artifact, without the versions of Spark and Scala that Iceberg's names carry."""
    group, artifact, _ = coordinate.split(":")
    return f"{group}:{re.sub(r'-[0-9].*', '', artifact)}"


def extras(catalog: CatalogSettings) -> tuple[Extra, ...]:
    """What Python needs for the catalog."""
    of_database = DIALECTS[catalog.dialect].extra if catalog.type == "jdbc" else None
    wanted = (catalog.kind.extra, of_database, SIGV4 if catalog.sigv4 else None)
    return tuple(extra for extra in wanted if extra)

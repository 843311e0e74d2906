"""``Store``: an object store with S3's interface, for all that reads or writes it.

Iceberg's S3FileIO and PyIceberg have one access a catalog: that of the warehouse's bucket. Raw files may lie in any
bucket: Spark reads them by Hadoop's s3a, which knows access by bucket, and Python by fsspec.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import fsspec
from pydantic import Field, SecretStr, field_validator

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.profiles.kinds import RAW_ON_S3, require
from iceberg_assets.profiles.values import Flag, Secret, Text, in_urls
from iceberg_assets.spec.model import SpecModel

S3_SCHEMES = ("s3", "s3a", "s3n")
"""One place in three spellings."""


@dataclass(frozen=True)
class _Names:
    """What a key of a store is called: by S3FileIO (Spark), by PyIceberg, and below ``fs.s3a.`` by Hadoop."""

    iceberg: str
    pyiceberg: str
    hadoop: str


NAMES: Mapping[str, _Names] = {
    "endpoint": _Names("s3.endpoint", "s3.endpoint", "endpoint"),
    # PyIceberg says the opposite of it.
    "path_style": _Names("s3.path-style-access", "s3.force-virtual-addressing", "path.style.access"),
    "region": _Names("client.region", "client.region", "endpoint.region"),
    "access_key": _Names("s3.access-key-id", "s3.access-key-id", "access.key"),
    "secret_key": _Names("s3.secret-access-key", "s3.secret-access-key", "secret.key"),
    "session_token": _Names("s3.session-token", "s3.session-token", "session.token"),
}


_OWN_STORE = {"region": "us-east-1", "path_style": "true"}
"""Of stores other than AWS's, unless said: SDKs insist on a region to sign for, and buckets have no hosts there."""


class Access(SpecModel):
    """How a bucket is reached; without keys, by AWS's usual chain: environment, profile file, the machine's role.

    Attributes:
        endpoint: a URL; unset: AWS's own of the region.
        path_style: the bucket is in the URL's path, not in its host; unset: so it is unless the endpoint is AWS's.
    """

    endpoint: Text = None
    path_style: Flag = None
    region: Text = None
    access_key: Secret = None
    secret_key: Secret = None
    session_token: Secret = None

    @field_validator("endpoint")
    @classmethod
    def _a_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or "@" in parts.netloc or in_urls(value):
            raise ValueError("expected a URL that begins with http:// or https://, without user and password")
        _ = parts.port  # Raises where it is none.
        return value

    def texts(self) -> dict[str, str]:
        """The keys that are set, as texts, secrets in clear: for engines alone."""
        given = {key: getattr(self, key) for key in NAMES}
        texts = {key: _text(value) for key, value in given.items() if value is not None}
        return _OWN_STORE | texts if self._is_no_store_of_aws else texts

    @property
    def _is_no_store_of_aws(self) -> bool:
        return self.endpoint is not None and not (urlsplit(self.endpoint).hostname or "").endswith(".amazonaws.com")


def _text(value: SecretStr | bool | str) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return str(value).lower() if isinstance(value, bool) else value


class Store(Access):
    """An object store, and the buckets in it, or in others, that are reached in another way.

    Attributes:
        buckets: by name; what one leaves out is as the store has it.
    """

    buckets: Mapping[str, Access] = Field(default_factory=dict)

    def of(self, bucket: str) -> Access:
        """How a bucket is reached."""
        own = self.buckets.get(bucket)
        given = {key: getattr(self, key) for key in NAMES}
        if own is not None:
            given |= {key: value for key in NAMES if (value := getattr(own, key)) is not None}
        return Access(**given)

    def of_place(self, place: str | None) -> Access:
        """How a place such as ``s3://lake/warehouse`` is reached."""
        return self.of(urlsplit(place or "").netloc)

    @property
    def says_nothing(self) -> bool:
        """Whether no key of it is set."""
        return not (self.texts() or self.buckets)

    def spark_catalog(self, warehouse: str | None) -> dict[str, str]:
        """Properties of a Spark catalog that keeps its tables there, by Iceberg's own S3FileIO."""
        given = self.of_place(warehouse).texts()
        return {
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            **{NAMES[key].iceberg: value for key, value in given.items()},
        }

    def pyiceberg(self, warehouse: str | None) -> dict[str, str]:
        """Properties of a PyIceberg catalog that keeps its tables there."""
        given = self.of_place(warehouse).texts()
        if "path_style" in given:
            given["path_style"] = str(given["path_style"] == "false").lower()
        return {NAMES[key].pyiceberg: value for key, value in given.items()}

    def spark_hadoop(self) -> dict[str, str]:
        """Settings of a Spark session whose Hadoop reads raw files, spelled ``s3a://`` or ``s3://``."""
        settings = {f"spark.hadoop.fs.{scheme}.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem" for scheme in S3_SCHEMES}
        settings |= _hadoop(self, "")
        for name in self.buckets:
            settings |= _hadoop(self.of(name), f"bucket.{name}.")
        return settings

    def filesystem(self, bucket: str) -> fsspec.AbstractFileSystem:
        """The file system that a bucket's raw files are listed and read by, without a JVM.

        It remembers no listing: what has landed since would not be seen.
        """
        given = self.of(bucket).texts()
        options: dict[str, Any] = {
            "key": given.get("access_key"),
            "secret": given.get("secret_key"),
            "token": given.get("session_token"),
            "endpoint_url": given.get("endpoint"),
            "client_kwargs": {"region_name": given["region"]} if "region" in given else {},
            "config_kwargs": {
                "connect_timeout": 10,
                "retries": {"max_attempts": 5, "mode": "standard"},
                "s3": {"addressing_style": "path" if given.get("path_style") == "true" else "auto"},
            },
            "use_listings_cache": False,
            # Footers are read from a file's end: reading ahead would fetch megabytes for kilobytes.
            "default_cache_type": "none",
        }
        return fsspec.filesystem("s3", **options)


def file_system(store: Store | None, place: str) -> fsspec.AbstractFileSystem:
    """The file system that a place is listed and read by, without a JVM.

    Raises:
        ConfigurationError: it is in an object store, and the profile has none, or Python lacks what reads it.
    """
    if not on_s3(place):
        return fsspec.core.url_to_fs(place)[0]
    if store is None:
        raise ConfigurationError(f"{place} is in an object store, and the profile has no store: say how it is reached")
    require(RAW_ON_S3, place)
    return store.filesystem(urlsplit(place).netloc)


def failures(place: str) -> tuple[type[Exception], ...]:
    """What a file system raises where a place does not answer, or refuses; on local disk nothing is expected to."""
    if not on_s3(place):
        return ()
    from botocore.exceptions import BotoCoreError

    return (OSError, BotoCoreError)


def on_s3(place: str | None) -> bool:
    """Whether a place is in an object store with S3's interface."""
    return (place or "").partition("://")[0] in S3_SCHEMES


def _hadoop(access: Access, below: str) -> dict[str, str]:
    given = access.texts()
    settings = {f"spark.hadoop.fs.s3a.{below}{NAMES[key].hadoop}": value for key, value in given.items()}
    if "endpoint" in given:
        ssl = urlsplit(given["endpoint"]).scheme == "https"
        settings[f"spark.hadoop.fs.s3a.{below}connection.ssl.enabled"] = str(ssl).lower()
    return settings

"""``CatalogSettings``: where table names lead to metadata, as a profile says it."""

import os
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, field_validator, model_validator

from iceberg_assets.profiles.kinds import DIALECTS, IMPLEMENTATION, KINDS, Kind
from iceberg_assets.profiles.place import one_spelling
from iceberg_assets.profiles.values import Flag, Secret, Settings, Text, given, in_urls
from iceberg_assets.spec.model import SpecModel

SESSION_CATALOG = "spark_catalog"
"""Spark's own catalog: the only name that a SparkSessionCatalog may have."""


class SigV4(SpecModel):
    """A REST catalog's requests are signed as AWS's are; without keys, those of the environment sign.

    Attributes:
        region: that requests are signed for.
        name: of the service that they are signed for, such as ``glue``, ``s3tables`` or ``execute-api``.
    """

    region: Text = None
    name: Text = None
    access_key: Secret = None
    secret_key: Secret = None
    session_token: Secret = None


class CatalogSettings(SpecModel):
    """One catalog. Which keys one of a type takes stands in :mod:`iceberg_assets.profiles.kinds`.

    Attributes:
        name: in Spark's SQL, and of the rows of a JDBC catalog.
        type: one of Iceberg's own catalogs; unset where ``catalog_impl`` names a class.
        catalog_impl: a class of Iceberg's interface, in a jar of the profile's ``jars`` or ``packages``.
        session: it stands in for Spark's own catalog, so that tables of other formats lie beside Iceberg's.
        uri: of the service or the database, without user and password.
        warehouse: where tables are kept unless told. Absolute, where it is local, once a profile is loaded.
        properties: further ones that both engines are given as they stand.
        pyiceberg: further ones of PyIceberg's; of a ``catalog_impl`` all that lead PyIceberg to the same catalog.
    """

    name: str = Field(pattern=r"^[A-Za-z_]\w*$")
    type: Annotated[Literal["hadoop", "hive", "glue", "rest", "jdbc"] | None, BeforeValidator(given)] = None
    catalog_impl: Text = None
    session: bool = False
    uri: Text = None
    warehouse: Text = None
    user: Text = None
    password: Secret = None
    token: Secret = None
    credential: Secret = None
    scope: Text = None
    oauth2_server_uri: Text = None
    sigv4: SigV4 | None = None
    endpoint: Text = None
    id: Text = None
    region: Text = None
    skip_archive: Flag = None
    lock_enabled: Flag = None
    properties: Settings
    pyiceberg: Settings

    @field_validator("uri", "oauth2_server_uri", "endpoint")
    @classmethod
    def _no_secret_in_a_place(cls, value: str | None) -> str | None:
        # It is not repeated: what stands before the @ may be a password.
        # A metastore may be named with those that stand in for it.
        places = [urlsplit(one) for one in (value or "").split(",")]
        if in_urls(value or "") or any("@" in place.netloc for place in places):
            raise ValueError("expected no user or password in it; they have keys of their own, which are never shown")
        for place in places:
            _ = place.port  # Raises where it is none.
        return value

    @field_validator("warehouse")
    @classmethod
    def _no_secret_in_the_warehouse(cls, value: str | None) -> str | None:
        # An @ alone is a container of Azure's: abfss://container@account.
        if in_urls(value or ""):
            raise ValueError("expected no keys in it; they belong below store, where they are never shown")
        return value

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        if (self.type is None) == (self.catalog_impl is None):
            raise ValueError(f"expected type ({', '.join(KINDS)}), or catalog_impl with the name of a class")
        what = f"a catalog of type {self.type}" if self.type else "a catalog_impl"
        takes = {*self.kind.keys, *_OF_ALL}
        for key in sorted(type(self).model_fields.keys() - takes):
            if getattr(self, key) not in (None, {}):
                raise ValueError(f"{key}: {what} takes none; its keys are {', '.join(sorted(takes))}")
        for key in self.kind.required:
            if not getattr(self, key):
                raise ValueError(f"{key}: {what} needs it")
        return self

    @model_validator(mode="after")
    def _of_a_known_database(self) -> Self:
        known = DIALECTS.get(self.dialect)
        if self.type == "jdbc" and not (known and str(self.uri).startswith(known.prefix)):
            raise ValueError(f"uri: expected {' or '.join(one.example for one in DIALECTS.values())}")
        return self

    @model_validator(mode="after")
    def _the_sessions_own(self) -> Self:
        if self.session and self.name != SESSION_CATALOG:
            raise ValueError(f"name: with session it has to be {SESSION_CATALOG}, as Spark calls its own catalog")
        return self

    @property
    def kind(self) -> Kind:
        """What its type says of keys and engines."""
        return KINDS[self.type] if self.type else IMPLEMENTATION

    @property
    def dialect(self) -> str:
        """Of a JDBC catalog: the database, as its uri names it."""
        return (self.uri or "").partition(":")[0]

    @property
    def sqlite(self) -> str | None:
        """The file of a JDBC catalog on SQLite."""
        sqlite = DIALECTS["sqlite"].prefix
        return self.uri.removeprefix(sqlite) if self.uri and self.uri.startswith(sqlite) else None

    @property
    def place(self) -> str | None:
        """Where the warehouse is; None where a server knows it by a name, or is asked."""
        return self.warehouse if self.warehouse and (self.warehouse.startswith("/") or ":/" in self.warehouse) else None

    @property
    def identity(self) -> tuple[str, ...]:
        """What two profiles of one catalog have in common."""
        place = os.path.realpath(self.sqlite) if self.sqlite else (self.uri or self.endpoint or "").rstrip("/")
        told_by = (one_spelling(str(getattr(self, key))).rstrip("/") for key in self.kind.told_by)
        # A JDBC catalog is the rows of its name, a Hadoop catalog its folder, and a REST server has several warehouses.
        return (str(self.type or self.catalog_impl), place, *told_by)


_OF_ALL = ("name", "type", "catalog_impl", "session", "warehouse", "properties", "pyiceberg")

"""With what: the Spark session, identifiers, literals and CALLs. Calling the package itself gives a session."""

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from iceberg_assets.profiles import load_profile
from iceberg_assets.spark.pool import shared
from iceberg_assets.spark.query import QueryResult, query
from iceberg_assets.spark.session import Session, jvm_has_ended, session
from iceberg_assets.spark.sql import call, literal, quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "QueryResult",
    "Session",
    "call",
    "jvm_has_ended",
    "literal",
    "query",
    "quote",
    "session",
    "shared",
]


class _SparkPackage(ModuleType):
    """Makes ``iceberg_assets.spark("local")`` the short way to a session, beside the package of that name."""

    def __call__(self, profile: str | None = None) -> "SparkSession":
        """A ready Spark session on a profile's catalog: the named one, else that of ``PROFILE``, else ``local``."""
        return session(load_profile(profile))


sys.modules[__name__].__class__ = _SparkPackage

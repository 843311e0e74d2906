"""With what: the Spark session, identifiers, literals and CALLs."""

from iceberg_assets.spark.session import session
from iceberg_assets.spark.sql import call, literal, quote

__all__ = ["call", "literal", "quote", "session"]

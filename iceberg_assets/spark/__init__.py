"""With what: the Spark session, identifiers, literals and CALLs."""

from iceberg_assets.spark.query import QueryResult, query
from iceberg_assets.spark.session import session
from iceberg_assets.spark.sql import call, literal, quote

__all__ = ["QueryResult", "call", "literal", "query", "quote", "session"]

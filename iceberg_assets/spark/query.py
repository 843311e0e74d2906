"""One SQL statement for people and programs."""

from dataclasses import dataclass
from typing import Any

from iceberg_assets.errors import QueryError
from iceberg_assets.profiles import Profile
from iceberg_assets.spark.session import session
from iceberg_assets.spark.sql import quote


@dataclass(frozen=True)
class QueryResult:
    """The rows of a statement, each as long as ``columns``; both are empty where it returns nothing."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def query(profile: Profile, statement: str) -> QueryResult:
    """What a Spark SQL statement returns, all of it; names without a catalog are those of the profile's.

    Raises:
        ConfigurationError: the machine lacks what Spark needs.
        QueryError: Spark refuses the statement.
    """
    running = session(profile)
    from pyspark.errors import PySparkException

    try:
        running.sql(f"USE {quote(profile.catalog.name)}")
        frame = running.sql(statement)
        return QueryResult(tuple(frame.columns), tuple(tuple(row) for row in frame.collect()))
    except PySparkException as error:
        raise QueryError(str(error).split("\n\nJVM stacktrace", 1)[0].strip()) from error

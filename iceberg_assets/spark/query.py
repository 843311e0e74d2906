"""One SQL statement for people and programs."""

from dataclasses import dataclass
from datetime import UTC
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

    Points in time (columns of type TIMESTAMP) are in UTC: PySpark gives them in the machine's zone, without saying so.

    Raises:
        ConfigurationError: the machine lacks what Spark needs.
        QueryError: Spark refuses the statement.
    """
    running = session(profile)
    from pyspark.errors import PySparkException
    from pyspark.sql.types import TimestampType

    try:
        running.sql(f"USE {quote(profile.catalog.name)}")
        frame = running.sql(statement)
        instants = [isinstance(field.dataType, TimestampType) for field in frame.schema]
        rows = tuple(
            tuple(
                value.astimezone(UTC) if instant and value else value
                for value, instant in zip(row, instants, strict=True)
            )
            for row in frame.collect()
        )
        return QueryResult(tuple(frame.columns), rows)
    except PySparkException as error:
        raise QueryError(str(error).split("\n\nJVM stacktrace", 1)[0].strip()) from error

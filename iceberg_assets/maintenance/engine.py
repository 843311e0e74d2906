"""Statements run by Spark, with errors that a person can read."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from iceberg_assets.errors import IcebergAssetsError
from iceberg_assets.spec import Operation, Outcome, Status

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# org.apache.iceberg.exceptions: somebody else's commit came first.
_CONFLICT = re.compile(r"ValidationException|CommitFailedException|Cannot commit|conflicting")

_STACK = re.compile(r"\s*(at |\.\.\. |Suppressed: )|An error occurred while")


class EngineError(IcebergAssetsError):
    """Spark or Iceberg refused a statement.

    Attributes:
        conflict: somebody else committed first; nothing of ours was.
    """

    def __init__(self, message: str) -> None:
        self.conflict = bool(_CONFLICT.search(message))
        super().__init__(_first_lines(message))


def execute(spark: "SparkSession", statement: str) -> list[Any]:
    """Run a statement to its end and give its rows.

    Raises:
        EngineError: it failed.
    """
    with told():
        return spark.sql(statement).collect()


@contextmanager
def told() -> Iterator[None]:
    """What Spark or Iceberg refuses within is an ``EngineError``."""
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        yield
    except Py4JNetworkError:
        # Nobody answers any more: that is no refusal of the engine's.
        raise
    except (PySparkException, Py4JError) as error:
        raise EngineError(str(error)) from error


def refused(operation: Operation, error: EngineError) -> Outcome:
    """The outcome of a statement that failed: somebody else's commit passes by itself, anything else does not."""
    if error.conflict:
        return Outcome(operation, Status.SKIPPED, f"main moves: {error}", retryable=True)
    return Outcome(operation, Status.FAILED, str(error))


def _first_lines(message: str) -> str:
    """The message without the JVM's stack, and without Py4J's first line, which says nothing."""
    told = (line for line in message.splitlines() if not _STACK.match(line))
    kept = [line.strip(" :\t") for line in told if line.strip()]
    return " ".join(kept[:3])[:1000]

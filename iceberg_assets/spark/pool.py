"""Several threads on one session: each with its share of the cores."""

import threading
from typing import TYPE_CHECKING

from iceberg_assets.spark.session import Session, jvm_has_ended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POOL = "spark.scheduler.pool"


def shared(begin: Session) -> Session:
    """The session for several threads: begun once, by whoever needs it first, and anew where its JVM has ended.

    What a thread starts is scheduled in a pool named after the thread: with ``spark.scheduler.mode`` FAIR, one long
    rewrite leaves the others their part of the cores. PySpark gives each thread of Python its own of the JVM, which
    is what a pool is chosen for; threads that Iceberg starts there inherit it.
    """
    beginning, begun = threading.Lock(), list["SparkSession"]()

    def session() -> "SparkSession":
        with beginning:
            # Those at work when it ended have failed; the others have their turn.
            if begun and jvm_has_ended():
                begun.clear()
            if not begun:
                begun.append(begin())
            one = begun[0]
        from pyspark.sql import is_remote

        # A remote session has no pools: its server shares out as it is set up.
        if not is_remote():
            one.sparkContext.setLocalProperty(_POOL, threading.current_thread().name)
        return one

    return session

"""Several threads share one session, each with its part of the cores."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from iceberg_assets.spark import shared

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_threads_share_a_session_that_is_begun_once_and_each_has_its_pool(spark: "SparkSession") -> None:
    begun = list["SparkSession"]()

    def begin() -> "SparkSession":
        begun.append(spark)
        return spark

    session, both = shared(begin), threading.Barrier(2)

    def pool_of_a_thread() -> tuple[str, str | None]:
        both.wait(30)
        return threading.current_thread().name, session().sparkContext.getLocalProperty("spark.scheduler.pool")

    with ThreadPoolExecutor(2) as threads:
        found = [one.result() for one in [threads.submit(pool_of_a_thread) for _ in range(2)]]
    assert all(name == pool for name, pool in found)
    assert len({pool for _, pool in found}) == 2
    assert begun == [spark]
    assert spark.sparkContext.getConf().get("spark.scheduler.mode") == "FAIR"


def test_a_session_whose_jvm_was_killed_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import SparkContext

    begun = list[Any]()

    def begin() -> Any:
        begun.append(SimpleNamespace(sparkContext=SimpleNamespace(setLocalProperty=lambda *_: None)))
        return begun[-1]

    session = shared(begin)
    assert session() is session()
    with subprocess.Popen(["true"]) as killed:
        killed.wait()
    monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=killed))
    assert session() is begun[1]

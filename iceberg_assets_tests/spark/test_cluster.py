"""On a cluster the executors are other processes: what this package adds to Iceberg has to reach them, too."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from iceberg_assets.profiles import load_profile
from iceberg_assets_tests.declare import declare
from iceberg_assets_tests.tables.helpers import D1, make_feed

HOST = "127.0.0.1"
WITHIN_SECONDS = 240


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A standalone cluster of one worker, of the PySpark wheel."""
    (port,) = free_ports(1)
    address = f"spark://{HOST}:{port}"
    with ExitStack() as stack:
        ends = ("master", "Master", "--host", HOST, "--port", str(port), "--webui-port", "0")
        said = started(stack, tmp_path, *ends)
        until(said, "I have been elected leader")
        work = ("-d", str(tmp_path / "work"), "--webui-port", "0", "--cores", "1", "--memory", "1g")
        until(started(stack, tmp_path, "worker", "Worker", "--host", HOST, *work, address), "Successfully registered")
        yield address


def free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]


def started(stack: ExitStack, folder: Path, of: str, name: str, *arguments: str) -> Path:
    """One of the cluster's processes, which ends with the test; what it says."""
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    home, log = Path(spark.origin).parent, folder / f"{of}.log"
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable}
    process = subprocess.Popen(
        [home / "bin" / "spark-class", f"org.apache.spark.deploy.{of}.{name}", *arguments],
        env=environment | {"SPARK_DAEMON_MEMORY": "256m"},
        stdout=stack.enter_context(log.open("w")),
        stderr=subprocess.STDOUT,
    )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return log


def until(log: Path, words: str) -> None:
    end = time.monotonic() + WITHIN_SECONDS
    while words not in log.read_text():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.2)


@pytest.mark.jvm
def test_executors_write_a_flat_location(tmp_path: Path, master: str) -> None:
    project = tmp_path / "project"
    (project / "profiles").mkdir(parents=True)
    (project / "pyproject.toml").touch()
    settings = {
        "catalog": {"name": "c", "type": "jdbc", "uri": "sqlite:///data/c.db", "warehouse": "data/warehouse"},
        "spark": {"spark.master": master, "spark.executor.memory": "512m", "spark.driver.host": HOST},
    }
    (project / "profiles" / "cluster.yaml").write_text(yaml.safe_dump(settings))
    profile = load_profile("cluster", project)
    attributes = {
        "table": "n.t",
        "profile": "cluster",
        "source": {"path": "raw/%Y-%m-%d/*.parquet"},
        "dates": {"column": "ts", "start": "2013-01-01", "end": "2013-01-31"},
        "partition_by": [{"col": "ts", "type": "date", "func": "day"}, {"col": "carrier", "type": "identity"}],
        "properties": {"write.location-provider.flat.fields": "carrier"},
    }
    declare(project, "t", attributes)
    make_feed(profile, project / "raw", "n.t").land(D1, "a", [1, 2])
    appended = subprocess.run(
        [sys.executable, "-c", "from iceberg_assets.cli import app; app()", "append", "n.t", "--date", D1.isoformat()],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert appended.returncode == 0, appended.stdout + appended.stderr
    paths = profile.pyiceberg().load_table("n.t").inspect.files()["file_path"].to_pylist()
    assert {re.sub(r".*/data/|/[^/]*$", "", path) for path in paths} == {"carrier=AA", "carrier=UA"}
    assert "Executor app-" in (tmp_path / "worker.log").read_text(), "it was not the driver who wrote"

"""The Hive metastore that comes with PySpark's wheel, on an embedded Derby."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import escape

from iceberg_assets_tests.services.process import HOST, Service, accepts, free_ports, started

_OPENS = ("lang", "util", "net", "io", "nio", "util.concurrent")


@dataclass(frozen=True)
class Metastore:
    """A running metastore.

    Attributes:
        uri: of its Thrift interface.
    """

    uri: str
    service: Service


@contextmanager
def metastore(folder: Path, warehouse: str) -> Iterator[Metastore]:
    """A metastore of its own below the folder; its databases lie in the warehouse."""
    (folder / "conf").mkdir(parents=True)
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:{folder}/db;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "datanucleus.connectionPoolingType": "NONE",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": warehouse,
        "hive.metastore.event.db.notification.api.auth": "false",
        "hive.in.test": "true",
        # With it on, the metastore of the wheel looks for a logger that is not there, and dies.
        "hive.async.log.enabled": "false",
    }
    entries = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>" for name, value in settings.items()
    )
    (folder / "conf" / "hive-site.xml").write_text(f"<configuration>{''.join(entries)}</configuration>")
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else Path("java")
    (port,) = free_ports(1)
    server = Service(
        [
            java,
            "-Xmx384m",
            "-XX:TieredStopAtLevel=1",
            f"-Dderby.system.home={folder}",
            *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENS),
            "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
            "-cp",
            f"{folder}/conf:{Path(spark.origin).parent}/jars/*",
            "org.apache.hadoop.hive.metastore.HiveMetaStore",
            "-p",
            str(port),
        ],
        folder / "metastore.log",
        lambda: accepts(port),
        within=300,
    )
    with started(server) as service:
        yield Metastore(f"thrift://{HOST}:{port}", service)

"""Glue, as moto's server plays it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3

from iceberg_assets_tests.services.process import HOST, Service, free_ports, started
from iceberg_assets_tests.services.seaweedfs import REGION


@dataclass(frozen=True)
class Glue:
    """A running Glue.

    Attributes:
        endpoint: of all of moto's services.
    """

    endpoint: str
    service: Service

    def client(self):
        """Glue as boto3 has it."""
        keys = {"aws_access_key_id": "moto", "aws_secret_access_key": "takes any"}
        return boto3.client("glue", endpoint_url=self.endpoint, region_name=REGION, **keys)


@contextmanager
def glue(folder: Path) -> Iterator[Glue]:
    """An empty Glue; it keeps everything in memory."""
    folder.mkdir(parents=True)
    (port,) = free_ports(1)
    endpoint = f"http://{HOST}:{port}"
    command = [Path(sys.executable).with_name("moto_server"), "-H", HOST, "-p", str(port)]
    # Never the accounts of whoever runs the tests.
    elsewhere = {"AWS_CONFIG_FILE": f"{folder}/none", "AWS_SHARED_CREDENTIALS_FILE": f"{folder}/none"}
    moto = Service(
        command,
        folder / "moto.log",
        lambda: Glue(endpoint, moto).client().get_databases(),
        environment=elsewhere,
    )
    with started(moto) as service:
        yield Glue(endpoint, service)

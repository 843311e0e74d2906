"""SeaweedFS: an S3 store with buckets, and an Iceberg REST catalog with OAuth and SigV4 on a bucket of tables."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3
from botocore.config import Config

from iceberg_assets_tests.services.process import HOST, Service, accepts, free_ports, started

REGION = "us-east-1"
LAKE, RAW, TABLES = "lake", "raw", "tables"
"""Buckets: of warehouses, of raw files, and of the REST catalog."""

_READY = "ready"


@dataclass(frozen=True)
class SeaweedFS:
    """A running store.

    Attributes:
        endpoint: of S3.
        rest: address of the Iceberg REST catalog.
        access_key, secret_key: of its one user, which may do everything; the catalog takes them as OAuth's credential.
    """

    endpoint: str
    rest: str
    access_key: str
    secret_key: str
    service: Service

    @property
    def rest_warehouse(self) -> str:
        """What the REST catalog calls its bucket."""
        return f"s3://{TABLES}"

    @property
    def oauth(self) -> str:
        """Where the REST catalog gives tokens."""
        return f"{self.rest}/v1/oauth/tokens"

    def client(self):
        """S3 as boto3 has it."""
        return client(self.endpoint, self.access_key, self.secret_key)


def client(endpoint: str, access_key: str, secret_key: str):
    """S3 as boto3 has it, with every bucket in the path."""
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}, connect_timeout=2, read_timeout=10),
    )


@contextmanager
def seaweedfs(folder: Path, secret_key: str, access_key: str = "admin") -> Iterator[SeaweedFS]:
    """A store of its own below the folder, with its buckets there."""
    folder.mkdir(parents=True)
    names = ("master", "volume", "filer", "s3")
    ports = dict(zip(("rest", *names, *(f"{name}.grpc" for name in names), "admin"), free_ports(10), strict=True))
    endpoint, rest = (f"http://{HOST}:{ports[name]}" for name in ("s3", "rest"))

    def ready() -> None:
        # Ports answer before the buckets exist.
        buckets = client(endpoint, access_key, secret_key).list_buckets()["Buckets"]
        assert {LAKE, RAW, TABLES} <= {one["Name"] for one in buckets} | {TABLES}, buckets
        # After a restart, what was there before is readable last.
        reader = client(endpoint, access_key, secret_key)
        if reader.list_objects_v2(Bucket=LAKE, Prefix=_READY).get("KeyCount"):
            reader.get_object(Bucket=LAKE, Key=_READY)["Body"].read()
        else:
            reader.put_object(Bucket=LAKE, Key=_READY, Body=b"is it?")
        accepts(ports["rest"])

    weed = Service(
        [
            Path(sys.executable).with_name("weed"),
            "mini",
            f"-dir={folder}",
            f"-ip={HOST}",
            f"-ip.bind={HOST}",
            f"-bucket={LAKE},{RAW}",
            f"-tableBucket={TABLES}",
            *(f"-{name}.port={ports[name]}" for name in names),
            *(f"-{name}.port.grpc={ports[f'{name}.grpc']}" for name in names),
            f"-s3.port.iceberg={ports['rest']}",
            "-s3.port.lance=0",
            f"-filer.localSocket={folder}/filer.sock",
            f"-s3.localSocket={folder}/s3.sock",
            "-master.telemetry=false",
            "-webdav=false",
            "-admin.ui=false",
        ],
        folder / "weed.log",
        ready,
        environment={"AWS_ACCESS_KEY_ID": access_key, "AWS_SECRET_ACCESS_KEY": secret_key},
    )
    with started(weed) as service:
        yield SeaweedFS(endpoint, rest, access_key, secret_key, service)

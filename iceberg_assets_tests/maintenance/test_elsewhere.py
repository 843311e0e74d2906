"""AWS's own optimizers: where one is switched on, we are not the second. By properties: test_orphans. No JVM."""

import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from pyiceberg.table import Table

from iceberg_assets.maintenance.elsewhere import asking, glue_optimizers, maintained_elsewhere
from iceberg_assets.profiles import Profile
from iceberg_assets_tests import on_paper

Answer = tuple[int, Mapping[str, Any]]


class Glue(ThreadingHTTPServer):
    """Answers GetTable and GetTableOptimizer as AWS's reference has it."""

    def __init__(self, optimizers: Mapping[str, Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.optimizers, self.asked = optimizers, list[dict[str, str]]()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Glue

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, said = 200, {"Table": {"Name": "t", "CatalogId": "12"}}
        if self.headers["X-Amz-Target"].endswith("GetTableOptimizer"):
            self.server.asked.append(asked)
            status, said = self.server.optimizers.get(asked["Type"], _NONE)
        body = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def switched(on: bool) -> Answer:
    return 200, {"CatalogId": "12", "TableOptimizer": {"configuration": {"enabled": on, "roleArn": "arn"}}}


_NONE: Answer = 400, {"__type": "EntityNotFoundException", "Message": "no optimizer"}
_DENIED: Answer = (
    400,
    {"__type": "AccessDeniedException", "Message": "not authorized to perform: glue:GetTableOptimizer"},
)


@pytest.fixture
def serve() -> Iterator[Any]:
    servers = []

    def started(optimizers: Mapping[str, Answer]) -> Glue:
        server = Glue(optimizers)
        Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield started
    for server in servers:
        server.shutdown()
        server.server_close()


def client(server: Glue) -> Any:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "s"}
    return boto3.client("glue", endpoint_url=server.endpoint, region_name="us-east-1", **keys)


PROPERTIES = {"glue.access-key-id": "a", "glue.secret-access-key": "s"}


def test_the_optimizers_that_are_switched_on_are_named(serve: Any) -> None:
    glue = serve({"compaction": switched(on=False), "retention": switched(on=True)})
    found = glue_optimizers(asking(client(glue), PROPERTIES), None, ("db", "t"))
    assert found == ("retention",)
    assert {one["CatalogId"] for one in glue.asked} == {"12"}, "the table's own catalog, where none is configured"
    assert [one["Type"] for one in glue.asked] == ["compaction", "retention", "orphan_file_deletion"]


def test_a_glue_that_does_not_say_is_asked_once_and_stands_in_nobodys_way(
    serve: Any, caplog: pytest.LogCaptureFixture
) -> None:
    glue = serve({"compaction": _DENIED})
    for _ in range(3):
        assert glue_optimizers(asking(client(glue), PROPERTIES), "12", ("db", "t")) == ()
    assert len(glue.asked) == 1
    (said,) = [one.getMessage() for one in caplog.records]
    assert "AccessDenied" in said
    assert "glue:GetTableOptimizer" in said


@pytest.fixture
def table(profile: Profile, namespace: str) -> Table:
    profile.prepare()
    return on_paper.make(profile.pyiceberg(), f"{namespace}.t")


def in_catalog(table: Table, location: str = "", **catalog: Any) -> Table:
    """The same table, had another catalog it, or another place."""
    table.metadata = table.metadata.model_copy(update={"location": location or table.location()})
    table.catalog = SimpleNamespace(**{"properties": {}, **catalog})  # type: ignore[assignment]
    return table


def test_a_table_that_glue_maintains_is_left_to_it(serve: Any, table: Table) -> None:
    glue = serve({"compaction": switched(on=True)})
    reason = maintained_elsewhere(in_catalog(table, glue=client(glue), properties=PROPERTIES), {})
    assert reason
    assert reason.startswith("Glue's own compaction is switched on for the table: AWS maintains it")
    nothing_on = serve({})
    assert maintained_elsewhere(in_catalog(table, glue=client(nothing_on), properties=PROPERTIES), {}) is None


@pytest.mark.parametrize(
    ("location", "properties"),
    [
        ("s3://63a8e430-6e0b-46f5-k833abtwr6s8tmtsycedn8s4yc3xhuse1b--table-s3", {}),
        ("s3://elsewhere/t", {"warehouse": "arn:aws:s3tables:us-east-1:111122223333:bucket/lake"}),
        ("s3://elsewhere/t", {"uri": "https://s3tables.us-east-1.amazonaws.com/iceberg"}),
    ],
)
def test_a_table_in_s3_tables_is_left_to_aws(table: Table, location: str, properties: dict[str, str]) -> None:
    reason = maintained_elsewhere(in_catalog(table, location, properties=properties), {})
    assert reason
    assert "lies in S3 Tables" in reason


def test_a_table_of_anybody_elses_place_is_ours(table: Table) -> None:
    assert maintained_elsewhere(in_catalog(table, "s3://s3tables/t", properties={"warehouse": "s3://lake"}), {}) is None

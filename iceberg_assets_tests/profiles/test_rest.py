"""PyIceberg's REST catalog as profiles open it: reads outlive a short trouble, and signed bodies carry their hash."""

import json
import threading
import traceback
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pyiceberg.exceptions import UnauthorizedError

from iceberg_assets.profiles.rest import BoundedRestCatalog


class Server(ThreadingHTTPServer):
    """Answers each path; so many reads of a namespace are answered with 503 first."""

    unavailable = 0
    repeats = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        told: dict[str, Any] = {"defaults": {}, "overrides": {}, "namespaces": [["shop"]]}
        if "namespaces" in self.path and self.server.unavailable:
            self.server.unavailable -= 1
            self.send_response(503)
            told = {"error": {"message": "not now", "type": "ServiceUnavailable", "code": 503}}
        elif "/tables/" in self.path:
            self.send_response(401)
            said = f"{self.headers['Authorization']} is not known, nor {self.server.repeats}"
            told = {"error": {"message": said, "type": "NotAuthorizedException", "code": 401}}
        else:
            self.send_response(200)
        written = json.dumps(told).encode()
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def test_reads_are_tried_again_and_writes_are_not(server):
    catalog = BoundedRestCatalog("lake", uri=server.address)
    server.unavailable = 2
    assert catalog.list_namespaces() == [("shop",)]
    server.unavailable, before = 1, len(server.requests)
    with pytest.raises(Exception, match="not now"):
        catalog.create_namespace("shop")
    assert [method for method, *_ in server.requests[before:]] == ["POST"]


def test_a_signed_body_carries_its_hash(server):
    keys = {"client.access-key-id": "a", "client.secret-access-key": "b"}
    signing = {"rest.sigv4-enabled": "true", "rest.signing-name": "s3", "rest.signing-region": "us-east-1"}
    BoundedRestCatalog("lake", uri=server.address, **keys, **signing).create_namespace("shop")
    _, _, headers, body = server.requests[-1]
    assert headers["x-amz-content-sha256"] == sha256(body).hexdigest()
    assert "x-amz-content-sha256" in headers["Authorization"]


def test_a_refusal_that_repeats_a_secret_is_heard_without_it(server: Server) -> None:
    server.repeats = "canary-of-a-header"
    sent = {"token": "canary-of-ours", "header.X-Api-Key": server.repeats}
    catalog = BoundedRestCatalog("lake", uri=server.address, **sent)
    with pytest.raises(UnauthorizedError, match="Bearer … is not known, nor …") as refused:
        catalog.load_table("a.b")
    # Its logs and events show what is behind it as well.
    assert "canary" not in "".join(traceback.format_exception(refused.value))

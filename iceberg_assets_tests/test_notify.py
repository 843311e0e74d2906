"""Somebody is told of failures, whatever is wrong with the telling; no secret comes into a log. No JVM."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from iceberg_assets.errors import ConfigurationError
from iceberg_assets.notify import Failed, notify
from iceberg_assets.profiles import Profile, load_profile

FAILED = Failed("demo.flights", "compacted", (date(2024, 4, 30),), "rows changed")


@dataclass
class Webhook:
    """A server on loopback that answers as its path says, and keeps what it was sent."""

    url: str = ""
    posted: list[Any] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    hook = Webhook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path.startswith("/slow"):
                # A byte now and then: no single one of them is late.
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not hook.over.wait(0.1):
                    self.wfile.write(b"X-Wait: 1\r\n")
                return
            hook.posted.append(json.loads(body))
            self.send_response(int(self.path.split("/")[1]))
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    hook.url = f"http://127.0.0.1:{server.server_port}"
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield hook
    hook.over.set()
    server.shutdown()
    serving.join()
    server.server_close()


def profile(folder: Path, on_failure: str) -> Profile:
    """The embedded profile with a hook, as a project has it in its own file."""
    (folder / "profiles").mkdir(exist_ok=True)
    settings = "catalog: {name: local, type: jdbc, uri: 'sqlite:///data/catalog.db', warehouse: data/warehouse}\n"
    (folder / "profiles" / "told.yaml").write_text(f"{settings}on_failure: {on_failure}\n")
    return load_profile("told", folder)


def test_a_webhook_gets_what_failed(tmp_path: Path, webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", f"{webhook.url}/200/s3cret")
    told = profile(tmp_path, "{url: '${HOOK}'}")
    assert notify(told, "run-1", [FAILED, Failed("demo.broken", None, (), "x" * 5_000), *[FAILED] * 60]) == ()
    (sent,) = webhook.posted
    assert (sent["run_id"], sent["profile"], sent["more"], len(sent["failures"])) == ("run-1", "told", 12, 50)
    first, broken, *_ = sent["failures"]
    assert first == {
        "table": "demo.flights",
        "operation": "compacted",
        "dates": ["2024-04-30"],
        "reason": "rows changed",
    }
    assert (broken["operation"], len(broken["reason"])) == (None, 1_000)
    assert "s3cret" not in repr(told) + str(told.model_dump()) + told.model_dump_json()


@pytest.mark.parametrize(("path", "why"), [("500/s3cret", "HTTPError 500"), ("302/s3cret", "HTTPError 302")])
def test_a_webhook_that_fails_is_told_without_its_address(
    tmp_path: Path, webhook: Webhook, path: str, why: str
) -> None:
    (said,) = notify(profile(tmp_path, f"{{url: '{webhook.url}/{path}'}}"), "run-1", [FAILED])
    assert said == f"profile 'told', on_failure.url: nobody was told: {why}"


def test_why_a_server_was_not_reached_is_told(tmp_path: Path) -> None:
    (said,) = notify(profile(tmp_path, "{url: 'http://127.0.0.1:9/s3cret'}"), "run-1", [FAILED])
    assert said == "profile 'told', on_failure.url: nobody was told: ConnectionRefusedError 111"


def test_nobody_waits_longer_than_the_timeout(tmp_path: Path, webhook: Webhook) -> None:
    """Neither for a server that answers byte by byte, nor for a command that leaves others running."""
    told = profile(tmp_path, f"{{url: '{webhook.url}/slow', command: \"sh -c 'sleep 60 & sleep 60'\", timeout: 1s}}")
    started = time.monotonic()
    said = notify(told, "run-1", [FAILED])
    assert time.monotonic() - started < 10
    assert [one.rpartition(": ")[2] for one in said] == ["it took more than 1 s"] * 2


def test_a_command_reads_the_payload(tmp_path: Path) -> None:
    """It may fail, or not be there: that is told, and nothing else."""
    written = tmp_path / "a file"
    assert notify(profile(tmp_path, f"{{command: \"cp /dev/stdin '{written}'\"}}"), "run-1", [FAILED]) == ()
    assert json.loads(written.read_text())["failures"][0]["table"] == "demo.flights"
    (said,) = notify(profile(tmp_path, "{command: 'sh -c \"exit 3\" s3cret'}"), "run-1", [FAILED])
    assert said.endswith("on_failure.command: nobody was told: ChildProcessError 3")
    (said,) = notify(profile(tmp_path, "{command: /s3cret/is/not/there}"), "run-1", [FAILED])
    assert said.endswith("FileNotFoundError 2")


def test_without_a_hook_or_a_failure_nobody_is_told(tmp_path: Path, webhook: Webhook) -> None:
    # As the package's profile has it where no variable is set.
    assert notify(profile(tmp_path, "{url: '', command: ''}"), "run-1", [FAILED]) == ()
    assert notify(profile(tmp_path, f"{{url: '{webhook.url}/200'}}"), "run-1", []) == ()
    assert webhook.posted == []


@pytest.mark.parametrize(
    "wrong",
    [
        "{url: 's3cret.example/hook'}",
        "{url: 'https://me:s3cret@example.org/'}",
        '{command: "s3cret \'open"}',
        "{url: [s3cret]}",
    ],
)
def test_a_wrong_hook_is_refused_without_repeating_it(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ConfigurationError, match=r"on_failure\.(url|command): expected") as refused:
        profile(tmp_path, wrong)
    assert "s3cret" not in str(refused.value)

"""Dagster as docker-compose.yml runs it: code server, daemon and webserver, each a process that a test can kill."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import dagster as dg
import psutil

_SECONDS_TO_START = 180

T = TypeVar("T")


def until(what: str, seconds: float, look: Callable[[], T | None], every: float = 0.2) -> T:
    """What ``look`` finds, once it finds something.

    Raises:
        TimeoutError: it found nothing in time; says what was waited for.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(every)
    raise TimeoutError(f"after {seconds:.0f} s still no {what}")


@dataclass
class Deployment:
    """One instance with its processes.

    Attributes:
        root: the project's folder; the instance and the processes' logs lie in it, too.
        package: the project's package, which is also the location's name.
    """

    root: Path
    package: str
    code_port: int
    web_port: int
    _running: dict[str, psutil.Popen] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return self.root / "dagster_home"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.web_port}"

    def start(self, *names: str) -> None:
        """Start ``code``, ``daemon`` or ``web``; those with a port have answered when it returns."""
        module = ("--module-name", f"{self.package}.definitions", "--location-name", self.package)
        workspace = ("--workspace", str(self.root / "workspace.yaml"))
        commands = {
            "code": ("dagster", "code-server", "start", "--port", self.code_port, *module),
            "daemon": ("dagster-daemon", "run", *workspace),
            "web": ("dagster-webserver", "--host", "127.0.0.1", "--port", self.web_port, *workspace),
        }
        for name in names:
            program, *arguments = map(str, commands[name])
            with (self.root / f"{name}.log").open("ab") as log:
                self._running[name] = psutil.Popen(
                    [str(Path(sys.executable).with_name(program)), *arguments],
                    cwd=self.root,
                    env=os.environ | {"DAGSTER_HOME": str(self.home), "PYTHONPATH": str(self.root)},
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            if port := {"code": self.code_port, "web": self.web_port}.get(name):
                self._await_port(port, name)

    def _await_port(self, port: int, name: str) -> None:
        def answers() -> bool:
            if self._running[name].poll() is not None:
                raise RuntimeError(f"{name} has ended: {(self.root / f'{name}.log').read_text()[-2000:]}")
            with socket.socket() as tried:
                return tried.connect_ex(("127.0.0.1", port)) == 0

        until(f"answer of {name} on port {port}", _SECONDS_TO_START, answers)

    def kill(self, name: str) -> None:
        """SIGKILL to the process and to all that it started."""
        family = self.processes(name)
        del self._running[name]
        for one in family:
            one.kill()
        psutil.wait_procs(family, timeout=30)

    def kill_run(self) -> None:
        """SIGKILL to the process of the run that has a JVM now, and to its JVM."""
        java = next(one for one in self.processes("code") if one.name() == "java")
        for one in (java.parent(), java):
            one.kill()

    def processes(self, name: str) -> list[psutil.Process]:
        """The process and all below it."""
        return [self._running[name], *self._running[name].children(recursive=True)]

    def query(self, text: str, **variables: Any) -> Any:
        """The answer of the webserver's GraphQL."""
        body = json.dumps({"query": text, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            told = json.load(answer)
        assert "errors" not in told, told["errors"]
        return told["data"]


@contextmanager
def deployed(root: Path, package: str, settings: str) -> Iterator[tuple[Deployment, dg.DagsterInstance]]:
    """A deployment of a project, its code server up, and its instance; when it is left, all processes are gone.

    Args:
        root: the project's folder.
        package: the package with the definitions.
        settings: the text of ``dagster.yaml``.
    """
    deployment = Deployment(root, package, *free_ports(2))
    deployment.home.mkdir()
    (deployment.home / "dagster.yaml").write_text(settings)
    (root / "workspace.yaml").write_text(
        f"load_from:\n- grpc_server: {{host: 127.0.0.1, port: {deployment.code_port}, location_name: {package}}}\n"
    )
    instance = dg.DagsterInstance.from_config(str(deployment.home))
    try:
        deployment.start("code")
        yield deployment, instance
    finally:
        for name in list(deployment._running):
            deployment.kill(name)
        instance.dispose()


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


def sooner(settings: str) -> str:
    """Our ``dagster.yaml`` with shorter waits, so that a test does not wait for them."""
    queue = "module: dagster._core.run_coordinator\n  class: QueuedRunCoordinator"
    assert queue in settings
    assert "free_slots_after_run_end_seconds" in settings
    settings = settings.replace(queue, f"{queue}\n  config: {{dequeue_interval_seconds: 1}}")
    settings = re.sub(r"free_slots_after_run_end_seconds: \d+", "free_slots_after_run_end_seconds: 1", settings)
    return re.sub(r"(run_monitoring:\n  enabled: true)", r"\1\n  poll_interval_seconds: 2", settings)

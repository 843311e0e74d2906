"""A service of the tests: one process on loopback, with a folder and a log of its own, ended whatever happens."""

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"

SECRET = "canary-of-the-services-4711"
"""Every password, key and token's base: wherever it is read, a secret was shown."""

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl.h


class ServiceError(Exception):
    """A service did not come up; the message has the end of its log."""


class Service:
    """A process that was started, and can be stopped and started again at the same place.

    Attributes:
        command: what is run.
        log: its output, appended to at each start.
        ready: raises as long as the service does not answer.
        within: seconds that it may take to answer.
        environment: added to this process's own.
        user: that it runs as where this process is root's; None: the same one.
        ends_by: the signal that it ends at once by.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        ready: Callable[[], object],
        within: float = 120,
        environment: Mapping[str, str] | None = None,
        user: int | None = None,
        ends_by: signal.Signals = signal.SIGTERM,
    ) -> None:
        self.command, self.log, self.ready, self.within = command, log, ready, within
        self.environment, self.user, self.ends_by = environment or {}, user, ends_by
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Run it, and wait until it answers.

        Raises:
            ServiceError: it ended, or did not answer in time.
        """
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | self.environment,
                user=self.user,
                group=self.user,
                # A test process that is killed takes its services along.
                preexec_fn=_die_with_parent,  # noqa: PLW1509 (nothing else runs in this process's threads meanwhile)
            )
        deadline = time.monotonic() + self.within
        while True:
            try:
                self.ready()
            except Exception as error:  # noqa: BLE001 (each service refuses in its own way until it is up)
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    tail = self.log.read_text(errors="replace")[-2000:]
                    raise ServiceError(
                        f"{self.command[0]} does not answer ({error!r}); its log ends:\n{tail}"
                    ) from None
                time.sleep(0.1)
            else:
                return

    def stop(self) -> None:
        """End it by its id; one that does not heed its signal is killed."""
        if self._process is None:
            return
        self._process.send_signal(self.ends_by)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    @property
    def pid(self) -> int | None:
        """Of the running process."""
        return self._process.pid if self._process else None


@contextmanager
def started(service: Service) -> Iterator[Service]:
    """The service, up and answering; it is gone afterwards."""
    try:
        service.start()
        yield service
    finally:
        service.stop()


def free_ports(number: int) -> list[int]:
    """Ports that nobody listens on, each different; all are below 32768, where no outgoing connection takes one."""
    found, port = list[int](), 10_000 + os.getpid() * 37 % 20_000
    while len(found) < number:
        port += 1
        with socket.socket() as tried:
            try:
                tried.bind((HOST, port))
            except OSError:
                continue
        found.append(port)
    return found


def accepts(port: int) -> None:
    """Raise where nobody listens on the port."""
    socket.create_connection((HOST, port), timeout=1).close()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)

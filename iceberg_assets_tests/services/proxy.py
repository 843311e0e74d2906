"""A small proxy between the product and a service, which does to their connections what networks do."""

import contextlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

from iceberg_assets_tests.services.process import HOST

_PHRASES = {401: "Unauthorized", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}
_PIECE = 65_536
_SLOW_SECONDS = 0.5


class Proxy:
    """Passes bytes on until it is told to do something else.

    Args:
        behind: the service's address.
        instead: addresses in its answers, and what stands there instead: a catalog names the store to its clients.

    Attributes:
        address: of the proxy, in the place of the service's.
        met: how often each trouble was done to a request or an answer, by its name.
    """

    def __init__(self, behind: str, instead: Mapping[str, str]) -> None:
        self._behind = urlsplit(behind)
        self._instead = {old.encode(): new.encode() for old, new in instead.items()}
        # The answer's length stands at its head.
        assert all(len(old) == len(new) for old, new in self._instead.items()), instead
        self._listener = socket.create_server((HOST, 0))
        self._trouble: Callable[[bytes], str | None] = lambda _: None
        self._open: set[socket.socket] = set()
        self.met: Counter[str] = Counter()
        self.address = self._behind._replace(netloc=f"{HOST}:{self._listener.getsockname()[1]}").geturl()

    def trouble(self, what: int | str, seconds: float, *, to: bytes = b"") -> None:
        """Trouble from now on, for so many seconds; after that everything passes again.

        Args:
            what: a status of HTTP that requests are answered with; ``refused``: connections are closed at once;
                ``cut``: answers end in the middle; ``slow``: each piece of an answer comes late; ``lost``: requests
                arrive, and their answers do not.
            to: only requests that have these bytes in their first piece.
        """
        until = time.monotonic() + seconds
        self._trouble = lambda first: str(what) if time.monotonic() < until and to in first else None
        # Those that are kept alive would be spared.
        self._close_all()

    def calm(self) -> None:
        """Let everything pass."""
        self._trouble = lambda _: None

    def serve(self) -> None:
        """Accept connections, each in a thread of its own, until the proxy is closed."""
        while True:
            try:
                taken, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(taken,), daemon=True).start()

    def close(self) -> None:
        """Close the listener and every connection."""
        # Closing alone leaves a thread in accept().
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._close_all()

    def _close_all(self) -> None:
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _carry(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            service = socket.create_connection((self._behind.hostname or HOST, self._behind.port or 80), timeout=60)
            # The time is for connecting: one that is kept alive may be silent for long.
            service.settimeout(None)
            with service:
                self._open |= {client, service}
                lost = threading.Event()
                threading.Thread(target=self._answers, args=(service, client, lost), daemon=True).start()
                while piece := client.recv(_PIECE):
                    trouble = self._trouble(piece)
                    if trouble == "refused":
                        self.met[trouble] += 1
                        break
                    if trouble and trouble.isdigit():
                        self.met[trouble] += 1
                        client.sendall(_refusal(int(trouble)))
                        break
                    if trouble == "lost":
                        lost.set()
                    service.sendall(piece)
                self._open -= {client, service}
                with contextlib.suppress(OSError):
                    service.shutdown(socket.SHUT_RDWR)

    def _answers(self, service: socket.socket, client: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while piece := service.recv(_PIECE):
                for old, new in self._instead.items():
                    piece = piece.replace(old, new)
                if lost.is_set():
                    self.met["lost"] += 1
                    break
                match self._trouble(b""):
                    case "slow":
                        self.met["slow"] += 1
                        time.sleep(_SLOW_SECONDS)
                    case "cut":
                        self.met["cut"] += 1
                        client.sendall(piece[: len(piece) // 2])
                        break
                client.sendall(piece)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(behind: str, instead: Mapping[str, str] | None = None) -> Iterator[Proxy]:
    """A proxy in front of a service's address."""
    made = Proxy(behind, instead or {})
    threading.Thread(target=made.serve, daemon=True).start()
    try:
        yield made
    finally:
        made.close()


def _refusal(status: int) -> bytes:
    body = b'{"error": {"message": "made by the proxy", "type": "Trouble", "code": %d}}' % status
    head = f"HTTP/1.1 {status} {_PHRASES[status]}\r\nContent-Type: application/json\r\nConnection: close\r\n"
    return head.encode() + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

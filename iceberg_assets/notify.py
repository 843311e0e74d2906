"""``notify()``: somebody is told of failures, by the profile's ``on_failure``: in bounded time, and never in the way.

The payload is one JSON object a run, read from standard input or posted::

    {"run_id": "…", "profile": "local", "host": "etl-1", "at": "2024-05-01T02:00:00+00:00",
     "failures": [{"table": "demo.flights", "operation": "compacted", "dates": ["2024-04-30"], "reason": "…"}],
     "more": 0}

``operation`` is null where it did not come to one; ``more`` failures are left out, so that it can be shown.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any
from urllib.request import HTTPRedirectHandler, Request, build_opener

from iceberg_assets.profiles import Profile

_MOST = 50
_LONGEST_REASON = 1000


@dataclass(frozen=True)
class Failed:
    """What has failed.

    Attributes:
        operation: None: it did not come to one.
    """

    table: str
    operation: str | None
    dates: tuple[date, ...]
    reason: str


def notify(profile: Profile, run_id: str, failed: Sequence[Failed]) -> tuple[str, ...]:
    """Tell of a run's failures whoever the profile names.

    Returns:
        What went wrong with that, for a log. Neither the URL nor the command is in it: they may hold secrets.
    """
    if not failed:
        return ()
    hook = profile.on_failure
    payload, seconds = _payload(profile, run_id, failed), hook.timeout.total_seconds()
    ways: list[tuple[str, Callable[[], None]]] = []
    if command := hook.command:
        ways.append(("command", lambda: _run(command.get_secret_value(), payload, seconds)))
    if url := hook.url:
        ways.append(("url", lambda: _post(url.get_secret_value(), payload, seconds)))
    tried = [(f"on_failure.{key}", _outcome(way)) for key, way in ways]
    return tuple(f"profile '{profile.name}', {key}: nobody was told: {why}" for key, why in tried if why)


def _payload(profile: Profile, run_id: str, failed: Sequence[Failed]) -> bytes:
    told: dict[str, Any] = {
        "run_id": run_id,
        "profile": profile.name,
        "host": socket.gethostname(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "failures": [{**asdict(one), "reason": one.reason[:_LONGEST_REASON]} for one in failed[:_MOST]],
        "more": max(0, len(failed) - _MOST),
    }
    return json.dumps(told, default=str).encode()


def _outcome(way: Callable[[], None]) -> str | None:
    """What kept somebody from being told; None: nothing did."""
    try:
        way()
    except TimeoutError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 (a hook may fail in any way; its words may hold what it was given)
        # What urllib wraps: the name alone would not tell a refusal from a certificate or a host that is not known.
        if isinstance(reason := getattr(error, "reason", None), OSError):
            error = reason
        status = getattr(error, "code", None) or getattr(error, "errno", None)
        return type(error).__name__ + (f" {status}" if status else "")
    return None


def _run(command: str, payload: bytes, seconds: float) -> None:
    process = subprocess.Popen(
        shlex.split(command),
        stdin=subprocess.PIPE,
        # A pipe would keep us waiting for whatever it leaves running.
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.communicate(payload, timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise TimeoutError(f"it took more than {seconds:g} s") from None
    if process.returncode:
        raise ChildProcessError(process.returncode, "it failed")


def _post(url: str, payload: bytes, seconds: float) -> None:
    """Post it, in a thread: a timeout of the socket begins anew with each byte."""
    request = Request(url, payload, {"Content-Type": "application/json"})  # noqa: S310 - the profile takes http(s) alone
    failure: list[Exception] = []

    def post() -> None:
        try:
            with build_opener(_NoRedirect).open(request, timeout=seconds):
                pass
        except Exception as error:  # noqa: BLE001 (told by the caller's thread)
            failure.append(error)

    posting = threading.Thread(target=post, daemon=True)
    posting.start()
    posting.join(seconds)
    if posting.is_alive():
        raise TimeoutError(f"it took more than {seconds:g} s")
    if failure:
        raise failure[0]


class _NoRedirect(HTTPRedirectHandler):
    """What is posted would be asked for instead, without the payload, and that would count as told."""

    def redirect_request(self, *_args: Any, **_more: Any) -> None:
        """Not followed; the answer is an error as it is."""

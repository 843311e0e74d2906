"""The parent's hold on a child process: tells it what to do, hears how far it is, and kills it with its JVM."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, Self

import psutil

# A child lives for some minutes at most: what the JVM's second compiler and parallel collector cost is never won back.
_SHORT_LIVED = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}

PATIENCE = 240.0
"""Seconds to wait for a child that is at work: a JVM on a busy machine is slow to start."""


class ChildFailedError(Exception):
    """A command ended with an error, or its process did without being told to."""


class Runner:
    """One child process in a session of its own. It starts at once, and is waited for when it is first needed.

    Args:
        root: the project's folder, with catalog and warehouse.
        log: takes what Python and JVM print.
    """

    def __init__(self, root: Path, log: Path) -> None:
        self.log = log
        self.steps: list[str] = []
        reading, writing = os.pipe()
        with log.open("w") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "iceberg_assets_tests.faults.child", str(writing), str(root)],
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                text=True,
                env={**os.environ, **_SHORT_LIVED},
                pass_fds=[writing],
                # Its process group is then its own, so that Python and JVM die by one signal.
                start_new_session=True,
            )
        os.close(writing)
        self._events: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._listen, args=(reading,), daemon=True).start()
        self._ready = False

    def _listen(self, reading: int) -> None:
        with os.fdopen(reading) as events:
            for line in events:
                self._events.put(json.loads(line))
        self._events.put({"gone": True})

    def append(self, where: dict[str, Any], days: Sequence[date], **how: Any) -> Self:
        """Begin an append; see ``child.Child.append`` for what it takes."""
        return self.do("append", where, days=[str(day) for day in days], **how)

    def do(self, what: str, where: dict[str, Any], **how: Any) -> Self:
        """Begin a command of the child."""
        if not self._ready:
            self.wait("ready")
            self._ready = True
        self.steps.clear()
        self._say({"do": what, **where, **how})
        return self

    def go_on(self) -> None:
        """From where it stands still."""
        self._say({"go": True})

    def _say(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def result(self) -> Any:
        """Wait for the end of the command.

        Raises:
            ChildFailedError: it ended with an error.
        """
        return self.wait("done")["done"]

    def stopped(self) -> bool:
        """Wait until it stands still at a step; False: the command ended before that."""
        while "done" not in (event := self.wait("step", "done")):
            if event["stops"]:
                return True
        return False

    def reached(self, step: str) -> bool:
        """Wait until a step is done; False: the command ended before that."""
        while "done" not in (event := self.wait("step", "done")):
            if event["step"] == step:
                return True
        return False

    def in_a_task(self) -> bool:
        """Wait until Spark runs a task of the staging; False: the command ended before that."""
        return "tasks" in self.wait("tasks", "done")

    def wait(self, *wanted: str, patience: float = PATIENCE) -> dict[str, Any]:
        """The next event of one of these kinds.

        Raises:
            ChildFailedError: an error came instead, or the process ended.
            queue.Empty: nothing came in time.
        """
        while True:
            event = self._events.get(timeout=patience)
            if "step" in event:
                self.steps.append(event["step"])
            if "gone" in event:
                raise ChildFailedError(f"the child ended by itself; its log:\n{self.log.read_text()[-3000:]}")
            if "error" in event:
                raise ChildFailedError(event["error"])
            if any(kind in event for kind in wanted):
                return event

    def elapsed(self, seconds: float) -> None:
        """Let it work for so long, or to the end of the command."""
        try:
            self.wait("done", patience=seconds)
        except queue.Empty:
            return

    def kill(self) -> str:
        """SIGKILL to Python and JVM alike; returns the last step that was heard of."""
        family = psutil.Process(self._process.pid).children(recursive=True)
        jvms = [one for one in family if one.name() == "java"]
        assert jvms, "there is no JVM to kill"
        assert {os.getpgid(one.pid) for one in jvms} == {self._process.pid}, "a signal to the group reaches the JVM"
        os.killpg(self._process.pid, signal.SIGKILL)
        assert self._process.wait(30) == -signal.SIGKILL
        _, alive = psutil.wait_procs(jvms, 30)
        # Whoever inherits an orphan may leave it a zombie, which does nothing any more.
        assert all(one.status() == psutil.STATUS_ZOMBIE for one in alive if one.is_running())
        while "gone" not in (event := self._events.get(timeout=PATIENCE)):
            if "step" in event:
                self.steps.append(event["step"])
        return self.steps[-1] if self.steps else "begun"

    def close(self) -> None:
        """End it, if it is still there."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)

"""Progress: a line for each step of the demo, with its seconds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


class Steps:
    """The steps so far; each has its line when it ends.

    Attributes:
        seconds: name and duration of each.
    """

    def __init__(self, console: Console) -> None:
        self.seconds: list[tuple[str, float]] = []
        self._console = console
        self._said = ""

    @contextmanager
    def step(self, name: str) -> Iterator[list[str]]:
        """Time the block; what it puts into the list stands in the step's line."""
        result: list[str] = []
        begin = time.monotonic()
        yield result
        self.add(name, time.monotonic() - begin, ", ".join(result))

    def add(self, name: str, seconds: float, result: str) -> None:
        """A step that was timed where it was done."""
        self.seconds.append((name, seconds))
        self._console.print(f"{seconds:6.1f} s  {name:18} {result}")

    def say(self, text: str) -> None:
        """What a long step is waiting for; a line each time that it changes."""
        if text != self._said:
            self._console.print(f"       …  {text}", style="dim")
            self._said = text

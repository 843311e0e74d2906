"""Ctrl-C and SIGTERM as a wish to stop, for a command that has to give back what it holds."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass
class Interruption:
    """Whether somebody wants the command to stop.

    Attributes:
        asked: is set with the first signal.
        by: that signal.
    """

    asked: threading.Event = field(default_factory=threading.Event)
    by: signal.Signals | None = None

    @property
    def exit_code(self) -> int | None:
        """As shells have it: 130 after Ctrl-C, 143 after SIGTERM; None: nobody asked."""
        return None if self.by is None else 128 + self.by

    def _ask(self, number: int, _: FrameType | None) -> None:
        self.by = self.by or signal.Signals(number)
        self.asked.set()


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Take the two signals as a wish for as long as the block lasts."""
    interruption = Interruption()
    before = {one: signal.signal(one, interruption._ask) for one in _SIGNALS}
    try:
        yield interruption
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)

"""How much memory this process and all its descendants take together, at the most."""

import threading
from types import TracebackType
from typing import Self

import psutil


class PeakMemory:
    """Samples the summed proportional set size (PSS, Linux) every ``interval`` seconds while it is entered.

    Shared pages count once in a PSS sum; resident sizes would count them once a process.

    Attributes:
        bytes: the most that was seen.
    """

    def __init__(self, interval: float = 1.0) -> None:
        self.bytes = 0
        self._interval = interval
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="peak-memory", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        this = psutil.Process()
        while not self._over.wait(self._interval):
            processes = [this, *this.children(recursive=True)]
            self.bytes = max(self.bytes, sum(_proportional_set_size(process) for process in processes))


def _proportional_set_size(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:  # it ended since it was listed
        return 0

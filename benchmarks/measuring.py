"""What a stretch of work costs, over this process and all below it: seconds, processor seconds, and the peak of memory."""

import contextlib
import threading
import time

import psutil


def tree(root: psutil.Process) -> list[psutil.Process]:
    """List a process and all below it."""
    try:
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def processor_seconds() -> float:
    """Add up what this process and all below it have used, those that have ended included (their parents carry it on)."""
    total = 0.0
    for process in tree(psutil.Process()):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])  # user, system, and both of children that were waited for
    return total


def resident_bytes(root: psutil.Process) -> int:
    """Add up the memory of a process and all below it; pages that several share count once (PSS)."""
    total = 0
    for process in tree(root):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied, PermissionError):
            total += process.memory_full_info().pss
    return total


class Measured:
    """Measures a `with` block; memory is looked at every second, on a thread that costs little.

    `only` names the processes whose memory counts by their root, where this process does nothing but wait for them.
    """

    def __init__(self, only: int | None = None) -> None:
        self._root = psutil.Process(only)
        self.seconds = self.processor_seconds = 0.0
        self.peak_bytes = 0

    def __enter__(self) -> "Measured":
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        self._started, self._used = time.perf_counter(), processor_seconds()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.seconds = time.perf_counter() - self._started
        self.processor_seconds = processor_seconds() - self._used
        self._stop.set()
        self._thread.join()
        self.peak_bytes = max(self.peak_bytes, resident_bytes(self._root))

    def _watch(self) -> None:
        while not self._stop.wait(1.0):
            self.peak_bytes = max(self.peak_bytes, resident_bytes(self._root))

"""Run code in a worker, and say what came of it."""

import errno
import textwrap
import time
from collections.abc import Callable

import psutil
import pytest

from autograder.sandbox.client import WarmClient, WorkerHandle
from utils.execution import LearnerError


def run(worker: WorkerHandle, body: str, *arguments: object, seconds: float = 30) -> object:
    """Run the body of a function `probe(*a)` in a worker; gives what it returns."""
    source = f"import os, sys, torch\n\ndef probe(*a):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}"
    worker.request("cell", {"name": "<cell 1>", "source": source})
    fields = {"target": "probe", "method": None, "args": list(arguments), "kwargs": {}, "shortcuts": []}
    return worker.request("call", fields, seconds)["value"]


def raised(worker: WorkerHandle, body: str, *arguments: object) -> LearnerError:
    """Run a body that must raise; gives its error."""
    with pytest.raises(LearnerError) as error:
        run(worker, body, *arguments)
    return error.value


def refused(worker: WorkerHandle, body: str) -> None:
    """Expect that the operating system refuses what a body does."""
    error = raised(worker, body)
    assert "OSError" in error.bases, error
    kinds = (errno.EPERM, errno.EACCES, errno.ENOENT, errno.EROFS, errno.ENOSYS)
    assert any(f"[Errno {kind}]" in error.message for kind in kinds), error


def processes_of(warm: WarmClient) -> set[int]:
    """Give the processes that a warm process has started, workers and all that they have started."""
    return {process.pid for process in psutil.Process(warm._process.pid).children(recursive=True)}


def soon(holds: Callable[[], bool]) -> bool:
    """Wait for what the kernel does in the background: a killed worker is taken apart while grading goes on."""
    until = time.monotonic() + 10
    while not holds() and time.monotonic() < until:
        time.sleep(0.01)
    return holds()

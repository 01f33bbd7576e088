"""Inside the sandbox: run a learner's cells, then answer requests until the grader hangs up.

Nothing in this process is secret. Inputs come in call by call; no test, no expected value, no file of the course is here.
"""

import builtins
import linecache
import mmap
import os
import socket
import sys
import types
from typing import Any

from autograder.sandbox import wire
from utils import quiet
from utils.execution import Executor, LearnerError, describe_exception

ROOM_TO_WORK = 256 << 20  # bytes


class NotebookShell:
    """Stand in for IPython's shell: magics and shell commands do nothing."""

    def __getattr__(self, _name: str) -> Any:
        return lambda *args, **kwargs: None


class Worker:
    """One learner's namespace and the operations on it."""

    def __init__(self) -> None:
        module = types.ModuleType("__main__")
        sys.modules["__main__"] = module
        self.namespace = module.__dict__
        shell = NotebookShell()
        self.namespace["get_ipython"] = lambda: shell
        self.executor = Executor(self.namespace)

    def begin(self, chapter: str) -> dict:
        """Note which chapter is graded: its exercises can't be taken ready-made."""
        quiet.turn_on(chapter)
        return {}

    def cell(self, name: str, source: str) -> dict:
        """Run one cell; an error comes out as LearnerError, what was defined before it stays."""
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        try:
            exec(compile(source, name, "exec"), self.namespace)
        except BaseException as error:
            raise describe_exception(error, self.namespace) from None
        return {}

    def replace(self, name: str, source: str) -> dict:
        """Put a right piece in place of a learner's that failed, so that the mistake costs once."""
        apart: dict = {"__name__": "right_pieces"}
        exec(compile(source, "<right piece>", "exec"), apart)
        self.namespace[name] = apart[name]
        return {}

    def answer(self, message: Any) -> dict:
        """Carry out one request."""
        try:
            operation, fields = message["operation"], message["fields"]
            if operation in ("begin", "cell", "replace"):
                return {"ok": getattr(self, operation)(**fields)}
            return {"ok": self.executor.request(operation, fields)}
        except LearnerError as error:
            if error.type_name == "MemoryError" or "can't allocate memory" in error.message:
                leave_if_full()
            return {"error": {name: getattr(error, name) for name in ("type_name", "message", "bases", "line", "cell")}}


def leave_if_full() -> None:
    """End this process if its memory is used up: nothing else could run in it, and the grader goes on in a fresh one."""
    try:
        mmap.mmap(-1, ROOM_TO_WORK).close()  # asks for the room without touching it
    except (OSError, MemoryError):
        os._exit(71)


def silence() -> None:
    """Send what learners print to nowhere, and give `input()` nothing to read."""
    nowhere = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)
    # These stay open for as long as the process lives.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115

    def no_input(_prompt: str = "") -> str:
        raise EOFError("input() has nobody to ask while a notebook is graded; set the value in the code")

    builtins.input = no_input


def serve(sock: socket.socket) -> None:
    """Answer requests until the other side closes."""
    worker = Worker()
    while True:
        try:
            message = wire.receive(sock)
        except (EOFError, OSError):
            return
        reply = worker.answer(message)
        try:
            frame = wire.pack(reply)
        except (wire.WireError, TypeError, ValueError, RuntimeError) as error:
            problem = LearnerError("TypeError", f"the result can't be read: {error}", ["TypeError"], None, None)
            frame = wire.pack({"error": {**vars(problem), "cell": None}})
        sock.sendall(frame)

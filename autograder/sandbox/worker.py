"""Inside the sandbox: run a learner's cells, then answer requests until the grader hangs up.

Nothing in this process is secret. Inputs come in call by call; no test, no expected value, no file of the course is here.
"""

import builtins
import gc
import linecache
import mmap
import os
import socket
import sys
import types
from collections.abc import Sequence
from typing import Any

from autograder.sandbox import wire
from utils import quiet, standins
from utils.catalogue import find_exercise
from utils.execution import Executor, LearnerError, describe_exception
from utils.report import examine
from utils.shortcuts import take_out
from utils.student import LocalStudent

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

    def cell(self, name: str, source: str) -> dict:
        """Run one cell; an error comes out as LearnerError, what was defined before it stays."""
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        try:
            exec(compile(source, name, "exec"), self.namespace)
        except BaseException as error:
            raise describe_exception(error, self.namespace) from None
        return {}

    def cells(self, chapter: str, cells: list, names: Sequence[str] = ()) -> dict:
        """Run cells (name, source, right pieces to put in place after it); gives each one's error or None, and which of these names
        are defined then.

        `chapter` is the one that is graded: its exercises can't be taken ready-made.
        """
        quiet.turn_on(chapter)
        errors: list[dict | None] = []
        for name, source, right_pieces in cells:
            try:
                self.cell(name, source)
                errors.append(None)
            except LearnerError as error:
                leave_if_full(error)
                errors.append(as_plain(error))
            for piece, its_source in right_pieces:
                self.replace(piece, its_source)
        return {"errors": errors, "defined": [name for name in names if name in self.namespace]}

    def take_out(self, families: list, pieces: list) -> dict:
        """Let families of shortcuts fail from here on, for good, with pieces (name, source) that do without in their places.

        Before any cell runs: what a submission changes in this process changes nothing about that.
        """
        for name, source in pieces:
            piece = right_piece(name, source)
            setattr(standins, name, piece)
            if name in standins.STANDINS:
                standins.STANDINS[name] = piece
        take_out(families)
        gc.freeze()  # no list of objects shows what was put in place
        return {}

    def examine(self, exercise: str) -> dict:
        """Run the visible check here: its inputs are public, and what it finds is for the learner alone."""
        known = find_exercise(exercise)
        student = LocalStudent(self.namespace, shortcuts=known.shortcuts, chapter=known.chapter)
        try:
            report = examine(student, exercise)
        except Exception as error:
            raise describe_exception(error, self.namespace) from None
        return {
            "status": report.status,
            "properties": [line.passed for line in report.properties],
            "diagnoses": [[each.name, each.title, each.hint] for each in report.diagnoses],
            "line": report.error.line if report.error else None,
        }

    def replace(self, name: str, source: str) -> dict:
        """Put a right piece in place of a learner's that failed, so that the mistake costs once."""
        self.namespace[name] = right_piece(name, source)
        return {}

    def answer(self, message: Any) -> dict:
        """Carry out one request."""
        try:
            operation, fields = message["operation"], message["fields"]
            if operation in ("cell", "cells", "examine", "replace", "take_out"):
                return {"ok": getattr(self, operation)(**fields)}
            return {"ok": self.executor.request(operation, fields)}
        except LearnerError as error:
            leave_if_full(error)
            return {"error": as_plain(error)}


def right_piece(name: str, source: str) -> Any:
    """Make one of the course's own answers, in a namespace of its own."""
    apart: dict = {"__name__": "right_pieces"}
    exec(compile(source, "<right piece>", "exec"), apart)
    return apart[name]


def as_plain(error: LearnerError) -> dict:
    """Give the parts of an error that travel."""
    return {name: getattr(error, name) for name in ("type_name", "message", "bases", "line", "cell")}


def leave_if_full(error: LearnerError) -> None:
    """End this process if its memory is used up: nothing else could run in it, and the grader goes on in a fresh one."""
    if error.type_name != "MemoryError" and "can't allocate memory" not in error.message:
        return
    try:
        mmap.mmap(-1, ROOM_TO_WORK).close()  # asks for the room without touching it
    except (OSError, MemoryError):
        os._exit(71)


def prepare_silence() -> int:
    """Let Python's own streams end in what `silence` puts there, and give `input()` nothing to read: once for all workers.

    Gives the file descriptor of nowhere.
    """
    # These stay open for as long as the process lives.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115

    def no_input(_prompt: str = "") -> str:
        raise EOFError("input() has nobody to ask while a notebook is graded; set the value in the code")

    builtins.input = no_input
    return os.open("/dev/null", os.O_RDWR)


def silence(nowhere: int) -> None:
    """Send what learners print to nowhere."""
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)


def environment(scratch: str) -> dict[str, str]:
    """Give the whole environment of a worker with this scratch folder."""
    return {"HOME": scratch, "TMPDIR": scratch, "MPLCONFIGDIR": scratch, "LANG": "C.UTF-8", "PATH": "/nowhere"}


def serve(sock: socket.socket) -> None:
    """Answer requests until the other side closes."""
    worker = Worker()
    while True:
        try:
            message = wire.receive(sock)
        except (EOFError, OSError):
            return
        if type(message) is list:
            sock.sendall(frame_of_all([worker.answer(each) for each in message]))
        else:
            sock.sendall(frame_of(worker.answer(message)))


def frame_of(reply: dict) -> bytes:
    """Pack a reply; what can't be packed is the learner's error."""
    try:
        return wire.pack(reply)
    except wire.CANNOT_CROSS as error:
        problem = LearnerError("TypeError", f"the result can't be read: {error}", ["TypeError"], None, None)
        return wire.pack({"error": as_plain(problem)})


def frame_of_all(replies: list[dict]) -> bytes:
    """Pack replies; where one can't be packed, and where all are too much, each question has to be put by itself."""
    try:
        return wire.pack(replies)
    except wire.CANNOT_CROSS:
        return wire.pack(None)

"""The grader's side of the sandbox: start the warm process, get workers from it, talk to them with deadlines."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from autograder.sandbox import wire
from autograder.sandbox.isolation import COURSE, Layers
from utils.execution import LearnerError
from utils.shortcuts import ALL_NAMES, LAST
from utils.student import Student

# The warm process runs the code that lies beside this file, whatever else is installed.
START = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('autograder.sandbox.warm', run_name='__main__', alter_sys=True)"
)
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # terminals obey them
START_SECONDS = 120  # importing PyTorch from a cold disk takes its time


class IsolationMissing(Exception):
    """This machine can't build the walls that were asked for; the text says which, and what to do."""


class WorkerLost(Exception):
    """A worker ended, hung, or sent what isn't an answer. `status` is the exercise's: "timeout" or "error"."""

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


class WorkerHandle:
    """One worker: a fork of the warm process that runs one submission."""

    def __init__(self, warm: "WarmConnection", pid: int, sock: socket.socket) -> None:
        self._warm, self._pid, self._sock = warm, pid, sock
        self.deadline: float | None = None  # time.monotonic() until which all requests together may last

    def request(self, operation: str, fields: dict, seconds: float = 10) -> dict:
        """Ask for one operation; LearnerError where the learner's code raised, WorkerLost where no answer comes."""
        question = Question(operation, fields, seconds)
        return _checked_reply(question, self._exchange(wire.pack(question.message), seconds))

    def request_all(self, questions: Sequence["Question"]) -> list[dict | Exception]:
        """Put questions together, which takes far less time than one by one; gives each one's answer, or the error it raised.

        They are carried out in their order. WorkerLost where not all answers come in the time of the one that has most. A
        question that can't be sent gives the error that says so, and the others are put all the same.
        """
        try:
            frame = wire.pack([question.message for question in questions])
        except wire.CANNOT_CROSS as error:  # one of them, or all together
            if len(questions) == 1:
                return [error]
            middle = len(questions) // 2
            return self.request_all(questions[:middle]) + self.request_all(questions[middle:])
        replies = self._exchange(frame, max(question.seconds for question in questions))
        if not isinstance(replies, list) or len(replies) != len(questions):
            raise _damaged()
        return [_answer_or_error(question, reply) for question, reply in zip(questions, replies, strict=True)]

    def _exchange(self, frame: bytes, seconds: float) -> Any:
        """Send a message and receive what comes back; WorkerLost where nothing does that could be read."""
        until = time.monotonic() + seconds
        if self.deadline is not None:
            until = min(until, self.deadline)
        line = _DeadlineSocket(self._sock, until)
        try:
            line.sendall(frame)
            return wire.receive(line)
        except TimeoutError:
            raise WorkerLost("timeout", "the code did not finish in time") from None
        except (EOFError, ConnectionError, BrokenPipeError):
            raise WorkerLost(
                "error", "the code ended the process it ran in (sys.exit, a crash, or too much memory)"
            ) from None
        except wire.WireError as error:
            raise WorkerLost("error", f"what the code returned can't be read: {error}") from None

    def close(self) -> None:
        """End the worker and everything it started."""
        self._sock.close()
        self._warm.end(self._pid)


@dataclass(frozen=True)
class Question:
    """What is asked of a worker: one operation, and how long the answer may take."""

    operation: str
    fields: dict
    seconds: float = 10

    @property
    def message(self) -> dict:
        """What is sent."""
        return {"operation": self.operation, "fields": self.fields}


class _DeadlineSocket:
    """A socket whose reads and writes all have to end by one moment."""

    def __init__(self, sock: socket.socket, until: float) -> None:
        self._sock, self._until = sock, until

    def _arm(self) -> None:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._sock.settimeout(left)

    def sendall(self, data: bytes) -> None:
        self._arm()
        self._sock.sendall(data)

    def recv_into(self, buffer: memoryview) -> int:
        self._arm()
        return self._sock.recv_into(buffer)


def _answer_or_error(question: Question, reply: Any) -> dict | LearnerError:
    try:
        return _checked_reply(question, reply)
    except LearnerError as error:
        return error


def _checked_reply(question: Question, reply: Any) -> dict:
    """Accept a reply only if it has the form that its request asks for; nothing else about it is trusted."""
    operation, fields = question.operation, question.fields
    damaged = _damaged()
    if not isinstance(reply, dict):
        raise damaged
    if "error" in reply:
        raise _error(reply["error"])
    value = reply.get("ok")
    if not isinstance(value, dict):
        raise damaged
    if operation in ("call", "attribute", "host"):
        tensors = _count_tensors(value.get("value"))
        differentiable, graph = value.get("differentiable"), value.get("graph")
        fits = isinstance(differentiable, list) and len(differentiable) == tensors and "value" in value
        if not fits or not (graph is None or isinstance(graph, int)):
            raise damaged
        value["changed"] = [i for i in _a_list(value.get("changed")) if isinstance(i, int)][:100]
        value["left"] = [what for what in _a_list(value.get("left")) if what in ("requires_grad", "grad")][:2]
        # Names are shown to learners, so only those that we know: any other could carry hidden inputs out.
        told = [name for name in _a_list(value.get("shortcuts")) if isinstance(name, str)]
        value["shortcuts"] = [name for name in told if name in ALL_NAMES][:20]
    if operation == "cells":
        told = _a_list(value.get("errors"))
        if len(told) != len(fields["cells"]):
            raise damaged
        defined = [name for name in _a_list(value.get("defined")) if name in fields.get("names", ())]
        return {"errors": [None if error is None else _error(error) for error in told], "defined": defined}
    kind = {"backward": list, "has": bool}.get(operation, object)
    if not isinstance(value.get("value"), kind):
        raise damaged
    return value


def _damaged() -> WorkerLost:
    return WorkerLost("error", "what the code returned isn't an answer")


def _error(told: Any) -> LearnerError:
    """Read an error that a worker tells of; whatever doesn't fit is left out."""
    if not isinstance(told, dict):
        raise _damaged()
    bases, line, cell = told.get("bases"), told.get("line"), told.get("cell")
    return LearnerError(
        str(told.get("type_name"))[:80],
        CONTROLS.sub("\N{REPLACEMENT CHARACTER}", str(told.get("message"))[:2000]),
        [str(name)[:80] for name in bases[:20]] if isinstance(bases, list) else [],
        line if isinstance(line, int) and 0 < line < 100_000 else None,
        cell[:80] if isinstance(cell, str) else None,
    )


def _a_list(value: Any) -> list:
    return value if isinstance(value, list) else []


def _count_tensors(tree: Any) -> int:
    if isinstance(tree, Tensor):
        return 1
    if isinstance(tree, dict):
        return sum(map(_count_tensors, tree.values()))
    return sum(map(_count_tensors, tree)) if isinstance(tree, (list, tuple)) else 0


class RemoteStudent(Student):
    """A student whose code runs in a worker: calls, gradients and errors cross as plain values."""

    def __init__(self, worker: WorkerHandle, shortcuts: tuple[str, ...] = (), chapter: str = LAST) -> None:
        self.worker = worker
        super().__init__(worker.request, shortcuts, chapter)


class WarmConnection:
    """A connection to the warm process: gets workers from it and ends them."""

    def __init__(self, control: socket.socket, processors: set[int] | None = None) -> None:
        self._control = control
        self.processors = processors  # that workers run on; None: wherever the system puts them

    def _ask(self, request: dict, fd: int | None = None) -> dict:
        data = json.dumps(request).encode()
        socket.send_fds(self._control, [data], [] if fd is None else [fd])
        answer = self._control.recv(1 << 16)
        if not answer:
            raise RuntimeError("the warm process has ended")
        return json.loads(answer)

    def worker(self) -> WorkerHandle:
        """Fork a worker."""
        ours, theirs = socket.socketpair()
        try:
            reply = self._ask({"operation": "fork", "processors": sorted(self.processors or ())}, theirs.fileno())
        finally:
            theirs.close()
        if "pid" not in reply:
            ours.close()
            raise RuntimeError(reply.get("problem", "no worker could be started"))
        return WorkerHandle(self, reply["pid"], ours)

    def end(self, pid: int) -> None:
        """Have a worker killed and reaped; nobody waits for it, and the next request comes after it."""
        with contextlib.suppress(OSError):
            self._control.send(json.dumps({"operation": "end", "pid": pid}).encode())

    def close(self) -> None:
        """Hang up."""
        self._control.close()


class WarmClient(WarmConnection):
    """Starts the warm process, and is the connection that it lives as long as."""

    def __init__(self, isolation: str = "auto", without: tuple[str, ...] = ()) -> None:
        """`without` names walls to leave out although they could stand: tests see that way what the others hold alone."""
        if isolation not in ("auto", "strict", "none"):
            raise ValueError(f"isolation is auto, strict or none, not {isolation!r}")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        super().__init__(ours)
        self._mount_point = tempfile.mkdtemp(prefix="course-root-")
        os.chmod(self._mount_point, 0o755)
        command = [sys.executable, "-I", "-c", START, str(COURSE)]
        environment = {
            name: value
            for name, value in os.environ.items()
            if name in ("HOME", "PATH", "LANG", "TMPDIR", "MPLCONFIGDIR")
        }
        environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [
                *command,
                str(theirs.fileno()),
                self._mount_point,
                "0" if isolation == "none" else "1",
                ",".join(without),
            ],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/",
        )
        theirs.close()
        self._isolation = isolation
        self._ready: dict | None = None

    def wait_until_ready(self) -> "WarmClient":
        """Wait for the warm process; IsolationMissing where the walls that were asked for don't stand."""
        if self._ready is not None:
            return self
        self._control.settimeout(START_SECONDS)
        try:
            data = self._control.recv(1 << 16)
        except TimeoutError:
            data = b""
        if not data:
            self._process.kill()
            _out, errors = self._process.communicate()
            raise RuntimeError(f"the warm process did not start:\n{errors.decode(errors='replace')[-2000:]}")
        self._ready = json.loads(data)
        missing = self.layers.missing()
        reasons = "; ".join(f"{name}: {self._ready['reasons'].get(name, 'missing')}" for name in missing)
        if self._isolation == "strict" and missing:
            self.close()
            raise IsolationMissing(f"strict isolation isn't possible here ({reasons}). `course doctor` says more.")
        if (
            self._isolation == "auto"
            and not self.layers.namespaces
            and not (self.layers.landlock and self.layers.seccomp)
        ):
            self.close()
            raise IsolationMissing(
                f"this machine can't isolate learners' code ({reasons}). Only for notebooks that you trust: --isolation none"
            )
        return self

    @property
    def layers(self) -> Layers:
        """Which walls stand around workers."""
        return Layers(**self._ready["layers"])

    @property
    def reasons(self) -> dict[str, str]:
        """Why walls are missing, by their names."""
        return dict(self._ready["reasons"])

    def isolation(self) -> str:
        """Say in one word how isolated workers are: strict, partial (with what is missing) or none."""
        self.wait_until_ready()
        if self._isolation == "none":
            return "none"
        missing = self.layers.missing()
        return "strict" if not missing else f"partial (without {', '.join(missing)})"

    def worker(self) -> WorkerHandle:
        """Fork a worker."""
        self.wait_until_ready()
        return super().worker()

    def connect(self, processors: set[int] | None = None) -> WarmConnection:
        """Open a further connection, for another grader process, whose workers run on these processors."""
        self.wait_until_ready()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ask({"operation": "connect"}, theirs.fileno())
        theirs.close()
        return WarmConnection(ours, processors)

    def close(self) -> None:
        """End the warm process and all its workers."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        self._process.kill()
        self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        with contextlib.suppress(OSError):
            os.rmdir(self._mount_point)

    def __enter__(self) -> "WarmClient":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

"""The warm process: it has imported PyTorch once, and forks a worker whenever the grader asks for one.

It starts from a clean interpreter that never sees a hidden test, runs no learner's code, and can't be reached from a
worker. Run as `python -I -m autograder.sandbox.warm CONTROL_FD MOUNT_POINT ISOLATE WITHOUT`.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable

from autograder.sandbox import isolation, kernel, probes, processors, seccomp, worker
from autograder.sandbox.isolation import Layers, Limits

MESSAGE_BYTES = 1 << 16


def preload() -> None:
    """Import what notebooks import, and let PyTorch set itself up on one thread."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot
    import numpy as np  # noqa: F401
    import torch
    import torch.fx.experimental.symbolic_shapes  # the first backward pass imports it (and sympy): half a second

    import utils
    from utils import execution, quiet, shortcuts
    from utils.catalogue import written_chapters
    from utils.fixtures import fixture_of
    from utils.probes import probes_of

    for module in pkgutil.iter_modules(utils.__path__, "utils."):  # notebooks import them, and they IPython and others:
        importlib.import_module(module.name)  # up to 0.15 s in each worker
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    for dtype in (torch.float32, torch.float64):  # no backward pass: it would start threads, which don't survive a fork
        some = torch.ones(4, 4, dtype=dtype)
        torch.softmax(some @ some, -1).sum().item()
    for chapter in written_chapters():  # what visible checks compare with
        for exercise in chapter.exercises:
            with contextlib.suppress(KeyError, OSError):
                fixture_of(exercise.name)
                probes_of(exercise.name)
    torch.ones(1, device="meta") * 2.0  # the first product there imports PyTorch's reference operators: a second
    shortcuts.listen_below_python()
    quiet.turn_on()
    for module in (
        shortcuts,
        shortcuts.shortcut_kernels,
        execution,
    ):  # who imports them gets others, with no part in watching
        del sys.modules[module.__name__]
        delattr(utils, module.__name__.removeprefix("utils."))


class WarmProcess:
    """Forks workers, and kills and reaps them on request."""

    def __init__(self, control: socket.socket, mount_point: str, isolate: bool, without: tuple[str, ...] = ()) -> None:
        self.control = control
        self.graders = selectors.DefaultSelector()
        self.limits = Limits()
        self.reasons: dict[str, str] = {}
        self.workers: dict[int, str | None] = {}  # process id → scratch folder to remove
        self.ending: dict[int, int] = {}  # file descriptor → process id: killed, and to be reaped once it is gone
        gc.disable()  # what is imported stays, so looking through it, again and again, would find nothing
        preload()
        gc.enable()
        os.environ.clear()  # after the imports, some of which look for caches in the user's home
        os.environ.update(worker.environment(isolation.SCRATCH))  # what changes before the fork needs no copy after it
        self.nowhere = worker.prepare_silence()
        gc.collect()
        gc.freeze()  # a collection in a child would touch, and so copy, every page
        # A fork copies the page table: with few large pages it takes a third of the time. Before walls are built, since the process
        # that waits outside of them would keep a second copy of everything.
        kernel.use_huge_pages()
        self.layers = self._build_walls(mount_point, without) if isolate else Layers(False, False, False, True)
        self.own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY) if self.layers.namespaces else None
        gc.freeze()

    def _build_walls(self, mount_point: str, without: tuple[str, ...]) -> Layers:
        """Raise what can be raised here, each wall tried in a child first; what can't is left out, with the reason."""
        standing = dict.fromkeys(vars(Layers()), False)
        self.reasons |= dict.fromkeys(without, "left out on request")
        for name, attempt in (
            ("landlock", probes.landlock_holds),
            ("seccomp", probes.seccomp_holds),
            ("limits", lambda: probes.limits_hold(self.limits)),
        ):
            if name not in without:
                standing[name] = self._in_a_child(attempt)
                if not standing[name]:
                    self.reasons[name] = probes.REASONS[name]
        if standing["seccomp"]:
            seccomp.program(1)  # in a PID namespace every worker is the first process: assembled once for all
        if "namespaces" in without:
            return Layers(**standing)
        try:
            if not self._in_a_child(lambda: isolation.enter_private_root(mount_point)):
                raise OSError("user or mount namespaces are not allowed here")
            isolation.enter_private_root(mount_point)
            _go_on_in_a_child()
            standing["namespaces"] = True
        except OSError as error:
            self.reasons["namespaces"] = str(error)
        return Layers(**standing)

    def _in_a_child(self, attempt: Callable[[], None]) -> bool:
        """Try something in a fork first: half a sandbox can't be taken back."""
        pid = os.fork()
        if pid == 0:
            try:
                attempt()
                os._exit(0)
            except Exception as error:  # whatever it is, this child must not go on
                with contextlib.suppress(OSError):
                    os.write(2, f"{error}\n".encode())
                os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    def serve(self) -> None:
        """Answer graders until the first of them hangs up."""
        self._reply(self.control, {"layers": vars(self.layers), "reasons": self.reasons})
        self.graders.register(self.control, selectors.EVENT_READ)
        while True:
            for key, _events in self.graders.select():
                grader = key.fileobj
                if grader in self.ending:
                    self._reap(grader)
                    continue
                data, fds, _flags, _address = socket.recv_fds(grader, MESSAGE_BYTES, 1)
                if data:
                    answer = self._answer(json.loads(data), fds)
                    if answer is not None:
                        self._reply(grader, answer)
                    continue
                self.graders.unregister(grader)
                grader.close()
                if grader is self.control:
                    for pid in list(self.workers):
                        self._end(pid)
                    for waiting in list(self.ending):
                        self._reap(waiting)
                    return

    def _answer(self, request: dict, fds: list[int]) -> dict | None:
        match request["operation"]:
            case "fork":
                return self._fork(fds[0], request["processors"])
            case "connect":  # another grader process on the same warm process
                self.graders.register(socket.socket(fileno=fds[0]), selectors.EVENT_READ)
            case "end":
                self._end(request["pid"])
                return None
        return {}

    @staticmethod
    def _reply(grader: socket.socket, message: dict) -> None:
        with contextlib.suppress(BrokenPipeError):
            grader.send(json.dumps(message).encode())

    def _fork(self, fd: int, on: list[int]) -> dict:
        scratch = None if self.layers.namespaces else tempfile.mkdtemp(prefix="course-worker-")
        try:
            if self.layers.namespaces:
                kernel.unshare(kernel.CLONE_NEWPID)
            pid = os.fork()
        except OSError as error:
            os.close(fd)
            return {"problem": f"no worker could be started: {error}"}
        if pid == 0:
            self._become_worker(fd, scratch or isolation.SCRATCH, on)
        if self.own_pids is not None:
            kernel.set_namespace(self.own_pids, kernel.CLONE_NEWPID)  # else the next fork would join the same namespace
        os.close(fd)
        self.workers[pid] = scratch
        return {"pid": pid}

    def _become_worker(self, fd: int, scratch: str, on: list[int]) -> None:
        status = 70
        log = os.dup(2)
        try:
            processors.stay_on(on)
            for key in list(self.graders.get_map().values()):
                os.close(key.fd) if key.fileobj in self.ending else key.fileobj.close()
            self.graders.close()
            sock = socket.socket(fileno=fd)
            if self.own_pids is not None:
                os.close(self.own_pids)
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            tempfile.tempdir = None
            if not self.layers.namespaces:  # a folder of its own on the disk
                os.environ.update(worker.environment(scratch))
                os.chdir(scratch)
            worker.silence(self.nowhere)
            try:
                isolation.isolate_worker(self.layers, self.limits)
            except OSError as error:  # no walls, no worker
                os.write(log, f"a worker could not be isolated: {error}\n".encode())
                return
            os.close(log)
            worker.serve(sock)
            status = 0
        except Exception as error:
            with contextlib.suppress(OSError):
                os.write(log, f"a worker failed: {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(status)

    def _end(self, pid: int) -> None:
        """Kill a worker (as the first process of its namespace it takes all others with it), and reap it when it is gone.

        Taking a process apart takes the kernel some milliseconds, in which other graders needn't wait.
        """
        if pid not in self.workers or pid in self.ending.values():
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        if not hasattr(os, "pidfd_open"):  # not on Linux
            self._forget(pid)
            return
        watch = os.pidfd_open(pid)  # not reaped yet, so the number is still its own
        self.ending[watch] = pid
        self.graders.register(watch, selectors.EVENT_READ)

    def _reap(self, watch: int) -> None:
        pid = self.ending.pop(watch)
        self.graders.unregister(watch)
        os.close(watch)
        self._forget(pid)

    def _forget(self, pid: int) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        scratch = self.workers.pop(pid)
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def _go_on_in_a_child() -> None:
    """Go on as the first process of the new PID namespace; the old process only waits for it."""
    pid = os.fork()
    if pid:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def main(control_fd: int, mount_point: str, isolate: bool, without: tuple[str, ...]) -> None:
    """Start, report what stands, and serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle
    WarmProcess(socket.socket(fileno=control_fd), mount_point, isolate, without).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3] == "1", tuple(filter(None, sys.argv[4].split(","))))

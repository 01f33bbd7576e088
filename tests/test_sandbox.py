"""What learners' code can do in a worker, and what it can't."""

import errno
import os
import platform
import sys
from pathlib import Path

import nbformat
import psutil
import pytest
import torch
from conftest import SECRET_OF_THE_GRADER
from workers import processes_of, raised, refused, run, soon

from autograder.cells import cells_to_run, make_plan
from autograder.paths import ROOT
from autograder.sandbox.client import RemoteStudent, WarmClient, WorkerHandle, WorkerLost
from autograder.sandbox.isolation import NOBODY, Limits
from autograder.secrets import secret_file
from autograder.sources import read_source
from autograder.submissions import parse
from utils.catalogue import Chapter, written_chapters
from utils.execution import LearnerError

# Alone in a world of its own


def test_a_worker_is_the_first_process_and_sees_no_other(worker: WorkerHandle) -> None:
    assert run(worker, "return os.getpid(), [name for name in os.listdir('/proc') if name.isdigit()]") == (1, ["1"])


def test_a_worker_has_no_rights_and_cannot_get_any(worker: WorkerHandle) -> None:
    lines = run(worker, "return open('/proc/self/status').read()").splitlines()
    status = dict(line.split(":\t") for line in lines if ":\t" in line)
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_a_worker_holds_one_connection_and_no_open_file(worker: WorkerHandle) -> None:
    body = """
    import stat
    kinds = []
    for fd in range(1024):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            continue
        kinds.append("socket" if stat.S_ISSOCK(mode) else "device" if stat.S_ISCHR(mode) else "other")
    return sorted(kinds)
    """
    assert run(worker, body) == ["device", "device", "device", "socket"]


def test_workers_share_nothing(warm: WarmClient) -> None:
    first, second = warm.worker(), warm.worker()
    try:
        run(first, "import builtins; builtins.shared = torch.shared = 1; open('note', 'w').write('x')")
        body = "import builtins; return hasattr(builtins, 'shared'), hasattr(torch, 'shared'), os.listdir('.')"
        assert run(second, body) == (False, False, [])
    finally:
        first.close()
        second.close()


def test_a_worker_is_never_the_machines_root(warm: WarmClient) -> None:
    before = processes_of(warm)
    worker = warm.worker()
    (pid,) = processes_of(warm) - before
    assert run(worker, "return os.getuid(), os.getgid()") == (0, 0)  # root of a namespace in which nothing else exists
    assert set(psutil.Process(pid).uids()) == {os.getuid() or NOBODY}
    worker.close()


# Nothing to read


def private_paths() -> list[str]:
    """What learners would like to read."""
    course = [ROOT / name for name in ("solutions", "autograder", "tests", "notebooks", "benchmarks", ".git")]
    inside = ["autograder/hidden/scaled_dot_product.py", "autograder/answers", "solutions/02_scaled_dot_product.py"]
    machine = ["/etc/passwd", "/etc/shadow", "/etc/hostname", "/root", "/home", "/tmp", "/var", "/sys", "/boot", "/mnt"]
    own = [Path.home(), secret_file(), Path.cwd() / "gradebook.db", Path.cwd() / "grades"]
    return [*map(str, course), *(str(ROOT / name) for name in inside), *machine, *map(str, own)]


LOOK = """
try:
    return sorted(os.listdir(a[0]))
except NotADirectoryError:
    return open(a[0], "rb").read()
except OSError:
    return []
"""


@pytest.mark.parametrize("path", private_paths())
def test_nothing_of_the_course_or_the_machine_can_be_read(worker: WorkerHandle, path: str) -> None:
    seen = run(worker, LOOK, path)
    above_packages = {part.name for part in (*Path(sys.prefix).parents, *Path(sys.base_prefix).parents, *ROOT.parents)}
    known = above_packages | {Path(sys.prefix).name, Path(sys.base_prefix).name, ROOT.name}
    assert isinstance(seen, list)
    assert set(seen) <= known, "only the way to the interpreter's folders is there"


def test_what_is_written_by_the_grader_cannot_be_read(worker: WorkerHandle, tmp_path: Path) -> None:
    (tmp_path / "gradebook.db").write_text("grades")
    assert run(worker, LOOK, str(tmp_path)) == []
    assert run(worker, LOOK, str(tmp_path / "gradebook.db")) == []


def test_the_checkout_shows_utils_and_nothing_else(worker: WorkerHandle) -> None:
    body = f"return [(where, files) for where, _, files in os.walk({str(ROOT)!r}) if files and '.venv' not in where]"
    seen = run(worker, body)
    assert seen
    assert all(Path(where).is_relative_to(ROOT / "utils") for where, _files in seen)


@pytest.mark.parametrize(
    "name", ["hidden", "hidden.scaled_dot_product", "grader", "sources", "answers", "secrets", "submissions"]
)
def test_nothing_of_the_grader_can_be_imported(worker: WorkerHandle, name: str) -> None:
    body = f"import importlib; return importlib.import_module('autograder.{name}').__name__"
    assert "ImportError" in raised(worker, body).bases


def test_no_hidden_test_is_in_memory(worker: WorkerHandle) -> None:
    modules = run(worker, "return [name for name in sys.modules if name.startswith('autograder')]")
    assert all(name.split(".")[1:2] in ([], ["sandbox"]) for name in modules)


def test_no_secret_is_in_the_environment(worker: WorkerHandle) -> None:
    environment = run(worker, "return dict(os.environ)")
    assert set(environment) == {"HOME", "TMPDIR", "MPLCONFIGDIR", "LANG", "PATH"}
    assert SECRET_OF_THE_GRADER not in str(environment)
    assert run(worker, "return os.environ['HOME']") == "/scratch"
    refused(worker, "return open('/proc/self/environ').read()")
    refused(worker, "return open('/proc/self/mem', 'rb').read(1)")


# Nothing to write


@pytest.mark.parametrize(
    "folder", ["/", "/proc", "/etc", "/dev", str(ROOT / "utils"), str(ROOT / "tests"), str(Path(torch.__file__).parent)]
)
def test_outside_of_the_scratch_folder_nothing_can_be_written(worker: WorkerHandle, folder: str) -> None:
    refused(worker, f"open({folder + '/note'!r}, 'w')")
    refused(worker, f"os.mkdir({folder + '/new'!r})")
    refused(worker, f"os.symlink('/', {folder + '/link'!r})")


def test_packages_cannot_be_changed_or_removed(worker: WorkerHandle) -> None:
    refused(worker, "open(torch.__file__, 'a')")
    refused(worker, "os.remove(torch.__file__)")
    refused(worker, "os.rename(torch.__file__, torch.__file__ + '.old')")
    refused(worker, "os.chmod(torch.__file__, 0o777)")


def test_the_scratch_folder_is_empty_and_can_be_written(worker: WorkerHandle) -> None:
    body = """
    import tempfile
    before = os.listdir("/scratch")
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write("text")
    os.makedirs("a/b")
    os.rename(file.name, "a/b/c")
    text = open("/scratch/a/b/c").read()
    os.remove("a/b/c")
    return before, os.getcwd(), text, os.listdir("a/b")
    """
    assert run(worker, body) == ([], "/scratch", "text", [])


def test_the_scratch_folder_holds_no_more_than_its_size(worker: WorkerHandle) -> None:
    body = """
    written = 0
    try:
        for number in range(20):
            with open(f"{number}", "wb") as file:
                written += file.write(bytes(8 << 20))
    except OSError:
        return written
    """
    assert run(worker, body) <= 64 << 20


def test_one_file_grows_no_larger_than_its_limit(worker: WorkerHandle) -> None:
    error = raised(
        worker, "with open('big', 'wb') as file:\n    for _ in range(40):\n        file.write(bytes(1 << 20))"
    )
    assert "OSError" in error.bases


# No way out


NETWORK = ["socket.socket()", "socket.socketpair()", "socket.socket(socket.AF_UNIX)", "socket.create_server(('', 80))",
           "urllib.request.urlopen('http://127.0.0.1')", "asyncio.run(asyncio.sleep(0))"]  # fmt: skip


@pytest.mark.parametrize("call", NETWORK)
def test_no_connection_can_be_made(worker: WorkerHandle, call: str) -> None:
    refused(worker, f"import asyncio, socket, urllib.request\n{call}")


STARTS = ["os.fork()", "os.system('true') and os.fork()", "subprocess.run(['/bin/true'])", "subprocess.Popen([sys.executable])",
          "os.execv(sys.executable, ['python'])", "os.posix_spawn(sys.executable, ['python'], {})", "os.spawnl(os.P_NOWAIT, sys.executable, 'python')",
          "multiprocessing.get_context('fork').Process(target=print).start()", "os.forkpty()"]  # fmt: skip


@pytest.mark.parametrize("call", STARTS)
def test_no_process_can_be_started(worker: WorkerHandle, call: str) -> None:
    refused(worker, f"import multiprocessing, os, subprocess\n{call}")


def test_the_interpreter_itself_is_there_but_cannot_be_run(worker: WorkerHandle) -> None:
    body = """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    path = b"/scratch/program"
    with open(path, "wb") as file:
        file.write(b"\\x7fELF")
    libc.execve(path, None, None)
    return ctypes.get_errno()
    """
    assert run(worker, body) == errno.EPERM


# Calls by number: (on x86-64, on arm64), and arguments that would do something.
CALLS = {
    "ptrace": ((101, 117), "0, 0, 0, 0"),
    "mount": ((165, 40), "b'none', b'/scratch', b'tmpfs', 0, 0"),
    "umount2": ((166, 39), "b'/scratch', 2"),
    "pivot_root": ((155, 41), "b'.', b'.'"),
    "chroot": ((161, 51), "b'/scratch'"),
    "unshare a user namespace": ((272, 97), "0x10000000"),
    "unshare files": ((272, 97), "0x400"),
    "setns": ((308, 268), "0, 0"),
    "clone with a new user namespace": ((56, 220), "0x10000011, 0, 0, 0, 0"),
    "clone of a process": ((56, 220), "17, 0, 0, 0, 0"),
    "kill": ((62, 129), "1, 0"),
    "kill everything": ((62, 129), "-1, 9"),
    "tkill": ((200, 130), "1, 0"),
    "setuid": ((105, 146), "0"),
    "setgroups": ((116, 159), "0, 0"),
    "capset": ((126, 91), "0, 0"),
    "bpf": ((321, 280), "0, 0, 0"),
    "perf_event_open": ((298, 241), "0, 0, 0, 0, 0"),
    "keyctl": ((250, 219), "0, 0, 0, 0, 0"),
    "add_key": ((248, 217), "0, 0, 0, 0, 0"),
    "userfaultfd": ((323, 282), "0"),
    "io_uring_setup": ((425, 425), "1, 0"),
    "process_vm_readv": ((310, 270), "1, 0, 0, 0, 0, 0"),
    "pidfd_open": ((434, 434), "1, 0"),
    "open_by_handle_at": ((304, 265), "0, 0, 0"),
    "name_to_handle_at": ((303, 264), "0, b'/', 0, 0, 0"),
    "memfd_create": ((319, 279), "b'x', 0"),
    "execveat": ((322, 281), "-100, b'/lib', 0, 0, 0x1000"),
    "mount_setattr": ((442, 442), "-100, b'/', 0, 0, 0"),
    "fsopen": ((430, 430), "b'tmpfs', 0"),
    "move_mount": ((429, 429), "-100, b'/', -100, b'/', 0"),
    "seccomp": ((317, 277), "1, 0, 0"),
    "sethostname": ((170, 161), "b'x', 1"),
    "reboot": ((169, 142), "0, 0, 0, 0"),
    "prctl PR_SET_DUMPABLE": ((157, 167), "4, 1, 0, 0, 0"),
    "prctl PR_SET_SECCOMP": ((157, 167), "22, 0, 0, 0, 0"),
    "ioctl TIOCSTI": ((16, 29), "0, 0x5412, b'x'"),
    "prlimit64 of another process": ((302, 261), "2, 7, 0, 0"),
    "setrlimit": ((160, 164), "7, 0"),
    "personality": ((135, 92), "0xffffffff"),
    "socket": ((41, 198), "2, 1, 0"),
    "socketpair": ((53, 199), "1, 1, 0, 0"),
    "connect": ((42, 203), "3, 0, 0"),
    "sendmsg": ((46, 211), "3, 0, 0"),
    "shmget": ((29, 194), "0, 4096, 0"),
    "mq_open": ((240, 180), "b'x', 0, 0, 0"),
    "inotify_init1": ((294, 26), "0"),
    "quotactl": ((179, 60), "0, 0, 0, 0"),
    "mknodat": ((259, 33), "-100, b'/scratch/device', 0x2000, 0"),
    "a call of x86-64's second table": ((0x40000027, 999), "0"),
    "a call that doesn't exist yet": ((999, 999), "0"),
}


@pytest.mark.parametrize("name", CALLS)
def test_system_calls_that_reach_further_are_refused(worker: WorkerHandle, name: str) -> None:
    numbers, arguments = CALLS[name]
    number = numbers[["x86_64", "aarch64"].index(platform.machine())]
    body = f"""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall({number}, {arguments}), ctypes.get_errno()
    """
    assert run(worker, body) == (-1, errno.EPERM)


# What has to work


def test_threads_work(worker: WorkerHandle) -> None:
    body = """
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda n: n * n, range(8)))
    """
    assert run(worker, body) == [n * n for n in range(8)]


def test_what_notebooks_need_works(worker: WorkerHandle) -> None:
    body = """
    import random, time, json, numpy as np, matplotlib.pyplot as plt
    from tqdm.auto import tqdm
    from utils import check, plots, once_solved, progress
    figure, ax = plt.subplots()
    ax.plot(np.arange(3), torch.randn(3).numpy())
    figure.savefig("picture.png")
    plt.show()
    layer = torch.nn.Linear(3, 2)
    loss = layer(torch.randn(4, 3)).square().mean()
    loss.backward()
    torch.optim.Adam(layer.parameters()).step()
    torch.save(layer.state_dict(), "layer.pt")
    time.sleep(0.001)
    return os.path.getsize("picture.png") > 1000, sum(tqdm(range(3))), len(torch.load("layer.pt")), random.random() < 1
    """
    assert run(worker, body) == (True, 3, 2, True)


def test_gradients_cross_back(worker: WorkerHandle) -> None:
    worker.request("cell", {"name": "<cell 1>", "source": "def square(x):\n    return x ** 2"})
    x = torch.arange(3.0, requires_grad=True)
    RemoteStudent(worker).square(x).sum().backward()
    assert x.grad.tolist() == [0, 2, 4]


def test_the_same_seed_gives_the_same_numbers_in_every_worker(warm: WarmClient) -> None:
    drawn = []
    for _ in range(2):
        worker = warm.worker()
        drawn.append(run(worker, "torch.manual_seed(3); return torch.randn(4)"))
        worker.close()
    assert torch.equal(*drawn)


# Limits


def test_memory_is_limited(worker: WorkerHandle) -> None:
    amount = Limits().memory + (64 << 20)
    assert raised(worker, f"return len(bytearray({amount}))").type_name == "MemoryError"
    assert "can't allocate memory" in raised(worker, f"return torch.empty({amount}, dtype=torch.uint8)").message
    assert run(worker, "return len(bytearray(1 << 28))") == 1 << 28


def test_open_files_are_limited(worker: WorkerHandle) -> None:
    error = raised(worker, "kept = [open('/dev/null') for _ in range(2000)]")
    assert f"[Errno {errno.EMFILE}]" in error.message


def test_threads_are_limited(worker: WorkerHandle) -> None:
    body = """
    import threading
    stop = threading.Event()
    started = []
    try:
        for _ in range(2000):
            started.append(threading.Thread(target=stop.wait, daemon=True))
            started[-1].start()
    finally:
        stop.set()
    """
    assert "can't start new thread" in raised(worker, body).message


def test_limits_cannot_be_raised(worker: WorkerHandle) -> None:
    body = "import resource; resource.setrlimit(resource.RLIMIT_{0}, (1 << 40, 1 << 40))"
    for name in ("AS", "CPU", "FSIZE", "NPROC"):
        assert raised(worker, body.format(name)).type_name in ("ValueError", "PermissionError")


def test_no_answer_in_time_is_a_timeout(worker: WorkerHandle) -> None:
    with pytest.raises(WorkerLost, match="did not finish in time") as lost:
        run(worker, "while True:\n    pass", seconds=0.5)
    assert lost.value.status == "timeout"


def test_all_requests_together_keep_to_the_deadline(worker: WorkerHandle) -> None:
    worker.deadline = 0
    with pytest.raises(WorkerLost, match="did not finish in time"):
        run(worker, "return 1")


# A worker's end


def test_a_closed_worker_is_gone_with_all_its_threads(warm: WarmClient) -> None:
    before = processes_of(warm)
    worker = warm.worker()
    run(worker, "import threading; [threading.Thread(target=threading.Event().wait).start() for _ in range(3)]")
    (new,) = processes_of(warm) - before
    worker.close()
    assert soon(lambda: not psutil.pid_exists(new))
    assert processes_of(warm) <= before


CRASHES = {
    "a null pointer": "import ctypes; ctypes.string_at(0)",
    "abort": "os.abort()",
    "os._exit": "os._exit(0)",
    "an exception outside Exception": "raise BaseException",
    "a closed connection": "os.closerange(3, 1000)",
}


@pytest.mark.parametrize("crash", CRASHES)
def test_a_crash_costs_its_worker_only(warm: WarmClient, crash: str) -> None:
    before = processes_of(warm)
    worker = warm.worker()
    with pytest.raises(WorkerLost) as lost:
        run(worker, CRASHES[crash])
    assert lost.value.status == "error"
    worker.close()
    assert soon(lambda: processes_of(warm) <= before)
    fresh = warm.worker()
    assert run(fresh, "return 1") == 1
    fresh.close()


def test_closing_twice_is_no_harm(warm: WarmClient) -> None:
    worker = warm.worker()
    worker.close()
    worker.close()


def test_a_further_connection_has_workers_of_its_own(warm: WarmClient) -> None:
    connection = warm.connect()
    worker = connection.worker()
    assert run(worker, "return os.getpid()") == 1
    worker.close()
    connection.close()
    other = warm.worker()
    assert run(other, "return 1") == 1
    other.close()


def test_workers_of_a_grader_that_died_end_with_the_warm_process() -> None:
    with WarmClient("strict") as own:
        own.wait_until_ready().connect().worker()
        everything = [psutil.Process(own._process.pid), *psutil.Process(own._process.pid).children(recursive=True)]
        assert len(everything) >= 3
    _gone, alive = psutil.wait_procs(everything, timeout=10)
    assert not alive
    assert not Path(own._mount_point).exists()


# Answers that aren't trusted

FORGE = """
import os, stat, threading
from autograder.sandbox import wire

def _is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False

def forge(reply, noise=None):
    (fd,) = filter(_is_socket, range(64))
    os.write(fd, noise.encode("latin-1") if noise else wire.pack(reply))
    threading.Event().wait()
"""
GOOD_REPLY = {"value": 1, "graph": None, "differentiable": [], "changed": [], "left": [], "shortcuts": []}
FORGERIES = {
    "nothing known": {},
    "a list": [1],
    "no form": {"ok": 7},
    "an empty answer": {"ok": {}},
    "no value": {"ok": {name: part for name, part in GOOD_REPLY.items() if name != "value"}},
    "a graph that is none": {"ok": GOOD_REPLY | {"graph": "g"}},
    "gradients for no tensor": {"ok": GOOD_REPLY | {"differentiable": [True]}},
    "an error that is none": {"error": "secret"},
}


@pytest.fixture
def forger(worker: WorkerHandle) -> RemoteStudent:
    """A learner whose code answers in its worker's place."""
    worker.request("cell", {"name": "<cell 1>", "source": FORGE})
    return RemoteStudent(worker, ("softmax",))


@pytest.mark.parametrize("forgery", FORGERIES)
def test_an_answer_of_the_wrong_form_is_refused(forger: RemoteStudent, forgery: str) -> None:
    with pytest.raises(WorkerLost, match="isn't an answer"):
        forger.forge(FORGERIES[forgery])


@pytest.mark.parametrize("reply", [{"ok": {}}, {"ok": {"value": "yes"}}, {"ok": {"value": None}}])
def test_a_forged_answer_to_another_question_is_refused(worker: WorkerHandle, reply: dict) -> None:
    source = f"import sys\nsys.modules['autograder.sandbox.worker'].Worker.answer = lambda *a: {reply!r}"
    worker.request("cell", {"name": "<cell 1>", "source": source})
    with pytest.raises(WorkerLost, match="isn't an answer"):
        worker.request("has", {"name": "softmax"})


def test_names_in_a_forged_answer_are_only_those_that_are_known(forger: RemoteStudent) -> None:
    names = {"shortcuts": ["secret", "softmax", 7, ["softmax"]], "changed": ["secret", 1], "left": ["secret"]}
    assert forger.forge({"ok": GOOD_REPLY | names}) == 1
    assert (forger.shortcuts_used, forger.changed, forger.left) == (["softmax"], [1], [])


def test_a_forged_error_is_cut_to_its_form(forger: RemoteStudent) -> None:
    error = {"type_name": "x" * 10_000, "message": "y" * 10_000, "bases": "secret", "line": "secret", "cell": 7}
    with pytest.raises(LearnerError) as caught:
        forger.forge({"error": error})
    assert (len(caught.value.type_name), len(caught.value.message)) == (80, 2000)
    assert (caught.value.bases, caught.value.line, caught.value.cell) == ([], None, None)


@pytest.mark.parametrize("noise", ["\xff" * 100, "\0" * 8, "\0\0\0\2\0\0\0\0\x92\1", "\0\0\0\1\0\0\0\7" + "1" * 8])
def test_noise_in_place_of_an_answer_is_refused(forger: RemoteStudent, noise: str) -> None:
    with pytest.raises(WorkerLost, match="can't be read"):
        forger.forge(None, noise)


def test_two_answers_at_once_are_refused(forger: RemoteStudent) -> None:
    two = "\0\0\0\2\0\0\0\0{}" * 2
    with pytest.raises(WorkerLost, match="more than one message"):
        forger.forge(None, two)


@pytest.mark.parametrize("chapter", written_chapters(), ids=lambda chapter: chapter.id)
def test_what_a_notebook_imports_is_there_before_it_is_forked(worker: WorkerHandle, chapter: Chapter) -> None:
    def imported() -> set[str]:
        return set(run(worker, "return list(sys.modules)"))

    before = imported()
    plan = make_plan(parse(nbformat.writes(read_source(chapter)).encode()), chapter)
    cells = [(cell.name, cell.source, []) for cell in cells_to_run(plan)]
    worker.request("cells", {"chapter": chapter.id, "cells": cells})
    assert imported() - before == set()


def test_the_process_that_waits_outside_of_the_walls_keeps_no_memory_of_its_own(warm: WarmClient) -> None:
    rollup = Path(f"/proc/{warm._process.pid}/smaps_rollup").read_text()
    (own,) = [int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_Dirty:")]
    assert own < 64 << 10  # KiB, of some 250 MiB that it shares

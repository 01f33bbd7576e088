"""Other strengths of isolation: what stands, what is missing, and what is refused then."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner
from workers import raised, run, soon

import notebooks
from autograder import cli
from autograder.paths import ROOT
from autograder.sandbox import client
from autograder.sandbox.client import IsolationMissing, WarmClient
from autograder.sandbox.isolation import Layers, Limits


@pytest.fixture(scope="module")
def unwalled() -> Iterator[WarmClient]:
    with WarmClient("none") as started:
        yield started.wait_until_ready()


def test_without_isolation_everything_works_as_well(unwalled: WarmClient) -> None:
    assert unwalled.isolation() == "none"
    worker = unwalled.worker()
    pid, folder, environment = run(worker, "return os.getpid(), os.getcwd(), dict(os.environ)")
    assert pid != 1
    assert Path(folder).exists()
    assert set(environment) == {"HOME", "TMPDIR", "MPLCONFIGDIR", "LANG", "PATH"}
    assert raised(worker, f"return len(bytearray({Limits().memory * 2}))").type_name == "MemoryError"
    worker.close()
    assert soon(lambda: not psutil.pid_exists(pid))
    assert not Path(folder).exists()


PRETEND = """
import json, socket, sys
control = socket.socket(fileno=int(sys.argv[1]))
control.send(sys.argv[2].encode())
control.recv(1)
"""


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Pretend to be on a machine where walls are missing: a process that says so in the warm process's place."""
    popen = subprocess.Popen

    def without(*layers: str) -> None:
        told = {"layers": vars(Layers(**dict.fromkeys(layers, False))), "reasons": {"namespaces": "forbidden here"}}

        def start(command: list[str], **options: object) -> subprocess.Popen:
            control = str(options["pass_fds"][0])
            return popen([sys.executable, "-c", PRETEND, control, json.dumps(told)], **options)

        monkeypatch.setattr(client.subprocess, "Popen", start)

    return without


@pytest.mark.parametrize("layer", ["namespaces", "landlock", "seccomp", "limits"])
def test_strict_refuses_where_a_wall_is_missing(layer: str, machine: Callable[..., None]) -> None:
    machine(layer)
    with WarmClient("strict") as warm:
        with pytest.raises(
            IsolationMissing, match=f"strict isolation isn't possible here .{layer}: .*course doctor"
        ) as refusal:
            warm.wait_until_ready()
        assert warm._process.poll() is not None
    assert ("forbidden here" in str(refusal.value)) == (layer == "namespaces")


def test_strict_is_strict_where_nothing_is_missing(machine: Callable[..., None]) -> None:
    machine()
    with WarmClient("strict") as warm:
        assert warm.isolation() == "strict"


def test_auto_says_what_is_missing(machine: Callable[..., None]) -> None:
    machine("namespaces", "limits")
    with WarmClient("auto") as warm:
        assert warm.isolation() == "partial (without namespaces, limits)"


@pytest.mark.parametrize("missing", [["namespaces", "seccomp"], ["namespaces", "landlock"]])
def test_auto_refuses_where_too_little_stands(missing: list[str], machine: Callable[..., None]) -> None:
    machine(*missing)
    with (
        WarmClient("auto") as warm,
        pytest.raises(IsolationMissing, match=r"can't isolate.*forbidden here.*--isolation none"),
    ):
        warm.wait_until_ready()


def test_course_grade_refuses_with_the_reason_and_what_to_do(machine: Callable[..., None], tmp_path: Path) -> None:
    machine("namespaces", "seccomp")
    notebooks.write(tmp_path / "ada.ipynb", notebooks.solved())
    done = CliRunner().invoke(cli.app, ["grade", str(tmp_path), "--seed", "1", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "forbidden here" in done.output
    assert "--isolation none" in done.output


def test_a_warm_process_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    popen = subprocess.Popen
    dies = [sys.executable, "-c", "import sys; sys.exit('no torch here')"]
    monkeypatch.setattr(client.subprocess, "Popen", lambda command, **options: popen(dies, **options))
    with WarmClient() as warm, pytest.raises(RuntimeError, match="did not start:\nno torch here"):
        warm.wait_until_ready()


def test_another_word_for_isolation_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="auto, strict or none"):
        WarmClient("some")


ELSEWHERE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import notebooks
from autograder.grader import Grader
from autograder.sandbox.client import WarmClient
from autograder.submissions import parse

told = {"uid": os.getuid()}
with WarmClient(sys.argv[3]) as warm:
    told["isolation"] = warm.isolation()
    told["score"] = Grader("secret", warm=warm).grade_handed(parse(notebooks.solved())).score
    worker = warm.worker()
    source = "import os\\n\\ndef look(path):\\n    try:\\n        return os.listdir(path)\\n    except OSError:\\n        return []"
    worker.request("cell", {"name": "<cell 1>", "source": source})
    told["seen"] = {}
    for path in (os.path.join(sys.argv[2], "solutions"), os.path.join(sys.argv[2], "autograder"), os.path.expanduser("~")):
        fields = {"target": "look", "method": None, "args": [path], "kwargs": {}, "shortcuts": []}
        told["seen"][path] = worker.request("call", fields)["value"]
    worker.close()
print(json.dumps(told))
"""


def elsewhere(preparation: str, isolation: str) -> dict:
    """Grade a notebook in a process that some preparation has put into another situation."""
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o777)
        go_on = f"os.execv(sys.executable, [sys.executable, '-c', {ELSEWHERE!r}, *sys.argv[1:]])"
        code = f"{preparation}\nos.environ['HOME'] = {home!r}\n{go_on}"
        command = [sys.executable, "-c", code, str(ROOT / "tests"), str(ROOT), isolation]
        done = subprocess.run(command, capture_output=True, text=True, timeout=110, cwd="/")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["score"] == notebooks.CHAPTER.points
    assert set(map(tuple, told["seen"].values())) == {()}
    return told


WITHOUT_NAMESPACES = """
import os, sys
from autograder.sandbox.isolation import _new_user_namespace
_new_user_namespace(0, os.getuid(), os.getgid())
open("/proc/sys/user/max_user_namespaces", "w").write("0")
"""


@pytest.mark.slow
def test_where_user_namespaces_are_forbidden_the_other_walls_stand() -> None:
    assert elsewhere(WITHOUT_NAMESPACES, "auto")["isolation"] == "partial (without namespaces)"


AS_NOBODY = """
import os, sys, tempfile
from autograder.sandbox import kernel
if os.getuid() == 0:
    # Nobody may not enter root's home, where the interpreter or the checkout may lie: show them there, alone.
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount(None, "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    needed = [os.path.realpath(path) for path in (sys.base_prefix, sys.prefix, sys.argv[2])]
    closed = set()
    for path in needed:
        above = ["/".join(path.split("/")[:depth]) for depth in range(2, path.count("/") + 2)]
        closed |= set([part for part in above if not os.stat(part).st_mode & 1][:1])
    for folder in closed:
        kept = {path: tempfile.mkdtemp() for path in needed if path.startswith(folder + "/")}
        for path, place in kept.items():
            kernel.mount(path, place, None, kernel.MS_BIND)
        kernel.mount("tmpfs", folder, "tmpfs", 0, "mode=755")
        for path, place in kept.items():
            os.makedirs(path, exist_ok=True)
            kernel.mount(place, path, None, kernel.MS_BIND)
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
"""


@pytest.mark.slow
def test_an_ordinary_user_has_all_walls_too() -> None:
    told = elsewhere(AS_NOBODY, "strict")
    assert told["uid"] != 0
    assert told["isolation"] == "strict"

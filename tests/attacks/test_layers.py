"""Each wall alone: with one left out, the others hold what they claim; and a missing one is told before anything runs."""

import errno
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import CANARY, HALVES, PRELUDE

from autograder.paths import ROOT
from autograder.sandbox.client import IsolationMissing, WarmClient, WorkerHandle, WorkerLost
from autograder.sandbox.isolation import Limits
from utils.execution import LearnerError

LAYERS = ("namespaces", "landlock", "seccomp", "limits")


@pytest.fixture(scope="module", params=LAYERS)
def without(request: pytest.FixtureRequest) -> Iterator[tuple[str, WarmClient]]:
    """A warm process in which one wall is left out."""
    with WarmClient("auto", without=(request.param,)) as warm:
        yield request.param, warm.wait_until_ready()


def run(warm: WarmClient, body: str) -> object:
    """Run the body of a function in a fresh worker."""
    worker: WorkerHandle = warm.worker()
    try:
        source = f"{PRELUDE}\ndef probe():\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}"
        worker.request("cell", {"name": "<cell 1>", "source": source})
        fields = {"target": "probe", "method": None, "args": [], "kwargs": {}, "shortcuts": []}
        return worker.request("call", fields, 20)["value"]
    finally:
        worker.close()


REFUSALS = {errno.errorcode[number] for number in (errno.EPERM, errno.EACCES, errno.ENOENT, errno.EROFS)}


def test_what_is_missing_is_told(without: tuple[str, WarmClient]) -> None:
    layer, warm = without
    assert warm.isolation() == f"partial (without {layer})"
    assert warm.layers.missing() == [layer]
    assert warm.reasons[layer]


def test_files_of_others_stay_closed(without: tuple[str, WarmClient], tmp_path: Path) -> None:
    """Namespaces show no such file, and Landlock opens none: one of them is enough. Without either nothing runs."""
    _layer, warm = without
    secret = tmp_path / "gradebook.db"
    secret.write_text(CANARY)
    paths = [
        str(secret),
        str(ROOT / "autograder" / "grader.py"),
        str(ROOT / "solutions" / "02_scaled_dot_product.py"),
        "/etc/passwd",
    ]
    reads = ", ".join(f"lambda: open({path!r}, 'rb').read()" for path in paths)
    writes = ", ".join(f"lambda: open({path!r}, 'ab')" for path in [*paths, str(ROOT / "utils" / "note"), "/note"])
    lists = ", ".join(f"lambda: os.listdir({path!r})" for path in (str(tmp_path), str(ROOT / "solutions")))
    outcomes = run(warm, f"return [str(o) for o in attempt({reads}, {writes}, {lists})]")
    assert set(outcomes) <= REFUSALS | {"[]"}
    assert secret.read_text() == CANARY


def test_no_secret_is_within_reach(without: tuple[str, WarmClient], monkeypatch: pytest.MonkeyPatch) -> None:
    _layer, warm = without
    body = "return sorted(os.environ), [str(o) for o in attempt(lambda: open('/proc/self/environ').read())]"
    names, environ = run(warm, body)
    assert names == ["HOME", "LANG", "MPLCONFIGDIR", "PATH", "TMPDIR"]
    assert not any(HALVES[0] in text for text in environ)


def test_processes_and_the_network_stay_closed(without: tuple[str, WarmClient]) -> None:
    """Seccomp refuses them; where it is left out, namespaces leave nothing to reach and limits few processes to start."""
    layer, warm = without
    body = """
    sent = attempt(lambda: socket.create_connection(("127.0.0.1", 9), timeout=2), lambda: os.kill(os.getppid() or 1 << 22, 0),
                   lambda: socket.create_connection(("192.0.2.1", 9), timeout=2))
    return [str(outcome) for outcome in sent]
    """
    outcomes = run(warm, body)
    if layer == "seccomp":  # a network of its own, without even a loopback; Landlock refuses TCP as well
        assert set(outcomes) <= REFUSALS | {"ENETUNREACH", "ESRCH"}
    else:
        assert outcomes == ["EPERM"] * 3


def test_the_warm_process_and_its_parent_get_no_signal(without: tuple[str, WarmClient]) -> None:
    _layer, warm = without
    victims = [os.getpid(), warm._process.pid]
    calls = ", ".join(f"call(234, {pid}, {pid}, 9), call(62, {pid}, 9), call(200, {pid}, 9)" for pid in victims)
    outcomes = run(warm, f"return [str(o) for o in [{calls}]]")
    assert set(outcomes) <= {"EPERM", "ESRCH"}
    assert warm._process.poll() is None


def test_what_was_started_ends_with_its_worker(without: tuple[str, WarmClient]) -> None:
    """Without seccomp a fork succeeds; the PID namespace takes it down with its first process."""
    layer, warm = without
    body = """
    def daemon():
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        return "forked"
    return attempt(daemon)
    """
    import psutil

    before = {p.pid for p in psutil.Process(warm._process.pid).children(recursive=True)}
    outcome = run(warm, body)
    assert outcome == (["forked"] if layer == "seccomp" else ["EPERM"])
    _gone, alive = psutil.wait_procs(
        [p for p in psutil.Process(warm._process.pid).children(recursive=True) if p.pid not in before], timeout=20
    )
    assert not alive


@pytest.mark.parametrize("without", [layer for layer in LAYERS if layer != "limits"], indirect=True)
def test_use_stays_limited(without: tuple[str, WarmClient]) -> None:
    _layer, warm = without
    amount = Limits().memory + (64 << 20)
    assert run(warm, f"return attempt(lambda: len(bytearray({amount})))") == ["MemoryError"]
    assert run(warm, "return attempt(lambda: [os.dup(0) for _ in range(200)])") == ["EMFILE"]


def test_deadlines_hold_without_any_limit(without: tuple[str, WarmClient]) -> None:
    _layer, warm = without
    worker = warm.worker()
    try:
        with pytest.raises(WorkerLost, match="did not finish"):
            worker.request("cell", {"name": "<cell 1>", "source": "while True:\n    pass"}, 0.5)
    finally:
        worker.close()
    assert run(warm, "return 1") == 1


def test_rights_are_gone_whichever_wall_is_missing(without: tuple[str, WarmClient]) -> None:
    layer, warm = without
    body = "return [line for line in open('/proc/self/status').read().splitlines() if line.startswith(('CapEff', 'NoNewPrivs'))]"
    try:
        lines = run(warm, body)
    except LearnerError:
        assert layer == "namespaces"  # no /proc but one's own folder, which may have been opened under another name
        return
    assert lines == ["CapEff:\t0000000000000000", "NoNewPrivs:\t1"]


@pytest.mark.parametrize("layer", LAYERS)
def test_strict_refuses_without_any_one_wall(layer: str) -> None:
    with (
        WarmClient("strict", without=(layer,)) as warm,
        pytest.raises(IsolationMissing, match=f"{layer}: left out on request"),
    ):
        warm.wait_until_ready()


@pytest.mark.parametrize("missing", [("namespaces", "landlock"), ("namespaces", "seccomp")])
def test_nothing_runs_where_too_little_stands(missing: tuple[str, ...]) -> None:
    with WarmClient("auto", without=missing) as warm, pytest.raises(IsolationMissing, match="can't isolate"):
        warm.wait_until_ready()


PROBES = """
from autograder.sandbox import isolation, kernel, landlock, probes, seccomp
{change}
try:
    {probe}
except OSError as error:
    print("gives way" if "gives way" in str(error) or "not kept" in str(error) or "isn't limited" in str(error) else repr(error))
else:
    print("holds")
"""
CHANGES = {
    "landlock that does nothing": ("landlock.restrict = lambda **k: None", "probes.landlock_holds()", "gives way"),
    "landlock": ("", "probes.landlock_holds()", "holds"),
    "a filter that lets everything through": (
        "seccomp.install = lambda code: None",
        "probes.seccomp_holds()",
        "gives way",
    ),
    "the filter": ("", "probes.seccomp_holds()", "holds"),
    "limits that are not set": (
        "probes.set_limits = lambda limits: None",
        "probes.limits_hold(isolation.Limits())",
        "gives way",
    ),
    "limits": ("", "probes.limits_hold(isolation.Limits())", "holds"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_walls_are_tried_and_not_assumed(what: str) -> None:
    change, probe, expected = CHANGES[what]
    code = PROBES.format(change=change, probe=probe)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100, cwd=ROOT)
    assert done.stdout.strip() == expected, done.stderr

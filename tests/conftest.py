"""What many tests need: one warm process, one grader, and `course grade` on top of them."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from handing_in import batch, submission
from hypothesis import settings
from toy_assets import module_alone, toy_cache, toy_source
from typer.testing import CliRunner

import notebooks
from autograder import cli
from autograder.grader import Grader
from autograder.results import SubmissionResult
from autograder.sandbox import client
from autograder.sandbox.client import WarmClient, WorkerHandle
from autograder.submissions import parse

__all__ = [
    "batch",
    "module_alone",
    "submission",
    "toy_cache",
    "toy_source",
]  # fixtures that are defined in files of their own

# Tests run side by side: more threads in each would only stand in each other's way, in notebooks' kernels too.
os.environ.setdefault("OMP_NUM_THREADS", "1")
torch.set_num_threads(1)
settings.register_profile("course", deadline=None, database=None, derandomize=True, max_examples=150)
settings.load_profile("course")
SECRET_OF_THE_GRADER = "canary-5c1d0e77-that-no-worker-may-see"


# Files whose parameters go to any process that is free; of all other files each goes to one, with what it has set up.
APART = ("tests/test_answers.py", "tests/test_checks.py", "tests/test_sample_class.py")
# What takes longest begins first, so that nothing long is left over for one process at the end.
FIRST = ("solutions/", *APART, "tests/test_build.py")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "hands_in: what a test of bad input hands in")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(FIRST))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrParameter(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            return f"{file}[{test.partition('[')[2]}" if file in APART else file

    if config.option.dist == "loadfile":
        config.option.loadscopereorder = False  # the order is chosen above
        return ByFileOrParameter(config, log)
    return None


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmClient]:
    """One warm process with every wall, started from an environment that holds a secret."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_SECRET", SECRET_OF_THE_GRADER)
        started = WarmClient("strict")
    with started:
        yield started.wait_until_ready()


@pytest.fixture
def worker(warm: WarmClient) -> Iterator[WorkerHandle]:
    """A worker of its own for a test."""
    handle = warm.worker()
    yield handle
    handle.close()


@pytest.fixture(scope="session")
def grader(warm: WarmClient) -> Grader:
    return Grader("a secret of these tests", warm=warm)


@pytest.fixture(scope="session")
def scene(grader: Grader, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One scene for all attacks of a test process: a grader at work, with secrets around it."""
    from harness import set_up  # beside the attacks

    return set_up(grader, tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="session")
def grade(grader: Grader) -> Callable[..., SubmissionResult]:
    """Grade a notebook: right answers to all exercises, but for those that are changed."""
    return lambda **changes: grader.grade_handed(parse(notebooks.with_answers(**changes)), "ada", "ada.ipynb")


@dataclass
class Run:
    """What a call of `course grade` gave."""

    exit_code: int
    output: str
    folder: Path

    @property
    def text(self) -> str:
        return (self.folder / "results.json").read_text()

    @property
    def results(self) -> dict:
        return json.loads(self.text)

    @property
    def by_student(self) -> dict[str, dict]:
        return {submission["student"]: submission for submission in self.results["submissions"]}

    def page(self, student: str, name: str = notebooks.CHAPTER.id) -> str:
        return (self.folder / "feedback" / student / f"{name}.html").read_text()


class _AlreadyWarm:
    """Stands in for WarmClient in `course grade`: the same warm process for all calls of a test run."""

    def __init__(self, warm: WarmClient) -> None:
        self.warm = warm

    def __enter__(self) -> WarmClient:
        return self.warm

    def __exit__(self, *exc_info: object) -> None:
        pass


@pytest.fixture(scope="session")
def course_grade(warm: WarmClient, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Call `course grade` in this process: all of it but the start of the warm process."""

    def call(*paths: Path, seed: int = 1, jobs: int = 2, out: Path | None = None, more: list[str] | None = None) -> Run:
        out = out or tmp_path_factory.mktemp("call") / "grades"
        arguments = ["grade", *map(str, paths), "--seed", str(seed), "--jobs", str(jobs), "--out", str(out)]
        arguments += more or []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(client, "WarmClient", lambda isolation: _AlreadyWarm(warm))
            done = CliRunner().invoke(cli.app, arguments)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return Run(done.exit_code, done.output, out)

    return call

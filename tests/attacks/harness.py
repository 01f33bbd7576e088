"""What all attacks share: hand a hostile answer in, grade it, and see that it earned, saw and harmed nothing.

Every attack is graded like any submission, and right after it an honest one, on the same warm process.
"""

import hashlib
import json
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest

import notebooks
from autograder import grader as grading
from autograder import session
from autograder.grader import Grader
from autograder.paths import ROOT
from autograder.reports import feedback_html
from autograder.results import SubmissionResult
from autograder.sandbox.client import WarmClient
from autograder.submissions import as_notebook, parse

EXERCISE = "softmax"
POINTS = notebooks.POINTS[EXERCISE]
WRONG = "def softmax(x, dim=-1):\n    return x"
RIGHT = f"import math\n\nimport torch\nfrom torch import Tensor\n\n\n{notebooks.right(EXERCISE)}"
# Attackers look for the canary by its halves: so their own source, which is in their memory, doesn't hold it.
HALVES = ("canary-5c1d0e77", "-that-no-worker-may-see")
CANARY = "".join(HALVES)
PATIENCE = 2  # seconds that hostile code may hang, for a test; honest code keeps the real limits

PRELUDE = f'''
import ctypes, errno, gc, os, signal, socket, stat, struct, sys, threading, time
import torch

libc = ctypes.CDLL(None, use_errno=True)


def has_canary(text):
    """Whether a text holds what only the grader may know."""
    text = text if isinstance(text, str) else bytes(text).decode("latin-1")
    place = text.find({HALVES[0]!r})
    while place >= 0:
        after = place + {len(HALVES[0])}
        if text[after : after + {len(HALVES[1])}] == {HALVES[1]!r}:
            return True
        place = text.find({HALVES[0]!r}, after)
    return False


def tell(*seen):
    """Bring out what was seen, by an error message that feedback shows."""
    raise RuntimeError(f"told {{seen}}")


def attempt(*actions):
    """Tell for each action what came of it: its value, or the name of the error."""
    outcomes = []
    for action in actions:
        try:
            outcomes.append(action())
        except OSError as error:
            outcomes.append(errno.errorcode.get(error.errno, str(error)))
        except BaseException as error:
            outcomes.append(type(error).__name__)
    return outcomes


def refused(*actions):
    """Whether the operating system refuses every one of them."""
    return all(outcome in ("EPERM", "EACCES", "ENOENT", "EROFS", "EXDEV") for outcome in attempt(*actions))


def call(number, *arguments):
    """Make a system call by number, past every library; gives "EPERM" and the like, or the result."""
    result = libc.syscall(ctypes.c_long(number), *arguments)
    return errno.errorcode[ctypes.get_errno()] if result < 0 else result
'''


@dataclass(frozen=True)
class Attack:
    """A hostile answer to the exercise, and what is to come of it.

    `code` is the exercise's cell. Without a `softmax` of its own it gets a wrong one, which earns nothing. `says` is what the
    attack brings out where it tells how far it came; the test fails if the attack didn't run.
    """

    code: str
    says: str = ""
    earns: float = 0.0
    status: tuple[str, ...] = ()
    hangs: bool = False

    @property
    def source(self) -> str:
        """The cell as it is handed in."""
        own = self.code if "def softmax" in self.code else f"{self.code}\n\n{WRONG}"
        return f"{PRELUDE}\n{own}"


@dataclass
class Scene:
    """The grader at work among files that hold secrets."""

    grader: Grader
    folder: Path
    files: dict[Path, str] = field(default_factory=dict)  # what must stay as it is → digest
    honest: str = ""  # what the honest submission gets

    @property
    def warm(self) -> WarmClient:
        return self.grader.warm

    def processes(self) -> set[int]:
        """Everything that the warm process has started and that is still there."""
        return {process.pid for process in psutil.Process(self.warm._process.pid).children(recursive=True)}

    def grade(self, source: str) -> SubmissionResult:
        """Grade a notebook with one answer in it."""
        made = as_notebook([(EXERCISE, source)], notebooks.CHAPTER.id)
        return self.grader.grade_handed(parse(notebooks.as_bytes(made)), "eve", "eve.ipynb")

    def attacked_by(self, attack: Attack) -> dict:
        """Grade an attack and see that nothing came of it; gives the exercise's result."""
        before = self.processes()
        with pytest.MonkeyPatch.context() as patch:
            if attack.hangs:
                be_impatient(patch)
            result = self.grade(attack.source)
        told = notebooks.exercise(result.as_json(), EXERCISE)
        assert told["score"] == attack.earns == result.score, told
        assert not attack.status or told["status"] in attack.status, told
        assert attack.says in told["message"], told
        self.saw_nothing(result)
        self.is_unharmed(before)
        return told

    def saw_nothing(self, result: SubmissionResult) -> None:
        """Nothing that only the grader knows is in what a learner gets back."""
        shown = json.dumps(result.as_json()) + feedback_html(result)
        assert CANARY not in shown

    def is_unharmed(self, before: set[int]) -> None:
        """Files are as they were, processes are gone, the grader lives, and the next submission gets what it deserves."""
        assert {file: digest(file) for file in self.files} == self.files
        assert self.warm._process.poll() is None
        until = time.monotonic() + 20
        while extra := self.processes() - before:
            assert time.monotonic() < until, f"still running: {extra}"
            time.sleep(0.01)
        assert outcome(self.grade(RIGHT)) == self.honest


def be_impatient(patch: pytest.MonkeyPatch) -> None:
    """Let what hangs end sooner."""
    for limit in ("CELL_SECONDS", "CELLS_SECONDS"):
        patch.setattr(session, limit, PATIENCE)
    for limit in ("EXERCISE_SECONDS", "VISIBLE_SECONDS"):
        patch.setattr(grading, limit, PATIENCE)
    tests_of = grading.tests_of
    patch.setattr(grading, "tests_of", lambda name: [replace(test, seconds=1) for test in tests_of(name)])


def digest(file: Path) -> str:
    """Say what a file is: its content and rights, or that it is gone."""
    if not file.exists():
        return "gone"
    return f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.stat().st_mode:o}"


def outcome(result: SubmissionResult) -> str:
    """Give a result without its time, as text."""
    return json.dumps({**result.as_json(), "seconds": 0}, sort_keys=True)


def set_up(grader: Grader, folder: Path) -> Scene:
    """Put secrets where a grader has them: in its environment, its gradebook, other submissions, its course."""
    scene = Scene(grader, folder)
    for name in ("gradebook.db", "grades/grades.csv", "submitted/ada/02.ipynb", "secret"):
        notebooks.write(folder / name, CANARY.encode())
    watched = [path for path in folder.rglob("*") if path.is_file()]
    course = ["utils/shortcuts.py", "utils/fixtures/02_scaled_dot_product.safetensors", "autograder/grader.py",
              "autograder/hidden/scaled_dot_product.py", "solutions/02_scaled_dot_product.py"]  # fmt: skip
    scene.files = {path: digest(path) for path in [*watched, *(ROOT / name for name in course)]}
    honest = scene.grade(RIGHT)
    assert honest.score == POINTS, honest
    scene.honest = outcome(honest)
    return scene

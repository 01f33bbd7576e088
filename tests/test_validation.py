"""Checking a notebook before it is handed in: the verdict is grading's, and a failure is a failure for scripts too."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from nbformat import NotebookNode
from typer.testing import CliRunner

import notebooks
from autograder import cli, validation
from autograder.paths import ROOT
from autograder.sandbox.client import WarmClient
from autograder.submissions import parse
from autograder.validation import HIDDEN_NOT_RUN, Validator, is_valid
from notebooks import CHAPTER, FILE_NAME, NAMES, add_cell, all_right, as_bytes, notebook, right, write

ASKS = f"{right('softmax')}\nnumber = input('a number')\nprint(softmax(torch.ones(int(number))))"


def _turned_into_text() -> NotebookNode:
    """Press M in JupyterLab on an exercise's cell."""
    made = notebook(all_right())
    cell = notebooks.exercise_cell(made, "softmax")
    cell.cell_type = "markdown"
    del cell["outputs"], cell["execution_count"]
    return made


HANDED_IN = {
    "right": notebooks.solved(),
    "unsolved": notebooks.unsolved(),
    "wrong": notebooks.with_answers(softmax="def softmax(x, dim=-1):\n    e = x.exp()\n    return e / e.sum()"),
    "asks_after_its_answer": notebooks.with_answers(softmax=ASKS),
    "asks_inside": notebooks.with_answers(softmax="def softmax(x, dim=-1):\n    return float(input()) * x"),
    "asks_in_a_cell_of_its_own": as_bytes(add_cell(notebook(all_right()), "n = int(input())", before="softmax")),
    "syntax": notebooks.with_answers(softmax="def softmax(:"),
    "missing": notebooks.with_answers(softmax="x = 1"),
    "raises": notebooks.with_answers(softmax="def softmax(x, dim=-1):\n    raise KeyError('oh')"),
    "shortcut": notebooks.with_answers(softmax="def softmax(x, dim=-1):\n    return torch.softmax(x, dim)"),
    "not_a_tensor": notebooks.with_answers(softmax="def softmax(x, dim=-1):\n    return 'none'"),
    "turned_into_text": as_bytes(_turned_into_text()),
    "stub_pasted_below": as_bytes(add_cell(notebook(all_right()), notebooks.stub("softmax"), after="softmax")),
}  # fmt: skip


@pytest.fixture(scope="module")
def validator(warm: WarmClient) -> Validator:
    return Validator("nothing is drawn", warm=warm)


@pytest.mark.parametrize("kind", HANDED_IN)
def test_a_validation_comes_to_the_same_verdict_as_grading(kind: str, validator: Validator, grader: object) -> None:
    handed = parse(HANDED_IN[kind])
    validated, graded = validator.grade_handed(handed), grader.grade_handed(handed)
    assert {e.name: e.status == "passed" for e in validated.exercises} == {
        e.name: e.status == "passed" for e in graded.exercises
    }
    assert is_valid(validated) == (graded.score == CHAPTER.points)
    assert all(e.message for e in validated.exercises if e.status != "passed")


def test_a_file_that_is_no_notebook_is_not_valid(validator: Validator, tmp_path: Path) -> None:
    from autograder.submissions import find_submissions

    write(tmp_path / "ada" / FILE_NAME, b"no notebook")
    (submission,) = find_submissions([tmp_path])
    assert not is_valid(validator.grade(submission))


@pytest.fixture
def course_validate(warm: WarmClient, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Call `course validate` in this process, on the shared warm process."""

    class Kept(Validator):
        def __init__(self, secret: str, isolation: str) -> None:
            super().__init__(secret, isolation, warm=warm)

        def close(self) -> None:
            """Leave the shared warm process as it is."""

    monkeypatch.setattr(validation, "Validator", Kept)
    return lambda *paths: CliRunner().invoke(cli.app, ["validate", *map(str, paths)])


def test_a_failed_validation_exits_with_1_and_says_what_failed(course_validate: Callable, tmp_path: Path) -> None:
    good = write(tmp_path / "good" / FILE_NAME, HANDED_IN["right"])
    bad = write(tmp_path / "bad" / FILE_NAME, HANDED_IN["wrong"])
    assert course_validate(good).exit_code == 0
    done = course_validate(good, bad)
    assert done.exit_code == 1
    assert "✗" in done.output and "sum" in done.output
    assert course_validate(tmp_path / "nothing").exit_code == 2


def test_a_validation_says_that_hidden_tests_were_not_run(course_validate: Callable, tmp_path: Path) -> None:
    file = write(tmp_path / FILE_NAME, HANDED_IN["right"])
    said = " ".join(course_validate(file).output.split())
    assert HIDDEN_NOT_RUN in said
    assert "all tests passed" not in said.lower()
    assert said.count("visible check passed") == len(NAMES)


# What runs in the learner's own repository


@pytest.fixture(scope="module")
def checked_alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bool]]:
    """What `python -m utils.check_notebook` says of every notebook, all in one process to save its start."""
    folder = tmp_path_factory.mktemp("alone")
    for kind, content in HANDED_IN.items():
        write(folder / kind / FILE_NAME, content)
    script = """
import json, sys
from pathlib import Path
from utils import check_notebook as alone
alone.register_all()
verdicts = {}
for kind in sys.argv[1:]:
    chapter, cells = alone.read(Path(kind) / "FILE")
    names = alone.run_cells(chapter, cells)
    verdicts[kind] = {e.name: alone.check_exercise(e, names)[0] for e in chapter.exercises}
print(json.dumps(verdicts))
""".replace("FILE", FILE_NAME)
    done = subprocess.run(
        [sys.executable, "-c", script, *HANDED_IN], cwd=folder, capture_output=True, text=True, timeout=300, input="1\n"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kind", HANDED_IN)
def test_the_check_without_a_sandbox_comes_to_the_same_verdict(kind: str, checked_alone: dict, grader: object) -> None:
    graded = {e.name: e.status == "passed" for e in grader.grade_handed(parse(HANDED_IN[kind])).exercises}
    alone = dict(checked_alone[kind])
    assert all(alone.values()) == all(graded.values())
    if not graded["softmax"]:  # attention uses it; a grader puts a right one in its place, a learner's machine has none
        alone.pop("scaled_dot_product_attention")
    assert alone.items() <= graded.items()


def run_alone(*arguments: str | Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "utils.check_notebook", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_the_check_without_a_sandbox_exits_with_1_where_one_fails(tmp_path: Path) -> None:
    file = write(tmp_path / FILE_NAME, HANDED_IN["wrong"])
    done = run_alone(file)
    assert done.returncode == 1
    assert f"{len(NAMES) - 2} of {len(NAMES)} visible checks pass" in done.stdout  # attention leans on softmax
    assert "hidden tests that grade are not here" in done.stdout
    assert run_alone("--exercise", "padding_mask", file).returncode == 0
    assert run_alone("--exercise", "softmax", file).returncode == 1
    assert run_alone("--exercise", "nothing", file).returncode == 2
    assert run_alone(write(tmp_path / "text.ipynb", b"no notebook")).returncode == 2


def test_an_endless_loop_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    from utils import check_notebook as alone

    monkeypatch.setattr(alone.quiet, "_on", False)
    monkeypatch.setattr(alone.quiet, "_chapter", "")
    monkeypatch.setattr(alone, "CELL_SECONDS", 0.2)
    monkeypatch.setattr(alone, "CHECK_SECONDS", 0.2)
    cells = [
        (False, "import torch\ntry:\n    while True: pass\nexcept Exception:\n    pass"),
        (False, "def softmax(x, dim=-1):\n    while True: pass"),
    ]
    names = alone.run_cells(CHAPTER, cells)
    passed, words = alone.check_exercise(CHAPTER.exercise("softmax"), names)
    assert not passed
    assert "took longer" in words

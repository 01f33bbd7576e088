"""The real nbgrader, from release to export, beside `course grade`: the same scores."""

import csv
from pathlib import Path

import nbformat
import pytest
from nbgrader_tree import CHAPTER, SECRET, filled_in, make_course, run_nbgrader

from autograder.batch import grade_all
from autograder.build import released_path
from autograder.sandbox.client import WarmClient
from autograder.sources import right_answers
from autograder.submissions import find_submissions

HALF = ("attention_scores", "padding_mask", "softmax_jacobian")
WRONG = {
    "attention_scores": "def attention_scores(q, k):\n    return k @ q.mT",
    "softmax": "def softmax(x, dim=-1):\n    return x.exp() / x.exp().sum()",
    "softmax_jacobian": "def softmax_jacobian(p):\n    return torch.diag_embed(p)",
    "padding_mask": "def padding_mask(lengths, max_len):\n    return torch.arange(max_len) >= lengths[:, None, None]",
    "scaled_dot_product_attention": "def scaled_dot_product_attention(q, k, v, mask=None):\n"
    "    weights = torch.softmax(q @ k.mT, -1)\n    return weights @ v, weights",
}


def _submissions() -> dict[str, nbformat.NotebookNode]:
    right = right_answers(CHAPTER.id)
    broken = right | {"softmax": "def softmax(x, dim=-1)\n    return x"}
    return {
        "right": filled_in(right),
        "wrong": filled_in(WRONG),
        "half": filled_in({name: right[name] for name in HALF}),
        "syntax": filled_in(broken),
        "empty": filled_in({}),
    }


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_course(tmp_path_factory.mktemp("nbgrader"), _submissions())
    run_nbgrader(folder, "autograde", CHAPTER.id)
    run_nbgrader(folder, "generate_feedback", CHAPTER.id)
    run_nbgrader(folder, "export")
    return folder


@pytest.fixture(scope="module")
def exported(course: Path) -> dict[str, float]:
    with (course / "grades.csv").open() as stream:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(stream)}


@pytest.mark.slow
def test_nbgrader_and_course_grade_give_the_same_scores(course: Path, exported: dict[str, float]) -> None:
    submissions = find_submissions([course / "submitted"])
    with WarmClient("auto") as warm:
        ours = {result.student: result.score for _position, result in grade_all(submissions, SECRET, warm, 2)}
    assert ours == pytest.approx(exported)


@pytest.mark.slow
def test_the_gradebook_holds_the_scores_that_were_earned(exported: dict[str, float]) -> None:
    points = {exercise.name: exercise.points for exercise in CHAPTER.exercises}
    assert exported["right"] == CHAPTER.points
    assert exported["empty"] == 0
    assert exported["half"] == sum(points[name] for name in HALF)
    assert exported["syntax"] == CHAPTER.points - points["softmax"]
    assert 0 <= exported["wrong"] < CHAPTER.points / 2


@pytest.mark.slow
def test_nbgraders_feedback_tells_the_mistake(course: Path) -> None:
    page = (course / "feedback" / "wrong" / CHAPTER.id / f"{CHAPTER.id}.html").read_text()
    assert "divide by the square root" in page or "√d_k" in page
    assert "partial:" in page or "failed:" in page


@pytest.mark.slow
def test_nbgrader_releases_what_is_committed(course: Path) -> None:
    made = nbformat.read(course / "notebooks" / CHAPTER.id / f"{CHAPTER.id}.ipynb", as_version=4)
    committed = nbformat.read(released_path(CHAPTER), as_version=4)
    assert [cell.source for cell in made.cells] == [cell.source for cell in committed.cells]

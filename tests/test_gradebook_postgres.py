"""nbgrader with its gradebook on a real PostgreSQL server, and submissions of the kinds that people have written about."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbformat import NotebookNode, v4
from nbgrader.api import Gradebook
from nbgrader_tree import CHAPTER, cell_of, filled_in, hand_in_again, make_course, run_nbgrader
from postgres import running_server

from autograder.hidden import tests_of as hidden_tests_of
from autograder.sources import right_answers

pytestmark = pytest.mark.slow
POINTS = {exercise.name: exercise.points for exercise in CHAPTER.exercises}
RIGHT = right_answers(CHAPTER.id)


def _deleted() -> NotebookNode:
    notebook = filled_in(RIGHT)
    notebook.cells.remove(cell_of(notebook, "check-softmax"))
    return notebook


def _copied() -> NotebookNode:
    """Copy an exercise's cell and its check as JupyterLab does: with nbgrader's names."""
    notebook = filled_in(RIGHT)
    for name in ("softmax", "check-softmax"):
        original = cell_of(notebook, name)
        copy = v4.new_code_cell(original.source)
        copy.metadata = original.metadata.copy()
        notebook.cells.insert(notebook.cells.index(original) + 1, copy)
    return notebook


def _turned_into_text() -> NotebookNode:
    """Press M in JupyterLab on an exercise's cell and on its check."""
    notebook = filled_in(RIGHT)
    for name in ("softmax", "check-softmax"):
        cell = cell_of(notebook, name)
        cell.cell_type = "markdown"
        del cell["outputs"], cell["execution_count"]
    return notebook


def _handed_in() -> dict[str, NotebookNode]:
    warns = "import sys, warnings\nwarnings.warn('old')\nprint('noise', file=sys.stderr)\n" + RIGHT["softmax"]
    wrong = "def softmax(x, dim=-1):\n    e = torch.exp(x)\n    return e / e.sum(dim=dim, keepdim=True)"
    return {
        "right": filled_in(RIGHT),
        "half": filled_in({name: RIGHT[name] for name in ("attention_scores", "padding_mask")}),
        "wrong": filled_in(RIGHT | {"softmax": wrong}),
        "deleted": _deleted(),
        "copied": _copied(),
        "turned": _turned_into_text(),
        "exits": filled_in(RIGHT | {"softmax": f"{RIGHT['softmax']}\nimport os\nos._exit(0)"}),
        "warns": filled_in(RIGHT | {"softmax": warns}),
        "loops": filled_in(RIGHT | {"softmax": "def softmax(x, dim=-1):\n    while True:\n        pass"}),
    }


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running_server() as address:
        yield address


@pytest.fixture(scope="module")
def course(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_course(tmp_path_factory.mktemp("postgres"), _handed_in(), f"--db={url}")
    run_nbgrader(folder, "autograde", CHAPTER.id, f"--db={url}")
    return folder


@pytest.fixture
def gradebook(course: Path, url: str) -> Iterator[Gradebook]:
    with Gradebook(url, "transformers") as opened:
        yield opened


def score(gradebook: Gradebook, student: str) -> float:
    return gradebook.find_submission(CHAPTER.id, student).score


def test_the_gradebook_on_postgresql_holds_every_score(course: Path, url: str, gradebook: Gradebook) -> None:
    assert gradebook.engine.dialect.name == "postgresql"
    assert not (course / "gradebook.db").exists()
    assert score(gradebook, "right") == CHAPTER.points
    assert score(gradebook, "half") == POINTS["attention_scores"] + POINTS["padding_mask"]
    run_nbgrader(course, "export", f"--db={url}")
    with (course / "grades.csv").open() as stream:
        exported = {row["student_id"]: float(row["score"]) for row in csv.DictReader(stream)}
    assert exported == {student: score(gradebook, student) for student in _handed_in()}


def test_partial_credit_arrives_with_its_message(course: Path, gradebook: Gradebook) -> None:
    grade = gradebook.find_grade("check-softmax", CHAPTER.id, CHAPTER.id, "wrong")
    assert 0 < grade.auto_score < POINTS["softmax"]
    graded = (course / "autograded" / "wrong" / CHAPTER.id / f"{CHAPTER.id}.ipynb").read_text()
    assert "partial: " in graded


def test_a_deleted_test_cell_leaves_nothing_to_grade_by_hand(gradebook: Gradebook) -> None:
    submission = gradebook.find_submission(CHAPTER.id, "deleted")
    assert not submission.needs_manual_grade
    assert submission.score == CHAPTER.points


def test_copied_cells_cost_nothing(gradebook: Gradebook) -> None:
    assert score(gradebook, "copied") == CHAPTER.points


def test_cells_turned_into_text_cost_nothing(gradebook: Gradebook) -> None:
    assert score(gradebook, "turned") == CHAPTER.points


def test_nothing_hidden_is_in_autograded_notebooks_or_feedback(course: Path, url: str) -> None:
    run_nbgrader(course, "generate_feedback", CHAPTER.id, f"--db={url}", "--student=wrong")
    pages = [*(course / "autograded").rglob("*.ipynb"), *(course / "feedback").rglob("*.html")]
    assert len(pages) == len(_handed_in()) + 1
    everything = "\n".join(page.read_text() for page in pages)
    assert "rng." not in everything and "HIDDEN TESTS" not in everything
    for name in POINTS:
        for test in hidden_tests_of(name):
            assert f"def {test.name}" not in everything
    assert "overflow" in (course / "feedback" / "wrong" / CHAPTER.id / f"{CHAPTER.id}.html").read_text()


def test_a_process_that_dies_passes_no_test_of_its_exercise(gradebook: Gradebook) -> None:
    assert gradebook.find_grade("check-softmax", CHAPTER.id, CHAPTER.id, "exits").score == 0
    assert score(gradebook, "exits") == CHAPTER.points - POINTS["softmax"]


def test_warnings_on_standard_error_cost_nothing(gradebook: Gradebook) -> None:
    assert score(gradebook, "warns") == CHAPTER.points


def test_a_notebook_that_ran_out_of_time_is_graded_and_can_be_graded_by_hand(url: str, gradebook: Gradebook) -> None:
    submission = gradebook.find_submission(CHAPTER.id, "loops")
    assert not submission.needs_manual_grade
    assert submission.score == CHAPTER.points - POINTS["softmax"]
    gradebook.find_grade("check-softmax", CHAPTER.id, CHAPTER.id, "loops").manual_score = 2
    gradebook.db.commit()
    with Gradebook(url, "transformers") as opened:
        assert score(opened, "loops") == CHAPTER.points - POINTS["softmax"] + 2


def test_nbgraders_own_late_penalties_work_behind_our_preprocessor(course: Path, url: str) -> None:
    with Gradebook(url, "transformers") as opened:
        opened.update_or_create_assignment(CHAPTER.id, duedate="2026-02-01 12:00:00 UTC")
    moments = {"due-tardy": "2026-02-02 13:00:00 UTC", "due-punctual": "2026-02-01 11:00:00 UTC"}
    for student, moment in moments.items():
        hand_in_again(course, student, filled_in(RIGHT), moment)
    rules = {
        "zero": ["--LateSubmissionPlugin.penalty_method=zero"],
        "by rule": ["--AssignLatePenalties.plugin_class=autograder.nbgrader_late.LatePenaltyByRule"],
    }
    found = {}
    for rule, options in rules.items():
        run_nbgrader(course, "autograde", CHAPTER.id, "--student=due-*", "--force", f"--db={url}", *options)
        with Gradebook(url, "transformers") as opened:
            found[rule] = {
                student: (s.score, s.late_submission_penalty)
                for student in moments
                for s in [opened.find_submission(CHAPTER.id, student)]
            }
    assert found["zero"] == {"due-tardy": (CHAPTER.points, CHAPTER.points), "due-punctual": (CHAPTER.points, 0)}
    assert found["by rule"] == {"due-tardy": (CHAPTER.points, 3.0), "due-punctual": (CHAPTER.points, 0)}

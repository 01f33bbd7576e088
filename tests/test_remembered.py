"""An unchanged submission under unchanged tests costs nothing, and a killed run is taken up where it stopped."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run

import notebooks
from autograder import remembered, results
from autograder.paths import ROOT
from autograder.remembered import FILE_NAME, Remembered
from autograder.results import ExerciseResult, SubmissionResult

CourseGrade = Callable[..., Run]


@pytest.fixture
def handed(tmp_path: Path) -> Path:
    """A folder with a right notebook, a wrong one, a copy of it, and one that isn't a notebook."""
    folder = tmp_path / "handed"
    folder.mkdir()
    (folder / "ada.ipynb").write_bytes(notebooks.solved())
    wrong = notebooks.with_answers(softmax="def softmax(x, dim=-1):\n    return x")
    (folder / "ben.ipynb").write_bytes(wrong)
    (folder / "copy-of-ben.ipynb").write_bytes(wrong)
    (folder / "cy.ipynb").write_text("not a notebook")
    return folder


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The students whose notebooks were really graded, in this process."""
    from autograder import batch

    real, seen = batch.grade_all, []

    def noted(submissions: list, secret: str, warm: object, jobs: int, positions: list[int] | None = None) -> object:
        seen.extend(submissions[position].student for position in positions)
        return real(submissions, secret, warm, jobs, positions)

    monkeypatch.setattr(batch, "grade_all", noted)
    return seen


def everything_but_seconds(run: Run) -> list[dict]:
    return [submission | {"seconds": 0} for submission in run.results["submissions"]]


def test_what_has_not_changed_is_not_graded_again(course_grade: CourseGrade, handed: Path, graded: list[str]) -> None:
    first = course_grade(handed)
    assert graded == ["ada", "ben", "cy"]  # of two identical notebooks one
    graded.clear()
    again = course_grade(handed, out=first.folder)
    assert graded == []
    assert again.results == first.results
    assert "4 unchanged" in again.output
    assert first.by_student["ben"]["score"] == first.by_student["copy-of-ben"]["score"] < 15


def test_force_grades_anew(course_grade: CourseGrade, handed: Path, graded: list[str]) -> None:
    first = course_grade(handed)
    graded.clear()
    again = course_grade(handed, out=first.folder, more=["--force"])
    assert graded == ["ada", "ben", "cy"]
    assert everything_but_seconds(again) == everything_but_seconds(first)


def test_a_changed_notebook_is_graded_and_only_it(course_grade: CourseGrade, handed: Path, graded: list[str]) -> None:
    first = course_grade(handed)
    graded.clear()
    shutil.copy(handed / "ada.ipynb", handed / "ben.ipynb")
    again = course_grade(handed, out=first.folder)
    assert graded == []  # the notebook is known already, under another name
    assert again.by_student["ben"]["score"] == 15
    assert again.by_student["copy-of-ben"] == first.by_student["copy-of-ben"]


@pytest.mark.parametrize("change", ["secret", "tests"])
def test_under_another_secret_or_other_tests_all_is_graded(
    course_grade: CourseGrade, handed: Path, graded: list[str], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = course_grade(handed)
    graded.clear()
    if change == "tests":
        monkeypatch.setattr(remembered, "DECIDING", (("autograder/hidden", ("*.py",)),))
    course_grade(handed, out=first.folder, seed=2 if change == "secret" else 1)
    assert graded == ["ada", "ben", "cy"]


def test_every_source_that_decides_a_score_is_in_the_fingerprint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for folder in ("autograder/hidden", "utils", "solutions"):
        (tmp_path / folder).mkdir(parents=True)
    files = ["autograder/hidden/some.py", "autograder/grader.py", "utils/catalogue.toml", "utils/x.safetensors"]
    files += ["solutions/02.py", "utils/execution.py"]
    monkeypatch.setattr(remembered, "ROOT", tmp_path)
    seen = set()
    for file in ["", *files]:
        if file:
            (tmp_path / file).write_text("changed")
        seen.add(remembered.fingerprint("secret", "auto"))
    seen.add(remembered.fingerprint("another secret", "auto"))
    seen.add(remembered.fingerprint("secret", "none"))
    assert len(seen) == len(files) + 3


def test_pages_follow_when_results_are_known(course_grade: CourseGrade, handed: Path) -> None:
    first = course_grade(handed)
    page = first.folder / "feedback" / "ada" / f"{notebooks.CHAPTER.id}.html"
    text = page.read_text()
    page.unlink()
    course_grade(handed, out=first.folder)
    assert page.read_text() == text
    rule = ["--due", "2001-01-01T00:00", "--late", "10% per day, at most 50%"]
    late = course_grade(handed, out=first.folder, more=rule)
    assert late.by_student["ada"]["score"] == 7.5
    assert page.read_text() != text
    assert course_grade(handed, out=first.folder).by_student["ada"]["score"] == 15
    assert page.read_text() == text


def test_a_damaged_file_of_results_is_put_aside(course_grade: CourseGrade, handed: Path, graded: list[str]) -> None:
    first = course_grade(handed)
    graded.clear()
    for file in first.folder.glob(FILE_NAME + "*"):
        file.unlink()
    (first.folder / FILE_NAME).write_bytes(b"no database, but long enough to be taken for one" * 100)
    again = course_grade(handed, out=first.folder)
    assert graded == ["ada", "ben", "cy"]
    assert everything_but_seconds(again) == everything_but_seconds(first)
    assert (first.folder / (FILE_NAME + ".damaged")).exists()


def test_a_result_comes_back_as_it_was(tmp_path: Path) -> None:
    test = results.TestResult("scores", False, 2.0, "message")
    exercise = ExerciseResult(
        "softmax", 3, 1.5, "partial", ["m"], "t", [test], "code", 7, [{"title": "t", "hint": "h"}]
    )
    exercise.properties = [{"title": "p", "passed": True}]
    result = SubmissionResult("ada", "02", "ada.ipynb", 15, 0.1, None, [exercise], digest="abc")
    with Remembered(tmp_path) as store:
        store.put("key", result)
        assert store.get("key") == result
        with pytest.raises(KeyError):
            store.get("another")
        store.forget_all_but([])
        assert store.keys() == set()


# Killed at any moment


@pytest.mark.slow
def test_a_killed_run_loses_nothing(tmp_path: Path) -> None:
    """Kill `course grade` at random again and again: the results at the end are those of a run left in peace."""
    handed = tmp_path / "handed"
    handed.mkdir()
    for number in range(12):
        source = f"def softmax(x, dim=-1):\n    return x + {number}" if number % 3 else notebooks.right("softmax")
        (handed / f"learner-{number:02}.ipynb").write_bytes(notebooks.with_answers(softmax=f"{source}\n# {number}"))
    out, peace = tmp_path / "grades", tmp_path / "peace"
    grade = [
        sys.executable,
        "-c",
        "from autograder.cli import app; app()",
        "grade",
        str(handed),
        "--seed",
        "1",
        "--jobs",
        "2",
        "--out",
    ]
    choose = random.Random(3)
    kept = 0
    for _attempt in range(8):
        process = subprocess.Popen([*grade, str(out)], cwd=ROOT, stdout=-3, stderr=-3, start_new_session=True)
        if kept == 0:
            until = time.monotonic() + 60
            while _kept(out) < 1 and process.poll() is None and time.monotonic() < until:
                time.sleep(0.02)
        time.sleep(choose.random() * 1.5)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert _kept(out) >= kept  # nothing that was there is lost
        kept = _kept(out)
        for file in (out / "feedback").rglob("*.html"):
            assert file.read_text().rstrip().endswith("</html>")  # whole, or not there
        if (out / "results.json").exists():
            json.loads((out / "results.json").read_text())
    assert kept > 0
    for folder in (out, peace):
        subprocess.run([*grade, str(folder)], cwd=ROOT, check=True, stdout=-3)
    scores = [
        {
            each["student"]: (each["score"], each["error"])
            for each in json.loads((f / "results.json").read_text())["submissions"]
        }
        for f in (out, peace)
    ]
    assert len(scores[0]) == 12
    assert scores[0] == scores[1]
    assert (out / "grades.csv").read_text() == (peace / "grades.csv").read_text()


def _kept(out: Path) -> int:
    """Count the results that another process would find, each of them whole."""
    file = out / FILE_NAME
    if not file.exists():
        return 0
    with sqlite3.connect(file, timeout=10) as database:
        try:
            rows = database.execute("SELECT content FROM result").fetchall()
        except sqlite3.OperationalError:  # killed before the table was made
            return 0
    return sum(bool(json.loads(content)["exercises"]) for (content,) in rows)

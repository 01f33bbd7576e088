"""Grading at hand-in: what arrives in a folder is graded, what changes is graded again, nothing else is."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import notebooks
from autograder import cli
from autograder.grader import Grader
from autograder.late import Due
from autograder.submissions import Submission
from autograder.watch import Watcher
from notebooks import CHAPTER, FILE_NAME, POINTS, write


@pytest.fixture
def watcher(grader: Grader, tmp_path: Path) -> Watcher:
    (tmp_path / "in").mkdir()
    return Watcher(grader, tmp_path / "in", tmp_path / "out")


def scores(watcher: Watcher) -> dict[str, float]:
    written = json.loads((watcher.out / "results.json").read_text())["submissions"]
    return {submission["student"]: submission["score"] for submission in written}


def test_what_arrives_is_graded_once_and_its_score_and_page_are_there(watcher: Watcher) -> None:
    assert watcher.look(patient=False) == []
    write(watcher.folder / "ada" / FILE_NAME, notebooks.solved())
    assert [result.score for result in watcher.look(patient=False)] == [CHAPTER.points]
    assert scores(watcher) == {"ada": CHAPTER.points}
    assert (
        f"{CHAPTER.points} of {CHAPTER.points}" in (watcher.out / "feedback" / "ada" / f"{CHAPTER.id}.html").read_text()
    )
    assert watcher.look(patient=False) == []


def test_a_second_try_replaces_the_first(watcher: Watcher) -> None:
    write(watcher.folder / "ada" / FILE_NAME, notebooks.with_answers(softmax="def softmax(x, dim=-1):\n    return x"))
    write(watcher.folder / "bob" / FILE_NAME, b"no notebook")
    watcher.look(patient=False)
    assert scores(watcher) == {"ada": CHAPTER.points - POINTS["softmax"], "bob": 0}
    write(watcher.folder / "ada" / FILE_NAME, notebooks.solved())
    assert [result.student for result in watcher.look(patient=False)] == ["ada"]
    assert scores(watcher) == {"ada": CHAPTER.points, "bob": 0}


def test_what_was_graded_before_a_restart_is_not_graded_again(
    watcher: Watcher, grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(watcher.folder / "ada" / FILE_NAME, notebooks.solved())
    watcher.look(patient=False)
    again = Watcher(grader, watcher.folder, watcher.out)
    monkeypatch.setattr(grader, "grade", lambda _submission: pytest.fail("graded twice"))
    assert [result.score for result in again.look(patient=False)] == [CHAPTER.points]
    assert scores(again) == {"ada": CHAPTER.points}


def test_a_copy_of_what_is_known_gets_its_score_and_page_without_being_graded(
    watcher: Watcher, grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(watcher.folder / "ada" / FILE_NAME, notebooks.solved())
    watcher.look(patient=False)
    monkeypatch.setattr(grader, "grade", lambda _submission: pytest.fail("graded twice"))
    write(watcher.folder / "bob" / FILE_NAME, notebooks.solved())
    assert [result.student for result in watcher.look(patient=False)] == ["bob"]
    assert scores(watcher) == {"ada": CHAPTER.points, "bob": CHAPTER.points}
    assert (watcher.out / "feedback" / "bob" / f"{CHAPTER.id}.html").exists()


def test_a_hand_in_that_is_taken_back_leaves_the_table(watcher: Watcher) -> None:
    for student in ("ada", "bob"):
        write(watcher.folder / student / FILE_NAME, notebooks.solved())
    watcher.look(patient=False)
    (watcher.folder / "ada" / FILE_NAME).unlink()
    watcher.look(patient=False)
    assert scores(watcher) == {"bob": CHAPTER.points}
    (watcher.folder / "bob" / FILE_NAME).unlink()
    watcher.look(patient=False)
    assert scores(watcher) == {}


def test_what_comes_late_costs_as_it_does_in_course_grade(watcher: Watcher) -> None:
    watcher.due = Due.parse("2000-01-01T00:00+00:00", "50% per week, at most 50%")
    write(watcher.folder / "ada" / FILE_NAME, notebooks.solved())
    assert [result.score for result in watcher.look(patient=False)] == [CHAPTER.points / 2]
    assert scores(watcher) == {"ada": CHAPTER.points / 2}


def test_while_a_second_try_arrives_the_first_one_counts(watcher: Watcher) -> None:
    file = write(watcher.folder / "ada" / FILE_NAME, notebooks.solved())
    watcher.look()
    watcher.look()
    assert scores(watcher) == {"ada": CHAPTER.points}
    file.write_bytes(notebooks.solved()[:1000])
    write(watcher.folder / "bob" / FILE_NAME, notebooks.unsolved())
    assert watcher.look() == []
    file.write_bytes(notebooks.unsolved())
    assert [result.student for result in watcher.look()] == ["bob"]
    assert scores(watcher) == {"ada": CHAPTER.points, "bob": 0}
    assert [result.student for result in watcher.look()] == ["ada"]
    assert scores(watcher) == {"ada": 0, "bob": 0}


def test_a_file_that_is_still_arriving_is_left_until_it_rests(watcher: Watcher) -> None:
    content = notebooks.unsolved()
    file = write(watcher.folder / "ada" / FILE_NAME, content[:1000])
    assert watcher.look() == []
    file.write_bytes(content)
    assert watcher.look() == []
    assert [result.error for result in watcher.look()] == [None]


def test_a_fault_of_the_grader_does_not_end_the_watch(watcher: Watcher, monkeypatch: pytest.MonkeyPatch) -> None:
    write(watcher.folder / "ada" / FILE_NAME, notebooks.solved())

    def fail(_submission: Submission) -> None:
        raise ValueError("oh")

    monkeypatch.setattr(watcher.grader, "grade", fail)
    (result,) = watcher.look(patient=False)
    assert "ValueError: oh" in result.error


def test_the_command_refuses_to_watch_its_own_output(tmp_path: Path) -> None:
    for arguments in (["nothing"], [str(tmp_path), "--out", str(tmp_path / "grades")]):
        assert CliRunner().invoke(cli.app, ["watch", *arguments]).exit_code == 2


@pytest.mark.slow
def test_the_command_looks_once(tmp_path: Path) -> None:
    write(tmp_path / "in" / "ada" / FILE_NAME, notebooks.solved())
    done = CliRunner().invoke(cli.app, ["watch", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--once"])
    assert done.exit_code == 0, done.output
    assert f"ada  {CHAPTER.id}  {CHAPTER.points} / {CHAPTER.points}" in done.output

"""The grader is measured with answers: every correct one gets full marks, every wrong one loses some."""

import pytest

from autograder.answers import FOLDER, answers_of, read_answer
from autograder.audit import audit, grade_answer
from autograder.grader import Grader
from autograder.hidden import tests_of as hidden_tests_of
from autograder.sources import answer_with_imports
from utils.catalogue import Exercise, find_chapter, written_chapters

EXERCISES = [exercise for chapter in written_chapters() for exercise in chapter.exercises]
EVERY_EXERCISE = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)


@EVERY_EXERCISE
def test_correct_answers_get_full_marks_and_wrong_ones_lose_some(grader: Grader, exercise: Exercise) -> None:
    counts = audit(grader, [exercise], FOLDER)[exercise.name]
    assert counts.clean, counts.failures
    assert counts.named >= 0.95 * counts.wrong, counts.failures


@EVERY_EXERCISE
def test_the_courses_own_answer_gets_full_marks_whatever_the_inputs(grader: Grader, exercise: Exercise) -> None:
    for number in range(5):  # the content seeds the inputs, so a comment changes them
        result = grade_answer(grader, exercise, f"{answer_with_imports(exercise)}\n# {number}")
        assert result.score == exercise.points, [test for test in result.tests if not test.passed]


@EVERY_EXERCISE
def test_there_are_at_least_four_different_correct_answers(exercise: Exercise) -> None:
    assert len({answer.source for answer in answers_of(exercise.name, "correct")}) >= 4


@EVERY_EXERCISE
def test_every_wrong_answer_says_what_is_wrong_and_what_to_do(exercise: Exercise) -> None:
    for answer in answers_of(exercise.name, "wrong"):
        assert answer.title, answer.file
        assert answer.hint, answer.file


@EVERY_EXERCISE
def test_every_exercise_has_hidden_tests_that_share_its_points(exercise: Exercise) -> None:
    tests = hidden_tests_of(exercise.name)
    assert len(tests) >= 2
    assert len({test.name for test in tests}) == len(tests)
    assert all(test.weight > 0 for test in tests)


def test_chapter_02_knows_at_least_forty_mistakes() -> None:
    names = {(e.name, answer.name) for e in find_chapter("02").exercises for answer in answers_of(e.name, "wrong")}
    assert len(names) >= 40


def test_answers_in_the_other_format_are_read_too(tmp_path) -> None:
    file = tmp_path / "softmax" / "some_mistake.2.py"
    file.parent.mkdir()
    file.write_text("# mistake: it is wrong\n# feedback should say: make it right\nx = 1\n")
    answer = read_answer(file)
    assert (answer.exercise, answer.name, answer.title, answer.hint) == (
        "softmax",
        "some_mistake",
        "it is wrong",
        "make it right",
    )

"""The visible checks: what a learner sees under an exercise."""

import json
import os
from functools import cache
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from autograder import fixtures as recording
from autograder.answers import Answer, answers_of
from autograder.sources import answer_with_imports
from utils import check, once_solved, progress
from utils.assets import AssetMissing
from utils.catalogue import Exercise, find_chapter, find_exercise, written_chapters
from utils.diagnosis import VAGUE
from utils.differences import same_observation
from utils.fixtures import fixture_of
from utils.probes import probes_of
from utils.report import Report, examine
from utils.student import LocalStudent

EXERCISES = [exercise for chapter in written_chapters() for exercise in chapter.exercises]
EVERY_EXERCISE = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def examined(source: str, exercise: Exercise) -> Report:
    namespace: dict = {"__name__": "__main__"}
    exec(compile(source, "<answer>", "exec"), namespace)
    return examine(LocalStudent(namespace, shortcuts=exercise.shortcuts), exercise.name)


@cache
def reports_on_wrong_answers(exercise: Exercise) -> list[tuple[Answer, Report]]:
    """Check every wrong answer once, for all tests that look at them."""
    return [(answer, examined(answer.source, exercise)) for answer in answers_of(exercise.name, "wrong")]


@EVERY_EXERCISE
def test_the_courses_own_answer_is_green(exercise: Exercise) -> None:
    report = examined(answer_with_imports(exercise), exercise)
    assert report.passed, [line.title for line in report.properties if not line.passed]


@EVERY_EXERCISE
def test_correct_but_different_answers_are_green(exercise: Exercise) -> None:
    for answer in answers_of(exercise.name, "correct"):
        report = examined(answer.source, exercise)
        assert report.passed, (answer.file.name, [d.title for d in report.diagnoses])


@EVERY_EXERCISE
def test_nearly_every_known_mistake_is_red_and_named(exercise: Exercise) -> None:
    reports = reports_on_wrong_answers(exercise)
    assert reports
    unnamed = []
    for answer, report in reports:
        names = [diagnosis.name for diagnosis in report.diagnoses]
        if report.passed or not set(names) - VAGUE:
            unnamed.append(answer.file.name)
    assert len(unnamed) <= 0.05 * len(reports), unnamed


@EVERY_EXERCISE
def test_recorded_mistakes_are_recognised_by_their_own_name(exercise: Exercise) -> None:
    recorded = {mistake.name for mistake in fixture_of(exercise.name).mistakes if mistake.recordings}
    for answer, report in reports_on_wrong_answers(exercise):
        names = [diagnosis.name for diagnosis in report.diagnoses]
        if answer.name in recorded and not report.passed and "uses_a_shortcut" not in names:
            assert answer.name in names, answer.file.name


@EVERY_EXERCISE
def test_no_two_mistakes_look_the_same_to_the_check(exercise: Exercise) -> None:
    probes = {probe.name: probe for probe in probes_of(exercise.name)}
    seen: list[tuple[str, dict]] = []
    for mistake in fixture_of(exercise.name).mistakes:
        for recorded in mistake.recordings:
            for name, other in seen:
                if name != mistake.name and recorded.keys() == other.keys():
                    alike = all(same_observation(recorded[key], other[key], probes[key]) for key in recorded)
                    assert not alike, (name, mistake.name)
            seen.append((mistake.name, recorded))


def test_recorded_right_answers_are_pytorchs() -> None:
    softmax = fixture_of("softmax")
    torch.testing.assert_close(softmax.right["formula"]["result"], F.softmax(softmax.given["formula"]["x"], -1))
    large = softmax.right["large_scores"]["result"]
    torch.testing.assert_close(large, F.softmax(softmax.given["large_scores"]["x"], -1), rtol=1e-3, atol=1e-3)
    attention = fixture_of("scaled_dot_product_attention")
    given = attention.given["masked"]
    expected = F.scaled_dot_product_attention(given["q"], given["k"], given["v"], attn_mask=given["mask"])
    torch.testing.assert_close(attention.right["masked"]["output"], expected)
    slope = fixture_of("softmax_jacobian")
    p = slope.given["slope"]["p"]
    jacobian = torch.autograd.functional.jacobian(lambda x: F.softmax(x, -1), p.log())
    torch.testing.assert_close(slope.right["slope"]["result"], jacobian)
    scores = fixture_of("attention_scores")
    given = scores.given["dot_products"]
    torch.testing.assert_close(
        scores.right["dot_products"]["result"], torch.einsum("bid,bjd->bij", given["q"], given["k"])
    )
    mask = fixture_of("padding_mask").right["real_tokens"]["result"]
    assert mask.int().tolist() == [[[1, 1, 1, 0, 0]], [[1, 1, 1, 1, 1]], [[1, 0, 0, 0, 0]]]


def test_a_wrong_own_answer_is_not_recorded_as_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "answer_with_imports", lambda exercise: "nothing = None")
    with pytest.raises(recording.NotRight):
        recording.record(find_chapter("02"))


def attention_scores(q, k):
    """An answer that stands in this module, as a learner's stands in a notebook."""
    return q @ k.mT


def test_a_green_card_says_so_in_html_and_in_text() -> None:
    card = check(attention_scores)
    assert card.passed
    assert "✓ attention_scores" in repr(card)
    assert "course-passed" in card._repr_html_()


def test_check_takes_a_name_too() -> None:
    assert check("attention_scores").passed


def test_an_unsolved_stub_is_not_started() -> None:
    def softmax(x, dim=-1):
        raise NotImplementedError

    card = check(softmax)
    assert not card.passed
    assert "softmax: not started" in repr(card)
    assert "course-waiting" in card._repr_html_()


def test_an_exception_points_at_the_learners_own_line() -> None:
    source = (
        "def softmax(x, dim=-1):\n    y = x + 1\n    return helper(y)\n\ndef helper(y):\n    return y.no_such_thing\n"
    )
    report = examined(source, find_exercise("softmax"))
    assert report.error.type_name == "AttributeError"
    assert (report.error.line, report.error.cell) == (6, "<answer>")


def test_an_exception_inside_pytorch_points_at_the_learners_line() -> None:
    source = "import torch\ndef softmax(x, dim=-1):\n    a = 1\n    return torch.cat([x, x], 17)\n"
    assert examined(source, find_exercise("softmax")).error.line == 4


def test_what_a_learners_error_says_is_escaped_in_html() -> None:
    def softmax(x, dim=-1):
        raise ValueError("<script>alert(1)</script>")

    html = check(softmax)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_difference_is_drawn_beside_what_is_expected() -> None:
    def attention_scores(q, k):
        return 2 * (q @ k.mT)

    html = check(attention_scores)._repr_html_()
    assert html.count("<svg") == 3
    assert "2 times" in html


def test_a_function_that_is_no_exercise_is_answered_kindly() -> None:
    def some_helper() -> None: ...

    assert "no exercise named 'some_helper'" in repr(check(some_helper))


def test_a_shortcut_turns_a_right_answer_red_and_says_why() -> None:
    def softmax(x, dim=-1):
        return torch.softmax(x, dim).nan_to_num(0.0)

    text = repr(check(softmax))
    assert "✗ does without PyTorch's softmax" in text
    assert "scores 0" in text


def test_progress_is_written_beside_the_chapters_and_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = tmp_path / "02_scaled_dot_product"
    chapter.mkdir()
    monkeypatch.chdir(chapter)
    check(attention_scores)
    assert json.loads((tmp_path / "progress.json").read_text()) == {"checks": {"attention_scores": True}}
    shown = repr(progress("02_scaled_dot_product"))
    assert "2 of 15 points" in shown


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"checks": 3}', "\x00"])
def test_a_damaged_progress_file_counts_as_empty(tmp_path: Path, content: str) -> None:
    (tmp_path / "progress.json").write_text(content)
    assert "0 of 15 points" in repr(progress())
    assert check(attention_scores).passed


def test_where_nothing_can_be_written_the_check_still_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", _refuse)
    assert check(attention_scores).passed


def _refuse(*_args: object) -> None:
    raise PermissionError("read-only")


def test_nbgraders_validation_sees_a_red_card_as_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def attention_scores(q, k):
        return q

    monkeypatch.setenv("NBGRADER_EXECUTION", "validate")
    with pytest.raises(AssertionError, match="attention_scores"):
        check(attention_scores)


def test_a_picture_waits_for_its_exercise_and_lets_the_notebook_go_on(capsys: pytest.CaptureFixture) -> None:
    with once_solved(attention_scores):
        raise NotImplementedError
    with once_solved(attention_scores):
        raise RuntimeError("shapes don't fit")
    shown = capsys.readouterr().out
    assert "Waiting for attention_scores" in shown
    assert "shapes don't fit" in shown


def test_a_picture_that_lacks_a_file_says_what_to_do(capsys: pytest.CaptureFixture) -> None:
    with once_solved(attention_scores):
        raise AssetMissing("The weights aren't here. Run: course fetch")
    shown = capsys.readouterr().out
    assert "Run: course fetch" in shown and "attention_scores" not in shown


def test_a_picture_lets_an_interrupt_through() -> None:
    with pytest.raises(KeyboardInterrupt), once_solved(attention_scores):
        raise KeyboardInterrupt

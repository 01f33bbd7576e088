"""An answer that leans on a forbidden function, unseen, is found out where that function is gone."""

import pytest
import torch
from test_shortcuts import AROUND, X, called

import notebooks
from autograder.answers import answers_of
from autograder.grader import Grader
from autograder.hidden import tests_of as hidden_tests_of
from autograder.reports import feedback_html
from autograder.sandbox.client import RemoteStudent, WarmClient
from autograder.second_look import OWN_ANSWER, SecondLook
from autograder.session import Session, taken_out
from autograder.submissions import parse
from utils.catalogue import Exercise, all_chapters
from utils.execution import LearnerError

WITH_SHORTCUTS = [e for chapter in all_chapters() for e in chapter.exercises if e.shortcuts]
# Not plain (it asks for an attribute by name), and right.
ODD = "import math\n" + notebooks.right("softmax") + "\nlength = getattr(math, 'p' + 'i')"


@pytest.mark.slow
@pytest.mark.parametrize("exercise", WITH_SHORTCUTS, ids=lambda e: e.name)
def test_the_courses_own_answers_do_without(warm: WarmClient, exercise: Exercise) -> None:
    """But for a test that builds the forbidden piece in itself."""
    telling = Grader("secret", warm=warm)._second_look.telling(exercise)
    assert len(telling) >= len(hidden_tests_of(exercise.name)) - 1


@pytest.mark.parametrize("way", AROUND)
def test_what_was_taken_out_is_out_of_reach(warm: WarmClient, way: str) -> None:
    family, body = AROUND[way]
    with pytest.raises(LearnerError):
        called(warm, body, family, {"families": [family], "pieces": []})


def test_what_isnt_forbidden_works_as_before(warm: WarmClient) -> None:
    worker = warm.worker()
    try:
        worker.request("take_out", {"families": ["attention"], "pieces": []})
        source = "import torch\n\ndef answer(x):\n    return torch.softmax(x @ x.mT, -1) @ x"
        worker.request("cell", {"name": "<cell 1>", "source": source})
        x = X.clone().requires_grad_()
        result = RemoteStudent(worker).answer(x)
        (gradient,) = torch.autograd.grad(result.square().sum(), x)
    finally:
        worker.close()
    x = X.clone().requires_grad_()
    expected = torch.softmax(x @ x.mT, -1) @ x
    torch.testing.assert_close(result, expected)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.square().sum(), x)[0])


def test_ready_made_pieces_of_earlier_chapters_do_without_as_well(warm: WarmClient) -> None:
    (exercise,) = [e for e in WITH_SHORTCUTS if e.name == "SelfAttention"]
    body = "from utils.standins import scaled_dot_product_attention as attend\nreturn attend(x, x, x)[0]"
    result = called(warm, body, "attention", taken_out(exercise)).result
    torch.testing.assert_close(result, torch.nn.functional.scaled_dot_product_attention(X, X, X))


HONEST = [
    (e.name, a.name) for e in WITH_SHORTCUTS for a in answers_of(e.name, "correct")
    if any(word in a.source for word in ("getattr(", "setattr(", "functools.wraps"))
]  # fmt: skip


def test_there_is_honest_code_that_is_looked_at_twice() -> None:
    assert len(HONEST) >= 3


@pytest.mark.parametrize(
    ("looks", "with_them", "guilty"),
    [([0, 0], [1], True), ([0, 0], [0, 1], True), ([0, 0], [0, 0], False), ([0, 1], [1], False), ([1], [1], False)],
)
def test_an_answer_that_fails_now_and_then_is_not_accused(
    warm: WarmClient, monkeypatch: pytest.MonkeyPatch, looks: list[int], with_them: list[int], guilty: bool
) -> None:
    """Both looks have to fail where the function is gone, and one has to pass where it is there."""
    names = [test.name for test in hidden_tests_of("softmax")]
    without, within = iter(looks), iter(with_them)

    def passed(self: SecondLook, exercise: Exercise, found: object, session: Session, seed: str) -> set[str]:
        if exercise.name != "softmax" or seed == OWN_ANSWER:
            return {test.name for test in hidden_tests_of(exercise.name)}
        return set(names) if next(without if session.without else within) else set()

    monkeypatch.setattr(SecondLook, "_passed", passed)
    result = Grader("secret", warm=warm).grade_handed(parse(notebooks.with_answers(softmax=ODD)))
    told = notebooks.exercise(result.as_json(), "softmax")
    assert (told["mistakes"] == ["hides_a_shortcut"]) == guilty
    assert told["score"] == (0 if guilty else notebooks.POINTS["softmax"])


THROUGH_A_LIBRARY = """
import contextlib


class Taking(contextlib.redirect_stdout):
    _stream = "modules"

    def taken(self):
        return self._old_targets[-1]


taking = Taking({})
with taking:
    modules = taking.taken()
collector = modules["gc"]
collector.unfreeze()
for found in collector.get_objects():
    if isinstance(found, dict) and "Shortcut" + "Watch" in found:
        found["Shortcut" + "Watch"].hear = lambda self, name: None


def softmax(x, dim=-1):
    return torch.softmax(x, dim)
"""


def test_a_librarys_private_part_is_no_way_around(warm: WarmClient) -> None:
    """Without the second look it is one: nothing in it is a word that only tampering uses."""
    handed = parse(notebooks.with_answers(softmax=THROUGH_A_LIBRARY))
    graded = Grader("secret", warm=warm).grade_handed(handed)
    told = notebooks.exercise(graded.as_json(), "softmax")
    assert (told["score"], told["status"], told["mistakes"][0]) == (0, "forbidden", "hides_a_shortcut")
    page = feedback_html(graded)
    assert "fails hidden tests that it passes otherwise" in page
    # The process that was tampered with has seen no shortcut, and says so; that is not passed on.
    (softmax,) = [each for each in graded.exercises if each.name == "softmax"]
    assert softmax.properties
    assert not any("does without" in line["title"].lower() and line["passed"] for line in softmax.properties)

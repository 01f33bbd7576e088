"""Hidden tests give the same side by side as one after the other, and no input enters a worker before its time."""

from collections.abc import Callable

import pytest
import torch

from autograder import hidden
from autograder.answers import answers_of
from autograder.hidden import HiddenTest
from autograder.hidden.expectations import close, expect
from autograder.hidden.randomness import Randomness
from autograder.sandbox.client import WarmClient, WorkerHandle
from autograder.sources import answer_with_imports
from autograder.trial import Trial
from utils.catalogue import find_exercise
from utils.student import Student

SOFTMAX = find_exercise("softmax")


def prepared(worker: WorkerHandle, source: str) -> WorkerHandle:
    """Run a source in a worker."""
    worker.request("cell", {"name": "<cell 1>", "source": source})
    return worker


def trial_of(*runs: Callable) -> Trial:
    """Make a trial of hidden tests that are made up here."""
    tests = [HiddenTest("softmax", f"test_{i}", "It holds.", 1, run, 10) for i, run in enumerate(runs)]
    return Trial(SOFTMAX, tests, lambda test: Randomness("secret", test.name))


CASES = [
    (name, kind, position)
    for name in ("softmax", "scaled_dot_product_attention", "TransformerEmbedding", "MultiHeadAttention", "mask_tokens")
    for kind, position in (("correct", 0), ("wrong", 0), ("wrong", 1), ("wrong", 2))
]


@pytest.mark.parametrize(("name", "kind", "position"), CASES)
def test_side_by_side_gives_what_one_by_one_gives(warm: WarmClient, name: str, kind: str, position: int) -> None:
    exercise = find_exercise(name)
    answer = answers_of(name, kind)[position].source
    found = []
    for way in (Trial.side_by_side, Trial.one_by_one):
        trial = Trial(exercise, hidden.tests_of(name), lambda test: Randomness("secret", test.name))
        worker = warm.worker()
        try:
            way(trial, prepared(worker, f"{answer_with_imports(exercise)}\n{answer}"))
        finally:
            worker.close()
        error = trial.first_error()
        results = [trial.results[test.name] for test in trial.tests]
        found.append((results, error and (error.type_name, error.line), trial.shortcuts_used()))
    assert found[0] == found[1]
    assert all(result.passed for result in found[0][0]) == (kind == "correct")


LOOKS_AHEAD = """
import os, select, stat

def is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False

(line,) = filter(is_socket, range(64))
waiting = asked = 0

def softmax(x):
    global waiting, asked
    waiting += len(select.select([line], [], [], 0)[0])
    asked += 1
    return x

def seen():
    return waiting, asked
"""


def test_a_question_is_sent_when_the_one_before_it_has_been_answered(worker: WorkerHandle) -> None:
    def asks_three_times(student: Student, rng: Randomness) -> None:
        for _ in range(3):
            x = rng.normal(4)
            close(student.softmax(x), x)

    trial = trial_of(*[asks_three_times] * 5)
    assert trial.side_by_side(prepared(worker, LOOKS_AHEAD))
    assert all(result.passed for result in trial.results.values())
    assert Student(worker.request).seen() == (0, 15)


def test_questions_of_all_tests_are_put_before_any_test_goes_on(worker: WorkerHandle) -> None:
    order: list[int] = []

    def noted(number: int) -> Callable:
        def run(student: Student, rng: Randomness) -> None:
            for _ in range(2):
                student.softmax(rng.normal(1))
                order.append(number)

        return run

    assert trial_of(noted(0), noted(1), noted(2)).side_by_side(prepared(worker, "def softmax(x): return x"))
    assert order == [0, 1, 2] * 2


def test_a_lost_worker_leaves_nothing_behind(worker: WorkerHandle) -> None:
    prepared(worker, "import os\n\ndef softmax(x):\n    return x if x > 0 else os._exit(1)")

    def asks(student: Student, rng: Randomness) -> None:
        student.softmax(torch.ones(()))
        student.softmax(-torch.ones(()))

    trial = trial_of(lambda student, rng: student.softmax(torch.ones(())), asks, asks)
    assert not trial.side_by_side(worker)
    assert not trial.results
    assert not trial.errors


@pytest.mark.parametrize(
    "odd",
    [object(), 2**2000, {(1, 2): 3}, torch.zeros(9 << 20, dtype=torch.float64)],
    ids=["an object", "a very large number", "a tuple as a key", "72 MB"],
)
def test_a_question_that_cannot_be_sent_costs_its_test_only(worker: WorkerHandle, odd: object) -> None:
    prepared(worker, "def softmax(x): return 1")
    trial = trial_of(
        lambda student, _: student.softmax(7),
        lambda student, _: student.softmax(odd),
        lambda student, _: student.softmax(8),
    )
    assert trial.side_by_side(worker)
    assert [result.passed for result in trial.results.values()] == [True, False, True]


def test_questions_that_are_too_much_together_are_put_apart(worker: WorkerHandle) -> None:
    prepared(worker, "def softmax(x): return x.sum()")
    large = torch.ones(3 << 20, dtype=torch.float64)  # 24 MiB

    def asks(student: Student, _: Randomness) -> None:
        expect(student.softmax(large) == 3 << 20, "another sum")

    trial = trial_of(*[asks] * 4)
    assert trial.side_by_side(worker)
    assert all(result.passed for result in trial.results.values())


RETURNS_MUCH = """
import torch

def softmax(x):
    return torch.zeros(5 << 20, dtype=torch.float64) if x else 1
"""


def test_answers_that_are_too_much_together_are_asked_for_one_by_one(worker: WorkerHandle) -> None:
    trial = trial_of(*[lambda student, _: student.softmax(True)] * 3)
    assert not trial.side_by_side(prepared(worker, RETURNS_MUCH))  # 120 MiB in one message
    assert trial.one_by_one(worker) is None
    assert all(result.passed for result in trial.results.values())


def test_after_a_seed_nobody_else_draws(worker: WorkerHandle) -> None:
    prepared(worker, "import torch\n\ndef softmax():\n    return torch.rand(())")

    def seeds(student: Student, rng: Randomness) -> None:
        student.softmax()
        student.seed(7)
        generator = torch.Generator().manual_seed(7)
        for _ in range(4):
            expect(student.softmax() == torch.rand((), generator=generator), "another draw")

    def draws(student: Student, rng: Randomness) -> None:
        for _ in range(6):
            student.softmax()

    trial = trial_of(draws, seeds, draws, seeds)
    assert trial.side_by_side(worker)
    assert [result.message for result in trial.results.values() if not result.passed] == []


def test_a_test_that_learns_nothing_keeps_no_other_from_learning(worker: WorkerHandle) -> None:
    prepared(worker, "def softmax(x): return x * 2")

    def learns(student: Student, rng: Randomness) -> None:
        for _ in range(3):
            x = rng.normal(2).requires_grad_()
            (gradient,) = torch.autograd.grad(student.softmax(x).sum(), x)
            expect(gradient.tolist() == [2, 2], "no gradient")
            expect(torch.is_grad_enabled(), "switched off")

    def learns_nothing(student: Student, rng: Randomness) -> None:
        for _ in range(3):
            with torch.no_grad():
                student.softmax(rng.normal(2))
                expect(not torch.is_grad_enabled(), "switched on")

    trial = trial_of(learns, learns_nothing, learns)
    assert trial.side_by_side(worker)
    assert [result.message for result in trial.results.values() if not result.passed] == []
    assert torch.is_grad_enabled()


def test_one_by_one_stops_where_it_is_told_to(worker: WorkerHandle) -> None:
    prepared(worker, "def softmax(x): return x")
    reached = []

    def fails(student: Student, rng: Randomness) -> None:
        expect(False, "nothing is right")

    trial = trial_of(fails, lambda student, rng: reached.append(1))
    assert trial.one_by_one(worker, stops_at_failures=True) is None
    assert [result.message for result in trial.results.values()] == ["It holds. (nothing is right)", "not reached"]
    assert not reached

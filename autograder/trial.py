"""Run the hidden tests of one exercise on a worker: side by side where that is safe, else one after the other.

Two processes that take turns push each other's code and data out of the processor's caches. Side by side, each test runs until
it has a question to the worker; then all questions are put together, and all tests go on. That takes a fraction of the
messages and turns. A test's next question is still sent when its last one has been answered.
"""

import builtins
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from greenlet import GreenletExit, getcurrent, greenlet

from autograder.hidden import HiddenTest
from autograder.hidden.expectations import Unmet
from autograder.hidden.randomness import Randomness
from autograder.results import TestResult
from autograder.sandbox.client import Question, WorkerHandle, WorkerLost
from utils.catalogue import Exercise
from utils.execution import LearnerError
from utils.student import Student, Transport

KNOWN_ERRORS = {
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
}


@dataclass
class Trial:
    """The hidden tests of an exercise that are to be run, and what has come out of them."""

    exercise: Exercise
    tests: list[HiddenTest]
    randomness: Callable[[HiddenTest], Randomness]  # the same draws however often a test is run
    results: dict[str, TestResult] = field(default_factory=dict)
    errors: dict[str, LearnerError] = field(default_factory=dict)  # that learners' code raised
    shortcuts: dict[str, list[str]] = field(default_factory=dict)  # forbidden built-ins that ran

    def side_by_side(self, worker: WorkerHandle) -> bool:
        """Run all tests; False where the worker is lost, and then nothing has come out."""
        try:
            _SideBySide(worker).run([lambda ask, test=test: self.run(test, ask) for test in self.tests])
        except WorkerLost:
            for found in (self.results, self.errors, self.shortcuts):
                found.clear()
            return False
        return True

    def one_by_one(self, worker: WorkerHandle, stops_at_failures: bool = False) -> WorkerLost | None:
        """Run test after test, until the worker is lost; gives that loss. What isn't run has failed."""
        lost: WorkerLost | None = None
        for test in self.tests:
            failed = any(not result.passed for result in self.results.values())
            if lost is not None or (failed and stops_at_failures):
                self.results[test.name] = TestResult(test.name, False, test.weight, "not reached")
                continue
            try:
                self.run(test, worker.request)
            except WorkerLost as problem:
                lost = problem
                self.results[test.name] = TestResult(test.name, False, test.weight, str(problem))
        return lost

    def first_error(self) -> LearnerError | None:
        """Give the first error that learners' code raised, in the order of the tests."""
        return next((self.errors[test.name] for test in self.tests if test.name in self.errors), None)

    def shortcuts_used(self) -> list[str]:
        """Give the forbidden built-ins that ran in any test."""
        found = [name for test in self.tests for name in self.shortcuts.get(test.name, ())]
        return list(dict.fromkeys(found))

    def run(self, test: HiddenTest, transport: Transport) -> None:
        """Run one hidden test; its message is our own words, never what the learner's code said."""
        student = Student(transport, self.exercise.shortcuts, self.exercise.chapter)
        reason = None
        try:
            test.run(student, self.randomness(test))
        except Unmet as unmet:
            reason = str(unmet)
        except LearnerError as error:
            self.errors[test.name] = error
            reason = f"{_kind(error)} in line {error.line} of the cell" if error.line else _kind(error)
        except WorkerLost:
            raise
        except Exception:
            reason = "what is returned can't be used"  # the test stumbled over a result of an unforeseen kind
        finally:
            self.shortcuts[test.name] = student.shortcuts_used
        message = f"{test.sentence} ({reason})" if reason else ""
        self.results[test.name] = TestResult(test.name, reason is None, test.weight, message)


def _kind(error: LearnerError) -> str:
    """Name an exception's type by a name of Python's own, not one that the learner chose."""
    return next((name for name in (error.type_name, *error.bases) if name in KNOWN_ERRORS), "an exception")


class _SideBySide:
    """Greenlets that put questions to one worker."""

    def __init__(self, worker: WorkerHandle) -> None:
        self.worker = worker
        self.hub = getcurrent()
        self.alone: set[greenlet] = set()

    def run(self, tasks: list[Callable[[Transport], None]]) -> None:
        """Run each task to its end; WorkerLost where the worker is lost."""
        waiting: list[tuple[greenlet, Question]] = []
        try:
            for task in tasks:
                self._go_on(waiting, greenlet(task), self.ask)
            while waiting:
                answered, waiting = waiting, []
                answers = self.worker.request_all([question for _task, question in answered])
                for (task, _question), answer in zip(answered, answers, strict=True):
                    self._go_on(waiting, task, answer)
        finally:
            for task in [task for task, _question in waiting]:
                task.throw(GreenletExit)

    @staticmethod
    def _go_on(waiting: list, task: greenlet, value: object) -> None:
        """Let a task run to its next question, or to its end."""
        if not torch.is_grad_enabled():  # one setting for the whole thread
            torch.set_grad_enabled(True)
        question = task.throw(value) if isinstance(value, Exception) else task.switch(value)
        if not task.dead:
            waiting.append((task, question))

    def ask(self, operation: str, fields: dict, seconds: float = 10) -> dict:
        """Put a question, and let other tasks go on until it is answered."""
        me = getcurrent()
        if operation == "seed":  # nobody else may draw from PyTorch's generator from here on
            self.alone.add(me)
        if operation == "backward" or me in self.alone:  # in a backward pass autograd is on the stack
            return self.worker.request(operation, fields, seconds)
        learns = torch.is_grad_enabled()
        answer = self.hub.switch(Question(operation, fields, seconds))
        if learns != torch.is_grad_enabled():
            torch.set_grad_enabled(learns)
        return answer

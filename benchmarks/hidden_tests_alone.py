"""Run the hidden tests of notebooks in this very process: no sandbox, no wire, no right pieces, no words for mistakes.

Nobody should grade like that. It shows what the tests themselves cost, so what is left for everything around them.
"""

import contextlib
import io
import sys

import torch

from autograder.cells import cells_to_run, make_plan
from autograder.hidden import tests_of
from autograder.hidden.randomness import Randomness
from autograder.sandbox.worker import Worker
from autograder.submissions import Submission, parse
from autograder.trial import Trial
from benchmarks.measuring import Measured


def grade(submissions: list[Submission]) -> Measured:
    """Run all hidden tests of all notebooks; gives what it cost. Once before that, to warm up."""
    torch.set_num_threads(1)
    main = sys.modules["__main__"]  # a worker's namespace takes its name
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            _run(submissions[0])
            with Measured() as measured:
                for submission in submissions:
                    _run(submission)
    finally:
        sys.modules["__main__"] = main
    return measured


def _run(submission: Submission) -> None:
    handed = parse(submission.read(), submission.name)
    plan = make_plan(handed, handed.chapter)
    worker = Worker()
    worker.cells(handed.chapter.id, [(cell.name, cell.source, []) for cell in cells_to_run(plan)])
    for exercise in handed.chapter.exercises:
        if plan.exercises[exercise.name].status == "ready":
            trial = Trial(exercise, tests_of(exercise.name), lambda test: Randomness("bench", test.exercise, test.name))
            for test in trial.tests:
                trial.run(test, lambda operation, fields, _seconds=10: worker.executor.request(operation, fields))

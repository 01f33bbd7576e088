"""`course validate`: run the visible checks on a notebook, in the sandbox and by the path that grading takes.

A notebook is read, its cells are chosen and run, and errors, time-outs and shortcuts count exactly as when it is graded;
only the tests differ: the visible checks stand in for the hidden ones. So a notebook can't be valid here and break there.
"""

import time

from autograder.grader import VISIBLE_SECONDS, Grader
from autograder.results import ExerciseResult, SubmissionResult, TestResult
from autograder.sandbox.client import RemoteStudent, WorkerLost
from autograder.session import Session
from autograder.visible import VisibleReport
from utils.catalogue import Chapter, Exercise
from utils.report import examine

HIDDEN_NOT_RUN = (
    "The hidden tests that grade were not run: they draw other inputs, so a valid notebook can still lose points."
)


class Validator(Grader):
    """A grader whose tests are the visible checks."""

    def _run_hidden_tests(
        self, exercise: Exercise, result: ExerciseResult, session: Session, seed: str, passed: dict[str, TestResult]
    ) -> None:
        """Run the whole visible check in place of the hidden tests; an exercise has its points, or none."""
        worker = session.open()
        worker.deadline = time.monotonic() + VISIBLE_SECONDS
        try:
            report = examine(RemoteStudent(worker, exercise.shortcuts, exercise.chapter), exercise.name)
        except WorkerLost as lost:
            session.close()
            result.status, result.message = lost.status, f"While the check ran, {lost}."
            return
        except RuntimeError as error:  # a result of a kind that the check itself stumbles over
            session.close()
            result.status, result.message = "failed", f"What is returned can't be used ({error})."
            return
        worker.deadline = None
        result.tests = [TestResult(line.title, line.passed, 1) for line in report.properties]
        result.mistakes = [diagnosis.name for diagnosis in report.diagnoses]
        if report.passed:
            result.status, result.score = "passed", float(exercise.points)
            return
        forbidden = "uses_a_shortcut" in result.mistakes
        result.status = "forbidden" if forbidden else report.status
        result.message = (
            " ".join(d.sentence for d in report.diagnoses) or "Not started: the cell still raises NotImplementedError."
        )

    def _name_known_mistakes(
        self, result: SubmissionResult, chapter: Chapter, session: Session
    ) -> dict[str, VisibleReport]:
        """The visible check has said it all."""
        return {}

    def _explain(
        self, result: SubmissionResult, chapter: Chapter, session: Session, told: dict[str, VisibleReport]
    ) -> None:
        """The visible check has said it all."""


def is_valid(result: SubmissionResult) -> bool:
    """Say whether every exercise passes its visible check."""
    return bool(result.exercises) and all(exercise.status == "passed" for exercise in result.exercises)

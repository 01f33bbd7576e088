"""Look again at answers that may hide what they use: run what passed where PyTorch's own functions are gone.

The watch for shortcuts lives in the learner's process, and code that isn't plain may have changed it. This does without it: an
answer that leans on a function fails where that function fails, whatever it does to be unseen.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from autograder.cells import FoundExercise, Plan, RunnableCell
from autograder.results import ExerciseResult, SubmissionResult
from autograder.sandbox.client import WarmClient
from autograder.session import SUBMISSION_SECONDS, Session
from autograder.sources import answer_with_imports
from utils.catalogue import Exercise, find_exercise
from utils.report import hidden_shortcut_diagnosis

LOOKS = 2  # at an answer without what it may not use, and with it, before anything is concluded
OWN_ANSWER = "the course's own answer"  # in place of a submission's seed

GradeExercise = Callable[[Exercise, FoundExercise, Session, str], ExerciseResult]


class SecondLook:
    """Finds exercises that pass with a forbidden function only."""

    def __init__(self, grade_exercise: GradeExercise, warm: WarmClient) -> None:
        self._grade_exercise, self._warm = grade_exercise, warm
        self._telling: dict[str, set[str]] = {}

    def at(
        self,
        result: SubmissionResult,
        plan: Plan,
        session: Session,
        seed: str,
        pieces: dict[str, dict[int, list[Exercise]]],
    ) -> None:
        """Take the points of exercises that hide a shortcut. `pieces` are right pieces that an exercise was graded with."""
        for mine in result.exercises:
            exercise = find_exercise(mine.name)
            if not exercise.shortcuts or not mine.score:
                continue
            found = plan.exercises[exercise.name]
            fresh = session.afresh(replaced=pieces.get(exercise.name, {}))
            gone = {test.name for test in mine.tests if test.passed}
            for _ in range(LOOKS):  # an answer that fails now and then hasn't shown anything yet
                if gone:
                    gone -= self._passed(exercise, found, replace(fresh, without=exercise), seed)
            gone = gone & self.telling(exercise) if gone else gone
            with_them = (self._passed(exercise, found, fresh, seed) for _ in range(LOOKS))
            if gone and any(gone & passed for passed in with_them):
                diagnosis = hidden_shortcut_diagnosis(exercise)
                mine.score, mine.status, mine.mistakes = 0.0, "forbidden", [diagnosis.name]
                mine.message, mine.advice = diagnosis.sentence, [{"title": diagnosis.title, "hint": diagnosis.hint}]

    def telling(self, exercise: Exercise) -> set[str]:
        """Give the tests that the course's own answer passes without the shortcuts; a few build them in themselves."""
        if exercise.name not in self._telling:
            cell = RunnableCell(1, answer_with_imports(exercise), False)
            until = time.monotonic() + SUBMISSION_SECONDS
            session = Session(self._warm, exercise.chapter, [cell], until, without=exercise)
            right = FoundExercise(exercise.name, 1, cell.source, "ready")
            self._telling[exercise.name] = self._passed(exercise, right, session, OWN_ANSWER)
        return self._telling[exercise.name]

    def _passed(self, exercise: Exercise, found: FoundExercise, session: Session, seed: str) -> set[str]:
        """Give the tests that pass in a worker of their own, prepared as a session says."""
        own = session.afresh()
        try:
            return {test.name for test in self._grade_exercise(exercise, found, own, seed).tests if test.passed}
        finally:
            own.close()

"""Measure the grader: correct answers must get full marks, wrong ones must lose some, and be named."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from autograder.answers import Answer, answers_of
from autograder.grader import Grader
from autograder.results import ExerciseResult
from autograder.submissions import as_notebook, parse
from utils.catalogue import Exercise


@dataclass
class AuditedExercise:
    """The counts of one exercise, and each answer that was judged otherwise than it should be."""

    correct: int = 0
    accepted: int = 0
    wrong: int = 0
    rejected: int = 0
    named: int = 0
    failures: list[dict] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether every correct answer was accepted and every wrong one rejected."""
        return self.accepted == self.correct and self.rejected == self.wrong


def grade_answer(grader: Grader, exercise: Exercise, source: str) -> ExerciseResult:
    """Grade one answer as if it stood alone in its chapter's notebook; hidden tests end where one fails."""
    import nbformat

    notebook = as_notebook([(exercise.name, source)], exercise.chapter)
    result = grader.grade_handed(parse(nbformat.writes(notebook).encode()), only=exercise)
    return next(e for e in result.exercises if e.name == exercise.name)


def audit(
    grader: Grader, exercises: list[Exercise], folder: Path, tick: Callable[[], None] = lambda: None
) -> dict[str, AuditedExercise]:
    """Grade all answers of a folder to the given exercises."""
    audited = {}
    for exercise in exercises:
        counts = audited[exercise.name] = AuditedExercise()
        for kind in ("correct", "wrong"):
            for answer in answers_of(exercise.name, kind, folder):
                _judge(grade_answer(grader, exercise, answer.source), answer, kind, counts)
                tick()
    return audited


def _judge(result: ExerciseResult, answer: Answer, kind: str, counts: AuditedExercise) -> None:
    full = result.score >= result.points
    failure = {
        "file": str(answer.file),
        "kind": kind,
        "message": result.message,
        "mistakes": result.mistakes,
    }
    if kind == "correct":
        counts.correct += 1
        counts.accepted += full
        if not full:
            counts.failures.append(failure)
        return
    counts.wrong += 1
    counts.rejected += not full
    counts.named += bool(result.mistakes) and not full
    if full or not result.mistakes:
        counts.failures.append(failure | {"message": result.message if not full else "got full marks"})

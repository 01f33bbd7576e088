"""What grading gives: one result per submission, per exercise, per hidden test."""

from dataclasses import asdict, dataclass, field
from typing import Any

SCHEMA = 1


@dataclass
class TestResult:
    """The outcome of one hidden test. `message` holds no input and no expected value."""

    name: str
    passed: bool
    weight: float
    message: str = ""


@dataclass
class ExerciseResult:
    """The outcome of one exercise.

    `status` is passed, partial, failed, error, timeout, missing, not_started or forbidden; `mistakes` are names.
    """

    name: str
    points: int
    score: float = 0.0
    status: str = "missing"
    mistakes: list[str] = field(default_factory=list)
    message: str = ""
    tests: list[TestResult] = field(default_factory=list)
    # For the feedback page only:
    source: str = field(default="", repr=False)
    line: int | None = None
    advice: list[dict[str, str]] = field(default_factory=list)
    properties: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Give the part that results.json shows."""
        shown = ("name", "points", "score", "status", "mistakes", "message")
        return {name: getattr(self, name) for name in shown} | {"tests": [asdict(test) for test in self.tests]}


@dataclass
class LatePenalty:
    """When a submission was handed in, what says so, and what its lateness costs. `before` are the points without it."""

    handed_in: str
    source: str
    due: str
    seconds: int
    percent: float
    before: float
    points: float


@dataclass
class SubmissionResult:
    """The outcome of one submission. `error` says what was wrong with it as a whole, None where nothing was."""

    student: str
    chapter: str
    path: str
    max_score: float = 0.0
    seconds: float = 0.0
    error: str | None = None
    exercises: list[ExerciseResult] = field(default_factory=list)
    late: LatePenalty | None = None  # only where a due time was given
    digest: str = ""  # SHA-256 of the bytes that were graded; empty where there were none
    lasting: bool = True  # False where the grader failed, not the notebook: such a result is not remembered
    review: list[str] = field(
        default_factory=list
    )  # signs of tampering, for a person to look at; no points depend on them

    @property
    def earned(self) -> float:
        """Points earned, before any penalty."""
        return round(sum(exercise.score for exercise in self.exercises), 2)

    @property
    def score(self) -> float:
        """Points that count."""
        return round(self.earned - (self.late.points if self.late else 0), 2)

    def as_json(self) -> dict[str, Any]:
        """Give the form of results.json."""
        return {
            "student": self.student,
            "chapter": self.chapter,
            "path": self.path,
            "score": self.score,
            "max_score": self.max_score,
            "seconds": round(self.seconds, 3),
            "error": self.error,
            "exercises": [exercise.as_json() for exercise in self.exercises],
            **({"late": asdict(self.late)} if self.late else {}),
            **({"review": self.review} if self.review else {}),
        }

    def everything(self) -> dict[str, Any]:
        """Give all of it as plain values, to be remembered. Lateness is not: another due time may hold tomorrow."""
        return asdict(self) | {"late": None}

    @classmethod
    def from_everything(cls, content: dict[str, Any]) -> "SubmissionResult":
        """Make a result again of what `everything` gave."""
        exercises = [
            ExerciseResult(**exercise | {"tests": [TestResult(**test) for test in exercise["tests"]]})
            for exercise in content["exercises"]
        ]
        return cls(**content | {"exercises": exercises})


def partial_score(points: int, tests: list[TestResult]) -> float:
    """Give the share of the points that passed tests carry, rounded down to hundredths: full only if all pass."""
    total = sum(test.weight for test in tests)
    earned = sum(test.weight for test in tests if test.passed)
    if not total or not earned:
        return 0.0
    return float(points) if earned == total else int(100 * points * earned / total) / 100

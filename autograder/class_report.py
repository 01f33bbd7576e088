"""The instructor's page about a class: how many solved what, and which mistakes to talk about first."""

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from autograder.hidden import tests_of
from autograder.paths import TEMPLATES
from autograder.whole_file import written_whole
from utils.card import sentence, with_code
from utils.catalogue import Chapter, Exercise, find_chapter, find_exercise
from utils.fixtures import fixture_of
from utils.report import hidden_shortcut_diagnosis
from utils.shortcuts import family_in_words

# Shares of a bar, in the order in which they are drawn.
GROUPS = ("passed", "partly", "failed", "not_started")
GROUP_WORDS = {"passed": "solved", "partly": "partly", "failed": "not right", "not_started": "not started or missing"}
_GROUP_OF = {"passed": "passed", "partial": "partly", "not_started": "not_started", "missing": "not_started"}
MISTAKES_SHOWN = 5


@dataclass(frozen=True)
class CommonMistake:
    """A mistake by name, how many made it, and what to say about it."""

    name: str
    count: int
    title: str
    hint: str


@dataclass
class ExerciseCounts:
    """How an exercise went in a class."""

    exercise: Exercise
    groups: dict[str, int]
    average: float
    mistakes: list[CommonMistake] = field(default_factory=list)
    failing_tests: list[tuple[str, int]] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many submissions there are."""
        return sum(self.groups.values())

    @property
    def tried(self) -> int:
        """How many have begun."""
        return self.total - self.groups["not_started"]

    def percent(self, group: str) -> float:
        """Give a group's share of the bar."""
        return 100 * self.groups[group] / self.total if self.total else 0.0


@dataclass
class ChapterCounts:
    """How a chapter went in a class."""

    chapter: Chapter
    submissions: int
    unreadable: int
    average: float
    full_marks: int
    histogram: list[int]
    exercises: list[ExerciseCounts]

    @property
    def start_with(self) -> ExerciseCounts | None:
        """Give the exercise that cost most points of those who tried: where the lecture can start."""
        worth = [e for e in self.exercises if e.mistakes or e.failing_tests]
        return max(worth, key=lambda e: e.exercise.points * e.tried - e.average * e.total, default=None)


def count_class(submissions: list[dict[str, Any]]) -> list[ChapterCounts]:
    """Count each chapter's submissions; those of which no chapter is known are in none."""
    chapters = sorted({submission["chapter"] for submission in submissions if submission["chapter"]})
    return [_count_chapter(find_chapter(c), [s for s in submissions if s["chapter"] == c]) for c in chapters]


def _count_chapter(chapter: Chapter, submissions: list[dict[str, Any]]) -> ChapterCounts:
    scores = [sum(exercise["score"] for exercise in submission["exercises"]) for submission in submissions]
    unreadable = sum(
        bool(s.get("error")) and all(e["status"] == "missing" for e in s["exercises"]) for s in submissions
    )
    tenths = [0] * 10
    for score in scores:
        tenths[min(9, int(10 * score / chapter.points)) if chapter.points else 0] += 1
    return ChapterCounts(
        chapter,
        len(submissions),
        unreadable,
        sum(scores) / len(scores),
        sum(score >= chapter.points for score in scores),
        tenths,
        [_count_exercise(exercise, submissions) for exercise in chapter.exercises],
    )


def _count_exercise(exercise: Exercise, submissions: list[dict[str, Any]]) -> ExerciseCounts:
    results = [e for submission in submissions for e in submission["exercises"] if e["name"] == exercise.name]
    groups = Counter(_GROUP_OF.get(result["status"], "failed") for result in results)
    mistakes = Counter(name for result in results for name in dict.fromkeys(result["mistakes"]))
    failing = Counter(t["name"] for r in results if not r["mistakes"] for t in r["tests"] if not t["passed"])
    return ExerciseCounts(
        exercise,
        {group: groups[group] for group in GROUPS},
        sum(result["score"] for result in results) / len(results) if results else 0.0,
        [CommonMistake(name, n, *_words(exercise.name, name)) for name, n in mistakes.most_common(MISTAKES_SHOWN)],
        [(_sentence_of(exercise.name, name), n) for name, n in failing.most_common(3)],
        dict(Counter(result["status"] for result in results)),
    )


@cache
def _words(exercise: str, mistake: str) -> tuple[str, str]:
    """Give the title and the hint that learners read about a mistake; its bare name where it isn't a recorded one."""
    try:
        recorded = {m.name: m for m in fixture_of(exercise).mistakes}
    except (FileNotFoundError, KeyError):
        recorded = {}
    if mistake == "uses_a_shortcut":
        families = " and ".join(family_in_words(family) for family in find_exercise(exercise).shortcuts)
        return f"the answer leans on {families}", "This exercise builds it by hand, so with the built-in it scores 0."
    if mistake == "hides_a_shortcut":
        hidden = hidden_shortcut_diagnosis(find_exercise(exercise))
        return hidden.title, hidden.hint
    if mistake == "touches_the_watch":
        return "the notebook reaches for what watches for shortcuts", "Exercises that forbid shortcuts then score 0."
    if mistake in recorded:
        return recorded[mistake].title, recorded[mistake].hint
    return mistake.replace("_", " "), ""


def _sentence_of(exercise: str, test: str) -> str:
    """Give a hidden test's sentence."""
    return next((known.sentence for known in tests_of(exercise) if known.name == test), test.replace("_", " "))


def report_html(submissions: list[dict[str, Any]]) -> str:
    """Make the page: one file, no name of a student in it, so that it can be shown in the lecture."""
    pages = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return pages.get_template("class_report.html.j2").render(
        chapters=count_class(submissions),
        strangers=sum(not submission["chapter"] for submission in submissions),
        groups=GROUPS,
        words=GROUP_WORDS,
        with_code=lambda text: jinja2.utils.markupsafe.Markup(with_code(sentence(text))),
    )


def write_report(submissions: list[dict[str, Any]], file: Path) -> None:
    """Write the page, whole or not at all."""
    with written_whole(file) as stream:
        stream.write(report_html(submissions))

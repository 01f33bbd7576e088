"""Run an exercise's probes on a student and say what holds and what doesn't."""

import time
from dataclasses import dataclass, field
from functools import cache

from utils.catalogue import Exercise, find_exercise
from utils.diagnosis import Diagnosis, diagnose
from utils.differences import Difference, first_difference
from utils.execution import LearnerError
from utils.fixtures import fixture_of
from utils.probes import Observation, Probe, observe, probes_of
from utils.shortcuts import family_in_words
from utils.student import Student


@dataclass(frozen=True)
class Property:
    """One line of a result card."""

    title: str
    passed: bool
    difference: Difference | None = None
    probe: Probe | None = None


@dataclass(frozen=True)
class Report:
    """What a visible check found: `passed`, `failed` or `not_started`, line by line, with the mistakes by name."""

    exercise: Exercise
    status: str
    properties: tuple[Property, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    error: LearnerError | None = None
    milliseconds: float = 0.0
    seen: dict[str, Observation] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every property holds."""
        return self.status == "passed"


def shortcut_diagnosis(exercise: Exercise, used: list[str]) -> Diagnosis:
    """Say which built-in an answer leans on, and why that isn't the exercise."""
    families = " and ".join(family_in_words(family) for family in exercise.shortcuts)
    return Diagnosis(
        "uses_a_shortcut",
        f"the answer calls {', '.join(used)}",
        f"This exercise builds by hand what {families} would do for you, so with it the exercise scores 0. "
        "Use smaller pieces: sums, products, exponentials.",
    )


def hidden_shortcut_diagnosis(exercise: Exercise) -> Diagnosis:
    """Say that an answer does nothing without a built-in that wasn't seen to run."""
    families = " and ".join(family_in_words(family) for family in exercise.shortcuts)
    return Diagnosis(
        "hides_a_shortcut",
        f"where {families} can't be called, this answer fails hidden tests that it passes otherwise",
        "So it uses them, in a way that keeps that from being seen, and the exercise scores 0. Build them from smaller pieces.",
    )


@cache
def _given(exercise: str) -> dict:
    return fixture_of(exercise).given


def examine(student: Student, name: str) -> Report:
    """Run all probes of an exercise; an unsolved stub is "not started"."""
    exercise = find_exercise(name)
    fixture = fixture_of(name)
    probes = [probe for probe in probes_of(name) if probe.name in fixture.right]
    started = time.perf_counter()
    found: dict[str, Observation] = {}
    errors: dict[str, LearnerError | None] = {}
    for probe in probes:
        found[probe.name], errors[probe.name] = observe(probe, student, dict(fixture.given[probe.name]))
        error = errors[probe.name]
        if error is not None and error.type_name == "NotImplementedError" and not error.message:
            return Report(exercise, "not_started", milliseconds=_since(started))
    properties = []
    for probe in probes:
        difference = first_difference(fixture.right[probe.name], found[probe.name], probe)
        properties.append(Property(probe.title, difference is None, difference, probe))
    failed = not all(line.passed for line in properties)
    diagnoses = diagnose(probes, found, errors, fixture) if failed else []
    if exercise.shortcuts:
        used = student.shortcuts_used
        properties.append(Property(shortcut_title(exercise), not used))
        if used:
            diagnoses.insert(0, shortcut_diagnosis(exercise, used))
    passed = all(line.passed for line in properties)
    first_error = next((error for error in errors.values() if error is not None), None)
    return Report(
        exercise,
        "passed" if passed else "failed",
        tuple(properties),
        tuple(diagnoses) if not passed else (),
        None if passed else first_error,
        _since(started),
        found,
    )


def shortcut_title(exercise: Exercise) -> str:
    """Give the line of the card that says which built-ins an answer does without."""
    return f"does without {_and(exercise.shortcuts)}"


def _and(families: tuple[str, ...]) -> str:
    return " and ".join(family_in_words(family) for family in families)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000

"""Hidden tests: functions of a student and a source of random numbers, in modules by exercise."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from autograder.hidden.randomness import Randomness
from utils.student import Student


@dataclass(frozen=True)
class HiddenTest:
    """One hidden test: how much of the exercise's points it carries, and the sentence that a learner reads."""

    exercise: str
    name: str
    sentence: str
    weight: float
    run: Callable[[Student, Randomness], None]
    seconds: float


_tests: dict[str, list[HiddenTest]] = {}


def hidden(exercise: str, weight: float = 1, seconds: float = 10) -> Callable:
    """Register a function as a hidden test; its docstring is what learners are told when it fails."""

    def register(function: Callable[[Student, Randomness], None]) -> Callable:
        sentence = inspect.getdoc(function)
        if not sentence:
            raise ValueError(f"hidden test {function.__name__} needs a docstring: learners read it")
        _tests.setdefault(exercise, []).append(
            HiddenTest(exercise, function.__name__, " ".join(sentence.split()), weight, function, seconds)
        )
        return function

    return register


@cache
def _register_all() -> None:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def tests_of(exercise: str) -> list[HiddenTest]:
    """List the hidden tests of an exercise."""
    _register_all()
    return _tests.get(exercise, [])

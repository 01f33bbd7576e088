"""Read what a worker tells of a visible check that it ran itself.

The check's inputs are public and its outcome is for the learner alone, so it may run beside their code. What it tells is still
taken for nothing more than text: known mistakes are put into our own words, other sentences are cut short, and no score
depends on any of it. A worker that has seen hidden inputs may say nothing but which known mistakes were made and which
properties hold: no sentence of its own, and no more than is told by which hidden tests fail.
"""

from dataclasses import dataclass, field

from utils.catalogue import Exercise
from utils.diagnosis import Diagnosis
from utils.fixtures import fixture_of
from utils.probes import probes_of
from utils.report import shortcut_title

MAX_DIAGNOSES = 8
MAX_TITLE, MAX_HINT = 400, 800  # characters


@dataclass(frozen=True)
class VisibleReport:
    """What a visible check found: `passed`, `failed` or `not_started`, which properties hold, and what is wrong."""

    status: str
    properties: list[tuple[str, bool]] = field(default_factory=list)
    diagnoses: list[Diagnosis] = field(default_factory=list)
    line: int | None = None


def read_report(exercise: Exercise, told: dict, in_our_words: bool = False) -> VisibleReport | None:
    """Read a report; None where it isn't one, or where it holds more than known mistakes and has to be `in_our_words`."""
    fixture = fixture_of(exercise.name)
    titles = [probe.title for probe in probes_of(exercise.name) if probe.name in fixture.right]
    if exercise.shortcuts:
        titles.append(shortcut_title(exercise))
    passed, status, line = told.get("properties"), told.get("status"), told.get("line")
    if status not in ("passed", "failed", "not_started") or not isinstance(passed, list):
        return None
    if status != "not_started" and len(passed) != len(titles):
        return None
    words = {mistake.name: (mistake.title, mistake.hint) for mistake in fixture.mistakes}
    diagnoses = []
    for entry in told.get("diagnoses") if isinstance(told.get("diagnoses"), list) else []:
        if not (isinstance(entry, list) and len(entry) == 3 and all(isinstance(text, str) for text in entry)):
            return None
        name, title, hint = entry
        if in_our_words and name not in words:
            return None
        title, hint = words.get(name, (title[:MAX_TITLE], hint[:MAX_HINT]))
        if title and name.isidentifier() and len(name) <= 80:
            diagnoses.append(Diagnosis(name, title, hint))
    return VisibleReport(
        status,
        [(title, holds is True) for title, holds in zip(titles, passed, strict=False)],
        diagnoses[:MAX_DIAGNOSES],
        line if isinstance(line, int) and 0 < line < 100_000 and not in_our_words else None,
    )

"""Compare two gradings of the same submissions: whose score changed, by how much, in which test, and why."""

import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.reports import plain_cell
from autograder.whole_file import written_whole


@dataclass(frozen=True)
class Change:
    """One thing that is different: an exercise's score, with the tests that came out differently, or a whole submission.

    `exercise` is empty where it is about the submission: handed in or gone, a late penalty, an error.
    """

    student: str
    chapter: str
    exercise: str
    before: float
    after: float
    why: str
    message_before: str = ""
    message_after: str = ""

    @property
    def by(self) -> float:
        """How much the score changed."""
        return round(self.after - self.before, 2)


@dataclass(frozen=True)
class Comparison:
    """All that is different between two gradings, and how many submissions are the same."""

    changes: tuple[Change, ...]
    unchanged: int

    @property
    def students(self) -> list[str]:
        """Whose score changed, in order."""
        return list(dict.fromkeys(change.student for change in self.changes))


def compare(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Comparison:
    """Compare two lists of submissions, as results.json holds them."""
    before, after = _by_key(old), _by_key(new)
    changes: list[Change] = []
    unchanged = 0
    for key in sorted(before | after):
        found = list(_changes(key, before.get(key), after.get(key)))
        changes += found
        unchanged += not found
    return Comparison(tuple(changes), unchanged)


def _by_key(submissions: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(submission["student"], submission["chapter"]): submission for submission in submissions}


def _changes(key: tuple[str, str], before: dict | None, after: dict | None) -> Iterator[Change]:
    if before is None:
        yield Change(*key, "", 0.0, after["score"], "only in the new results")
        return
    if after is None:
        yield Change(*key, "", before["score"], 0.0, "only in the old results")
        return
    old = {exercise["name"]: exercise for exercise in before["exercises"]}
    new = {exercise["name"]: exercise for exercise in after["exercises"]}
    for name in [*new, *(name for name in old if name not in new)]:
        change = _exercise_change(key, name, old.get(name), new.get(name))
        if change is not None:
            yield change
    penalties = [_penalty(submission) for submission in (before, after)]
    if penalties[0] != penalties[1]:
        yield Change(*key, "", -penalties[0], -penalties[1], "late penalty")
    elif before.get("error") != after.get("error") and not old and not new:
        yield Change(*key, "", before["score"], after["score"], "remark", before["error"] or "", after["error"] or "")


def _penalty(submission: dict[str, Any]) -> float:
    return (submission.get("late") or {}).get("points", 0.0)


def _exercise_change(key: tuple[str, str], name: str, before: dict | None, after: dict | None) -> Change | None:
    scores = [exercise["score"] if exercise else 0.0 for exercise in (before, after)]
    flipped = _flipped_tests(before, after)
    if scores[0] == scores[1] and not flipped:
        return None
    why = flipped or _status_change(before, after)
    messages = [exercise["message"] if exercise else "" for exercise in (before, after)]
    return Change(*key, name, *scores, why, *messages)


def _flipped_tests(before: dict | None, after: dict | None) -> str:
    """Say which hidden tests came out differently, are new, or are gone."""
    if not before or not after:
        return ""
    old, new = ({test["name"]: test for test in exercise["tests"]} for exercise in (before, after))
    words = []
    for name in [*new, *(name for name in old if name not in new)]:
        title = name.replace("_", " ")
        if name not in old or name not in new:
            if old and new:
                words.append(f"{title}: {'new' if name in new else 'gone'}")
        elif old[name]["passed"] != new[name]["passed"]:
            words.append(f"{title}: {'now passes' if new[name]['passed'] else 'now fails'}")
        elif old[name]["weight"] != new[name]["weight"]:
            words.append(f"{title}: weight {old[name]['weight']:g}, now {new[name]['weight']:g}")
    return "; ".join(words)


def _status_change(before: dict | None, after: dict | None) -> str:
    states = [
        exercise["status"].replace("_", " ") if exercise else "not in the results" for exercise in (before, after)
    ]
    if states[0] != states[1]:
        return f"{states[0]}, now {states[1]}"
    return "points changed" if before["points"] != after["points"] else "score changed"


COLUMNS = ("student", "chapter", "exercise", "before", "after", "by", "why", "message_before", "message_after")


def write_changes(comparison: Comparison, file: Path) -> None:
    """Write the changes as CSV, whole or not at all."""
    with written_whole(file, newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for change in comparison.changes:
            values = asdict(change) | {"by": change.by}
            writer.writerow(
                f"{value:g}" if isinstance(value, float | int) else plain_cell(value)
                for value in (values[column] for column in COLUMNS)
            )

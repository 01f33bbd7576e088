"""Grades as Canvas and Moodle import them: their columns, matched with their own list of who takes part."""

import csv
import io
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.reports import plain_cell
from autograder.whole_file import written_whole
from utils.catalogue import find_chapter

CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CANVAS_NAMES = ("SIS Login ID", "SIS User ID", "ID", "Student")
MOODLE_NAMES = ("Username", "Email address", "ID number")
MAX_FEEDBACK = 2000


class NotARoster(Exception):
    """A list of participants that can't be used; the text says what is wrong, and where to get one."""


@dataclass
class Export:
    """The rows to write, and what didn't fit together."""

    header: list[str]
    rows: list[list[str]] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)  # graded, but not in the roster
    without: list[str] = field(default_factory=list)  # in the roster, nothing graded
    ambiguous: list[str] = field(default_factory=list)  # fit more than one person in the roster


def read_roster(file: Path, wanted: tuple[str, ...], source: str) -> list[dict[str, str]]:
    """Read the list of participants that Canvas or Moodle exports."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
        delimiter = max(",;\t", key=text.split("\n", 1)[0].count)
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise NotARoster(f"{file} can't be read as CSV: {str(error)[:200]}. {source}") from None
    header = [name.strip() for name in rows[0]] if rows else []
    if not any(name in header for name in wanted):
        raise NotARoster(f"{file} has none of the columns {', '.join(wanted)}. {source}")
    people = [dict(zip(header, [cell.strip() for cell in row] + [""] * len(header), strict=False)) for row in rows[1:]]
    return [person for person in people if any(person.get(name) for name in wanted)]


def canvas_export(submissions: list[dict[str, Any]], roster: list[dict[str, str]], titles: dict[str, str]) -> Export:
    """Make Canvas's gradebook: a row per student, a column per chapter, and the points that are possible.

    `titles` gives a chapter's column as Canvas knows it, `Title (assignment id)`; Canvas makes a new assignment of any other.
    """
    people = [p for p in roster if not _is_canvas_extra(p)]
    chapters = sorted({s["chapter"] for s in submissions if s["chapter"]})
    export = Export([*CANVAS_COLUMNS, *(titles.get(chapter, _title(chapter)) for chapter in chapters)])
    possible = {s["chapter"]: s["max_score"] for s in submissions}
    points = [f"{possible[chapter]:g}" for chapter in chapters]
    export.rows.append(["    Points Possible", "", "", "", "", *points])
    found = _match(submissions, people, CANVAS_NAMES, export)
    for position, person in enumerate(people):
        scores = found.get(position, {})
        if scores:
            # A column that is left empty changes nothing in Canvas.
            cells = [f"{scores[c]['score']:g}" if c in scores else "" for c in chapters]
            export.rows.append([*(_as_given(person.get(column, "")) for column in CANVAS_COLUMNS), *cells])
    return export


def _is_canvas_extra(person: dict[str, str]) -> bool:
    name = person.get("Student", "")
    return name == "Points Possible" or (name == "Student, Test" and not person.get("SIS User ID"))


def moodle_export(submissions: list[dict[str, Any]], roster: list[dict[str, str]], titles: dict[str, str]) -> Export:
    """Make what Moodle's grade import reads: who (as Moodle knows them), and for each chapter the grade and feedback.

    Moodle wants grade and feedback of an item together: imported alone, feedback wipes the grade out.
    """
    who = [column for column in ("ID number", "Email address", "Username") if any(p.get(column) for p in roster)]
    chapters = sorted({s["chapter"] for s in submissions if s["chapter"]})
    names = [titles.get(chapter, _title(chapter)) for chapter in chapters]
    export = Export([*who, *(column for name in names for column in (name, f"{name} (Feedback)"))])
    found = _match(submissions, roster, MOODLE_NAMES, export)
    for position, person in enumerate(roster):
        scores = found.get(position, {})
        if scores:
            cells: list[str] = []
            for chapter in chapters:
                mine = scores.get(chapter)
                cells += [f"{mine['score']:g}", plain_cell(_feedback(mine))] if mine else ["", ""]
            export.rows.append([*(_as_given(person.get(column, "")) for column in who), *cells])
    return export


def _as_given(text: str) -> str:
    """Keep a plain number as it is (ids may be negative), and make formulas harmless."""
    return text if re.fullmatch(r"[+-]?\d+", text) else plain_cell(text)


def _title(chapter: str) -> str:
    found = find_chapter(chapter)
    return f"{found.number} {found.title}"


def _feedback(submission: dict[str, Any]) -> str:
    lines = [submission["error"]] if submission.get("error") else []
    late = submission.get("late") or {}
    if late.get("points"):
        lines.append(f"Late: {late['before']:g} points before, {late['percent']:g}% off.")
    for exercise in submission["exercises"]:
        words = "" if exercise["status"] == "passed" else f" {exercise['message']}"
        lines.append(f"{exercise['name']}: {exercise['score']:g} / {exercise['points']:g}.{words}")
    text = "\n".join(lines)
    return text if len(text) <= MAX_FEEDBACK else text[: MAX_FEEDBACK - 1] + "…"


def _match(
    submissions: list[dict[str, Any]], people: list[dict[str, str]], columns: tuple[str, ...], export: Export
) -> dict[int, dict[str, dict[str, Any]]]:
    """Find each graded student in the roster by any of these columns; gives place in the roster → chapter → submission."""
    exactly: dict[str, set[int]] = {}
    loosely: dict[str, set[int]] = {}
    for position, person in enumerate(people):
        for column in columns:
            name = person.get(column, "").strip().casefold()
            if name:
                exactly.setdefault(name, set()).add(position)
        for name in _other_spellings(person, columns):
            loosely.setdefault(name, set()).add(position)
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for submission in submissions:
        student = submission["student"]
        fitting = next(
            (places[name] for name in _names_in(student) for places in (exactly, loosely) if name in places), set()
        )
        if not submission["chapter"]:
            export.strangers.append(f"{student} (no chapter: {submission.get('error') or submission['path']})")
        elif len(fitting) == 1:
            position = next(iter(fitting))
            taken = found.setdefault(position, {})
            if submission["chapter"] in taken:
                export.ambiguous.append(f"{student}: {submission['chapter']} is graded twice for the same person")
            else:
                taken[submission["chapter"]] = submission
        elif fitting:
            export.ambiguous.append(f"{student}: fits {len(fitting)} people in the roster")
        else:
            export.strangers.append(student)
    first = next((column for column in columns if any(p.get(column) for p in people)), columns[0])
    export.without = [p.get(first) or "?" for position, p in enumerate(people) if position not in found]
    return found


def _names_in(student: str) -> list[str]:
    """Give what may name the student in a folder's or file's name, as Canvas and Moodle make them in their downloads."""
    name = student.strip().casefold()
    names = [name]
    if canvas := re.match(r"[^\W\d_]+(?:_late)?_(\d+)_\d+_", name):
        names.append(canvas[1])
    if moodle := re.match(r"(.+)_\d+_assignsubmission_", name):
        names.append(moodle[1])
    return names


def _other_spellings(person: dict[str, str], columns: tuple[str, ...]) -> set[str]:
    """Give how a person may be written besides: an address without its host, the name in its usual order."""
    given = [person.get(column, "").strip().casefold() for column in columns]
    spellings = {name.split("@")[0] for name in given if "@" in name}
    for name in given:
        if name.count(",") == 1:
            spellings.add(" ".join(part.strip() for part in reversed(name.split(","))))
    surname = person.get("Last name") or person.get("Surname") or ""
    spellings.add(f"{person.get('First name', '')} {surname}".strip().casefold())
    return spellings - {""}


def write_export(export: Export, file: Path) -> None:
    """Write the CSV, whole or not at all."""
    with written_whole(file, newline="") as stream:
        csv.writer(stream).writerows([export.header, *export.rows])

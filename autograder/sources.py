"""Read a chapter's source: percent-format Python with nbgrader metadata, texts filled in from the catalogue."""

import copy
import re
from functools import cache
from pathlib import Path

import jinja2
import jupytext
import nbformat
from nbformat import NotebookNode

from autograder.paths import source_of
from utils.catalogue import Chapter, Exercise, find_chapter, find_exercise

_environment = jinja2.Environment(
    variable_start_string="<<",
    variable_end_string=">>",
    block_start_string="<%",
    block_end_string="%>",
    comment_start_string="<#",
    comment_end_string="#>",
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,
)
PIECE_OF_AN_EARLIER_CHAPTER = re.compile(r"""^\w+ = mine\(["'](\w+)["']\)""", re.MULTILINE)
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def heading(name: str) -> str:
    """Write the heading of an exercise: number, title, points."""
    exercise = find_exercise(name)
    kind = "Stretch" if exercise.stretch else "Exercise"
    points = f"{exercise.points} point{'s' if exercise.points != 1 else ''}"
    return f"## {kind} {exercise.number} · {exercise.title} ({points}{' extra' if exercise.stretch else ''})"


@cache
def _parsed(text: str) -> NotebookNode:
    """Parse a source once: jupytext takes seconds for a long chapter. Whoever changes it takes a copy."""
    return jupytext.reads(text, fmt="py:percent")


def read_plain(path: Path) -> NotebookNode:
    """Read a percent-format source as a notebook with stable cell ids."""
    notebook = copy.deepcopy(_parsed(path.read_text(encoding="utf-8")))
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{path.stem}-{number:03d}"
    return notebook


def read_source(chapter: Chapter) -> NotebookNode:
    """Read a chapter's source as a notebook: stable cell ids, points and texts from the catalogue."""
    notebook = read_plain(source_of(chapter.id))
    notebook.metadata["course"] = {"chapter": chapter.id}
    known = {"heading": heading, "chapter": chapter, "exercise": find_exercise}
    for number, cell in enumerate(notebook.cells):
        marks = cell.metadata.get("nbgrader", {})
        cell["id"] = str(marks.get("grade_id", f"{chapter.number}-{number:03d}")).replace("_", "-")
        if cell.cell_type == "markdown":
            cell.source = _environment.from_string(cell.source).render(known)
        if marks.get("grade"):
            marks["points"] = chapter.exercise(exercise_checked_by(marks["grade_id"])).points
        cell.metadata = nbformat.from_dict({"nbgrader": marks} if marks else {})
        if cell.cell_type == "code":
            cell.execution_count, cell.outputs = None, []
    return notebook


def exercise_checked_by(grade_id: str) -> str:
    """Give the exercise that a graded cell belongs to: `check-softmax` → `softmax`."""
    return grade_id.removeprefix("check-")


@cache
def own_code_cells(chapter_id: str) -> dict[str, tuple[str, str | None]]:
    """Give the course's own code cells: id → (source as learners get it, exercise if it is theirs to fill in)."""
    chapter = find_chapter(chapter_id)
    if not source_of(chapter.id).exists():
        return {}
    cells = {}
    for cell in read_source(chapter).cells:
        if cell.cell_type == "code":
            marks = cell.metadata.get("nbgrader", {})
            cells[cell["id"]] = (cell.source, marks["grade_id"] if marks.get("solution") else None)
    return cells


def right_answers(chapter_id: str) -> dict[str, str]:
    """Give the solved exercise cells of a chapter: exercise → source."""
    return {exercise: source for source, exercise in own_code_cells(chapter_id).values() if exercise is not None}


def answer_with_imports(exercise: Exercise) -> str:
    """Give the course's own answer as one self-contained source: the chapter's imports, then earlier answers, then it."""
    cells = own_code_cells(exercise.chapter)
    parts = []
    for source, solved in cells.values():
        if solved is None:
            lines = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
            parts += [line for line in lines if not line.startswith("from utils")]
            parts += [f"from utils.standins import {name}" for name in PIECE_OF_AN_EARLIER_CHAPTER.findall(source)]
        else:
            parts.append(source)
            if solved == exercise.name:
                break
    return "\n".join(parts)

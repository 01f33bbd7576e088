"""Make notebooks of chapter 02 as learners hand them in: solved, unsolved, or partly solved."""

import copy
import re
from functools import cache
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder.sources import own_code_cells, read_source, right_answers
from autograder.submissions import as_notebook
from utils.catalogue import find_chapter

CHAPTER = find_chapter("02")
NAMES = [exercise.name for exercise in CHAPTER.exercises]
POINTS = {exercise.name: exercise.points for exercise in CHAPTER.exercises}
FILE_NAME = f"{CHAPTER.id}.ipynb"


def right(name: str) -> str:
    """Give a right answer to an exercise, as a learner would write it."""
    return re.sub(r"\n\s*### (BEGIN|END) SOLUTION", "", right_answers(CHAPTER.id)[name])


def stub(name: str) -> str:
    """Give an exercise's cell as learners get it."""
    solved = right_answers(CHAPTER.id)[name]
    return re.sub(r"### BEGIN SOLUTION.*### END SOLUTION", "raise NotImplementedError", solved, flags=re.DOTALL)


def all_right(**changes: str) -> dict[str, str]:
    """Give right answers to all exercises, but for those that are changed."""
    return {name: right(name) for name in NAMES} | changes


def notebook(answers: dict[str, str]) -> NotebookNode:
    """Make the chapter's notebook with these answers in its exercise cells; the others hold their stubs."""
    made = copy.deepcopy(_source())
    for name in NAMES:
        exercise_cell(made, name).source = answers.get(name, stub(name))
    return made


@cache
def _source() -> NotebookNode:
    return read_source(CHAPTER)


def bare_notebook(answers: dict[str, str]) -> NotebookNode:
    """Make a notebook of the chapter's code cells alone, with cell ids of its own."""
    cells = own_code_cells(CHAPTER.id).values()
    return as_notebook([(name, answers.get(name, stub(name)) if name else text) for text, name in cells], CHAPTER.id)


def exercise_cell(made: NotebookNode, name: str) -> NotebookNode:
    """Find the cell that a learner fills in."""
    return next(cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == name)


def add_cell(made: NotebookNode, source: str, before: str | None = None, after: str | None = None) -> NotebookNode:
    """Add a learner's own code cell before or after an exercise's cell (at the end, if neither is named)."""
    place = len(made.cells)
    if before or after:
        place = made.cells.index(exercise_cell(made, before or after)) + bool(after)
    made.cells.insert(place, nbformat.v4.new_code_cell(source))
    return made


def as_bytes(made: NotebookNode) -> bytes:
    """Write a notebook as JupyterLab saves it."""
    return nbformat.writes(made).encode()


def solved() -> bytes:
    """Give a notebook with a right answer to every exercise."""
    return as_bytes(notebook(all_right()))


def unsolved() -> bytes:
    """Give the notebook as learners get it."""
    return as_bytes(notebook({}))


def with_answers(**changes: str) -> bytes:
    """Give a notebook with right answers to all exercises, but for those that are changed."""
    return as_bytes(notebook(all_right(**changes)))


def write(file: Path, content: bytes) -> Path:
    """Write a file and the folders above it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def exercise(submission: dict, name: str) -> dict:
    """Find an exercise in the result of a submission."""
    return next(found for found in submission["exercises"] if found["name"] == name)


def lost(submission: dict) -> dict[str, str]:
    """Give the exercises that didn't get full marks, with their status."""
    return {found["name"]: found["status"] for found in submission["exercises"] if found["score"] < found["points"]}

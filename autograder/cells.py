"""Decide which cells of a submission run, and where its exercises are.

Learners' own cells run whole. Of the course's own cells only imports, definitions and simple assignments do: nobody waits for
a plot or a training run while grading. Cells are known by id or text, so a notebook that lost its metadata is still read.
"""

import ast
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

from autograder.sources import own_code_cells
from autograder.submissions import Handed, HandedCell
from utils.catalogue import Chapter
from utils.definitions import (
    cost_of_magics,
    defined_names,
    definitions_only,
    is_stub,
    lines_of,
    parsed,
    place_of,
    plain_python,
)

MAX_MAGIC_COST = 500_000  # characters that IPython may read for the magics of one notebook: a second or two
TOO_MANY_MAGICS = (
    "The notebook holds so many magics and shell commands (lines with % or !) that this cell wasn't read. Take them out, "
    "save, and hand it in again."
)


@dataclass(frozen=True)
class RunnableCell:
    """A cell to run: its number among the code cells (from 1) and its source as plain Python."""

    number: int
    source: str
    is_own: bool
    is_unchanged: bool = False  # word for word as the course gave it out

    @property
    def name(self) -> str:
        """The file name that tracebacks show for this cell."""
        return f"<cell {self.number}>"


@dataclass
class FoundExercise:
    """An exercise in a submission: its cell, and what is known without running anything."""

    name: str
    cell: int | None = None
    source: str = ""
    status: str = "missing"  # or "not_started", "error", "ready"
    message: str = ""


@dataclass
class Plan:
    """What to run, and what to grade."""

    cells: list[RunnableCell] = field(default_factory=list)
    exercises: dict[str, FoundExercise] = field(default_factory=dict)


def make_plan(handed: Handed, chapter: Chapter) -> Plan:
    """Read a submission's cells and decide what runs and what is graded."""
    own = own_code_cells(chapter.id)
    own_texts = {source.strip() for source, exercise in own.values() if exercise is None}
    names = [exercise.name for exercise in chapter.exercises]
    plan = Plan(exercises={name: FoundExercise(name) for name in names})
    cost = 0
    for number, cell in enumerate(handed.cells, start=1):
        exercise_here = _exercise_of(cell, own, names)
        cost += cost_of_magics(cell.source)
        source = plain_python(cell.source) if cost <= MAX_MAGIC_COST else cell.source
        tree = parsed(source)
        answers_here = tree is not None and any(name in plan.exercises for name in defined_names(tree))
        if exercise_here is None and not answers_here and _is_own(cell, own, own_texts):
            kept = definitions_only(source)
            if kept:
                plan.cells.append(RunnableCell(number, kept, True, cell.source.strip() in own_texts))
            continue
        plan.cells.append(RunnableCell(number, source, False))
        if tree is None:
            text = _what_is_broken(source, number) if cost <= MAX_MAGIC_COST else TOO_MANY_MAGICS
            _note_broken(plan, cell, number, text, exercise_here, names)
            continue
        for name, node in defined_names(tree).items():
            if name in plan.exercises:
                _note_definition(plan.exercises[name], number, cell, node)
        if exercise_here is not None and plan.exercises[exercise_here].status == "missing":
            found = plan.exercises[exercise_here]
            found.cell, found.source = number, cell.source
            found.message = f"The cell of this exercise doesn't define {exercise_here}."
    return plan


def _exercise_of(cell: HandedCell, own: dict, names: list[str]) -> str | None:
    if cell.grade_id in names:
        return cell.grade_id
    return own[cell.id][1] if cell.id in own else None


def _is_own(cell: HandedCell, own: dict, own_texts: set[str]) -> bool:
    is_check = cell.grade_id is not None and cell.grade_id.startswith("check-")
    return is_check or cell.id in own or cell.source.strip() in own_texts


def _what_is_broken(source: str, number: int) -> str:
    """Say why a cell isn't Python."""
    try:
        compile(source, f"<cell {number}>", "exec")
    except SyntaxError as error:
        return f"The cell isn't valid Python: {error.msg} (line {error.lineno})."
    except (RecursionError, MemoryError):
        return "The cell can't be read: its brackets or operators are nested too deeply."
    except ValueError as error:
        return f"The cell can't be read: {str(error)[:100]}."
    return "The cell can't be read."


def _note_broken(
    plan: Plan, cell: HandedCell, number: int, text: str, exercise_here: str | None, names: list[str]
) -> None:
    """A cell that isn't Python costs the exercise that it belongs to, or seems to define."""
    seen = [name for name in names if re.search(rf"^[ \t]*(?:def|class)\s+{name}\b", cell.source, re.MULTILINE)]
    for name in {exercise_here, *seen} - {None}:
        found = plan.exercises[name]
        if found.status != "ready":
            found.cell, found.source, found.status, found.message = number, cell.source, "error", text


def _note_definition(found: FoundExercise, number: int, cell: HandedCell, node: ast.stmt) -> None:
    """The last real definition counts; a stub counts only where there is nothing else."""
    stub = is_stub(node)
    if stub and found.status in ("ready", "error"):
        return
    if found.status == "ready" and not stub:
        found.message = (
            f"{found.name} is defined in more than one cell (cells {found.cell} and {number}); the last one counts."
        )
    elif not stub:
        found.message = ""
    found.cell, found.source = number, cell.source
    found.status = "not_started" if stub else "ready"


@lru_cache(maxsize=256)  # asked for each pair of exercises of one notebook
def names_used(source: str) -> frozenset[str]:
    """Give the names that a cell uses or defines; none where it isn't Python."""
    tree = parsed(source)
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)) if tree else frozenset()


def cells_to_run(plan: Plan) -> list[RunnableCell]:
    """Give the cells in order, without copies of stubs that would undo a real definition."""
    ready = {name for name, found in plan.exercises.items() if found.status == "ready"}
    return [cell if cell.is_own else replace(cell, source=_without_stubs(cell.source, ready)) for cell in plan.cells]


def _without_stubs(source: str, names: set[str]) -> str:
    """Blank the stubs of these exercises; every other line stays where it was."""
    tree = parsed(source)
    stubs = [node for node in tree.body if is_stub(node) and node.name in names] if tree is not None else []
    lines = lines_of(source)
    for node in stubs:
        place = place_of(node)
        lines[place] = [""] * (place.stop - place.start)
    return "\n".join(lines) if stubs else source

"""Run a notebook's checks without Jupyter: `python -m utils.check_notebook NOTEBOOK` exits 1 where one fails.

The notebook's own cells run whole and an error in one costs what it should have defined; of the course's cells only imports,
definitions and simple assignments run: nobody waits for plots and training. It is meant for a machine of one's own, or a
throw-away one: nothing is walled in here.
"""

import argparse
import builtins
import contextlib
import io
import json
import linecache
import re
import signal
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from utils import quiet
from utils.card import ReportCard
from utils.catalogue import Chapter, Exercise, all_chapters
from utils.checks import register_all
from utils.definitions import defined_names, definitions_only, is_stub, parsed, plain_python
from utils.report import examine
from utils.student import LocalStudent

CELL_SECONDS = 15
CHECK_SECONDS = 30
HIDDEN_NOT_RUN = "These are the visible checks. The hidden tests that grade are not here; they draw other inputs."
_OUR_CELL = re.compile(r"\d\d-\d{3}|check-.*")


class NotebookUnreadable(Exception):
    """A file that isn't a notebook of this course; the text says why."""


class TookTooLong(BaseException):
    """Raised in learners' code when its time is over; not an Exception, so that `except Exception` lets it through."""


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TookTooLong in what runs inside when its time is over."""

    def ring(_signal: int, _frame: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def read(file: Path) -> tuple[Chapter, list[tuple[bool, str]]]:
    """Read a notebook: its chapter, and its code cells with whether they are the course's own."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        cells = [cell for cell in content["cells"] if cell["cell_type"] == "code" or _is_answer(cell)]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotebookUnreadable(f"{file} isn't a notebook: {str(error)[:200]}") from None
    noted = content.get("metadata", {}).get("course", {}).get("chapter", file.stem)
    chapter = next((chapter for chapter in all_chapters() if chapter.id == noted and chapter.exercises), None)
    if chapter is None:
        raise NotebookUnreadable(f"{file} isn't a notebook of this course")
    return chapter, [(_is_ours(cell), plain_python("".join(cell["source"]))) for cell in cells]


def _is_answer(cell: dict) -> bool:
    """Say whether a cell is an exercise's, even where a wrong key has turned it into text."""
    return cell["metadata"].get("nbgrader", {}).get("solution") is True


def _is_ours(cell: dict) -> bool:
    marks = cell.get("metadata", {}).get("nbgrader", {})
    return not marks.get("solution") and bool(_OUR_CELL.fullmatch(str(marks.get("grade_id") or cell.get("id", ""))))


def run_cells(chapter: Chapter, cells: list[tuple[bool, str]]) -> dict[str, Any]:
    """Run the cells in order, as a grader does, and give what they define."""
    module = types.ModuleType("__main__")
    quiet.turn_on(chapter.id)
    answered = _answered(chapter, cells)
    for number, (ours, source) in enumerate(cells, start=1):
        tree = parsed(source)
        if not ours and tree is not None:
            stubs = [node for node in tree.body if is_stub(node) and node.name in answered]
            tree.body = [node for node in tree.body if node not in stubs]
        name = f"<cell {number}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        with _tolerated(), at_most(CELL_SECONDS):
            exec(compile(definitions_only(source) if ours or tree is None else tree, name, "exec"), module.__dict__)
    return module.__dict__


def _answered(chapter: Chapter, cells: list[tuple[bool, str]]) -> set[str]:
    """Name the exercises that have a real definition, which no copy of the stub may undo."""
    names = {exercise.name for exercise in chapter.exercises}
    trees = [parsed(source) for _ours, source in cells]
    return {n for tree in trees if tree for n, node in defined_names(tree).items() if n in names and not is_stub(node)}


@contextlib.contextmanager
def _tolerated() -> Iterator[None]:
    """Let an error in a cell pass: it shows where something isn't defined. `input()` has nobody to ask."""

    def no_input(_prompt: str = "") -> str:
        raise EOFError("input() has nobody to ask while a notebook is checked; set the value in the code")

    asked, builtins.input = builtins.input, no_input
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    except (Exception, SystemExit, TookTooLong):
        pass
    finally:
        builtins.input = asked


def check_exercise(exercise: Exercise, namespace: dict[str, Any]) -> tuple[bool, str]:
    """Run one visible check; gives whether it passes, and the card as text."""
    if exercise.name not in namespace:
        return False, f"✗ {exercise.name}\n  nothing of this name is defined: was its cell deleted, or does it raise?"
    student = LocalStudent(namespace, shortcuts=exercise.shortcuts, chapter=exercise.chapter)
    try:
        with warnings.catch_warnings(), at_most(CHECK_SECONDS), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            report = examine(student, exercise.name)
    except TookTooLong:
        return False, f"✗ {exercise.name}\n  took longer than {CHECK_SECONDS} s"
    except (Exception, SystemExit) as error:  # an answer of a kind that the check itself stumbles over
        return False, f"✗ {exercise.name}\n  what is returned can't be used ({type(error).__name__})"
    return report.passed, repr(ReportCard(report))


def main(arguments: list[str]) -> int:
    """Check notebooks; 0 where every visible check passes, 1 where one fails, 2 where there is nothing to check."""
    parser = argparse.ArgumentParser(prog="python -m utils.check_notebook", description="Run a notebook's checks.")
    parser.add_argument("notebooks", nargs="+", metavar="NOTEBOOK")
    parser.add_argument("--exercise", action="append", help="only this exercise; may be said again")
    asked = parser.parse_args(arguments)
    register_all()
    failed = 0
    for path in asked.notebooks:
        try:
            chapter, cells = read(Path(path))
        except NotebookUnreadable as error:
            print(error, file=sys.stderr)
            return 2
        chosen = [e for e in chapter.exercises if not asked.exercise or e.name in asked.exercise]
        if not chosen:
            print(f"{path} has no exercise named {', '.join(asked.exercise)}", file=sys.stderr)
            return 2
        namespace = run_cells(chapter, cells)
        outcomes = [check_exercise(exercise, namespace) for exercise in chosen]
        print("\n\n".join(text for _passed, text in outcomes))
        passed = sum(passed for passed, _text in outcomes)
        print(f"\n{path}: {passed} of {len(outcomes)} visible checks pass")
        failed += len(outcomes) - passed
    print(HIDDEN_NOT_RUN)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`mine("…")`: a piece from an earlier chapter, the learner's own where it passes its check, PyTorch's where not."""

import contextlib
import io
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from utils import quiet
from utils.catalogue import Exercise, all_chapters, find_chapter, find_exercise
from utils.definitions import definitions_only, plain_python
from utils.progress import progress_file
from utils.report import examine
from utils.standins import STANDINS
from utils.student import LocalStudent

_namespaces: dict[tuple[Path, float], dict[str, Any]] = {}


def mine(name: str) -> Callable:
    """Give the learner's own function or class from an earlier chapter, and say so; PyTorch's where theirs doesn't pass.

    The earlier notebook is read from disk, so save it first. Only its imports, definitions and simple assignments run.
    """
    exercise = find_exercise(name)
    if name not in STANDINS:
        raise KeyError(f"{name} isn't a piece that later chapters build on; there are: {', '.join(STANDINS)}")
    here = quiet.chapter() or Path.cwd().name
    if here in {chapter.id for chapter in all_chapters()} and exercise.chapter >= here:
        raise ValueError(
            f"{name} is an exercise of chapter {exercise.chapter[:2]}: mine() takes pieces of earlier chapters only"
        )
    if quiet.is_on():
        return STANDINS[name]  # a graded chapter never depends on another chapter's answers
    chapter = find_chapter(exercise.chapter)
    answer, reason = _own(exercise)
    if answer is not None:
        print(f"{name}: yours, from chapter {chapter.number}")
        return answer
    print(f"{name}: PyTorch's, since {reason}")
    return STANDINS[name]


def _own(exercise: Exercise) -> tuple[Callable | None, str]:
    """Find the learner's answer; None, with the reason, where it can't be used."""
    name, chapter_id = exercise.name, exercise.chapter
    number = chapter_id[:2]
    file = progress_file().parent / chapter_id / f"{chapter_id}.ipynb"
    if not file.exists():
        return None, f"there is no notebook of chapter {number} here"
    try:
        namespace = _definitions_of(file)
    except (OSError, ValueError, AttributeError, TypeError, KeyError, RecursionError):
        return None, f"the notebook of chapter {number} can't be read"
    if name not in namespace:
        return None, f"chapter {number} doesn't define it"
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = examine(LocalStudent(namespace, shortcuts=exercise.shortcuts, chapter=chapter_id), name)
    except Exception:  # an answer of a kind that the check itself stumbles over
        return None, f"yours in chapter {number} doesn't pass its check yet"
    if report.status == "not_started":
        return None, f"yours in chapter {number} is not started"
    if not report.passed:
        return None, f"yours in chapter {number} doesn't pass its check yet"
    return namespace[name], ""


def _definitions_of(file: Path) -> dict[str, Any]:
    """Run the definitions in a notebook, each cell for itself; a cell that fails is left out."""
    key = (file.resolve(), file.stat().st_mtime)
    if key in _namespaces:
        return _namespaces[key]
    namespace: dict[str, Any] = {"__name__": f"chapter_{file.stem}"}
    for number, cell in enumerate(json.loads(file.read_text(encoding="utf-8"))["cells"], start=1):
        if cell.get("cell_type") != "code":
            continue
        source = "".join(cell["source"])
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
            exec(compile(definitions_only(plain_python(source)), f"{file.stem}, cell {number}", "exec"), namespace)
    _namespaces[key] = namespace
    return namespace

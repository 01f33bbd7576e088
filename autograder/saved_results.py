"""Read results.json back: what `course compare`, `course report` and `course export` start from."""

import json
from pathlib import Path
from typing import Any


class NoResults(Exception):
    """A file that doesn't hold the results of a grading; the text says why."""


def read_results(path: Path) -> list[dict[str, Any]]:
    """Give the submissions of a results.json, or of the folder that holds it."""
    file = path / "results.json" if path.is_dir() else path
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NoResults(f"{file} doesn't exist; `course grade` writes it") from None
    except (OSError, ValueError, RecursionError) as error:
        raise NoResults(f"{file} can't be read: {str(error)[:200]}") from None
    if not isinstance(content, dict) or content.get("schema") != 1 or not _has_their_form(content.get("submissions")):
        raise NoResults(f"{file} isn't the results.json of `course grade`")
    return content["submissions"]


def _has_their_form(submissions: Any) -> bool:
    kinds = {
        "student": str,
        "chapter": str,
        "path": str,
        "score": (int, float),
        "max_score": (int, float),
        "exercises": list,
    }
    of_exercises = {"name": str, "points": (int, float), "score": (int, float), "status": str, "message": str,
                    "mistakes": list, "tests": list}  # fmt: skip
    return isinstance(submissions, list) and all(
        _fits(submission, kinds) and all(_fits(exercise, of_exercises) for exercise in submission["exercises"])
        for submission in submissions
    )


def _fits(entry: Any, kinds: dict) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(name), kind) for name, kind in kinds.items())

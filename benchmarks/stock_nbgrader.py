"""Grade with nbgrader as it comes: its own `Execute`, one kernel a notebook, hidden asserts in the graded cells."""

from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from autograder.build import nbgrader_config, put_tools_on_path
from autograder.sources import read_source
from benchmarks.hidden_asserts import HIDDEN_ASSERTS
from benchmarks.measuring import Measured
from utils.catalogue import Chapter


def grade(notebooks: list[NotebookNode], chapter: Chapter, folder: Path) -> Measured:
    """Grade each notebook, one after the other, as `nbgrader autograde` does; the release that comes before isn't counted."""
    api = _released(chapter, folder)
    students = [f"learner-{number:03d}" for number in range(len(notebooks))]
    for student, notebook in zip(students, notebooks, strict=True):
        target = folder / "submitted" / student / chapter.id
        target.mkdir(parents=True)
        nbformat.write(notebook, target / f"{chapter.id}.ipynb")
    with Measured() as measured:
        for student in students:
            _succeed(api.autograde(chapter.id, student, force=True, create=True))
    with Gradebook(api.config.CourseDirectory.db_url) as gradebook:
        scores = [gradebook.find_submission(chapter.id, student).score for student in students]
    if scores[0] != chapter.points:
        raise RuntimeError(f"nbgrader gave the right notebook {scores[0]} points: this compares nothing")
    return measured


def _released(chapter: Chapter, folder: Path) -> NbGraderAPI:
    source = read_source(chapter)
    for cell in source.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade"):
            name = marks["grade_id"].removeprefix("check-")
            cell.source += f"\n### BEGIN HIDDEN TESTS\n{HIDDEN_ASSERTS[name]}### END HIDDEN TESTS"
    place = folder / "solutions" / chapter.id
    place.mkdir(parents=True)
    nbformat.write(source, place / f"{chapter.id}.ipynb")
    config: Config = nbgrader_config()
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.db_url = f"sqlite:///{folder}/gradebook.db"
    del config.Autograde
    config.ExecutePreprocessor.timeout = 120
    put_tools_on_path()
    api = NbGraderAPI(config=config)
    _succeed(api.generate_assignment(chapter.id, force=True, create=True))
    return api


def _succeed(outcome: dict) -> None:
    if not outcome["success"]:
        raise RuntimeError(outcome.get("error") or outcome.get("log"))

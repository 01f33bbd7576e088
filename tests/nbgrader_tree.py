"""A course folder with a real nbgrader in it, for one chapter: released, handed in, ready for autograding."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from autograder import build
from autograder.build import released_path
from autograder.paths import ROOT
from autograder.sources import read_source
from utils.catalogue import find_chapter

CHAPTER = find_chapter("02")
SECRET = "a secret of these tests"


def filled_in(answers: dict[str, str]) -> NotebookNode:
    """Make a learner's notebook: what was released, with answers written into its exercise cells."""
    notebook = nbformat.read(released_path(CHAPTER), as_version=4)
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("solution") and marks["grade_id"] in answers:
            cell.source = answers[marks["grade_id"]]
    return notebook


def cell_of(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    """Find a cell by nbgrader's name for it."""
    return next(cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id)


def run_nbgrader(folder: Path, *arguments: str) -> str:
    """Run a command of nbgrader in a course folder; gives all it says."""
    command = [sys.executable, "-m", "nbgrader", *arguments]
    build.put_tools_on_path()
    environment = os.environ | {"COURSE_SECRET": SECRET}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=1200, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def make_course(folder: Path, submissions: dict[str, NotebookNode], *options: str, config: str = "") -> Path:
    """Lay out the course, release the chapter, and put in what students handed in."""
    (folder / "nbgrader_config.py").write_text((ROOT / "nbgrader_config.py").read_text() + config)
    source = folder / "solutions" / CHAPTER.id
    source.mkdir(parents=True)
    nbformat.write(read_source(CHAPTER), source / f"{CHAPTER.id}.ipynb")
    run_nbgrader(folder, "generate_assignment", CHAPTER.id, *options)
    for student, notebook in submissions.items():
        place = folder / "submitted" / student / CHAPTER.id
        place.mkdir(parents=True)
        nbformat.write(notebook, place / f"{CHAPTER.id}.ipynb")
    return folder


def hand_in_again(folder: Path, student: str, notebook: NotebookNode, moment: str | None = None) -> None:
    """Replace what a student handed in, with the time that nbgrader notes."""
    place = folder / "submitted" / student / CHAPTER.id
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    nbformat.write(notebook, place / f"{CHAPTER.id}.ipynb")
    if moment:
        (place / "timestamp.txt").write_text(moment)

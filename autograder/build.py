"""Make everything that is built: recorded mistakes, solved notebooks, and learners' notebooks."""

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config, PyFileConfigLoader

from autograder import fixtures
from autograder.paths import NOTEBOOKS, ROOT, SOLUTIONS
from autograder.sources import read_plain, read_source
from autograder.whole_file import written_whole
from utils.catalogue import Chapter
from utils.fixtures import forget_loaded

EXECUTION_SECONDS = 1200
HOME = NOTEBOOKS / "home.ipynb"


class BuildError(Exception):
    """A notebook can't be built; the text says why."""


def solved_path(chapter: Chapter) -> Path:
    """Give where a chapter's solved notebook is kept."""
    return SOLUTIONS / chapter.id / f"{chapter.id}.ipynb"


def released_path(chapter: Chapter) -> Path:
    """Give where a chapter's notebook for learners is kept."""
    return NOTEBOOKS / chapter.id / f"{chapter.id}.ipynb"


def build(chapter: Chapter) -> Iterator[str]:
    """Build one chapter, and say after each step what was made."""
    fixtures.write(chapter)
    forget_loaded()
    yield f"{fixtures.fixture_path(chapter).relative_to(ROOT)}: mistakes recorded"
    source = read_source(chapter)
    _write(released_path(chapter), release(chapter, source))
    yield f"{released_path(chapter).relative_to(ROOT)}: for learners"
    _write(solved_path(chapter), execute(source, chapter))
    yield f"{solved_path(chapter).relative_to(ROOT)}: solved and executed"


def build_home() -> str:
    """Build the notebook with the map of the course."""
    _write(HOME, read_plain(SOLUTIONS / "home.py"))
    return f"{HOME.relative_to(ROOT)}: the map of the course"


def execute(notebook: NotebookNode, chapter: Chapter) -> NotebookNode:
    """Run a notebook from top to bottom in an empty folder; BuildError where a cell fails."""
    notebook = nbformat.from_dict(notebook)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / chapter.id
        place.mkdir()
        client = NotebookClient(
            notebook,
            timeout=EXECUTION_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": str(place)}},
            extra_arguments=["--IPKernelApp.log_level=40"],  # errors only
        )
        try:
            client.execute()
        except Exception as error:
            raise BuildError(f"{chapter.id} doesn't run from top to bottom:\n{error}") from None
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of day would differ from build to build
    return notebook


def release(chapter: Chapter, source: NotebookNode) -> NotebookNode:
    """Make the learners' notebook with nbgrader's own generate_assignment, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "solutions" / chapter.id
        place.mkdir(parents=True)
        nbformat.write(source, place / f"{chapter.id}.ipynb")
        config = nbgrader_config()
        config.CourseDirectory.root = folder
        config.CourseDirectory.db_url = f"sqlite:///{folder}/gradebook.db"
        logging.getLogger("traitlets").setLevel(logging.ERROR)
        put_tools_on_path()
        outcome = NbGraderAPI(config=config).generate_assignment(chapter.id, force=True, create=True)
        if not outcome["success"]:
            raise BuildError(f"nbgrader can't release {chapter.id}:\n{outcome.get('error') or outcome.get('log')}")
        made = Path(folder) / "notebooks" / chapter.id / f"{chapter.id}.ipynb"
        return nbformat.read(made, as_version=4)


def put_tools_on_path() -> None:
    """Let nbgrader find the tools that it calls by name (alembic) where the environment isn't activated."""
    tools = str(Path(sys.executable).parent)
    if tools not in os.environ.get("PATH", "").split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([tools, os.environ.get("PATH", os.defpath)])


def nbgrader_config() -> Config:
    """Read nbgrader_config.py."""
    return PyFileConfigLoader("nbgrader_config.py", str(ROOT)).load_config()


def find_stale(chapter: Chapter) -> Iterator[str]:
    """Say what of a chapter's built files isn't what its source gives (outputs aside)."""
    source = read_source(chapter)
    for path, wanted in ((released_path(chapter), release(chapter, source)), (solved_path(chapter), source)):
        name = path.relative_to(ROOT)
        if not path.exists():
            yield f"{name} is missing"
        elif _structure(nbformat.read(path, as_version=4)) != _structure(wanted):
            yield f"{name} is not what the source gives"
    path = fixtures.fixture_path(chapter)
    if not path.exists() or not fixtures.up_to_date(chapter):
        yield f"{path.relative_to(ROOT)} is not what the answers give"


def home_is_stale() -> bool:
    """Say whether the home notebook isn't what its source gives."""
    made = read_plain(SOLUTIONS / "home.py")
    return not HOME.exists() or _structure(nbformat.read(HOME, as_version=4)) != _structure(made)


def _structure(notebook: NotebookNode) -> list[tuple]:
    return [(cell["id"], cell.cell_type, cell.source, cell.metadata.get("nbgrader")) for cell in notebook.cells]


def _write(path: Path, notebook: NotebookNode) -> None:
    with written_whole(path) as stream:
        nbformat.write(notebook, stream)

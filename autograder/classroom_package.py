"""Make the starter repository for GitHub Classroom: one chapter as learners get it, and a workflow that runs its checks.

What is pushed to a student's repository can be read by the student, and so can all that its workflow runs. So no hidden test is in it:
the workflow runs the visible checks alone, and says so. Grading stays with `course grade` on clones of the repositories.
"""

from collections.abc import Iterator
from pathlib import Path

import jinja2

from autograder.bundle import bundle_files
from autograder.paths import TEMPLATES
from autograder.whole_file import written_whole
from utils.catalogue import Chapter

WORKFLOW = ".github/workflows/classroom.yml"
# Actions fill in ${{ … }} themselves.
_templates = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES),
    variable_start_string="<<",
    variable_end_string=">>",
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,
)


def repository_files(chapter: Chapter) -> Iterator[tuple[str, bytes]]:
    """Give every file of the repository: its name, and its content."""
    kept = ("utils/", f"notebooks/{chapter.id}/", "environment.yml", "requirements.lock", "pyproject.toml", "Makefile")
    for name, content in bundle_files((chapter,)):
        if name.startswith(kept):
            yield name, content
    yield WORKFLOW, _templates.get_template("github_classroom.yml.j2").render(chapter=chapter).encode()
    yield "README.md", _templates.get_template("github_classroom_readme.md.j2").render(chapter=chapter).encode()
    yield ".gitignore", b".venv/\n__pycache__/\n.ipynb_checkpoints/\n*.egg-info/\nnotebooks/progress.json\n"


def write_repository(chapter: Chapter, folder: Path) -> int:
    """Write the files into a folder that is new or empty; gives how many there are."""
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder} isn't empty")
    count = 0
    for name, content in repository_files(chapter):
        with written_whole(folder / name, "wb") as stream:
            stream.write(content)
        count += 1
    return count

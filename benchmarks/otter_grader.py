"""Grade with otter-grader as `otter run` does, in an environment of its own, since it pins other versions than the course.

Otter's own packages come first there; PyTorch and what the notebooks import come from the course's environment.
"""

import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from benchmarks.hidden_asserts import HIDDEN_ASSERTS
from benchmarks.measuring import Measured
from utils.catalogue import Chapter

ROOT = Path(__file__).parent.parent
ENVIRONMENT = ROOT / "build" / "otter"
PYTHON = ENVIRONMENT / "bin" / "python"
REQUIREMENT = "otter-grader[grading]==7.0.0"
GRADE_ALL = """
import json, sys
from otter.api import grade_submission
scores = []
for file in sys.argv[2:]:
    result = grade_submission(file, sys.argv[1], quiet=True)
    scores.append(result.total)
print(json.dumps(scores))
"""


def prepare() -> None:
    """Install otter, once."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    installed = subprocess.run([PYTHON, "-c", "import otter, ipykernel"], capture_output=True, check=False)
    if installed.returncode:
        print(f"Installing {REQUIREMENT} into {ENVIRONMENT.relative_to(ROOT)}", flush=True)
        pip = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", REQUIREMENT]
        done = subprocess.run(pip, capture_output=True, text=True, check=False, cwd=ENVIRONMENT)
        if done.returncode:
            raise RuntimeError(f"{REQUIREMENT} can't be installed:\n{done.stderr[-2000:]}")
    asked = [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    (site / "course.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n", encoding="utf-8")


def grade(notebooks: list[NotebookNode], chapter: Chapter, folder: Path) -> Measured:
    """Grade each notebook in one process, with otter's function behind `otter run`; its import is counted once."""
    folder.mkdir(parents=True)
    tests = folder / "tests"
    tests.mkdir()
    for exercise in chapter.exercises:
        body = "".join(f"    {line}\n" for line in HIDDEN_ASSERTS[exercise.name].splitlines())
        (tests / f"{exercise.name}.py").write_text(
            "import torch\nfrom otter.test_files import test_case\n\nOK_FORMAT = False\n\n"
            f'name = "{exercise.name}"\npoints = {exercise.points}\n\n'
            f"@test_case(points={exercise.points}, hidden=True)\ndef test_hidden({exercise.name}):\n{body}",
            encoding="utf-8",
        )
    command = [ENVIRONMENT / "bin" / "otter", "generate", "-t", tests, "-o", folder / "autograder.zip", "--no-config"]
    subprocess.run([*command, "--no-requirements", "--no-environment"], cwd=folder, check=True, capture_output=True)
    files = []
    for number, notebook in enumerate(notebooks):
        files.append(folder / f"learner-{number:03d}.ipynb")
        nbformat.write(notebook, files[-1])
    with (folder / "told").open("w+") as told:
        command = [PYTHON, "-c", GRADE_ALL, folder / "autograder.zip", *files]
        process = subprocess.Popen(list(map(str, command)), stdout=told, stderr=told, cwd=folder)
        with Measured(process.pid) as measured:
            process.wait()
        told.seek(0)
        lines = told.read().splitlines()
    if process.returncode:
        raise RuntimeError("otter failed:\n" + "\n".join(lines[-30:]))
    scores = json.loads(lines[-1])
    if scores[0] != chapter.points:
        raise RuntimeError(f"otter gave the right notebook {scores[0]} points: this compares nothing")
    return measured

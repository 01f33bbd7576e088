"""What is built: up to date, complete, and free of anything that learners shouldn't see."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from functools import cache
from pathlib import Path

import nbformat
import pytest
import yaml

from autograder import build, bundle
from autograder.answers import answers_of
from autograder.paths import NOTEBOOKS, ROOT
from autograder.sources import read_source, right_answers
from utils.catalogue import Chapter, written_chapters

CHAPTERS = pytest.mark.parametrize("chapter", written_chapters(), ids=lambda chapter: chapter.id)


@CHAPTERS
def test_committed_notebooks_and_fixtures_are_what_the_sources_give(chapter: Chapter) -> None:
    assert list(build.find_stale(chapter)) == []


def test_the_home_notebook_is_what_its_source_gives() -> None:
    assert not build.home_is_stale()


def test_a_change_of_the_source_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = written_chapters()[0]
    changed = read_source(chapter)
    changed.cells[1].source += "\n# changed"
    monkeypatch.setattr(build, "read_source", lambda chapter: changed)
    assert len(list(build.find_stale(chapter))) == 2


@CHAPTERS
def test_every_exercise_has_a_stub_a_check_hints_and_a_question(chapter: Chapter) -> None:
    notebook = read_source(chapter)
    graded = [cell.metadata.nbgrader.grade_id for cell in notebook.cells if cell.metadata.get("nbgrader")]
    names = [exercise.name for exercise in chapter.exercises]
    assert graded == [grade_id for name in names for grade_id in (name, f"check-{name}")]
    text = "\n".join(cell.source for cell in notebook.cells)
    assert text.count("<summary>Hint") >= 3 * len(names)
    assert len(re.findall(r"with once_solved\(", text)) >= len(names)
    assert text.count("To think about") >= len(names)


@CHAPTERS
def test_no_figure_is_left_to_be_filled_in(chapter: Chapter) -> None:
    texts = [cell.source for cell in read_source(chapter).cells if cell.cell_type == "markdown"]
    prose = re.sub(r"`[^`]*`|\$[^$]*\$", "", "\n".join(texts))
    assert re.findall(r"\b(?:[A-Z]{2,}_[A-Z_]+|TODO|FIXME|XXX|TBD)\b", prose) == []


@CHAPTERS
def test_points_in_the_notebook_are_those_of_the_catalogue(chapter: Chapter) -> None:
    released = nbformat.read(build.released_path(chapter), as_version=4)
    points = {
        cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader.points
        for cell in released.cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    assert points == {f"check-{exercise.name}": exercise.points for exercise in chapter.exercises}


@CHAPTERS
def test_cells_of_learners_notebooks_stay_under_twenty_lines(chapter: Chapter) -> None:
    released = nbformat.read(build.released_path(chapter), as_version=4)
    long = [cell.id for cell in released.cells if cell.cell_type == "code" and cell.source.count("\n") >= 20]
    stubs = {exercise.name.replace("_", "-") for exercise in chapter.exercises}
    assert [cell_id for cell_id in long if cell_id not in stubs] == []


@CHAPTERS
def test_the_solved_notebook_shows_green_cards_and_no_stumbling(chapter: Chapter) -> None:
    solved = nbformat.read(build.solved_path(chapter), as_version=4)
    outputs = [output for cell in solved.cells if cell.cell_type == "code" for output in cell.outputs]
    cards = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert sum("course-card course-passed" in card and "properties hold" in card for card in cards) == len(
        chapter.exercises
    )
    assert not [card for card in cards if "course-card course-failed" in card or "course-card course-waiting" in card]
    assert not [output for output in outputs if output.output_type == "error"]


@CHAPTERS
def test_the_unsolved_notebook_runs_from_top_to_bottom_and_says_not_started(chapter: Chapter) -> None:
    ran = build.execute(nbformat.read(build.released_path(chapter), as_version=4), chapter)
    shown = json.dumps([cell.get("outputs", []) for cell in ran.cells])
    for exercise in chapter.exercises:
        assert f"{exercise.name}: not started" in shown


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return dict(bundle.bundle_files())


def test_the_bundle_holds_what_learners_need(files: dict[str, bytes], tmp_path: Path) -> None:
    assert {"README.md", "Makefile", "environment.yml", "pyproject.toml", "utils/__init__.py"} <= files.keys()
    for chapter in written_chapters():
        assert f"notebooks/{chapter.id}/{chapter.id}.ipynb" in files
        assert f"utils/fixtures/{chapter.id}.safetensors" in files
    count = bundle.write_bundle(tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        assert archive.testzip() is None
        assert len(archive.namelist()) == count == len(files)


def _everything(content: bytes) -> str:
    """Give a file's text: of a notebook all sources and outputs, without JSON's escapes; of tensors what is written with them."""
    if content[8:10] == b'{"':  # safetensors: the length of its JSON, the JSON, and then numbers alone
        content = content[8 : 8 + int.from_bytes(content[:8], "little")]
    text = content.decode("utf-8", "replace")
    try:
        notebook = nbformat.reads(text, as_version=4)
    except Exception:
        return text
    outputs = [json.dumps(cell.get("outputs", []), ensure_ascii=False) for cell in notebook.cells]
    return "\n".join([cell.source for cell in notebook.cells] + outputs)


def _core(source: str) -> list[str]:
    """Give the telling lines of an answer: its statements without imports, signature, docstring and comments."""
    code = re.sub(r'""".*?"""', "", source, flags=re.DOTALL)
    lines = [line.split("  #")[0].strip() for line in code.splitlines()]
    skipped = ("import ", "from ", "def ", "class ", "#", "@", "print(", "warnings.", "sys.")
    return [line for line in lines if len(line) > 24 and not line.startswith(skipped)]


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_the_bundle_holds_no_solution_and_no_wrong_implementation(files: dict[str, bytes]) -> None:
    texts = {name: _squeezed(_everything(content)) for name, content in files.items()}
    everywhere = "\0".join(texts.values())

    @cache
    def holders(line: str) -> frozenset[str]:
        return frozenset(name for name, text in texts.items() if line in text) if line in everywhere else frozenset()

    for chapter in written_chapters():
        sources = [solution[solution.find("### BEGIN SOLUTION") :] for solution in right_answers(chapter.id).values()]
        for exercise in chapter.exercises:
            sources += [answer.source for kind in ("correct", "wrong") for answer in answers_of(exercise.name, kind)]
        for source in sources:
            lines = [_squeezed(line) for line in _core(source)]
            for name in frozenset().union(*map(holders, lines)):
                held = [line for line in lines if name in holders(line)]
                assert len(held) < max(2, len(lines)), f"{name} holds an answer: {held}"


def test_the_bundle_holds_no_hidden_test_and_nothing_compiled(files: dict[str, bytes]) -> None:
    hidden = "\n".join(path.read_text() for path in (ROOT / "autograder" / "hidden").glob("*.py"))
    tests = re.findall(r"^@hidden\(.*\)\n(def \w+\(student: Student, rng)", hidden, re.MULTILINE)
    assert len(tests) > 100
    for name, content in files.items():
        text = _everything(content)
        assert not name.endswith((".pyc", ".so")) and "__pycache__" not in name
        for marker in ("BEGIN SOLUTION", "BEGIN HIDDEN", "autograder.hidden", "from autograder", "import autograder"):
            assert marker not in text, f"{name} holds {marker}"
        assert "Randomness" not in text, name
        assert not [test for test in tests if test in text], name


def test_no_output_is_recorded_in_learners_notebooks(files: dict[str, bytes]) -> None:
    for name, content in files.items():
        if name.endswith(".ipynb"):
            notebook = nbformat.reads(content.decode(), as_version=4)
            assert not [cell for cell in notebook.cells if cell.get("outputs")]


def test_utils_never_imports_autograder() -> None:
    for path in (ROOT / "utils").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) autograder", path.read_text(), re.MULTILINE), path


def test_the_bundle_works_without_the_rest(files: dict[str, bytes], tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    code = (
        "import sys; sys.path.insert(0, '.'); sys.modules['autograder'] = None\n"
        "import utils; assert utils.__file__.startswith(sys.argv[1])\n"
        "import torch\nfrom utils import check\n"
        "def attention_scores(q, k):\n    return torch.einsum('...qd,...kd->...qk', q, k)\n"
        "assert check(attention_scores).passed\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def test_the_learners_makefile_has_a_lab_target(files: dict[str, bytes], tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        (tmp_path / name).write_bytes(files[name])
    done = subprocess.run(["make", "-n", "lab"], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert "jupyter lab" in done.stdout and "pip install" in done.stdout
    project = tomllib.loads(files["pyproject.toml"].decode())["project"]
    assert {re.split(r"[><=]", line)[0] for line in project["dependencies"]} == set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["course"]["learner_dependencies"]
    )


def test_environment_yml_agrees_with_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, by_pip = environment["dependencies"]
    assert python == f"python{project['requires-python']}"
    assert pip == "pip"
    assert by_pip == {"pip": ["-e ."]}
    assert environment["name"] == project["name"]


def test_the_lock_file_pins_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = {
        line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "requirements.lock").read_text().splitlines()
    }
    wanted = project["dependencies"] + project["optional-dependencies"]["test"]
    assert {re.split(r"[><=\[]", line)[0].lower() for line in wanted} <= pinned


def test_ruff_has_nothing_to_say() -> None:
    for command in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [shutil.which("ruff") or str(Path(sys.executable).with_name("ruff")), *command, str(ROOT)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_notebooks_hold_no_machine_path() -> None:
    for path in NOTEBOOKS.rglob("*.ipynb"):
        assert not re.search(r"/(home|root|work|tmp|usr)/", path.read_text()), path

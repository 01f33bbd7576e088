"""The grader as other systems take it: a Gradescope autograder, unpacked and run; a GitHub Classroom repository."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from typer.testing import CliRunner

import notebooks
from autograder import classroom_package, cli, gradescope
from autograder.grader import Grader
from autograder.gradescope_package import own_secret, package_files
from autograder.hidden import tests_of as hidden_tests_of
from autograder.paths import ROOT
from autograder.sandbox.client import IsolationMissing, WarmClient
from notebooks import CHAPTER, FILE_NAME, NAMES, POINTS, write
from utils.catalogue import Chapter, find_chapter, written_chapters

WRONG = notebooks.with_answers(softmax="def softmax(x, dim=-1):\n    e = (x - x.max()).exp()\n    return e / e.sum()")
SECRET = "a secret of these tests"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the zip with the command and unpack it as Gradescope does: files at the root, modes kept."""
    folder = tmp_path_factory.mktemp("gradescope")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_SECRET", SECRET)
        done = CliRunner().invoke(
            cli.app, ["package", "gradescope", "02", "--out", str(folder / "a.zip"), "--pip-args", "--pre"]
        )
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(folder / "a.zip") as archive:
        for entry in archive.infolist():
            path = Path(archive.extract(entry, folder / "source"))
            path.chmod(entry.external_attr >> 16 & 0o777)
    return folder / "source"


@pytest.mark.parametrize("chapter", written_chapters(), ids=lambda chapter: chapter.id)
def test_a_zip_holds_its_own_hidden_tests_and_what_they_share_and_no_others(chapter: Chapter) -> None:
    packed = {name for name, _content in package_files(chapter, SECRET)}
    own = {test.run.__module__ for exercise in chapter.exercises for test in hidden_tests_of(exercise.name)}
    others = {
        test.run.__module__
        for other in written_chapters()
        for exercise in other.exercises
        for test in hidden_tests_of(exercise.name)
    } - own
    assert {f"{module.replace('.', '/')}.py" for module in own} <= packed
    assert not packed & {f"{module.replace('.', '/')}.py" for module in others}
    for name in packed:
        if name.startswith("autograder/hidden/"):  # what one of them imports is there, too
            for module in re.findall(
                r"^from (autograder\.hidden\.\w+) import", (ROOT / name).read_text(), re.MULTILINE
            ):
                assert f"{module.replace('.', '/')}.py" in packed
    shared = {"04": "multi_head_reference", "06": "transformer_layer_reference"}
    for number, module in shared.items():
        assert (f"autograder/hidden/{module}.py" in packed) == chapter.id.startswith(number)


def autograder_folder(unpacked: Path, folder: Path, *handed_in: tuple[str, bytes]) -> Path:
    """Lay out what Gradescope's container holds when it runs."""
    (folder / "source").symlink_to(unpacked)
    (folder / "submission").mkdir()
    (folder / "results").mkdir()
    shutil.copy(unpacked / "run_autograder", folder)
    for name, content in handed_in:
        write(folder / "submission" / name, content)
    return folder


# What is in the zip


def test_the_zip_holds_what_gradescope_needs_at_its_root(unpacked: Path) -> None:
    for name in ("setup.sh", "run_autograder"):
        assert os.access(unpacked / name, os.X_OK)
        assert (unpacked / name).read_text().startswith("#!/usr/bin/env bash\n")
        subprocess.run(["bash", "-n", unpacked / name], check=True)
    assert " --pre -r " in (unpacked / "setup.sh").read_text()


def test_the_zip_holds_this_chapters_hidden_tests_and_no_others(unpacked: Path) -> None:
    present = {path.stem for path in (unpacked / "autograder" / "hidden").glob("*.py")}
    ours = {test.run.__module__.split(".")[-1] for name in NAMES for test in hidden_tests_of(name)}
    others = {
        test.run.__module__.split(".")[-1] for e in find_chapter("03").exercises for test in hidden_tests_of(e.name)
    }
    assert ours <= present
    assert not others & present
    assert [path.name for path in (unpacked / "solutions").iterdir()] == [f"{CHAPTER.id}.py"]
    assert not (unpacked / "autograder" / "answers").exists()


def test_the_secret_of_a_zip_is_its_own(unpacked: Path) -> None:
    secret = (unpacked / "secret").read_text()
    assert secret == own_secret(SECRET, CHAPTER)
    assert SECRET not in secret
    assert secret != own_secret(SECRET, find_chapter("03"))
    assert all(SECRET.encode() not in path.read_bytes() for path in unpacked.rglob("*") if path.is_file())


def test_what_pip_is_told_is_quoted() -> None:
    files = dict(package_files(CHAPTER, SECRET, pip_args="--index-url=x; rm -rf /"))
    assert b"'--index-url=x;' rm -rf /" in files["setup.sh"]


@pytest.mark.slow
def test_setting_up_makes_a_python_of_its_own(unpacked: Path, tmp_path: Path) -> None:
    base = autograder_folder(unpacked, tmp_path)
    (base / "source").unlink()
    (base / "source").mkdir()
    shutil.copy(unpacked / "setup.sh", base / "source")
    for name in ("requirements.txt", "requirements.lock"):
        (base / "source" / name).write_text("")  # nothing to download
    done = subprocess.run(
        ["bash", base / "source" / "setup.sh"], env=os.environ | {"AUTOGRADER_ROOT": str(base)},
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (
        subprocess.run(
            [base / "venv" / "bin" / "python", "-c", "import sys; assert sys.version_info >= (3, 11)"]
        ).returncode
        == 0
    )


# Gradescope's documented form


def check_form(results: dict) -> None:
    """Check against Gradescope's specification: names, kinds, and the words that are allowed."""
    known = {"score": (int, float), "execution_time": int, "output": str, "output_format": str, "visibility": str,
             "stdout_visibility": str, "extra_data": dict, "tests": list}  # fmt: skip
    of_tests = {"score": (int, float), "max_score": (int, float), "status": str, "name": str, "number": str, "output": str,
                "output_format": str, "tags": list, "visibility": str}  # fmt: skip
    for entry, form in [(results, known), *((test, of_tests) for test in results["tests"])]:
        assert entry.keys() <= form.keys()
        assert all(isinstance(value, form[name]) for name, value in entry.items())
        assert entry.get("visibility", "visible") in ("hidden", "after_due_date", "after_published", "visible")
        assert entry.get("output_format", "text") in ("text", "html", "simple_format", "md", "ansi")
        assert entry.get("status", "passed") in ("passed", "failed")
    assert results["stdout_visibility"] == "hidden"
    assert "score" in results
    for test in results["tests"]:
        # Students see their total only where tests that carry points aren't hidden.
        assert ("score" in test) == (test["visibility"] != "hidden")
        assert test.get("score", 0) <= test.get("max_score", 0)
    scored = [test for test in results["tests"] if "score" in test]
    assert results["score"] == pytest.approx(sum(test["score"] for test in scored))


@pytest.fixture
def run_here(unpacked: Path, tmp_path: Path, warm: WarmClient, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict]:
    """Grade in this process, on the shared warm process, what Gradescope would have put into `submission/`."""
    monkeypatch.setattr(gradescope, "Grader", lambda secret, isolation: _Kept(secret, isolation, warm))

    def run(*handed_in: tuple[str, bytes]) -> dict:
        base = autograder_folder(unpacked, tmp_path, *handed_in)
        gradescope.main(base)
        results = json.loads((base / "results" / "results.json").read_text())
        check_form(results)
        assert sorted(path.name for path in (base / "results").iterdir()) == ["results.json"]
        return results

    return run


class _Kept(Grader):
    def close(self) -> None:
        """Leave the shared warm process as it is."""


def exercises(results: dict) -> dict[str, dict]:
    return {name: test for test in results["tests"] if "score" in test for name in NAMES if f"({name})" in test["name"]}


def test_a_right_submission_gets_its_points_under_any_name(run_here: Callable) -> None:
    results = run_here(("my work (1).ipynb", notebooks.solved()), ("notes.txt", b"x"), ("data/x.csv", b"1"))
    assert results["score"] == CHAPTER.points
    assert {name: test["score"] for name, test in exercises(results).items()} == POINTS
    hidden = [test for test in results["tests"] if test["visibility"] == "hidden"]
    assert len(hidden) == sum(len(hidden_tests_of(name)) for name in NAMES)
    assert results["extra_data"] == {"isolation": "strict"}


def test_a_wrong_submission_learns_its_mistake_and_no_hidden_test(run_here: Callable) -> None:
    results = run_here((FILE_NAME, WRONG))
    softmax = exercises(results)["softmax"]
    assert softmax["status"] == "failed"
    assert softmax["score"] < softmax["max_score"]
    assert "sum" in softmax["output"]
    failed = [test for test in results["tests"] if test["visibility"] == "hidden" and test["status"] == "failed"]
    assert failed
    shown = json.dumps([test for test in results["tests"] if test["visibility"] == "visible"]) + results["output"]
    assert not any(test["name"] in shown for test in failed)


@pytest.mark.parametrize(
    ("handed_in", "words"),
    [
        ([], "There is no notebook"),
        ([("work.py", b"print()")], "There is no notebook"),
        ([(FILE_NAME, b"{broken")], "isn't valid JSON"),
        ([(FILE_NAME, b"")], "empty"),
        ([("01.ipynb", Path(f"notebooks/{find_chapter('01').id}/{find_chapter('01').id}.ipynb"))], "This assignment takes chapter 02"),
        ([("else.ipynb", b'{"cells": [], "nbformat": 4}')], "not of this course"),
        ([("a/x.ipynb", notebooks.solved()), ("b/x.ipynb", notebooks.unsolved())], "several notebooks of this chapter: a/x.ipynb, b/x.ipynb"),
    ],
)  # fmt: skip
def test_what_cannot_be_graded_is_named(run_here: Callable, handed_in: list, words: str) -> None:
    from autograder.paths import ROOT

    handed_in = [(name, (ROOT / c).read_bytes() if isinstance(c, Path) else c) for name, c in handed_in]
    results = run_here(*handed_in)
    assert words in results["output"]
    assert results["score"] == 0


def test_of_two_notebooks_the_one_with_the_chapters_name_counts(run_here: Callable) -> None:
    results = run_here(("draft.ipynb", notebooks.unsolved()), (FILE_NAME, notebooks.solved()))
    assert results["score"] == CHAPTER.points


def test_where_nothing_can_be_walled_in_nothing_runs_and_the_zero_is_no_mark(
    run_here: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: str) -> Grader:
        raise IsolationMissing("this machine can't isolate learners' code (namespaces: forbidden)")

    monkeypatch.setattr(gradescope, "Grader", refuse)
    results = run_here((FILE_NAME, notebooks.solved()))
    assert "Not graded. This 0 is not a mark" in results["output"]
    assert "namespaces: forbidden" in results["output"]
    assert {test["output"] for test in results["tests"]} == {"Not graded."}


def test_weaker_walls_are_told_to_the_instructor(grade: Callable) -> None:
    written = gradescope.as_gradescope(grade(), "partial (without namespaces)")
    check_form(written)
    assert "isolation: partial (without namespaces)" in written["output"]


def test_a_fault_of_the_grader_is_not_the_students(run_here: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradescope, "Grader", lambda *_: 1 / 0)
    results = run_here((FILE_NAME, notebooks.solved()))
    assert "The autograder failed (ZeroDivisionError). This 0 is not a mark" in results["output"]


def test_scores_can_wait_until_they_are_published(grade: Callable) -> None:
    written = gradescope.as_gradescope(grade(), "strict", "after_published")
    check_form(written)
    assert {test["visibility"] for test in written["tests"]} == {"after_published", "hidden"}


# The real thing: the unpacked files alone, in processes of their own


def run_autograder(base: Path, python: str = sys.executable) -> dict:
    environment = os.environ | {"AUTOGRADER_ROOT": str(base), "AUTOGRADER_PYTHON": python}
    done = subprocess.run(
        [base / "run_autograder"], cwd=base, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr
    return json.loads((base / "results" / "results.json").read_text())


@pytest.mark.slow
def test_run_autograder_grades(unpacked: Path, tmp_path: Path) -> None:
    results = run_autograder(autograder_folder(unpacked, tmp_path, (FILE_NAME, WRONG)))
    check_form(results)
    assert 0 < results["score"] < CHAPTER.points


def test_where_no_python_starts_there_is_a_result_all_the_same(unpacked: Path, tmp_path: Path) -> None:
    base = autograder_folder(unpacked, tmp_path, (FILE_NAME, notebooks.solved()))
    (base / "results" / "results.json").write_text("of the submission before")
    results = run_autograder(base, python="/nowhere/python")
    check_form(results)
    assert "could not start" in results["output"]


@pytest.mark.slow
def test_the_zip_runs_its_own_code_on_the_packages_that_it_asks_for(unpacked: Path, tmp_path: Path) -> None:
    base = autograder_folder(unpacked, tmp_path, (FILE_NAME, notebooks.solved()))
    wanted = _with_what_they_need((unpacked / "requirements.txt").read_text().splitlines())
    packages = importlib.metadata.packages_distributions()
    absent = [module for module, names in packages.items() if not {_plain(name) for name in names} & wanted]
    script = """
import json, sys
from pathlib import Path
absent = set(json.loads(sys.argv[2])) - {"autograder", "utils"}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in absent:
            raise ModuleNotFoundError(f"{name} isn't in requirements.txt", name=name)
sys.meta_path.insert(0, Absent())
from autograder import gradescope
gradescope.main(Path(sys.argv[1]))
modules = [module for name, module in sys.modules.items() if name.split(".")[0] in ("autograder", "utils")]
print(json.dumps([module.__file__ for module in modules if module.__file__]))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, base, json.dumps(absent)], cwd=base / "source", capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(base / "source")}, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    files = json.loads(done.stdout.splitlines()[-1])
    assert all(Path(file).resolve().is_relative_to(unpacked) for file in files)
    assert "nbgrader" in absent and "torch" not in absent
    results = json.loads((base / "results" / "results.json").read_text())
    assert results["score"] == CHAPTER.points, results["output"]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _with_what_they_need(lines: list[str]) -> set[str]:
    """Name what pip would install for these requirements, of what is installed here."""
    found: set[str] = set()
    waiting = [Requirement(line) for line in lines]
    seen: set[str] = set()
    while waiting:
        wanted = waiting.pop()
        if str(wanted) in seen:
            continue
        seen.add(str(wanted))
        found.add(_plain(wanted.name))
        try:
            needed = map(Requirement, importlib.metadata.requires(wanted.name) or [])
        except importlib.metadata.PackageNotFoundError:
            continue
        extras = wanted.extras or {""}
        waiting += [r for r in needed if not r.marker or any(r.marker.evaluate({"extra": extra}) for extra in extras)]
    return found


# GitHub Classroom


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classroom") / "starter"
    done = CliRunner().invoke(cli.app, ["package", "github-classroom", "02", "--out", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture(scope="module")
def workflow(repository: Path) -> dict:
    return yaml.safe_load((repository / classroom_package.WORKFLOW).read_text())


def test_nothing_hidden_is_in_a_students_repository(repository: Path) -> None:
    files = {path.relative_to(repository).as_posix(): path for path in repository.rglob("*") if path.is_file()}
    assert not [name for name in files if name.startswith(("autograder", "solutions", "tests"))]
    assert [name for name in files if name.startswith("notebooks/")] == [f"notebooks/{CHAPTER.id}/{FILE_NAME}"]
    everything = "\n".join(path.read_text(errors="replace") for path in files.values())
    assert "BEGIN SOLUTION" not in everything
    for name in NAMES:
        for test in hidden_tests_of(name):
            assert f"def {test.name}(" not in everything


def test_the_repository_says_that_its_checks_are_not_the_grade(repository: Path) -> None:
    assert "hidden\n# tests that grade are with the instructor" in (repository / classroom_package.WORKFLOW).read_text()
    assert "not yet a grade" in (repository / "README.md").read_text()


def test_the_workflow_is_one_that_github_reads(workflow: dict) -> None:
    triggers = workflow[True]  # YAML reads a bare `on` as true; GitHub doesn't
    assert "push" in triggers and "repository_dispatch" in triggers
    assert workflow["permissions"]["contents"] == "read"
    (job,) = workflow["jobs"].values()
    assert job["timeout-minutes"] <= 30
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step)
    graders = [step for step in job["steps"] if "command-grader" in step.get("uses", "")]
    assert {step["name"]: step["with"]["max-score"] for step in graders} == POINTS
    report = next(step for step in job["steps"] if "reporter" in step.get("uses", ""))
    assert report["with"]["runners"].split(",") == [step["id"] for step in graders]
    assert list(report["env"]) == [f"{step['id'].upper()}_RESULTS" for step in graders]


def test_the_workflow_installs_what_the_repository_asks_for(repository: Path, workflow: dict) -> None:
    steps = next(iter(workflow["jobs"].values()))["steps"]
    install = next(step["run"] for step in steps if "pip install" in step.get("run", ""))
    assert "-c requirements.lock" in install and install.endswith("-e .")
    project = tomllib.loads((repository / "pyproject.toml").read_text())
    assert (repository / "requirements.lock").exists()
    assert any(line.startswith("torch") for line in project["project"]["dependencies"])


@pytest.mark.slow
def test_the_workflows_commands_run_in_a_clone(repository: Path, workflow: dict, tmp_path: Path) -> None:
    clone = shutil.copytree(repository, tmp_path / "clone")
    write(clone / "notebooks" / CHAPTER.id / FILE_NAME, WRONG)
    steps = next(iter(workflow["jobs"].values()))["steps"]
    command = {step["name"]: step["with"]["command"] for step in steps if "command-grader" in step.get("uses", "")}

    def exit_code(line: str) -> int:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(["bash", "-c", line], cwd=clone, env=os.environ | {"PATH": path}, timeout=200).returncode

    assert exit_code(command["softmax"]) == 1
    assert exit_code(command["padding_mask"]) == 0
    assert exit_code(steps[-1]["run"]) == 1
    write(clone / "notebooks" / CHAPTER.id / FILE_NAME, notebooks.solved())
    assert exit_code(steps[-1]["run"]) == 0


def test_a_folder_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path / "x" / "mine.txt", b"mine")
    for command in (
        ["github-classroom", "02", "--out", str(tmp_path / "x")],
        ["gradescope", "99"],
        ["github-classroom", "nothing"],
    ):
        assert CliRunner().invoke(cli.app, ["package", *command]).exit_code == 2
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["mine.txt"]

"""Pack the zip that Gradescope makes an autograder of: the grader, one chapter's hidden tests, and how to set both up."""

import ast
import hashlib
import hmac
import json
import shlex
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

from autograder.bundle import MOMENT, bundle_files
from autograder.gradescope import SECRET, SETTINGS
from autograder.hidden import tests_of
from autograder.paths import ROOT, TEMPLATES, source_of
from autograder.whole_file import written_whole
from utils.catalogue import Chapter

EXECUTABLE = {"run_autograder", "setup.sh"}


def own_secret(secret: str, chapter: Chapter) -> str:
    """Derive a secret for one chapter's zip, so that a zip that gets lost gives nothing else away."""
    return hmac.new(secret.encode(), f"gradescope {chapter.id}".encode(), hashlib.sha256).hexdigest()


def requirements() -> list[str]:
    """List what the grader needs of the course's dependencies."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = project["tool"]["course"]["grader_dependencies"]
    lines = {
        line.split(">")[0].split("=")[0].split("<")[0].strip(): line for line in project["project"]["dependencies"]
    }
    return [lines[name] for name in wanted]


def package_files(
    chapter: Chapter, secret: str, isolation: str = "auto", scores: str = "visible", pip_args: str = ""
) -> Iterator[tuple[str, bytes]]:
    """Give every file of the zip: its name, and its content."""
    setup = (TEMPLATES / "gradescope_setup.sh").read_text(encoding="utf-8")
    yield "setup.sh", setup.replace("@PIP_ARGS@", " ".join(map(shlex.quote, shlex.split(pip_args)))).encode()
    yield "run_autograder", (TEMPLATES / "gradescope_run_autograder").read_bytes()
    settings = {"chapter": chapter.id, "isolation": isolation, "scores": scores}
    yield SETTINGS, (json.dumps(settings, indent=1) + "\n").encode()
    yield SECRET, own_secret(secret, chapter).encode()
    yield "requirements.txt", "".join(f"{line}\n" for line in requirements()).encode()
    yield "requirements.lock", (ROOT / "requirements.lock").read_bytes()
    yield f"solutions/{chapter.id}.py", source_of(chapter.id).read_bytes()
    for name, content in bundle_files((chapter,)):
        if name.startswith("utils/"):
            yield name, content
    left_out = _hidden_modules_of_others(chapter)
    for path in sorted((ROOT / "autograder").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith("autograder/answers/") and name not in left_out:
            yield name, path.read_bytes()


def _hidden_modules_of_others(chapter: Chapter) -> set[str]:
    """Name the files with hidden tests of other chapters, and with what only those share."""
    there = {f"autograder.hidden.{file.stem}": file for file in (ROOT / "autograder" / "hidden").glob("[!_]*.py")}
    needed = {test.run.__module__ for exercise in chapter.exercises for test in tests_of(exercise.name)}
    waiting = [ROOT / "autograder" / "grader.py", *(there[module] for module in needed)]
    while waiting:
        imported = {
            node.module
            for node in ast.walk(ast.parse(waiting.pop().read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module in there
        }
        waiting += [there[module] for module in imported - needed]
        needed |= imported
    return {there[module].relative_to(ROOT).as_posix() for module in there.keys() - needed}


def write_package(out: Path, files: Iterator[tuple[str, bytes]]) -> int:
    """Write the zip, its files at the root as Gradescope wants them; gives how many there are."""
    count = 0
    with written_whole(out, "wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            entry = zipfile.ZipInfo(name, MOMENT)
            entry.external_attr = (0o100755 if name in EXECUTABLE else 0o100644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
            count += 1
    return count

"""Pack what learners need into one zip, and nothing else."""

import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import jinja2

from autograder.build import HOME, released_path
from autograder.paths import ROOT, TEMPLATES
from autograder.whole_file import written_whole
from utils.catalogue import Chapter, written_chapters

TOP = "transformer-course"
MOMENT = (2020, 1, 1, 0, 0, 0)  # the same files give the same zip


def learner_pyproject() -> str:
    """Write the learners' pyproject.toml: `utils` and the packages that notebooks need, with our versions."""
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = ours["tool"]["course"]["learner_dependencies"]
    lines = [line for line in ours["project"]["dependencies"] if _name_of(line) in wanted]
    listed = "".join(f'    "{line}",\n' for line in lines)
    return (
        '[build-system]\nrequires = ["setuptools>=77"]\nbuild-backend = "setuptools.build_meta"\n\n'
        f'[project]\nname = "{ours["project"]["name"]}"\nversion = "{ours["project"]["version"]}"\n'
        f'requires-python = "{ours["project"]["requires-python"]}"\ndependencies = [\n{listed}]\n\n'
        '[tool.setuptools.packages.find]\ninclude = ["utils*"]\n\n'
        '[tool.setuptools.package-data]\nutils = ["*.toml", "fixtures/*", "measured/*"]\n'
    )


def _name_of(requirement: str) -> str:
    return requirement.split(">")[0].split("=")[0].split("<")[0].strip()


def bundle_files(chosen: tuple[Chapter, ...] | None = None) -> Iterator[tuple[str, bytes]]:
    """Give every file of the bundle: its name below the top folder, and its content. All chapters, if none is chosen."""
    chapters = chosen or written_chapters()
    yield "notebooks/home.ipynb", HOME.read_bytes()
    for chapter in chapters:
        yield f"notebooks/{chapter.id}/{chapter.id}.ipynb", released_path(chapter).read_bytes()
    for path in sorted((ROOT / "utils").rglob("*")):
        if path.suffix in (".py", ".toml", ".safetensors", ".json") and ".ipynb_checkpoints" not in path.parts:
            yield path.relative_to(ROOT).as_posix(), path.read_bytes()
    yield "environment.yml", (ROOT / "environment.yml").read_bytes()
    yield "requirements.lock", (ROOT / "requirements.lock").read_bytes()
    yield "pyproject.toml", learner_pyproject().encode()
    yield "Makefile", (TEMPLATES / "learner_makefile").read_bytes()
    template = (TEMPLATES / "learner_readme.md.j2").read_text(encoding="utf-8")
    yield "README.md", jinja2.Template(template, keep_trailing_newline=True).render(chapters=chapters).encode()


def write_bundle(out: Path) -> int:
    """Write the zip; gives how many files are in it."""
    count = 0
    with written_whole(out, "wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in bundle_files():
            archive.writestr(zipfile.ZipInfo(f"{TOP}/{name}", MOMENT), content, zipfile.ZIP_DEFLATED)
            count += 1
    return count

"""Attacks by what is handed in: archives that reach out or blow up, links, and words that turn into code where they are shown."""

import csv
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from harness import CANARY, EXERCISE, POINTS, RIGHT, WRONG

import notebooks
from autograder.submissions import MAX_NOTEBOOK_BYTES, as_notebook

CHAPTER = notebooks.CHAPTER.id
NAME = f"{CHAPTER}.ipynb"
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m"
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def one(source: str = RIGHT) -> bytes:
    """A notebook with one answer in it."""
    return notebooks.as_bytes(as_notebook([(EXERCISE, source)], CHAPTER))


def zipped(file: Path, *entries: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    """Pack a zip with these names as they are."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return file


def linked(name: str, target: str) -> zipfile.ZipInfo:
    """A symbolic link inside a zip."""
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, 0o120777 << 16
    return info


def traversal(folder: Path) -> Path:
    names = [f"../../{folder.name}/evil/{NAME}", f"/tmp/evil/{NAME}", f"C:\\evil\\{NAME}", f"..\\..\\evil\\{NAME}", f"a/../../../evil2/{NAME}"]  # fmt: skip
    return zipped(folder / "class.zip", *((name, one()) for name in names), (f"honest/{NAME}", one()))


def bomb(folder: Path) -> Path:
    return zipped(folder / "class.zip", (f"eve/{NAME}", b" " * (MAX_NOTEBOOK_BYTES * 4)), (f"honest/{NAME}", one()))


def nested_bomb(folder: Path) -> Path:
    inner = zipped(folder / "inner.zip", ("0", bytes(1 << 24)))
    return zipped(folder / "class.zip", (f"eve/{NAME}", inner.read_bytes()), ("eve/more.zip", inner.read_bytes()), (f"honest/{NAME}", one()))  # fmt: skip


def many_entries(folder: Path) -> Path:
    return zipped(folder / "class.zip", (f"honest/{NAME}", one()), *((f"z{n}/notes.txt", b"") for n in range(5_000)))


def same_names(folder: Path) -> Path:
    return zipped(folder / "class.zip", (f"honest/{NAME}", one()), *((f"eve{mark}/{NAME}", one(WRONG)) for mark in ("", "/", " ", "//.")))  # fmt: skip


def link_in_zip(folder: Path) -> Path:
    return zipped(folder / "class.zip", (linked(f"eve/{NAME}", ""), str(folder / "gradebook.db").encode()), (f"honest/{NAME}", one()))  # fmt: skip


def links(folder: Path) -> Path:
    (folder / "class" / "eve").mkdir(parents=True)
    (folder / "class" / "eve" / NAME).symlink_to(folder / "gradebook.db")
    (folder / "class" / "mallory").mkdir()
    (folder / "class" / "mallory" / NAME).symlink_to("/proc/self/environ")
    (folder / "class" / "loop").mkdir()
    (folder / "class" / "loop" / NAME).symlink_to(NAME)
    (folder / "class" / "around").symlink_to(folder / "class")
    notebooks.write(folder / "class" / "honest" / NAME, one())
    return folder / "class"


def hard_links(folder: Path) -> Path:
    notebooks.write(folder / "class" / "honest" / NAME, one())
    (folder / "class" / "eve").mkdir()
    os.link(folder / "gradebook.db", folder / "class" / "eve" / NAME)
    return folder / "class"


def pipes(folder: Path) -> Path:
    notebooks.write(folder / "class" / "honest" / NAME, one())
    (folder / "class" / "eve").mkdir()
    os.mkfifo(folder / "class" / "eve" / NAME)
    return folder / "class"


def sparse(folder: Path) -> Path:
    notebooks.write(folder / "class" / "honest" / NAME, one())
    place = notebooks.write(folder / "class" / "eve" / NAME, b"{")
    os.truncate(place, 1 << 40)
    return folder / "class"


def scripts_in_outputs(folder: Path) -> Path:
    made = as_notebook([(EXERCISE, f"{WRONG}\n# {SCRIPT}")], CHAPTER)
    made.cells[0].outputs = [nbformat.v4.new_output("display_data", {"text/html": SCRIPT, "image/svg+xml": SCRIPT})]
    made.cells.append(nbformat.v4.new_markdown_cell(SCRIPT))
    made.metadata["title"] = made.metadata["kernelspec"] = {"name": SCRIPT, "display_name": SCRIPT}
    notebooks.write(folder / "class" / "honest" / NAME, one())
    notebooks.write(folder / "class" / "eve" / NAME, notebooks.as_bytes(made))
    return folder / "class"


def scripts_in_errors(folder: Path) -> Path:
    notebooks.write(folder / "class" / "honest" / NAME, one())
    errors = f"raise type({SCRIPT!r}, (Exception,), {{}})({SCRIPT + ESCAPES!r})"
    notebooks.write(folder / "class" / "eve" / NAME, one(errors))
    notebooks.write(folder / "class" / "mallory" / NAME, one(f"def softmax(x, dim=-1):\n    {errors}"))
    return folder / "class"


def scripts_in_names(folder: Path) -> Path:
    notebooks.write(folder / "class" / "honest" / NAME, one())
    for name in (
        "<script>alert(1)<∕script>",
        '"><img src=x onerror=alert(2)>',
        f"eve{ESCAPES}",
        "[red]eve[/red]",
        "{{7*7}}",
        "%s%n",
    ):
        notebooks.write(folder / "class" / name / NAME, one(WRONG))
    return folder / "class"


def formulas_in_names(folder: Path) -> Path:
    notebooks.write(folder / "class" / "honest" / NAME, one())
    for name in ("=cmd('calc')!A1", "+1+2", "-1+2", "@SUM(A1)", "\t=1+2", 'a",=1+2,"', " =1+2", "＝1+2"):
        notebooks.write(folder / "class" / name / NAME, one(WRONG))
    return folder / "class"


def names_out_of_the_folder(folder: Path) -> Path:
    return zipped(folder / "class.zip", *((f"{name}/{NAME}", one(WRONG)) for name in ("..", "...", "con", "x" * 250, "a\\..\\b", "\u202egpj.exe")),
                  (f"honest/{NAME}", one()))  # fmt: skip


def deep_json(folder: Path) -> Path:
    notebooks.write(folder / "class" / "eve" / NAME, b'{"cells": ' + b'[{"a":' * 100_000)
    notebooks.write(folder / "class" / "honest" / NAME, one())
    return folder / "class"


CASES: dict[str, Callable[[Path], Path]] = {
    "zip-traversal": traversal,
    "zip-bomb": bomb,
    "zip-in-zip": nested_bomb,
    "zip-of-many": many_entries,
    "zip-same-names": same_names,
    "zip-symlink": link_in_zip,
    "submitted-symlinks": links,
    "submitted-hard-link": hard_links,
    "submitted-pipe": pipes,
    "submitted-sparse": sparse,
    "html-in-outputs": scripts_in_outputs,
    "html-in-errors": scripts_in_errors,
    "html-and-escapes-in-names": scripts_in_names,
    "formulas-in-names": formulas_in_names,
    "names-out-of-the-folder": names_out_of_the_folder,
    "deep-json": deep_json,
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_handed_in_stays_what_it_is(course_grade: Callable, tmp_path: Path, case: str) -> None:
    secret = notebooks.write(tmp_path / "gradebook.db", CANARY.encode())
    handed_in = CASES[case](tmp_path)
    before = everything_in(tmp_path)
    run = course_grade(handed_in, jobs=1, out=tmp_path / "out")
    assert run.exit_code == 0, run.output
    for student, result in run.by_student.items():  # nobody has points but who earned them
        earned = POINTS if student == "honest" or case == "zip-traversal" else 0
        assert result["score"] == earned, (student, result)
    assert run.by_student["honest"]["score"] == POINTS
    assert secret.read_text() == CANARY
    assert everything_in(tmp_path) - everything_in(tmp_path / "out", tmp_path) - before == {"out"}
    written = [path for path in (tmp_path / "out").rglob("*") if path.is_file() and path.suffix != ".sqlite"]
    shown = {path: path.read_text() for path in written}
    assert not any(CANARY in text for text in shown.values())
    for path, text in shown.items():
        if path.suffix == ".html":
            assert "<script" not in text
            assert "<img" not in text
            assert not CONTROLS.search(text)
    assert not CONTROLS.search(plain(run.output))
    with (tmp_path / "out" / "grades.csv").open(newline="") as stream:
        for row in csv.reader(stream):
            assert not any(cell.lstrip()[:1] in ("=", "+", "-", "@") for cell in row), row


def everything_in(folder: Path, above: Path | None = None) -> set[str]:
    """Name all that lies in a folder, links not followed."""
    found = set()
    for where, folders, files in os.walk(folder):
        found |= {os.path.relpath(os.path.join(where, name), above or folder) for name in folders + files}
    return found


def plain(output: str) -> str:
    """Take the grader's own colours and lines out of what a terminal shows."""
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", output).replace("\r", "")

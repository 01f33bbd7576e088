"""Folders and zips that are empty, damaged or hostile, and one of everything bad by the real command."""

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from handing_in import nothing_but

import notebooks
from autograder.submissions import MAX_NOTEBOOK_BYTES
from notebooks import CHAPTER, FILE_NAME, NAMES, add_cell, as_bytes, exercise, write

# Folders and zips


def test_a_folder_without_notebooks_is_a_wrong_call(course_grade: Callable, tmp_path: Path) -> None:
    write(tmp_path / "empty" / "notes.txt", b"no notebook")
    run = course_grade(tmp_path / "empty")
    assert run.exit_code == 2
    assert "holds no notebooks" in run.output
    assert not run.folder.exists()


def test_a_path_that_does_not_exist_is_a_wrong_call(course_grade: Callable, tmp_path: Path) -> None:
    run = course_grade(tmp_path / "nowhere")
    assert run.exit_code == 2
    assert "doesn't exist" in run.output


def test_a_wrong_path_beside_a_good_one_is_a_wrong_call(course_grade: Callable, tmp_path: Path) -> None:
    run = course_grade(write(tmp_path / "ada.ipynb", notebooks.solved()), tmp_path / "nowhere")
    assert run.exit_code == 2
    assert "nowhere doesn't exist" in run.output


def test_an_out_folder_that_is_a_file_is_a_wrong_call(course_grade: Callable, tmp_path: Path) -> None:
    run = course_grade(write(tmp_path / "ada.ipynb", notebooks.solved()), out=write(tmp_path / "grades", b"a file"))
    assert run.exit_code == 2
    assert "can't be written" in run.output


def _zip(file: Path, entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return file


def test_a_zip_of_notebooks_is_graded(course_grade: Callable, tmp_path: Path) -> None:
    entries = {f"{who}/{CHAPTER.id}/{FILE_NAME}": content for who, content in
               {"ada": notebooks.solved(), "bob": notebooks.unsolved(), "eve": b"no notebook"}.items()}  # fmt: skip
    run = course_grade(_zip(tmp_path / "all.zip", {**entries, "notes.txt": b"", "__MACOSX/ada/._x.ipynb": b"junk"}))
    assert run.exit_code == 0
    assert {who: result["score"] for who, result in run.by_student.items()} == {
        "ada": CHAPTER.points,
        "bob": 0,
        "eve": 0,
    }
    assert "JSON" in run.by_student["eve"]["error"]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_entry_costs_itself_only(course_grade: Callable, tmp_path: Path, method: int) -> None:
    file = _zip(
        tmp_path / "all.zip", {f"ada/{FILE_NAME}": notebooks.solved(), f"right/{FILE_NAME}": notebooks.solved()}, method
    )
    content = bytearray(file.read_bytes())
    start = content.index(FILE_NAME.encode()) + len(FILE_NAME) + 200
    content[start : start + 400] = bytes(reversed(range(200))) * 2
    run = course_grade(write(file, bytes(content)))
    assert run.exit_code == 0
    assert run.by_student["right"]["score"] == CHAPTER.points
    nothing_but(run.by_student["ada"], "can't be opened")


def test_a_zip_that_was_cut_off_is_a_wrong_call(course_grade: Callable, tmp_path: Path) -> None:
    file = _zip(tmp_path / "all.zip", {f"ada/{FILE_NAME}": notebooks.solved()})
    write(file, file.read_bytes()[:-200])
    run = course_grade(file)
    assert run.exit_code == 2
    assert "damaged" in run.output


def test_a_zip_with_a_damaged_directory_is_a_wrong_call(course_grade: Callable, tmp_path: Path) -> None:
    file = _zip(tmp_path / "all.zip", {f"ada/{FILE_NAME}": notebooks.solved()})
    content = file.read_bytes()
    write(file, content.replace(b"PK\x01\x02", b"PK\x01\x09"))
    run = course_grade(file)
    assert run.exit_code == 2
    assert "damaged" in run.output


def test_a_zip_bomb_is_not_unpacked(course_grade: Callable, tmp_path: Path) -> None:
    entries = {f"ada/{FILE_NAME}": b" " * (MAX_NOTEBOOK_BYTES + 1), f"right/{FILE_NAME}": notebooks.solved()}
    run = course_grade(_zip(tmp_path / "all.zip", entries))
    assert run.by_student["right"]["score"] == CHAPTER.points
    nothing_but(run.by_student["ada"], "larger than 64 MB")


# Everything at once, by the real command


@pytest.mark.slow
def test_the_command_grades_a_folder_of_everything_bad_and_one_right(tmp_path: Path) -> None:
    right_answers = notebooks.all_right()
    handed_in = {
        "right": notebooks.solved(),
        "text": b"no notebook",
        "json": b"[]",
        "empty": b"",
        "latin": "ü".encode("latin-1"),
        "loop": notebooks.with_answers(softmax="while True:\n    pass"),
        "exits": notebooks.with_answers(softmax="import os\nos._exit(0)"),
        "hungry": notebooks.with_answers(softmax="kept = []\nwhile True:\n    kept.append(bytearray(1 << 26))"),
        "syntax": notebooks.with_answers(softmax="def softmax(:"),
        "asks": notebooks.with_answers(softmax="def softmax(x, dim=-1):\n    return input()"),
        "installs": as_bytes(add_cell(notebooks.notebook(right_answers), "!pip install nothing", before=NAMES[0])),
        "unsolved": notebooks.unsolved(),
    }
    for who, content in handed_in.items():
        write(tmp_path / "submitted" / who / CHAPTER.id / FILE_NAME, content)
    command = [Path(sys.executable).with_name("course"), "grade", "submitted", "--seed", "1", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((tmp_path / "out" / "results.json").read_text())["submissions"]
    softmax = exercise(results[0], "softmax")["points"]
    scores = {result["student"]: result["score"] for result in results}
    costs_softmax = dict.fromkeys(["loop", "exits", "hungry", "syntax", "asks"], CHAPTER.points - softmax)
    nothing = dict.fromkeys(["text", "json", "empty", "latin", "unsolved"], 0)
    assert scores == {"right": CHAPTER.points, "installs": CHAPTER.points} | costs_softmax | nothing
    assert {path.name for path in (tmp_path / "out" / "feedback").iterdir()} == handed_in.keys()

"""Files that hold no notebook, or one of another kind: a clear message at its submission, and the rest of the batch is graded."""

import json
import os
from pathlib import Path

import nbformat
import pytest
from handing_in import altered, full_marks, hands_in, nothing_but, solved_and

import notebooks
from autograder.submissions import MAX_NOTEBOOK_BYTES
from notebooks import CHAPTER, as_bytes, exercise_cell

# Files that hold no notebook


@hands_in(lambda: b"Here is my homework!")
def test_text_that_is_not_json(submission: dict) -> None:
    nothing_but(submission, "isn't a notebook", "JSON", ".ipynb")


@hands_in(lambda: notebooks.solved()[:-3000])
def test_a_notebook_that_was_cut_off(submission: dict) -> None:
    nothing_but(submission, "isn't a notebook", "JSON")


@pytest.mark.parametrize("content", ["{}", '{"a": 1}', "[1, 2]", '"text"', "12", "null", "NaN"])
@hands_in(lambda content: content.encode())
def test_json_that_is_no_notebook(submission: dict, content: str) -> None:
    nothing_but(submission, "not a notebook", "no cells")


@pytest.mark.parametrize("cells", ['"cells"', "{}", "7", "null"])
@hands_in(lambda cells: f'{{"nbformat": 4, "nbformat_minor": 5, "cells": {cells}}}'.encode())
def test_a_notebook_whose_cells_are_no_list(submission: dict, cells: str) -> None:
    nothing_but(submission, "damaged", "JupyterLab")


@hands_in(lambda: b'{"cells": ' + b"[" * 200_000)
def test_json_that_is_nested_without_end(submission: dict) -> None:
    nothing_but(submission, "isn't a notebook")


@pytest.mark.parametrize("content", ["", " \n\n\t\n"])
@hands_in(lambda content: content.encode())
def test_an_empty_file(submission: dict, content: str) -> None:
    nothing_but(submission, "empty")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@hands_in(lambda encoding: solved_and("# grün").decode().encode("ascii", "replace").replace(b"gr?n", b"gr\xfcn")
          if encoding == "latin-1" else notebooks.solved().decode().encode(encoding))  # fmt: skip
def test_bytes_that_are_not_utf_8(submission: dict, encoding: str) -> None:
    nothing_but(submission, "UTF-8", "JupyterLab")


@hands_in(lambda: b"\xef\xbb\xbf" + notebooks.solved())
def test_a_byte_order_mark_is_no_harm(submission: dict) -> None:
    full_marks(submission)


def _with_a_hole(place: Path) -> None:
    place.write_bytes(notebooks.solved())
    os.truncate(place, 100 << 20)  # the hole takes no space on the disk
    assert place.stat().st_size > MAX_NOTEBOOK_BYTES


@hands_in(lambda: _with_a_hole)
def test_a_notebook_of_100_mb_is_not_read(submission: dict) -> None:
    nothing_but(submission, "larger than 64 MB", "Clear its outputs")


def _with_output(text: str) -> bytes:
    made = notebooks.notebook(notebooks.all_right())
    exercise_cell(made, "softmax").outputs = [nbformat.v4.new_output("stream", text=text)]
    return as_bytes(made)


@hands_in(lambda: _with_output("0.25 " * (4 << 20)))
def test_20_mb_of_outputs_are_no_harm(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: lambda place: place.symlink_to("is not there"))
def test_a_file_that_cannot_be_opened(submission: dict) -> None:
    nothing_but(submission, "can't be opened")


@hands_in(lambda: lambda place: place.symlink_to("/dev/zero"))
def test_a_device_is_not_read(submission: dict) -> None:
    nothing_but(submission, "isn't a file")


# Notebooks of another kind


@hands_in(lambda: nbformat.writes(
    nbformat.convert(notebooks.notebook(notebooks.all_right()), 3), nbformat.NO_CONVERT).encode())  # fmt: skip
def test_nbformat_3_is_upgraded_and_graded(submission: dict) -> None:
    full_marks(submission)
    assert "old format 3" in submission["error"]


@pytest.mark.parametrize("version", ["3", "2", "5", '"4"', "null", "[]", "1e999"])
@hands_in(lambda version: (
    f'{{"nbformat": {version}, "nbformat_minor": 0, "metadata": 7, "cells": [1], "worksheets": [2]}}'.encode()))  # fmt: skip
def test_a_format_that_cannot_be_read(submission: dict, version: str) -> None:
    nothing_but(submission, "format", "JupyterLab")


def _of_another_course() -> bytes:
    cells = [nbformat.v4.new_code_cell("import numpy as np\nanswer = 42"), nbformat.v4.new_markdown_cell("Physics")]
    return as_bytes(nbformat.v4.new_notebook(cells=cells))


@hands_in(_of_another_course)
def test_a_notebook_of_another_course(submission: dict) -> None:
    nothing_but(submission, "no exercise of this course", "own notebook")


@hands_in(_of_another_course, "physics.ipynb")
def test_a_notebook_of_another_course_under_another_name(submission: dict) -> None:
    assert (submission["score"], submission["max_score"], submission["exercises"]) == (0, 0, [])
    assert "no exercise of this course" in submission["error"]


@hands_in(lambda: as_bytes(nbformat.v4.new_notebook()))
def test_a_notebook_without_cells(submission: dict) -> None:
    nothing_but(submission, "no exercise of this course")


@hands_in(notebooks.solved, "final FINAL (2).ipynb")
def test_a_renamed_notebook_is_recognised(submission: dict) -> None:
    full_marks(submission)
    assert submission["chapter"] == CHAPTER.id


@hands_in(lambda: altered(lambda made: made.metadata.clear()), "homework.ipynb")
def test_a_renamed_notebook_without_metadata_is_recognised_by_its_exercises(submission: dict) -> None:
    full_marks(submission)


def _with_odd_metadata() -> bytes:
    content = json.loads(notebooks.solved())
    content["metadata"] = {"course": ["02"], "kernelspec": 7}
    for number, cell in enumerate(content["cells"]):
        cell["metadata"] = [None, [], 7, {"nbgrader": []}, {"nbgrader": {"grade_id": [1]}}][number % 5]
        cell["id"] = [None, {}, 7, "x" * 10_000][number % 4]
    content["cells"] += [None, 7, [], {"cell_type": "code"}, {"cell_type": "code", "source": {"a": 1}}]
    return json.dumps(content).encode()


@hands_in(_with_odd_metadata)
def test_metadata_of_the_wrong_kind_is_no_harm(submission: dict) -> None:
    full_marks(submission)

"""Whatever is handed in: a clear message at its exercise or submission, and the rest of the batch is graded.

What the tests of this file hand in is graded in one batch, by one call of `course grade`, with right notebooks among it.
"""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

import notebooks
from autograder import grader, session
from autograder.submissions import MAX_NOTEBOOK_BYTES
from notebooks import CHAPTER, FILE_NAME, NAMES, add_cell, as_bytes, exercise, exercise_cell, lost, right, stub, write


def hands_in(make: Callable[..., bytes | Callable], name: str = FILE_NAME) -> pytest.MarkDecorator:
    """Say what a test hands in: a function (of its parameters) that gives the bytes, or a function to make the file."""
    return pytest.mark.hands_in(make, name)


@pytest.fixture(scope="module")
def batch(
    request: pytest.FixtureRequest, course_grade: Callable, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict]:
    """Grade what all chosen tests of this file hand in; gives the results by the tests' names."""
    folder = tmp_path_factory.mktemp("handed_in")
    places: dict[str, Path] = {}
    for test in request.session.items:
        mark = test.get_closest_marker("hands_in")
        if mark is None:
            continue
        make, name = mark.args
        places[test.nodeid] = place = folder / f"student {len(places):03d}" / name
        place.parent.mkdir()
        parameters = test.callspec.params if hasattr(test, "callspec") else {}
        made = make(**parameters)
        made(place) if callable(made) else place.write_bytes(made)
    for student in ("a right one", "z right one"):  # the first and the last of the batch
        places[student] = write(folder / student / FILE_NAME, notebooks.solved())
    with pytest.MonkeyPatch.context() as patch:  # what hangs ends sooner
        for module, limit in ((session, "CELL_SECONDS"), (grader, "EXERCISE_SECONDS"), (grader, "VISIBLE_SECONDS")):
            patch.setattr(module, limit, 6)
        tests_of = grader.tests_of
        patch.setattr(grader, "tests_of", lambda name: [replace(test, seconds=1) for test in tests_of(name)])
        run = course_grade(folder)
    assert run.exit_code == 0
    results = {result["path"]: result for result in run.results["submissions"]}
    return {test: results[str(place)] for test, place in places.items()}


@pytest.fixture
def submission(request: pytest.FixtureRequest, batch: dict[str, dict]) -> dict:
    """The result of what this test hands in; the right notebooks in the same batch lost nothing."""
    for student in ("a right one", "z right one"):
        full_marks(batch[student])
        assert batch[student]["error"] is None
    return batch[request.node.nodeid]


def nothing_but(submission: dict, *words: str) -> None:
    """Expect a submission that couldn't be graded at all, with a message that holds these words."""
    assert submission["score"] == 0
    assert submission["max_score"] == CHAPTER.points
    assert [found["status"] for found in submission["exercises"]] == ["missing"] * len(NAMES)
    for word in words:
        assert word in submission["error"]
    assert {found["message"] for found in submission["exercises"]} == {submission["error"]}


def full_marks(submission: dict) -> None:
    assert lost(submission) == {}
    assert submission["score"] == CHAPTER.points


def costs(submission: dict, name: str, status: str, *words: str) -> None:
    """Expect that one exercise lost points, for a reason that its message tells in these words, and no other did."""
    assert lost(submission) == {name: status}
    for word in words:
        assert word in exercise(submission, name)["message"]


def solved(**changes: str) -> bytes:
    """Right answers to all exercises, but for those that are changed."""
    return notebooks.with_answers(**changes)


def solved_and(source: str, before: str | None = None, after: str | None = None, **changes: str) -> bytes:
    """The same with an added cell."""
    return as_bytes(add_cell(notebooks.notebook(notebooks.all_right(**changes)), source, before, after))


def altered(change: Callable[[nbformat.NotebookNode], object]) -> bytes:
    """A solved notebook that something was done to."""
    made = notebooks.notebook(notebooks.all_right())
    change(made)
    return json.dumps(made).encode()


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


# Cells that are missing, doubled or changed


@hands_in(lambda: altered(lambda made: made.cells.remove(exercise_cell(made, "softmax"))))
def test_a_deleted_exercise_cell_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "missing", "No cell defines softmax", "deleted or renamed")


@hands_in(lambda: solved(softmax=""))
def test_an_emptied_exercise_cell_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "missing", "doesn't define softmax")


@hands_in(lambda: solved(softmax="def my_softmax(x, dim=-1):\n    return x.exp() / x.exp().sum(dim, keepdim=True)"))
def test_an_exercise_under_another_name_is_missing(submission: dict) -> None:
    costs(submission, "softmax", "missing", "doesn't define softmax")


@hands_in(lambda: solved_and(stub("softmax"), after="softmax"))
def test_a_copy_of_the_stub_after_the_answer_undoes_nothing(submission: dict) -> None:
    full_marks(submission)


def _with_a_stub_among_other_code() -> bytes:
    made = add_cell(notebooks.notebook(notebooks.all_right()), f"x = 1\n{stub('softmax')}\n\ny = 2", after="softmax")
    add_cell(made, f"assert x + y == 3\n\n{right('padding_mask')}")
    return as_bytes(made)


@hands_in(_with_a_stub_among_other_code)
def test_a_copy_of_the_stub_among_other_code_undoes_nothing(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: solved_and(right("softmax"), before="softmax", softmax=stub("softmax")))
def test_an_answer_in_a_cell_before_the_stub_counts(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: solved_and(right("softmax"), after="softmax", softmax=stub("softmax")))
def test_an_answer_in_a_cell_after_the_stub_counts(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: solved_and(right("padding_mask"), padding_mask="def padding_mask(a, b):\n    return a"))
def test_of_two_real_definitions_the_last_one_counts(submission: dict) -> None:
    full_marks(submission)
    assert "more than one cell" in exercise(submission, "padding_mask")["message"]


@hands_in(lambda: solved_and("def padding_mask(lengths, max_len):\n    return lengths"))
def test_of_two_real_definitions_a_wrong_last_one_counts_too(submission: dict) -> None:
    costs(submission, "padding_mask", "failed", "more than one cell", "the last one counts")


@hands_in(lambda: altered(lambda made: made.cells.extend(notebooks.notebook({}).cells)))
def test_a_notebook_with_the_unsolved_one_pasted_below_is_graded(submission: dict) -> None:
    full_marks(submission)


def _forget(made: nbformat.NotebookNode) -> None:
    for number, cell in enumerate(made.cells):
        cell.metadata.clear()
        cell.id = f"other-{number}"


@hands_in(lambda: altered(_forget))
def test_changed_cell_ids_and_lost_metadata_cost_nothing(submission: dict) -> None:
    full_marks(submission)


def _exchange(made: nbformat.NotebookNode) -> None:
    one, other = exercise_cell(made, "softmax"), exercise_cell(made, "padding_mask")
    one.source, other.source = other.source, one.source


@hands_in(lambda: altered(_exchange))
def test_answers_in_each_others_cells_are_found_by_what_they_define(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: as_bytes(add_cell(notebooks.notebook({}), "\n\n".join(map(right, NAMES)), before=NAMES[0])))
def test_answers_all_in_one_cell_are_found(submission: dict) -> None:
    full_marks(submission)


@pytest.mark.parametrize("block", ["if True:", "try:", "with torch.no_grad():", "for _ in range(1):"])
@hands_in(lambda block: solved(softmax=f"{block}\n    " + right("softmax").replace("\n", "\n    ")
                               + ("\nexcept OSError:\n    pass" if block == "try:" else "")))  # fmt: skip
def test_an_answer_in_a_block_is_found(submission: dict, block: str) -> None:
    full_marks(submission)


HELPER = "import itertools\n\ndef products(a, b):\n    return torch.einsum('...id,...jd->...ij', a, b)"


@hands_in(lambda: solved_and(HELPER, before=NAMES[0], attention_scores=(
    "def attention_scores(q, k):\n    return products(q, k)")))  # fmt: skip
def test_helpers_in_an_added_cell_are_there(submission: dict) -> None:
    full_marks(submission)


# Magics and shell commands


def _with_commands() -> bytes:
    made = notebooks.notebook(
        notebooks.all_right(softmax=f"%matplotlib inline\n!pip install einops\n{right('softmax')}")
    )
    commands = "!pip install torch\n%pip install numpy\nfiles = !ls\n%load_ext autoreload\n%autoreload 2\nsoftmax?"
    add_cell(made, commands, before="attention_scores")
    add_cell(made, "%%bash\necho hello", after="attention_scores")
    add_cell(made, "%%html\n<b>hello</b>")
    return as_bytes(made)


@hands_in(_with_commands)
def test_shell_commands_and_magics_do_nothing_and_cost_nothing(submission: dict) -> None:
    full_marks(submission)


@pytest.mark.parametrize("magic", ["%%time", "%%timeit -n 1", "%%capture out", "\n\n%%time\n"])
@hands_in(lambda magic: solved(softmax=f"{magic}\n{right('softmax')}"))
def test_a_measured_exercise_cell_counts(submission: dict, magic: str) -> None:
    full_marks(submission)


@hands_in(lambda: solved(softmax=f"%%nonsense\n{right('softmax')}"))
def test_a_magic_without_meaning_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "missing", "doesn't define softmax")


# Code that isn't Python


@hands_in(lambda: solved(softmax="def softmax(x, dim=-1)\n    return x"))
def test_a_syntax_error_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "isn't valid Python", "line 1")


@hands_in(lambda: solved(softmax="import math\n%matplotlib inline\n\ndef softmax(x, dim=-1):\n    return ="))
def test_a_syntax_error_beside_a_magic_is_told_with_its_line(submission: dict) -> None:
    costs(submission, "softmax", "error", "isn't valid Python", "line 5")


@hands_in(lambda: solved_and("wow, it works!"))
def test_a_syntax_error_in_an_added_cell_costs_nothing(submission: dict) -> None:
    full_marks(submission)


NESTED = {
    "brackets": "(" * 5_000 + "1" + ")" * 5_000,
    "minus signs": "-" * 50_000 + "1",
    "attributes": "x" + ".x" * 50_000,
    "sums": "+".join("1" * 50_000),
    "calls": "f(" * 90 + ")" * 90,
    "lambdas": "lambda: " * 20_000 + "1",
}


@pytest.mark.parametrize("kind", NESTED)
@hands_in(lambda kind: solved(softmax=f"{right('softmax')}\n\ndeep = {NESTED[kind]}"))
def test_a_deeply_nested_expression_costs_its_exercise_at_most(submission: dict, kind: str) -> None:
    assert lost(submission).keys() <= {"softmax"}
    assert exercise(submission, "softmax")["message"]


DEEP_BLOCKS = "".join(" " * depth + "if True:\n" for depth in range(200)) + " " * 200 + "pass"


@hands_in(lambda: solved(softmax=f"{DEEP_BLOCKS}\n{right('softmax')}"))
def test_deep_blocks_cost_their_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "isn't valid Python")


@hands_in(lambda: solved(softmax=f"# {'x' * 1_000_000}\n{right('softmax')}"))
def test_a_cell_of_a_million_characters_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "missing", "doesn't define softmax")


@hands_in(lambda: solved_and("# half an emoji", softmax=f'emoji = "half an emoji"\n{right("softmax")}')
          .replace(b"half an emoji", b"\\ud83d"))  # fmt: skip
def test_lone_surrogates_in_a_string_cost_nothing(submission: dict) -> None:
    full_marks(submission)


@hands_in(lambda: solved(softmax="def softmax(x, dim=-1):\n    raise ValueError(chr(0xD83D) + '\\x1b[2J\\0')"))
def test_lone_surrogates_in_an_error_message_are_no_harm(submission: dict) -> None:
    costs(submission, "softmax", "error", "ValueError")


@pytest.mark.parametrize("character", ["\0", "\x1b", "\u2028", "\ufeff", "\r", "\x0c"])
@hands_in(lambda character: solved(softmax=f"# {character}\n{right('softmax')}"))
def test_odd_characters_cost_their_exercise_at_most(submission: dict, character: str) -> None:
    assert lost(submission).keys() <= {"softmax"}


# Code that doesn't behave


@hands_in(lambda: solved(softmax=f"n = int(input('n?'))\n{right('softmax')}"))
def test_input_in_an_exercise_cell_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "EOFError in line 1", "input() has nobody to ask")


@hands_in(lambda: solved(softmax="def softmax(x, dim=-1):\n    return input()"))
def test_input_in_a_function_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "EOFError", "input() has nobody to ask")


@hands_in(lambda: solved_and("name = input('Your name?')", before="softmax"))
def test_input_in_an_added_cell_costs_nothing(submission: dict) -> None:
    full_marks(submission)


@pytest.mark.slow
@hands_in(lambda: solved(softmax=f"{right('softmax')}\nwhile True:\n    pass"))
def test_an_endless_loop_in_an_exercise_cell_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "timeout", "While the cell was run", "did not finish in time")


@pytest.mark.slow
@hands_in(lambda: solved_and("import time\nwhile True:\n    time.sleep(60)", before="softmax"))
def test_an_endless_loop_in_an_added_cell_costs_nothing(submission: dict) -> None:
    full_marks(submission)


STUBBORN = """def softmax(x, dim=-1):
    while True:
        try:
            time.sleep(60)
        except BaseException:
            pass"""


@pytest.mark.slow
@hands_in(lambda: solved(softmax=f"import time\n{STUBBORN}"))
def test_an_endless_loop_in_a_function_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "timeout", "While hidden tests ran", "did not finish in time")


@pytest.mark.parametrize(
    "leave", ["import sys\nsys.exit()", "exit()", "quit(1)", "raise SystemExit", "raise KeyboardInterrupt"]
)
@hands_in(lambda leave: solved_and(leave, before="softmax"))
def test_leaving_in_an_added_cell_costs_nothing(submission: dict, leave: str) -> None:
    full_marks(submission)


@hands_in(lambda: solved(softmax=f"import sys\nsys.exit()\n{right('softmax')}"))
def test_sys_exit_before_an_answer_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "SystemExit in line 2")


ENDS = {
    "sys.exit": "import sys; sys.exit(0)",
    "os._exit": "import os; os._exit(0)",
    "abort": "import os; os.abort()",
    "null pointer": "import ctypes; ctypes.string_at(0)",
    "an exception outside Exception": "raise type('Odd', (BaseException,), {})",
    "a closed connection": "import os; os.closerange(0, 100)",
}


@pytest.mark.parametrize("end", ENDS)
@hands_in(lambda end: solved(softmax=f"def softmax(x, dim=-1):\n    {ENDS[end]}"))
def test_ending_the_process_in_a_function_costs_its_exercise_only(submission: dict, end: str) -> None:
    costs(submission, "softmax", "error")
    assert exercise(submission, "softmax")["message"]


@pytest.mark.parametrize("end", [end for end in ENDS if end != "sys.exit"])
@hands_in(lambda end: solved(softmax=f"{ENDS[end]}\n{right('softmax')}"))
def test_ending_the_process_in_an_exercise_cell_costs_its_exercise_only(submission: dict, end: str) -> None:
    costs(submission, "softmax", "error")
    assert exercise(submission, "softmax")["message"]


@hands_in(lambda: solved_and("import os, threading\nthreading.Timer(0.2, os._exit, [1]).start()", before=NAMES[0]))
def test_a_thread_that_ends_the_process_later_is_told_at_each_exercise(submission: dict) -> None:
    assert submission["error"] is None
    for found in submission["exercises"]:
        assert found["status"] == "passed" or "ended the process" in found["message"]


@hands_in(lambda: solved_and("import builtins\nbuiltins.__import__ = builtins.len = None", before="softmax"))
def test_a_cell_that_breaks_python_is_told_at_each_exercise(submission: dict) -> None:
    assert submission["error"] is None
    assert len(submission["exercises"]) == len(NAMES)
    assert all(found["message"] for found in submission["exercises"])


AMOUNTS = ["torch.ones(1 << 40)", "bytearray(1 << 40)", "[0] * (1 << 40)", "'x' * (1 << 40)"]


@pytest.mark.parametrize("amount", AMOUNTS)
@hands_in(lambda amount: solved(softmax=f"def softmax(x, dim=-1):\n    return {amount}"))
def test_hunger_for_memory_in_a_function_costs_its_exercise_only(submission: dict, amount: str) -> None:
    costs(submission, "softmax", "error")
    assert "memory" in exercise(submission, "softmax")["message"].lower()


# Zeros by `bytes` are never touched, so memory is full at once, however busy the machine is; `bytearray` writes them.
KEEPS = "kept = []\nwhile True:\n    kept.append(bytes(1 << 26))"


@hands_in(lambda: solved(softmax=f"{KEEPS}\n{right('softmax')}"))
def test_memory_that_an_exercise_cell_keeps_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "memory")


@hands_in(lambda: solved_and("kept = []\nwhile True:\n    kept.append(torch.zeros(1 << 20))", before=NAMES[0]))
def test_memory_that_an_added_cell_keeps_costs_nothing(submission: dict) -> None:
    full_marks(submission)


HOARDS = "kept = []\n\ndef softmax(x, dim=-1):\n    while True:\n        kept.append(bytes(1 << 26))"


@hands_in(lambda: solved(softmax=HOARDS))
def test_memory_that_a_function_keeps_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "memory")


@hands_in(lambda: solved(padding_mask=(
    "def padding_mask(lengths, max_len):\n    return torch.zeros((1 << 26) + 1, dtype=torch.bool)")))  # fmt: skip
def test_a_result_too_large_to_send_costs_its_exercise_only(submission: dict) -> None:
    costs(
        submission, "padding_mask", "error", "has shape (67108865,), not (3, 1, 5)"
    )  # told where the result needn't travel


@hands_in(lambda: solved(softmax="def softmax(x, dim=-1):\n    return softmax(x, dim)"))
def test_an_endless_recursion_costs_its_exercise_only(submission: dict) -> None:
    costs(submission, "softmax", "error", "RecursionError")


# What right answers may do


def _starting_with(line: str, name: str) -> str:
    """Put a line at the start of a right answer's body."""
    head, docstring, body = right(name).split('"""')
    return f'{head}"""{docstring}"""\n    {line}{body}'


NOISE = {
    "prints": "print('softmax of', x)",
    "prints 1 MB": "print('x' * 1_000_000)",
    "warns": "import warnings; warnings.warn('careful!')",
    "writes to stderr": "import sys; sys.stderr.write('careful!\\n'); sys.stderr.flush()",
    "writes to file descriptor 2": "import os; os.write(2, b'careful!')",
    "logs": "import logging; logging.getLogger().error('careful!')",
    "takes stdout away": "import sys; sys.stdout = sys.stderr = None; print('gone')",
    "shows a progress bar": "from tqdm.auto import tqdm; list(tqdm(range(3)))",
    "draws": "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show(); plt.close()",
    "writes a file": "open('notes.txt', 'w').write('x')",
    "starts a thread": "import threading; t = threading.Thread(target=print); t.start(); t.join()",
}


@pytest.mark.parametrize("noise", NOISE)
@hands_in(lambda noise: solved(softmax=_starting_with(NOISE[noise], "softmax")))
def test_a_right_answer_that_makes_noise_keeps_its_points(submission: dict, noise: str) -> None:
    full_marks(submission)


PRINTS_MUCH = "print('x' * (100 << 20))\nimport sys\nfor _ in range(100):\n    sys.stderr.write('y' * (1 << 20))"


@hands_in(lambda: solved(softmax=f"{PRINTS_MUCH}\n{right('softmax')}"))
def test_100_mb_of_output_cost_nothing(submission: dict) -> None:
    full_marks(submission)


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

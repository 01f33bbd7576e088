"""Ten thousand damaged notebooks: each is read, or refused with a clear message; none stops, crashes or hangs anything.

All of them are read and planned here, and one in forty is graded in a batch, as are thousands of right ones around a corrupt one.
"""

import json
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import damage
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import notebooks
from autograder.cells import cells_to_run, make_plan
from autograder.submissions import Unreadable, parse
from notebooks import CHAPTER, FILE_NAME, as_bytes, write

MUTATED, GENERATED = 7_000, 3_000
SECONDS = 20  # for one notebook, which takes milliseconds: this only tells a hang from a busy machine
# How a message begins, and that it says what to do or what is the matter in words.
CLEAR = (
    "The file is empty.",
    "The file isn't UTF-8 text",
    "The file isn't a notebook: it isn't valid JSON",
    "The file is JSON, but not a notebook",
    "The notebook is damaged: its cells aren't a list.",
    "The notebook has format",
)
TOO_MUCH = (
    "The notebook holds more than a million characters of code",
    "The notebook holds more than two million lists and objects",
)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise TimeoutError where a block takes longer."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(data: bytes) -> str:
    """Read and plan as grading does; gives what became of it."""
    with at_most(SECONDS):
        try:
            handed = parse(data, FILE_NAME)
        except Unreadable as refused:
            text = str(refused)
            beginning = next((words for words in CLEAR + TOO_MUCH if text.startswith(words)), None)
            assert beginning, f"an unclear message: {text}"
            assert text.isprintable() and len(text) < 400
            return beginning
        if handed.chapter is None:
            return "no exercise of this course"
        plan = make_plan(handed, handed.chapter)
        cells_to_run(plan)
        statuses = Counter(found.status for found in plan.exercises.values())
        assert set(plan.exercises) == {exercise.name for exercise in handed.chapter.exercises}
        for found in plan.exercises.values():
            assert found.status == "ready" or found.message or found.status in ("missing", "not_started")
        return "all ready" if statuses["ready"] == len(handed.chapter.exercises) else "partly ready"


@pytest.fixture(scope="module")
def originals() -> list[bytes]:
    return [
        as_bytes(notebooks.bare_notebook(notebooks.all_right())),
        as_bytes(notebooks.bare_notebook({})),
        as_bytes(notebooks.bare_notebook(notebooks.all_right(softmax="%%time\nprint('hello')"))),
    ]


@pytest.mark.slow
def test_mutated_notebooks_are_read_or_refused_with_a_clear_message(originals: list[bytes]) -> None:
    seen: Counter[str] = Counter()
    for number in range(MUTATED):
        try:
            seen[outcome(damage.damaged(number, originals))] += 1
        except Exception as error:
            raise AssertionError(f"damaged({number}): {type(error).__name__}: {error}") from error
    # The damage reaches every stage, or this would prove little.
    assert {*CLEAR, "all ready", "partly ready", "no exercise of this course"} == set(seen)
    assert max(seen.values()) < MUTATED * 0.7


def _cells(*sources: str, version: int = 4) -> bytes:
    cells = [{"cell_type": "code", "source": source, "input": source} for source in sources]
    if version == 4:
        return json.dumps({"cells": cells, "nbformat": 4}).encode()
    return json.dumps({"worksheets": [{"cells": cells}], "nbformat": version, "nbformat_minor": 0}).encode()


RIGHT = notebooks.right("softmax")
COSTLY = {
    "magics without end": lambda: _cells("!ls\n" * 20_000 + "def softmax(x, dim=-1):\n    return x"),
    "magics without end in every cell": lambda: _cells(
        *["!ls\n" * 200 + "def softmax(x, dim=-1):\n    return x"] * 1_200
    ),
    "magics of cells without end": lambda: _cells("%%time\n" * 20_000 + RIGHT),
    "half a line of magic without end": lambda: _cells("x = %time " * 10_000 + "\n" + RIGHT),
    "code without end": lambda: _cells(*["x = [1, (2)]\n" * 15_000 + RIGHT] * 300),
    "code up to the limit": lambda: _cells(*["x = [1, (2)]\n" * 15_000 + RIGHT] * 4),
    "definitions without end": lambda: _cells(*[RIGHT] * 2_000),
    "cells without end": lambda: _cells(*["x = 1"] * 200_000),
    "old cells without end": lambda: _cells(*["x = 1"] * 200_000, version=3),
    "objects without end": lambda: b'{"nbformat": 4, "cells": [' + b"{}," * 2_000_000 + b"{}]}",
    "keys without end": lambda: b'{"nbformat": 4, "a": {' + b",".join(b'"%x":1' % i for i in range(2_000_000)) + b"}}",
    "brackets without end": lambda: _cells(*["(" * 100_000 + RIGHT] * 9),
    "a long line": lambda: _cells("x = '" + "a" * 190_000 + "'\n" + RIGHT),
}


@pytest.mark.parametrize("kind", COSTLY)
def test_what_costs_most_to_read_is_read_or_refused_soon(kind: str) -> None:
    outcome(COSTLY[kind]())


@pytest.mark.parametrize("count", [1, 3, 50])
def test_several_magics_over_a_cell_are_taken_off(count: int) -> None:
    handed = parse(_cells("%%time\n" * count + RIGHT), FILE_NAME)
    assert make_plan(handed, CHAPTER).exercises["softmax"].status == "ready"


def test_megabytes_of_printed_numbers_are_no_harm() -> None:
    output = {"output_type": "stream", "name": "stdout", "text": "tensor([[0.25, 0.5]])\n" * 500_000}
    content = {"cells": [{"cell_type": "code", "source": RIGHT, "outputs": [output]}], "nbformat": 4}
    handed = parse(json.dumps(content).encode(), FILE_NAME)
    assert make_plan(handed, CHAPTER).exercises["softmax"].status == "ready"


@pytest.mark.parametrize("kind", ["objects without end", "keys without end"])
def test_what_takes_most_memory_is_refused_with_what_to_do(kind: str) -> None:
    with pytest.raises(Unreadable, match="Clear its outputs"):
        parse(COSTLY[kind](), FILE_NAME)


def test_a_cell_below_too_many_magics_says_why_it_was_not_read() -> None:
    handed = parse(_cells("!ls\n" * 20_000 + RIGHT), FILE_NAME)
    found = make_plan(handed, CHAPTER).exercises["softmax"]
    assert found.status == "error"
    assert "so many magics" in found.message


keys = st.sampled_from(
    ["cells", "metadata", "nbformat", "nbformat_minor", "worksheets", "id", "source", "cell_type"]
) | (st.sampled_from(["nbgrader", "grade_id", "solution", "course", "chapter", "outputs"]) | st.text(max_size=3))
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["code", "softmax", "02", CHAPTER.id, "def softmax(x):\n    return x", "%%time", "raise", 4, 3]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=12,
)
cells = st.fixed_dictionaries(
    {},
    optional={
        "cell_type": st.sampled_from(["code", "markdown"]) | values,
        "source": st.sampled_from([notebooks.right(name) for name in notebooks.NAMES]) | st.text() | values,
        "metadata": st.fixed_dictionaries({"nbgrader": values | st.fixed_dictionaries({"grade_id": values})}) | values,
        "id": values,
        "outputs": values,
    },
)
whole = st.fixed_dictionaries(
    {"cells": st.lists(cells, max_size=6) | values},
    optional={
        "nbformat": st.sampled_from([4, 3]) | values,
        "nbformat_minor": values,
        "metadata": st.fixed_dictionaries({"course": st.fixed_dictionaries({"chapter": values})}) | values,
    },
)


@pytest.mark.slow
@settings(max_examples=GENERATED, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(whole | values)
def test_generated_notebooks_are_read_or_refused_with_a_clear_message(content: object) -> None:
    outcome(json.dumps(content).encode("utf-8", "surrogatepass"))


@pytest.mark.slow
def test_a_batch_of_damaged_notebooks_is_graded_to_the_end(
    originals: list[bytes], course_grade: Callable, tmp_path: Path
) -> None:
    chosen = range(0, MUTATED, 40)
    for number in chosen:
        write(tmp_path / f"{number:05d}" / FILE_NAME, damage.damaged(number, originals))
    for student in ("aaa", "zzz"):
        write(tmp_path / student / FILE_NAME, notebooks.solved())
    run = course_grade(tmp_path)
    assert run.exit_code == 0
    by_student = run.by_student
    assert len(by_student) == len(chosen) + 2
    assert by_student["aaa"]["score"] == by_student["zzz"]["score"] == CHAPTER.points
    for student, result in by_student.items():
        assert "grader" not in (result["error"] or ""), f"damaged({student}): {result['error']}"
        assert result["error"] or result["exercises"]
        for exercise in result["exercises"]:
            assert exercise["status"] == "passed" or exercise["message"]


@pytest.mark.slow
def test_a_corrupt_one_in_a_batch_of_thousands_costs_itself_alone(course_grade: Callable, tmp_path: Path) -> None:
    right, unsolved = notebooks.solved(), notebooks.unsolved()
    for number in range(2_000):
        write(tmp_path / f"student-{number:04d}" / FILE_NAME, right if number % 3 else unsolved)
    write(tmp_path / "student-1000" / FILE_NAME, right[: len(right) // 2])
    run = course_grade(tmp_path)
    assert run.exit_code == 0
    scores = {student: result["score"] for student, result in run.by_student.items()}
    assert len(scores) == 2_000
    assert scores.pop("student-1000") == 0
    assert "isn't valid JSON" in run.by_student["student-1000"]["error"]
    assert all(score == (CHAPTER.points if int(student[-4:]) % 3 else 0) for student, score in scores.items())

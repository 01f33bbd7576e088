"""Tests that hand something in: all that the tests of one file hand in is graded in one batch, by one call of `course grade`.

Right notebooks are among it, the first and the last of the batch, and lose nothing.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

import notebooks
from autograder import grader, session
from notebooks import CHAPTER, FILE_NAME, NAMES, add_cell, as_bytes, exercise, lost, write


def hands_in(make: Callable[..., bytes | Callable], name: str = FILE_NAME) -> pytest.MarkDecorator:
    """Say what a test hands in: a function (of its parameters) that gives the bytes, or a function to make the file."""
    return pytest.mark.hands_in(make, name)


@pytest.fixture(scope="module")
def batch(
    request: pytest.FixtureRequest, course_grade: Callable, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict]:
    """Grade what all chosen tests of a file hand in; gives the results by the tests' names."""
    folder = tmp_path_factory.mktemp("handed_in")
    places: dict[str, Path] = {}
    for test in request.session.items:
        mark = test.get_closest_marker("hands_in")
        if mark is None or test.path != request.path:
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

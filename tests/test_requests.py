"""What people have asked their graders for, for years: docs/grading.md answers each, and names the test that shows it."""

import ast
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import notebooks
from autograder.grader import Grader
from autograder.paths import ROOT
from autograder.sandbox import client
from autograder.submissions import parse
from notebooks import CHAPTER, FILE_NAME, NAMES, POINTS, exercise, write

ASKED = {
    "jupyter/nbgrader": {174, 483, 917, 1363, 869, 1083, 1941, 1682, 988, 987, 1399, 1456, 1844, 1908, 1033, 427, 1904},
    "ucbds-infra/otter-grader": {469, 813, 419, 138, 148, 442, 433, 951},
}
ROW = re.compile(r"^\| \[(?P<repository>[\w./-]+)#(?P<number>\d+)\]\((?P<address>[^)]+)\) \| (?P<rest>.+) \|$")
TEST = re.compile(r"`(?P<file>test_\w+\.py)::(?P<name>test_\w+)`")


@cache
def rows() -> list[re.Match]:
    lines = (ROOT / "docs" / "grading.md").read_text(encoding="utf-8").splitlines()
    return [row for row in map(ROW.match, lines) if row]


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_request_is_answered() -> None:
    answered = {(row["repository"], int(row["number"])) for row in rows()}
    assert {(repository, number) for repository, numbers in ASKED.items() for number in numbers} <= answered


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row['repository']}#{row['number']}")
def test_every_answer_is_shown_by_a_test_that_exists(row: re.Match) -> None:
    assert row["address"].startswith(f"https://github.com/{row['repository']}/")
    assert row["address"].endswith(f"/{row['number']}")
    named = list(TEST.finditer(row["rest"]))
    assert named
    for test in named:
        assert test["name"] in names_in(test["file"])


# Those that have no better place


def test_grading_shows_how_far_it_is(course_grade: Callable, tmp_path: Path) -> None:
    for student in ("ada", "bob", "cyd"):
        write(tmp_path / student / FILE_NAME, notebooks.with_answers(softmax=f"# by {student}\nsoftmax = 1"))
    run = course_grade(tmp_path)
    assert re.search(r"grading .*3/3", run.output)


def test_one_start_of_pytorch_serves_every_notebook(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    grader.warm.wait_until_ready()

    def refuse(*_arguments: object, **_options: object) -> None:
        raise AssertionError("a process was started for one notebook")

    monkeypatch.setattr(client.subprocess, "Popen", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    for content in (notebooks.solved(), notebooks.unsolved(), notebooks.solved()):
        grader.grade_handed(parse(content))


LOOKS_IT_UP = """
import torch
from utils.fixtures import fixture_of

def softmax(x, dim=-1):
    # Every answer that the visible check knows, looked up instead of worked out.
    recorded = fixture_of("softmax")
    for name, given in recorded.given.items():
        if torch.is_tensor(given["x"]) and given["x"].shape == x.shape and torch.equal(given["x"].double(), x.double()):
            return recorded.right[name]["result"].to(x.dtype)
    return x
"""


def test_knowing_every_visible_answer_earns_nothing(grade: Callable) -> None:
    result = grade(softmax=LOOKS_IT_UP)
    softmax = next(found for found in result.exercises if found.name == "softmax")
    assert softmax.score < POINTS["softmax"]
    assert result.score <= CHAPTER.points - POINTS["softmax"] + softmax.score


def test_handing_in_again_and_again_tells_nothing_new(grader: Grader) -> None:
    """A wrong answer handed in with small changes meets other inputs each time, and hears the same words."""
    heard = set()
    for attempt in range(4):
        wrong = f"# attempt {attempt}\ndef softmax(x, dim=-1):\n    return torch.full_like(x, 0.25)"
        result = grader.grade_handed(parse(notebooks.with_answers(softmax=wrong)))
        found = next(e for e in result.exercises if e.name == "softmax")
        heard.add((found.score, found.message, tuple(test.message for test in found.tests)))
    assert len(heard) == 1


def test_a_green_check_does_not_say_that_all_tests_passed() -> None:
    from utils.card import ReportCard
    from utils.catalogue import find_exercise
    from utils.report import Property, Report

    card = ReportCard(Report(find_exercise("softmax"), "passed", (Property("keeps float64", True),)))
    for words in (repr(card), card._repr_html_()):
        assert "1 of 1 properties hold" in words
        assert "all tests" not in words.lower()


def test_an_exercise_cell_that_was_turned_into_text_counts(grader: Grader) -> None:
    made = notebooks.notebook(notebooks.all_right())
    cell = notebooks.exercise_cell(made, "softmax")
    cell.cell_type = "markdown"
    del cell["outputs"], cell["execution_count"]
    assert grader.grade_handed(parse(notebooks.as_bytes(made))).score == CHAPTER.points


def test_one_damaged_notebook_of_a_class_costs_itself_alone(course_grade: Callable, tmp_path: Path) -> None:
    damaged = {
        "cut": notebooks.solved()[:-900],
        "bytes": b"\xff\x00" * 50,
        "list": b"[]",
        "cells": b'{"cells": [1, null]}',
    }
    whole = dict.fromkeys(("ada", "zoe"), notebooks.solved())
    for student, content in (whole | damaged).items():
        write(tmp_path / student / CHAPTER.id / FILE_NAME, content)
    run = course_grade(tmp_path)
    assert {student: found["score"] for student, found in run.by_student.items()} == {
        "ada": CHAPTER.points, "zoe": CHAPTER.points, "cut": 0, "bytes": 0, "list": 0, "cells": 0,
    }  # fmt: skip
    assert all(run.by_student[student]["error"] for student in ("cut", "bytes", "list"))
    assert exercise(run.by_student["cells"], NAMES[0])["status"] == "missing"

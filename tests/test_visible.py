"""What a worker tells of a visible check is read as text: known mistakes in our words, the rest cut short, or nothing at all."""

from typing import Any

import pytest
from conftest import WorkerHandle

from autograder.answers import answers_of
from autograder.visible import MAX_DIAGNOSES, MAX_HINT, MAX_TITLE, read_report
from utils.catalogue import find_exercise
from utils.fixtures import fixture_of
from utils.probes import probes_of
from utils.report import examine
from utils.student import LocalStudent

EXERCISE = find_exercise("softmax")
LINES = len(probes_of("softmax")) + 1  # and the one about shortcuts
MISTAKE = fixture_of("softmax").mistakes[0]
TOLD = {"status": "failed", "properties": [False] * LINES, "diagnoses": [[MISTAKE.name, "lies", "lies"]], "line": 3}


def test_a_known_mistake_is_told_in_our_words() -> None:
    (diagnosis,) = read_report(EXERCISE, TOLD).diagnoses
    assert (diagnosis.name, diagnosis.title, diagnosis.hint) == (MISTAKE.name, MISTAKE.title, MISTAKE.hint)


def test_other_sentences_are_cut_short() -> None:
    told = TOLD | {"diagnoses": [["wrong_values", "t" * 10_000, "h" * 10_000]] * 50}
    report = read_report(EXERCISE, told)
    assert len(report.diagnoses) == MAX_DIAGNOSES
    assert len(report.diagnoses[0].title) == MAX_TITLE
    assert len(report.diagnoses[0].hint) == MAX_HINT


def test_in_our_words_nothing_else_is_told() -> None:
    report = read_report(EXERCISE, TOLD, in_our_words=True)
    assert [each.title for each in report.diagnoses] == [MISTAKE.title]
    assert report.line is None
    both = TOLD | {"diagnoses": [*TOLD["diagnoses"], ["wrong_values", "half of the numbers are wrong", ""]]}
    assert read_report(EXERCISE, both, in_our_words=True) is None


@pytest.mark.parametrize("name", ["=cmd()", "<script>", "", "a" * 81, "two words"])
def test_a_name_that_is_no_name_is_left_out(name: str) -> None:
    assert read_report(EXERCISE, TOLD | {"diagnoses": [[name, "title", "hint"]]}).diagnoses == []


@pytest.mark.parametrize(
    "change",
    [
        {"status": "full marks"},
        {"properties": [False] * (LINES + 1)},
        {"properties": "all"},
        {"properties": None},
        {"diagnoses": [["softmax"]]},
        {"diagnoses": [[1, 2, 3]]},
    ],
)
def test_what_is_no_report_is_none(change: dict[str, Any]) -> None:
    assert read_report(EXERCISE, TOLD | change) is None


@pytest.mark.parametrize("odd", [True, "yes", 1, None, -1, 10**9])
def test_only_true_is_true_and_only_a_line_is_a_line(odd: Any) -> None:
    report = read_report(EXERCISE, TOLD | {"properties": [odd] * LINES, "line": odd})
    assert [passed for _title, passed in report.properties] == [odd is True] * LINES
    assert report.line in (None, 1)


@pytest.mark.parametrize("answer", answers_of("softmax", "wrong")[:6], ids=lambda answer: answer.file.name)
def test_a_worker_finds_what_the_notebook_finds(worker: WorkerHandle, answer: Any) -> None:
    worker.request("cell", {"name": "<cell 1>", "source": answer.source})
    told = read_report(EXERCISE, worker.request("examine", {"exercise": "softmax"}))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(answer.source, "<cell 1>", "exec"), namespace)
    here = examine(LocalStudent(namespace, shortcuts=EXERCISE.shortcuts, chapter=EXERCISE.chapter), "softmax")
    assert told.status == here.status
    assert told.properties == [(line.title, line.passed) for line in here.properties]
    assert [each.name for each in told.diagnoses] == [each.name for each in here.diagnoses]

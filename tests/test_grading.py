"""From notebooks to scores, messages and files: fair, the same every time, and silent about hidden inputs."""

import csv
import json
import os
import re
import stat
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch
from torch import Tensor

import notebooks
from autograder import batch, hidden, results
from autograder import grader as grading
from autograder.grader import Grader
from autograder.hidden.randomness import Randomness
from autograder.reports import feedback_html, plain_cell
from autograder.results import ExerciseResult, SubmissionResult, partial_score
from autograder.sandbox.client import WarmClient
from autograder.secrets import load_secret, secret_file
from autograder.submissions import find_submissions, parse
from notebooks import CHAPTER, FILE_NAME, NAMES, POINTS, exercise, lost, right, write

STATUSES = {"passed", "partial", "failed", "error", "timeout", "missing", "not_started", "forbidden"}
SUM_OVER_EVERYTHING = "def softmax(x, dim=-1):\n    e = (x - x.max()).exp()\n    return e / e.sum()"
BUILT_IN = "def softmax(x, dim=-1):\n    return torch.softmax(x, dim)"
NO_BATCH = "def attention_scores(q, k):\n    return torch.stack([a @ b.T for a, b in zip(q, k)])"
Graded = SubmissionResult


# What is written


@pytest.fixture(scope="module")
def class_of_four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What four students have handed in: all right, partly right, wrong in many ways, and nothing."""
    folder = tmp_path_factory.mktemp("class")
    mixed = {
        "attention_scores": NO_BATCH,
        "softmax": SUM_OVER_EVERYTHING,
        "padding_mask": "def padding_mask(lengths, max_len):\n    raise KeyError('oh')",
        "softmax_jacobian": "def softmax_jacobian(p):\n    return p",
    }
    handed_in = {
        "ada": notebooks.solved(),
        "bob": notebooks.as_bytes(notebooks.notebook({name: right(name) for name in NAMES[:2]})),
        "cyd": notebooks.with_answers(**mixed),
        "dan": notebooks.unsolved(),
    }
    for student, content in handed_in.items():
        write(folder / student / CHAPTER.id / FILE_NAME, content)
    return folder


@pytest.fixture(scope="module")
def graded(course_grade: Callable, class_of_four: Path) -> object:
    return course_grade(class_of_four)


def test_results_have_the_form_that_was_agreed(graded: object, class_of_four: Path) -> None:
    written = graded.results
    assert list(written) == ["schema", "isolation", "submissions"]
    assert (written["schema"], written["isolation"]) == (1, "strict")
    assert [submission["student"] for submission in written["submissions"]] == ["ada", "bob", "cyd", "dan"]
    for submission in written["submissions"]:
        keys = ["student", "chapter", "path", "score", "max_score", "seconds", "error", "exercises"]
        assert list(submission) == keys
        assert submission["chapter"] == CHAPTER.id
        assert Path(submission["path"]) == class_of_four / submission["student"] / CHAPTER.id / FILE_NAME
        assert submission["max_score"] == CHAPTER.points
        assert submission["score"] == pytest.approx(sum(found["score"] for found in submission["exercises"]))
        assert submission["seconds"] > 0
        assert submission["error"] is None
        assert [found["name"] for found in submission["exercises"]] == NAMES


def test_results_of_exercises_have_the_form_that_was_agreed(graded: object) -> None:
    for submission in graded.results["submissions"]:
        for found in submission["exercises"]:
            assert list(found) == ["name", "points", "score", "status", "mistakes", "message", "tests"]
            assert found["points"] == POINTS[found["name"]]
            assert 0 <= found["score"] <= found["points"]
            assert found["status"] in STATUSES
            assert (found["status"] == "passed") == (found["score"] == found["points"])
            assert found["message"]
            assert all(isinstance(name, str) for name in found["mistakes"])
            for test in found["tests"]:
                assert list(test) == ["name", "passed", "weight", "message"]
                assert test["passed"] or test["message"]


def test_the_hidden_tests_of_an_exercise_are_listed(graded: object) -> None:
    for found in graded.by_student["ada"]["exercises"]:
        assert [test["name"] for test in found["tests"]] == [test.name for test in hidden.tests_of(found["name"])]
        assert all(test["passed"] for test in found["tests"])
    assert all(not found["tests"] for found in graded.by_student["dan"]["exercises"])


def test_scores_are_those_that_were_earned(graded: object) -> None:
    scores = {student: result["score"] for student, result in graded.by_student.items()}
    assert scores["ada"] == CHAPTER.points
    assert scores["bob"] == sum(POINTS[name] for name in NAMES[:2])
    assert 0 < scores["cyd"] < CHAPTER.points
    assert scores["dan"] == 0


def test_a_failing_learner_is_not_a_failing_run(graded: object) -> None:
    assert graded.exit_code == 0
    assert "4 graded" in graded.output


def test_what_was_not_begun_is_not_started(graded: object) -> None:
    assert {found["status"] for found in graded.by_student["dan"]["exercises"]} == {"not_started"}
    assert lost(graded.by_student["bob"]) == dict.fromkeys(NAMES[2:], "not_started")


def test_grades_have_a_column_for_each_exercise(graded: object) -> None:
    with (graded.folder / "grades.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["student", "chapter", *NAMES, "total"]
    assert rows[1] == ["ada", CHAPTER.id, *(str(POINTS[name]) for name in NAMES), str(CHAPTER.points)]
    assert rows[4] == ["dan", CHAPTER.id, *("0" for _ in NAMES), "0"]
    for row, submission in zip(rows[1:], graded.results["submissions"], strict=True):
        assert [float(cell) for cell in row[2:-1]] == [found["score"] for found in submission["exercises"]]
        assert float(row[-1]) == submission["score"]


def test_every_learner_gets_a_page_with_their_code_and_what_was_wrong(graded: object) -> None:
    for student, submission in graded.by_student.items():
        page = Page(graded.page(student)).text
        assert f"{student} · {submission['score']:g} of {CHAPTER.points} points" in page
        for found in submission["exercises"]:
            assert f"{found['score']:g} / {found['points']}" in page
    page = Page(graded.page("cyd")).text
    assert "e / e.sum()" in page
    assert "raise KeyError" in page
    assert "KeyError" in exercise(graded.by_student["cyd"], "padding_mask")["message"]


def test_no_draft_of_a_file_is_left(graded: object) -> None:
    files = [str(path.relative_to(graded.folder)) for path in graded.folder.rglob("*") if path.is_file()]
    pages = [f"feedback/{student}/{CHAPTER.id}.html" for student in ("ada", "bob", "cyd", "dan")]
    assert sorted(files) == sorted(["grades.csv", "remembered.sqlite", "results.json", *pages])


def test_a_second_run_overwrites_the_first(course_grade: Callable, class_of_four: Path, tmp_path: Path) -> None:
    for _ in range(2):
        run = course_grade(class_of_four / "ada", out=tmp_path / "grades")
        assert run.exit_code == 0
    assert len(run.results["submissions"]) == 1


# The same every time


def without_seconds(run: object) -> list[dict]:
    return [submission | {"seconds": 0} for submission in run.results["submissions"]]


def test_one_process_or_two_and_one_run_or_two_give_the_same(
    graded: object, course_grade: Callable, class_of_four: Path
) -> None:
    again = course_grade(class_of_four, jobs=1)
    assert without_seconds(again) == without_seconds(graded)
    for student in graded.by_student:
        assert again.page(student) == graded.page(student)


class Recording(Randomness):
    """Writes down what hidden tests draw."""

    drawn: list[Tensor]

    def normal(self, *shape: int, **options: object) -> Tensor:
        drawn = super().normal(*shape, **options)
        self.drawn.append(drawn)
        return drawn


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """All normal numbers that hidden tests draw from now on."""
    monkeypatch.setattr(Recording, "drawn", [], raising=False)
    monkeypatch.setattr(grading, "Randomness", Recording)
    return Recording.drawn


def test_hidden_inputs_depend_on_the_secret_and_the_content_and_nothing_else(
    warm: WarmClient, drawn: list[Tensor]
) -> None:
    def numbers(secret: str, student: str, **changes: str) -> set[float]:
        drawn.clear()
        Grader(secret, warm=warm).grade_handed(parse(notebooks.with_answers(**changes)), student)
        return {number for tensor in drawn if tensor.dtype == torch.float64 for number in tensor.flatten().tolist()}

    first = numbers("one secret", "ada")
    assert len(first) > 1000
    assert numbers("one secret", "bob") == first
    assert not numbers("another secret", "ada") & first
    assert not numbers("one secret", "ada", padding_mask=f"# changed\n{right('padding_mask')}") & first


def test_exercises_and_tests_draw_numbers_of_their_own(drawn: list[Tensor], grade: Callable) -> None:
    grade()
    first = [tensor.flatten()[0].item() for tensor in drawn if tensor.dtype == torch.float64]
    assert len(set(first)) == len(first)


def test_outputs_and_our_own_cells_do_not_change_the_inputs(drawn: list[Tensor], grader: Grader) -> None:
    made = notebooks.notebook(notebooks.all_right())
    grader.grade_handed(parse(notebooks.as_bytes(made)))
    first = len(drawn)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            cell.source += "\n\nMy notes."
    grader.grade_handed(parse(notebooks.as_bytes(made)))
    assert len(drawn) == 2 * first
    assert all(torch.equal(a, b) for a, b in zip(drawn[:first], drawn[first:], strict=True))


# Nothing of the hidden inputs comes out

FORGING = """
import os, stat, threading
import msgpack
from autograder.sandbox import wire

def framed(header):
    return wire.LENGTHS.pack(len(header), 0) + header

def _is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False

def softmax(x, dim=-1):
    (fd,) = filter(_is_socket, range(64))
    told = str(x.flatten().tolist())
    os.write(fd, {reply})
    threading.Event().wait()
"""
LEAKS = {
    "raises its input": "def softmax(x, dim=-1):\n    raise ValueError(str(x.tolist()))",
    "raises a type that is named by its input": (
        "def softmax(x, dim=-1):\n    raise type('E' + str(x.flatten().tolist()), (Exception,), {})"
    ),
    "returns its input as text": "def softmax(x, dim=-1):\n    return str(x.tolist())",
    "returns an object that is named by its input": (
        "def softmax(x, dim=-1):\n    return type('E' + str(x.flatten().tolist()), (), {})()"
    ),
    "returns its input under odd names": "def softmax(x, dim=-1):\n    return {str(n): n for n in x.flatten().tolist()}",
    "prints and warns": (
        "import sys, warnings\n\ndef softmax(x, dim=-1):\n    print(x.tolist(), file=sys.stderr)\n"
        "    print(x.tolist(), flush=True)\n    warnings.warn(str(x.tolist()))\n    return x"
    ),
    "keeps its inputs and raises them later": (
        "kept = []\n\ndef softmax(x, dim=-1):\n    kept.append(x.tolist())\n    if len(kept) > 3:\n"
        "        raise ValueError(str(kept))\n    return x"
    ),
    "raises its inputs when its cell runs again": (
        "if 'kept' in globals():\n    del softmax\n    raise ValueError(str(kept))\nkept = []\n\n"
        "def softmax(x, dim=-1):\n    kept.append(x.tolist())\n    return x"
    ),
    "writes its inputs to a file and raises what is there": (
        "def softmax(x, dim=-1):\n    with open('/scratch/kept', 'a+') as file:\n        file.write(str(x.tolist()))\n"
        "        file.seek(0)\n        raise ValueError(file.read()[:1500])"
    ),
    "ends its process with its input": "import sys\n\ndef softmax(x, dim=-1):\n    sys.exit(str(x.tolist()))",
    "answers with an unknown kind": FORGING.replace(
        "{reply}", "framed(msgpack.packb(msgpack.ExtType(99, told.encode())))"
    ),
    "answers with a shortcut's name": FORGING.replace(
        "{reply}",
        "wire.pack({'ok': {'value': x, 'graph': None, 'differentiable': [False], 'changed': [], 'left': [],"
        " 'shortcuts': [told[:60]]}})",
    ).replace("    threading.Event().wait()\n", "    os._exit(0)\n"),
    "answers with an error's name": FORGING.replace(
        "{reply}",
        "wire.pack({'error': {'type_name': told, 'message': told, 'bases': [told], 'line': 3, 'cell': told}})",
    ).replace("    threading.Event().wait()\n", "    os._exit(0)\n"),
    "answers with an object's name": FORGING.replace(
        "{reply}",
        "wire.pack({'ok': {'value': wire.Held(1, told), 'graph': None, 'differentiable': [], 'changed': [], 'left': [],"
        " 'shortcuts': []}})",
    ).replace("    threading.Event().wait()\n", "    os._exit(0)\n"),
    "answers that numbers of bits were changed": FORGING.replace(
        "{reply}",
        "wire.pack({'ok': {'value': x, 'graph': 10**300, 'differentiable': [True], 'changed': [int(1e9 * x.sum().abs())],"
        " 'left': [told], 'shortcuts': 7}})",
    ).replace("    threading.Event().wait()\n", "    os._exit(0)\n"),
}


@pytest.fixture
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let code that never answers be given up soon."""
    for limit in ("EXERCISE_SECONDS", "VISIBLE_SECONDS"):
        monkeypatch.setattr(grading, limit, 2)
    monkeypatch.setattr(grading, "tests_of", lambda name: [replace(test, seconds=1) for test in hidden.tests_of(name)])


@pytest.mark.parametrize("leak", LEAKS)
def test_what_is_written_does_not_depend_on_hidden_inputs(
    leak: str, warm: WarmClient, drawn: list[Tensor], short_limits: None
) -> None:
    handed = parse(notebooks.with_answers(softmax=LEAKS[leak]))
    written = []
    for secret in ("one", "another"):
        drawn.clear()
        result = Grader(secret, warm=warm).grade_handed(handed, "ada", "ada.ipynb")
        written.append(json.dumps(result.as_json()) + feedback_html(result))
        assert result.error is None
        assert [found.status for found in result.exercises if found.name != "softmax"] == ["passed"] * (len(NAMES) - 1)
        numbers = {repr(n) for tensor in drawn for n in tensor.flatten().tolist() if len(repr(n)) > 12}
        assert numbers
        assert not [number for number in numbers if number in written[-1]]
    assert written[0] == written[1]


def test_a_raised_message_is_shown_as_visible_inputs_give_it(grade: Callable) -> None:
    source = "def softmax(x, dim=-1):\n    raise ValueError(f'{x.dim()} dimensions are too many')"
    message = next(found.message for found in grade(softmax=source).exercises if found.name == "softmax")
    assert "your code raises valueerror: 3 dimensions are too many" in message.lower()


def test_an_error_on_hidden_inputs_alone_is_told_by_type_and_line(grade: Callable) -> None:
    body = right("softmax").split('"""')[-1]
    source = f"def softmax(x, dim=-1):\n    if len(x) > 3 and x.dim() == 2 and x.abs().max() > 1e10:\n        raise ValueError('a secret')\n{body}"
    found = next(found for found in grade(softmax=source).exercises if found.name == "softmax")
    assert found.status == "partial"
    assert "a secret" not in found.message
    assert "ValueError in line 3 of the cell" in found.message


def test_a_hidden_tests_message_is_its_own_sentence_and_holds_no_number(grade: Callable) -> None:
    result = grade(softmax=SUM_OVER_EVERYTHING, padding_mask="def padding_mask(a, b):\n    return 0.123456")
    for found in result.exercises:
        sentences = {test.name: test.sentence for test in hidden.tests_of(found.name)}
        for test in found.tests:
            assert test.passed or test.message.startswith(sentences[test.name])
            assert "0.1234" not in test.message


# Escaped


class Page(HTMLParser):
    """Collects the tags of a page, their attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.seen.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


EVIL = "<script>alert('%s')</script><img src=x onerror=alert(1)>"
EVIL_ANSWERS = {
    "softmax": f'# </pre>{EVIL % "code"}\ndef softmax(x, dim=-1):\n    raise ValueError("{EVIL % "message"}")',
    "padding_mask": f'def padding_mask(a, b):\n    return "{EVIL % "result"}"',
    "attention_scores": f"{EVIL % 'syntax'}",
    "softmax_jacobian": f'raise KeyError("{EVIL % "cell"}")\n{right("softmax_jacobian")}',
    "scaled_dot_product_attention": (
        f'def scaled_dot_product_attention(*a):\n    return type("{EVIL % "class"}", (), {{}})()'
    ),
}


def harmless(page: str) -> None:
    seen = Page(page).seen
    assert seen
    assert not [tag for tag, _ in seen if tag in ("script", "img", "iframe", "object", "a", "link", "form")]
    assert not [
        name for _, attributes in seen for name in attributes if name.startswith("on") or name in ("src", "href")
    ]


def test_everything_of_the_learners_is_escaped(grader: Grader) -> None:
    handed = parse(notebooks.as_bytes(notebooks.notebook(EVIL_ANSWERS)))
    result = grader.grade_handed(handed, EVIL % "student", EVIL % "path")
    result.error = EVIL % "error"
    page = feedback_html(result)
    harmless(page)
    text = Page(page).text
    for word in ("student", "error", "code", "message", "syntax", "cell", "class"):
        assert EVIL % word in text
    assert "default-src 'none'" in page


def test_evil_names_of_students_and_files_are_harmless(course_grade: Callable, tmp_path: Path) -> None:
    names = ["<img src=x onerror=alert(1)>", "=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "[bold]x", "a,b", 'a"c', "..x"]
    for name in names:
        write(tmp_path / "handed_in" / name / FILE_NAME, b"no notebook")
    run = course_grade(tmp_path / "handed_in")
    assert run.exit_code == 0
    assert run.by_student.keys() == set(names)
    with (run.folder / "grades.csv").open(newline="") as stream:
        students = [row["student"] for row in csv.DictReader(stream)]
    assert sorted(students) == sorted(plain_cell(name) for name in names)
    assert not [student for student in students if student[0] in "=+-@\t\r"]
    assert "[bold]x" in run.output
    pages = list((run.folder / "feedback").glob("*/*.html"))
    assert len(pages) == len(names)
    for page in pages:
        harmless(page.read_text())


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_what_starts_like_a_formula_becomes_text(text: str) -> None:
    assert plain_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["ada", "", "a=1", "1-2", "Ädä"])
def test_other_names_stay_as_they_are(text: str) -> None:
    assert plain_cell(text) == text


# What a person should look at


def test_signs_of_tampering_are_listed_after_grading(course_grade: Callable, tmp_path: Path) -> None:
    curious = f"import ctypes\n{notebooks.right('softmax')}\nimport gc"
    write(tmp_path / "[bold]eve" / FILE_NAME, notebooks.with_answers(softmax=curious))
    write(tmp_path / "ada" / FILE_NAME, notebooks.solved())
    run = course_grade(tmp_path)
    (told,) = [line for line in run.output.splitlines() if "Worth a look" in line]
    assert re.search(r"\[bold\]eve: cell \d+, line 1: imports ctypes and more", told)
    by_student = {submission["student"]: submission for submission in run.results["submissions"]}
    assert [sign.split(": ")[1] for sign in by_student["[bold]eve"]["review"]] == ["imports ctypes", "imports gc"]
    assert by_student["[bold]eve"]["score"] == CHAPTER.points  # no points depend on it
    assert "review" not in by_student["ada"]


# A mistake costs once


def status_of(result: Graded, name: str) -> tuple[float, str, str]:
    found = next(found for found in result.exercises if found.name == name)
    return found.score, found.status, found.message


def test_a_right_answer_that_uses_a_wrong_one_gets_its_points(grade: Callable) -> None:
    result = grade(softmax=SUM_OVER_EVERYTHING)
    assert lost(result.as_json()) == {"softmax": "partial"} or lost(result.as_json()) == {"softmax": "failed"}
    score, status, message = status_of(result, "scaled_dot_product_attention")
    assert (score, status) == (POINTS["scaled_dot_product_attention"], "passed")
    assert "a right softmax in place of yours" in message


@pytest.mark.parametrize(
    "broken",
    [
        "def softmax(x, dim=-1):\n    raise NotImplementedError",
        "def softmax(x, dim=-1):\n    raise ValueError",
        "def softmax(:",
        "x = 1",
        "raise ValueError",
        "import os\nos._exit(1)",
    ],
)
def test_a_right_answer_that_uses_a_broken_one_gets_its_points(grade: Callable, broken: str) -> None:
    assert lost(grade(softmax=broken).as_json()).keys() == {"softmax"}


def test_several_wrong_pieces_cost_once_each(grade: Callable) -> None:
    result = grade(softmax=SUM_OVER_EVERYTHING, attention_scores="def attention_scores(q, k):\n    return k @ q.mT")
    assert lost(result.as_json()).keys() == {"softmax", "attention_scores"}
    message = status_of(result, "scaled_dot_product_attention")[2]
    assert "a right attention_scores and softmax in place of yours" in message


def test_a_wrong_answer_is_not_mended_by_right_pieces(grade: Callable) -> None:
    unscaled = right("scaled_dot_product_attention").replace(" / math.sqrt(q.shape[-1])", "")
    result = grade(softmax=SUM_OVER_EVERYTHING, scaled_dot_product_attention=unscaled)
    assert lost(result.as_json()).keys() == {"softmax", "scaled_dot_product_attention"}


def test_an_answer_that_stands_alone_is_graded_once(grade: Callable) -> None:
    score, _status, message = status_of(grade(softmax=SUM_OVER_EVERYTHING), "padding_mask")
    assert score == POINTS["padding_mask"]
    assert "in place of yours" not in message


# Partial credit


def test_half_right_earns_half(grade: Callable) -> None:
    score, status, message = status_of(grade(attention_scores=NO_BATCH), "attention_scores")
    assert 0 < score < POINTS["attention_scores"]
    assert status == "partial"
    assert message


def test_all_wrong_earns_nothing(grade: Callable) -> None:
    score, status, _message = status_of(grade(padding_mask="def padding_mask(a, b):\n    return a"), "padding_mask")
    assert (score, status) == (0, "failed")


def test_an_exception_everywhere_is_an_error_with_its_line(grade: Callable) -> None:
    source = "def padding_mask(lengths, max_len):\n    y = lengths\n    return y[10**6]"
    result = grade(padding_mask=source)
    found = next(found for found in result.exercises if found.name == "padding_mask")
    assert (found.score, found.status, found.line) == (0, "error", 3)
    assert "IndexError" in found.message
    assert '<span class="hll">' in feedback_html(result)


@pytest.mark.parametrize(
    ("passed", "score"),
    [([True, True, True], 3), ([False] * 3, 0), ([True, False, False], 0.75), ([True, True, False], 2.25)],
)
def test_points_are_shared_by_weight(passed: list[bool], score: float) -> None:
    weights = [1, 2, 1]
    tests = [results.TestResult("t", p, w) for p, w in zip(passed, weights, strict=True)]
    assert partial_score(3, tests) == score


def test_shares_are_rounded_down_and_only_all_is_full() -> None:
    thirds = [results.TestResult("t", number != 0, 1) for number in range(3)]
    assert partial_score(5, thirds) == 3.33
    nearly = [results.TestResult("t", number != 0, 1) for number in range(100_000)]
    assert partial_score(5, nearly) == 4.99
    assert partial_score(5, []) == 0


def test_a_submissions_score_is_the_sum_of_its_exercises() -> None:
    thirds = [ExerciseResult("a", 1, 0.1), ExerciseResult("b", 1, 0.2)]
    assert SubmissionResult("ada", "", "", exercises=thirds).score == 0.3


# Shortcuts


def test_a_forbidden_built_in_scores_nothing_and_says_why(grade: Callable) -> None:
    result = grade(softmax=BUILT_IN)
    score, status, message = status_of(result, "softmax")
    assert (score, status) == (0, "forbidden")
    assert "calls softmax" in message
    assert "scores 0" in message
    assert lost(result.as_json()) == {"softmax": "forbidden"}


@pytest.mark.parametrize(
    "source",
    [
        "from torch.nn.functional import softmax",
        "softmax = lambda x, dim=-1: torch.softmax(x, dim)",
        "smooth = torch.nn.Softmax(-1)\n\ndef softmax(x, dim=-1):\n    return smooth(x)",
        "def softmax(x, dim=-1):\n    return getattr(x, 'soft' + 'max')(dim)",
        "def softmax(x, dim=-1):\n    return torch.ops.aten._softmax(x, dim, False)",
    ],
)
def test_a_built_in_in_disguise_scores_nothing(grade: Callable, source: str) -> None:
    assert lost(grade(softmax=source).as_json()) == {"softmax": "forbidden"}


def test_attention_by_pytorch_scores_nothing(grade: Callable) -> None:
    source = (
        "def scaled_dot_product_attention(q, k, v, mask=None):\n"
        "    import torch.nn.functional as F\n"
        "    weights = softmax(attention_scores(q, k) / math.sqrt(q.shape[-1]))\n"
        "    return F.scaled_dot_product_attention(q, k, v, mask), weights"
    )
    result = grade(scaled_dot_product_attention=source)
    assert lost(result.as_json()) == {"scaled_dot_product_attention": "forbidden"}
    assert "PyTorch's attention" in status_of(result, "scaled_dot_product_attention")[2]


def test_a_built_in_is_allowed_where_it_is_not_the_exercise(grade: Callable) -> None:
    source = right("scaled_dot_product_attention").replace(
        "softmax(scores)", "torch.softmax(scores, -1).nan_to_num(0.0)"
    )
    assert "torch.softmax" in source
    result = grade(scaled_dot_product_attention=source)
    assert status_of(result, "scaled_dot_product_attention")[1] != "forbidden"


def test_a_built_in_in_a_comparison_of_the_learners_own_costs_nothing(grader: Grader) -> None:
    made = notebooks.notebook(notebooks.all_right())
    notebooks.add_cell(
        made, "x = torch.randn(3)\nassert torch.allclose(softmax(x), torch.softmax(x, -1))", after="softmax"
    )
    assert lost(grader.grade_handed(parse(notebooks.as_bytes(made))).as_json()) == {}


# Workers that lie


@pytest.mark.parametrize(
    "reply", [{"ok": {}}, {"ok": {"value": True}}, {"error": {"type_name": "X", "message": "secret"}}, 7]
)
def test_a_worker_that_gives_the_same_answer_to_everything_earns_nothing(grader: Grader, reply: object) -> None:
    takes_over = f"import sys\nsys.modules['autograder.sandbox.worker'].Worker.answer = lambda *a: {reply!r}"
    made = notebooks.add_cell(notebooks.notebook(notebooks.all_right()), takes_over, before=NAMES[0])
    result = grader.grade_handed(parse(notebooks.as_bytes(made)))
    assert result.error is None
    assert result.score == 0
    assert all(found.message for found in result.exercises)
    assert "secret" not in feedback_html(result)


# Whose, and where to


def test_students_are_told_from_a_tree_a_folder_and_a_zip(course_grade: Callable, tmp_path: Path) -> None:
    write(tmp_path / "submitted" / "ada" / CHAPTER.id / FILE_NAME, notebooks.unsolved())
    write(tmp_path / "loose" / "bob.ipynb", notebooks.unsolved())
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr(f"cyd/{CHAPTER.id}/{FILE_NAME}", notebooks.unsolved())
        archive.writestr("dan.ipynb", notebooks.unsolved())
    single = write(tmp_path / "eve.ipynb", notebooks.unsolved())
    run = course_grade(tmp_path / "submitted", tmp_path / "loose", tmp_path / "all.zip", single)
    assert [submission["student"] for submission in run.results["submissions"]] == ["ada", "bob", "cyd", "dan", "eve"]
    assert run.by_student["cyd"]["path"] == f"{tmp_path / 'all.zip'}!cyd/{CHAPTER.id}/{FILE_NAME}"
    for student in run.by_student:
        assert "not started" in run.page(student)


def test_two_students_of_one_name_both_get_their_score_and_page(course_grade: Callable, tmp_path: Path) -> None:
    write(tmp_path / "group a" / "ada" / FILE_NAME, notebooks.solved())
    write(tmp_path / "group b" / "ada" / FILE_NAME, notebooks.unsolved())
    run = course_grade(tmp_path)
    assert {student: result["score"] for student, result in run.by_student.items()} == {
        "ada": CHAPTER.points,
        "ada (2)": 0,
    }
    assert "solved" in run.page("ada")
    assert "not started" in run.page("ada _2_")


# The grader's own faults


def test_a_grader_that_crashes_costs_the_submission_that_it_was_at(
    warm: WarmClient, class_of_four: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def grade(self: Grader, submission: object) -> SubmissionResult:
        if submission.student == "bob":
            os._exit(1)
        if submission.student == "cyd":
            raise ZeroDivisionError("a fault of ours")
        return SubmissionResult(submission.student, "", "")

    monkeypatch.setattr(Grader, "grade", grade)
    submissions = find_submissions([class_of_four])
    for jobs in (1, 2, 8):
        given = dict(batch.grade_all(submissions, "secret", warm, jobs))
        assert sorted(given) == [0, 1, 2, 3]
        assert [given[place].student for place in range(4)] == ["ada", "bob", "cyd", "dan"]
        assert (given[0].error, given[3].error) == (None, None)
        assert "crashed the grader" in given[1].error
        assert "ZeroDivisionError" in given[2].error


def test_every_error_is_in_the_results_and_on_a_page(
    course_grade: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Grader, "grade", lambda self, submission: os._exit(1))
    run = course_grade(write(tmp_path / "ada.ipynb", notebooks.solved()))
    assert run.exit_code == 0
    assert "crashed the grader" in run.by_student["ada"]["error"]
    assert "crashed the grader" in run.page("ada", "ada")
    assert (run.folder / "grades.csv").read_text().splitlines() == ["student,chapter,total", "ada,,0"]


# The secret


def test_the_secret_is_a_seed_a_variable_or_a_file_that_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("COURSE_SECRET", "from the variable")
    assert load_secret(7) == load_secret(7) != load_secret(8)
    assert load_secret() == "from the variable"
    assert not secret_file().exists()
    monkeypatch.delenv("COURSE_SECRET")
    made = load_secret()
    assert len(made) >= 32
    assert load_secret() == made
    assert stat.S_IMODE(secret_file().stat().st_mode) == 0o600
    secret_file().unlink()
    assert load_secret() != made


def test_an_empty_secret_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("COURSE_SECRET", "")
    write(secret_file(), b"\n")
    assert len(load_secret()) >= 32


def test_graders_that_start_together_agree_on_the_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("COURSE_SECRET", raising=False)
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: load_secret(), range(64)))
    assert len(made) == 1
    assert len(made.pop()) >= 32
    assert [path.name for path in secret_file().parent.iterdir()] == ["secret"]

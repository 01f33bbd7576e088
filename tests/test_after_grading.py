"""What is done with grades: comparing two gradings, the class report, and exports to Canvas and Moodle."""

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from autograder import cli
from autograder.class_report import count_class, report_html
from autograder.compare import compare
from autograder.gradebook_csv import CANVAS_COLUMNS
from autograder.saved_results import NoResults, read_results
from utils.catalogue import find_chapter
from utils.fixtures import fixture_of

CHAPTER = find_chapter("02")
EVIL = "<script>alert(1)</script>\x1b[31m[bold]x"


def graded(student: str, **changes: dict[str, Any]) -> dict[str, Any]:
    """Write down a submission with full marks, but for the exercises that are changed."""
    exercises = []
    for exercise in CHAPTER.exercises:
        tests = [{"name": f"test_{n}", "passed": True, "weight": 1, "message": ""} for n in (1, 2)]
        full = {"name": exercise.name, "points": exercise.points, "score": float(exercise.points), "status": "passed",
                "mistakes": [], "message": "All 2 hidden tests passed.", "tests": tests}  # fmt: skip
        exercises.append(full | changes.get(exercise.name, {}))
    return {"student": student, "chapter": CHAPTER.id, "path": f"{student}.ipynb", "max_score": float(CHAPTER.points),
            "score": sum(e["score"] for e in exercises), "seconds": 1.0, "error": None, "exercises": exercises}  # fmt: skip


def failed_test(number: int, message: str = "it is wrong") -> list[dict[str, Any]]:
    return [{"name": f"test_{n}", "passed": n != number, "weight": 1, "message": "" if n != number else message} for n in (1, 2)]  # fmt: skip


WRONG = {"score": 1.0, "status": "partial", "mistakes": ["no_such_mistake"], "message": "A message."}


def save(folder: Path, *submissions: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    content = {"schema": 1, "isolation": "strict", "submissions": list(submissions)}
    (folder / "results.json").write_text(json.dumps(content))
    return folder


def course(*arguments: str | Path) -> Any:
    return CliRunner().invoke(cli.app, list(map(str, arguments)), terminal_width=200, env={"COLUMNS": "200"})


# Reading results


@pytest.mark.parametrize(
    "content",
    ["", "no json", "[]", "{}", '{"schema": 2, "submissions": []}', '{"schema": 1, "submissions": [{}]}',
     '{"schema": 1, "submissions": [{"student": 1}]}', "[" * 100_000],
)  # fmt: skip
def test_what_is_not_a_grading_is_refused_in_words(tmp_path: Path, content: str) -> None:
    (tmp_path / "results.json").write_text(content)
    with pytest.raises(NoResults, match=re.escape("results.json")):
        read_results(tmp_path)
    for command in (
        ["report", tmp_path],
        ["compare", tmp_path, tmp_path],
        ["export", "canvas", tmp_path, "--roster", "x"],
    ):
        assert course(*command).exit_code == 2


def test_a_folder_and_its_file_are_the_same(tmp_path: Path) -> None:
    folder = save(tmp_path, graded("ada"))
    assert read_results(folder) == read_results(folder / "results.json")


# Comparing


def test_a_corrected_hidden_test_shows_whose_score_changed_and_why(tmp_path: Path) -> None:
    before = {"score": 1.5, "status": "partial", "message": "too strict", "tests": failed_test(2)}
    old = save(tmp_path / "old", graded("ada", softmax=before), graded("bob"), graded("cyd"))
    new = save(tmp_path / "new", graded("ada"), graded("bob", padding_mask={"score": 1.0, "tests": failed_test(1), "message": "now seen"}), graded("cyd"))  # fmt: skip
    done = course("compare", old, new, "--csv", tmp_path / "changes.csv")
    assert done.exit_code == 0
    assert "2 students with changes, 1 submissions unchanged" in done.output
    with (tmp_path / "changes.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["student"], row["exercise"], row["before"], row["after"], row["by"]) for row in rows] == [
        ("ada", "softmax", "1.5", "3", "1.5"),
        ("bob", "padding_mask", "2", "1", "-1"),
    ]
    assert rows[0]["why"] == "test 2: now passes"
    assert (rows[0]["message_before"], rows[0]["message_after"]) == ("too strict", "All 2 hidden tests passed.")
    assert rows[1]["why"] == "test 1: now fails"


def test_the_same_results_twice_say_that_nothing_changed(tmp_path: Path) -> None:
    folder = save(tmp_path, graded("ada"), graded("bob", softmax=WRONG))
    done = course("compare", folder, folder)
    assert done.exit_code == 0
    assert "Nothing changed: 2 submissions" in done.output


def test_seconds_and_paths_are_no_change() -> None:
    old, new = graded("ada"), graded("ada") | {"seconds": 9.0, "path": "elsewhere"}
    assert compare([old], [new]).changes == ()


def test_submissions_that_came_or_went_are_listed() -> None:
    found = compare([graded("ada")], [graded("bob")])
    assert [(c.student, c.by, c.why) for c in found.changes] == [
        ("ada", -CHAPTER.points, "only in the old results"),
        ("bob", CHAPTER.points, "only in the new results"),
    ]


def test_a_new_test_a_new_weight_and_a_late_penalty_are_told() -> None:
    old, new = graded("ada"), graded("ada")
    new["exercises"][0]["tests"].append({"name": "test_3", "passed": False, "weight": 1, "message": "no"})
    new["exercises"][1]["tests"][0]["weight"] = 3
    new["exercises"][1]["score"] = 2.5
    new["late"] = {"points": 1.5}
    whys = [change.why for change in compare([old], [new]).changes]
    assert whys == ["test 3: new", "test 1: weight 1, now 3", "late penalty"]


def test_evil_names_are_harmless_in_table_and_csv(tmp_path: Path) -> None:
    old = save(tmp_path / "old", graded(EVIL), graded("=1+1"))
    new = save(tmp_path / "new", graded(EVIL, softmax=WRONG | {"message": "=cmd()"}), graded("=1+1", softmax=WRONG))
    done = course("compare", old, new, "--csv", tmp_path / "changes.csv")
    assert "\x1b" not in done.output
    with (tmp_path / "changes.csv").open(newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=@" and cell]
    assert "'=1+1" in cells


# The class report


class Texts(HTMLParser):
    """Collects a page's text and tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append(tag)
        assert not [name for name, value in attrs if name.startswith("on") or name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_counts_who_solved_what() -> None:
    stub = {"score": 0.0, "status": "not_started", "tests": []}
    submissions = [graded("a"), graded("b", softmax=WRONG), graded("c", softmax=WRONG | {"status": "error", "score": 0.0}),
                   graded("d", softmax=stub, padding_mask=stub | {"status": "missing"})]  # fmt: skip
    (counts,) = count_class(submissions)
    softmax, mask = counts.exercises[1], counts.exercises[3]
    assert softmax.groups == {"passed": 1, "partly": 1, "failed": 1, "not_started": 1}
    assert mask.groups == {"passed": 3, "partly": 0, "failed": 0, "not_started": 1}
    assert (softmax.tried, softmax.total) == (3, 4)
    assert softmax.average == pytest.approx((3 + 1 + 0 + 0) / 4)
    assert (counts.submissions, counts.full_marks) == (4, 1)
    assert sum(counts.histogram) == 4
    assert counts.start_with is softmax
    assert [(m.name, m.count) for m in softmax.mistakes] == [("no_such_mistake", 2)]


def test_the_report_starts_with_the_most_common_mistake_and_its_hint() -> None:
    recorded = fixture_of("softmax").mistakes[0]
    wrong = WRONG | {"mistakes": [recorded.name]}
    page = Texts(report_html([graded("a", softmax=wrong), graded("b", softmax=wrong), graded("c")])).text
    start = page[page.index("Start here") : page.index("Exercise by exercise")]
    words = recorded.title.replace("`", "")
    assert words[1:].rstrip(".") in start
    assert recorded.hint.replace("`", "").rstrip(".")[1:] in start
    assert "2 of 3" in start


def test_hidden_tests_stand_in_where_no_mistake_has_a_name() -> None:
    unnamed = WRONG | {"mistakes": [], "tests": failed_test(2)}
    (counts,) = count_class([graded("a", softmax=unnamed)])
    assert counts.exercises[1].failing_tests == [("test 2", 1)]


def test_the_report_names_no_student_loads_nothing_and_escapes() -> None:
    page = report_html([graded(EVIL, softmax=WRONG | {"mistakes": [EVIL], "message": EVIL})])
    assert "<script" not in page
    assert "script" not in Texts(page).tags
    assert "[bold]x" in Texts(page).text  # as a mistake's name, not as a student's
    assert "ada.ipynb" not in report_html([graded("ada")])
    assert not re.search(r">\s*ada\s*<", report_html([graded("ada")]))
    assert "://" not in report_html([graded("ada")])


def test_the_command_writes_the_report_beside_the_grades(tmp_path: Path) -> None:
    folder = save(tmp_path, graded("ada", softmax=WRONG), {**graded("bob"), "chapter": "", "exercises": []})
    done = course("report", folder)
    assert done.exit_code == 0
    assert "start with softmax" in done.output
    page = Texts((folder / "class_report.html").read_text()).text
    assert "1 submission of no known chapter is left out" in page


def test_a_report_of_nothing_says_so() -> None:
    assert "No submission of a known chapter" in report_html([])


# Canvas and Moodle

CANVAS = '''Student,ID,SIS User ID,SIS Login ID,Section,"Attention (4711)"
"    Points Possible",,,,,15
"Lovelace, Ada",101,s-101,ada,Section 1,
"Byte, Bob",102,s-102,bob@uni.example,Section 1,
"=Evil, Cyd",103,s-103,@cyd,Section 2,
"Late, Lea",104,s-104,lea,Section 2,
"Student, Test",999,,abcdef,,
'''  # fmt: skip


def rows_of(file: Path) -> list[list[str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def test_canvas_gets_its_columns_its_points_row_and_only_known_students(tmp_path: Path) -> None:
    roster = tmp_path / "canvas-roster.csv"
    roster.write_text("\ufeff" + CANVAS)
    folder = save(tmp_path, graded("ada"), graded("s-102", softmax=WRONG), graded("@cyd"), graded("nobody"))
    done = course("export", "canvas", folder, "--roster", roster, "--column", "02=Attention (4711)")
    rows = rows_of(folder / "canvas.csv")
    assert rows[0] == [*CANVAS_COLUMNS, "Attention (4711)"]
    assert rows[1] == ["    Points Possible", "", "", "", "", "15"]
    assert rows[2] == ["Lovelace, Ada", "101", "s-101", "ada", "Section 1", "15"]
    assert rows[3] == ["Byte, Bob", "102", "s-102", "bob@uni.example", "Section 1", "13"]
    assert rows[4] == ["'=Evil, Cyd", "103", "s-103", "'@cyd", "Section 2", "15"]
    assert len(rows) == 5
    assert done.exit_code == 1  # somebody graded is missing in what is imported
    assert "graded, but not in the roster" in done.output and "nobody" in done.output
    assert "in the roster, nothing graded" in done.output and "lea" in done.output


def test_canvas_downloads_name_students_by_their_number(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(CANVAS)
    folder = save(tmp_path, graded("lovelaceada_LATE_101_5555_02_scaled_dot_product"), graded("bob"))
    assert course("export", "canvas", folder, "--roster", tmp_path / "r.csv").exit_code == 0
    assert [row[1] for row in rows_of(folder / "canvas.csv")[2:]] == ["101", "102"]


MOODLE = """First name;Last name;ID number;Email address;Quiz
Ada;Lovelace;101;ada@uni.example;3
Bob;Byte;;bob@uni.example;
Bob;Byte;103;robert@uni.example;
Cyd;-Evil;104;=cyd@uni.example;
"""


def test_moodle_gets_who_grade_and_feedback(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(MOODLE)
    late = {"points": 1.5, "before": 13.0, "percent": 10.0}
    submissions = [graded("ada"), graded("bob@uni.example", softmax=WRONG) | {"late": late, "score": 11.5},
                   graded("Cyd -Evil_77_assignsubmission_file_", softmax=WRONG | {"message": "=1+1"})]  # fmt: skip
    folder = save(tmp_path, *submissions)
    done = course("export", "moodle", folder, "--roster", tmp_path / "r.csv", "--column", "02=Homework 2")
    assert done.exit_code == 0, done.output
    rows = rows_of(folder / "moodle.csv")
    assert rows[0] == ["ID number", "Email address", "Homework 2", "Homework 2 (Feedback)"]
    assert [row[:3] for row in rows[1:]] == [
        ["101", "ada@uni.example", "15"],
        ["", "bob@uni.example", "11.5"],
        ["104", "'=cyd@uni.example", "13"],
    ]
    assert "Late: 13 points before, 10% off." in rows[2][3]
    assert "softmax: 1 / 3. A message." in rows[2][3]
    assert all(not row[3] or row[3][0] not in "=+-@" for row in rows[1:])


def test_who_fits_two_people_is_listed_and_gets_no_grade(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(MOODLE)
    folder = save(tmp_path, graded("Bob Byte"), graded("ada"), graded("101"))
    done = course("export", "moodle", folder, "--roster", tmp_path / "r.csv")
    assert done.exit_code == 1
    assert "Bob Byte: fits 2 people" in done.output
    assert "graded twice for the same person" in done.output
    assert [row[0] for row in rows_of(folder / "moodle.csv")[1:]] == ["101"]


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "\xff\xfe"])
def test_what_is_no_roster_is_refused_with_where_to_get_one(tmp_path: Path, content: str) -> None:
    (tmp_path / "r.csv").write_bytes(content.encode("latin-1"))
    done = course("export", "canvas", save(tmp_path, graded("ada")), "--roster", tmp_path / "r.csv")
    assert done.exit_code == 2
    assert "Grades → Export" in done.output
    assert not (tmp_path / "canvas.csv").exists()


@pytest.mark.parametrize("column", ["02", "99=x", "02="])
def test_a_column_that_makes_no_sense_is_refused(tmp_path: Path, column: str) -> None:
    (tmp_path / "r.csv").write_text(CANVAS)
    done = course("export", "canvas", save(tmp_path, graded("ada")), "--roster", tmp_path / "r.csv", "--column", column)
    assert done.exit_code == 2

"""Late penalties: when something was handed in, what that costs, and that everybody sees both scores."""

import csv
import os
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner

import notebooks
from autograder import cli
from autograder.late import LateRule, NotARule, duration, handed_in, parse_due
from autograder.nbgrader_late import LatePenaltyByRule
from autograder.submissions import find_submissions
from notebooks import CHAPTER, FILE_NAME, NAMES, POINTS, write

HOUR, DAY = 3600, 86400


@pytest.mark.parametrize(
    ("rule", "seconds", "percent"),
    [
        ("10% per day", 0, 0),
        ("10% per day", 1, 10),
        ("10% per day", DAY, 10),
        ("10% per day", DAY + 1, 20),
        ("10% per day", 400 * DAY, 100),
        ("10% per day, at most 50%", 6 * DAY, 50),
        ("2.5% per hour, at most 30%", 3 * HOUR, 7.5),
        ("100% per week", 5, 100),
        ("10% per day, after 15 minutes", 15 * 60, 0),
        ("10% per day, after 15 minutes", 15 * 60 + 1, 10),
        ("10 % PER day,  at most 20%, after 1 hour", 3 * DAY, 20),
    ],
)
def test_every_unit_that_has_begun_costs(rule: str, seconds: float, percent: float) -> None:
    assert LateRule.parse(rule).percent_off(seconds) == percent


@pytest.mark.parametrize("text", ["", "10", "ten percent", "10% per year", "-5% per day", "120% per day", "10% per day, at most 500%"])  # fmt: skip
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(NotARule):
        LateRule.parse(text)


def test_a_due_time_may_carry_a_zone() -> None:
    assert parse_due("2026-11-30T23:59+01:00") == datetime(2026, 11, 30, 22, 59, tzinfo=UTC)
    assert parse_due("2026-11-30").tzinfo is not None
    with pytest.raises(NotARule):
        parse_due("tomorrow")


@pytest.mark.parametrize(("seconds", "words"), [(5, "5 s"), (90, "1 min"), (DAY + 2 * HOUR + 60, "1 d 2 h"), (HOUR, "1 h")])  # fmt: skip
def test_durations_are_said_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


# When something was handed in


def when(folder: Path) -> tuple[datetime | None, str]:
    (submission,) = find_submissions([folder])
    return handed_in(submission)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    file = write(tmp_path / "submitted" / "ada" / CHAPTER.id / FILE_NAME, notebooks.solved())
    os.utime(file, (1_700_000_000, 1_700_000_000))
    return tmp_path / "submitted"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-02-02 15:58:23.948203 UTC", datetime(2026, 2, 2, 15, 58, 23, 948203, UTC)),
        ("2026-02-02T15:58:23+01:00", datetime(2026, 2, 2, 15, 58, 23, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_nbgraders_timestamp_counts(tree: Path, text: str, expected: datetime) -> None:
    (tree / "ada" / CHAPTER.id / "timestamp.txt").write_text(text)
    assert when(tree) == (expected, "timestamp.txt")


def test_without_a_timestamp_the_files_time_counts_and_is_called_that(tree: Path) -> None:
    assert when(tree) == (datetime.fromtimestamp(1_700_000_000, UTC), "file time")


@pytest.mark.parametrize("content", [b"", b"soon", b"\xff\xfe", b"9" * 10_000, b"99999-01-01"])
def test_a_damaged_timestamp_is_told(tree: Path, content: bytes) -> None:
    (tree / "ada" / CHAPTER.id / "timestamp.txt").write_bytes(content)
    assert when(tree) == (
        datetime.fromtimestamp(1_700_000_000, UTC),
        "file time; timestamp.txt can't be read",
    )


def test_in_a_zip_both_times_are_found(tmp_path: Path) -> None:
    entry = zipfile.ZipInfo(f"ada/{CHAPTER.id}/{FILE_NAME}", (2026, 2, 3, 4, 5, 6))
    for name, stamp in (("plain", None), ("stamped", "2026-01-01 00:00:00 UTC")):
        with zipfile.ZipFile(tmp_path / f"{name}.zip", "w") as archive:
            archive.writestr(entry, notebooks.unsolved())
            if stamp:
                archive.writestr(f"ada/{CHAPTER.id}/timestamp.txt", stamp)
    moment, source = when(tmp_path / "plain.zip")
    assert (moment, source.split(",")[0]) == (datetime(2026, 2, 3, 4, 5, 6).astimezone(), "time in the zip")
    assert when(tmp_path / "stamped.zip") == (datetime(2026, 1, 1, tzinfo=UTC), "timestamp.txt")


# What is written


@pytest.fixture(scope="module")
def graded(course_grade: Callable, tmp_path_factory: pytest.TempPathFactory) -> object:
    folder = tmp_path_factory.mktemp("late")
    half = {name: notebooks.right(name) for name in NAMES[:2]}
    handed = {
        "intime": (notebooks.solved(), "2026-02-01 22:00:00 UTC"),
        "late": (notebooks.solved(), "2026-02-03 00:00:00 UTC"),
        "halflate": (notebooks.as_bytes(notebooks.notebook(half)), "2026-02-02 01:00:00 UTC"),
        "broken": (b"no notebook", "2026-02-09 01:00:00 UTC"),
    }
    for student, (content, stamp) in handed.items():
        write(folder / student / CHAPTER.id / FILE_NAME, content)
        write(folder / student / CHAPTER.id / "timestamp.txt", stamp.encode())
    return course_grade(folder, more=["--due", "2026-02-01T23:00+00:00", "--late", "10% per day, at most 50%"])


def test_results_tell_the_score_before_and_after(graded: object) -> None:
    late = graded.by_student["late"]
    assert late["score"] == round(CHAPTER.points * 0.8, 2)
    assert late["late"]["before"] == CHAPTER.points
    assert (late["late"]["percent"], late["late"]["seconds"], late["late"]["source"]) == (
        20,
        25 * HOUR,
        "timestamp.txt",
    )
    assert graded.by_student["intime"]["score"] == CHAPTER.points
    assert graded.by_student["intime"]["late"]["points"] == 0
    assert graded.by_student["broken"]["score"] == 0
    earned = sum(POINTS[name] for name in NAMES[:2])
    assert graded.by_student["halflate"]["score"] == round(earned * 0.9, 2)


def test_the_table_tells_the_score_before_and_after(graded: object) -> None:
    with (graded.folder / "grades.csv").open(newline="") as stream:
        rows = {row["student"]: row for row in csv.DictReader(stream)}
    assert float(rows["late"]["total"]) == round(CHAPTER.points * 0.8, 2)
    assert float(rows["late"]["total_before_late"]) == CHAPTER.points
    assert rows["late"]["late"] == "1 d 1 h"
    assert rows["late"]["handed_in"] == "2026-02-03T00:00:00+00:00 (timestamp.txt)"
    assert rows["intime"]["late"] == ""


def test_the_feedback_tells_the_score_before_and_after(graded: object) -> None:
    page = graded.page("late")
    assert f"Handed in 1 d 1 h late (timestamp.txt): {CHAPTER.points} points before, 20% off" in page
    assert "late (" not in graded.page("intime")


def test_without_a_due_time_nothing_is_said_about_lateness(course_grade: Callable, tree: Path) -> None:
    run = course_grade(tree)
    assert "late" not in run.by_student["ada"]
    assert "late" not in (run.folder / "grades.csv").read_text()


def test_a_due_time_alone_takes_nothing_off(course_grade: Callable, tree: Path) -> None:
    run = course_grade(tree, more=["--due", "2020-01-01"])
    assert run.by_student["ada"]["score"] == CHAPTER.points
    assert run.by_student["ada"]["late"]["seconds"] > DAY
    assert run.by_student["ada"]["late"]["source"] == "file time"


@pytest.mark.parametrize(
    "more", [["--due", "soon"], ["--due", "2026-01-01", "--late", "a lot"], ["--late", "10% per day"]]
)
def test_what_cannot_be_understood_is_refused_before_grading(tree: Path, tmp_path: Path, more: list[str]) -> None:
    done = CliRunner().invoke(cli.app, ["grade", str(tree), "--out", str(tmp_path / "out"), *more])
    assert done.exit_code == 2
    assert not (tmp_path / "out").exists()


def test_nbgraders_plugin_follows_the_same_rule() -> None:
    plugin = LatePenaltyByRule(rule="10% per day, at most 50%")
    assert plugin.late_submission_penalty("ada", 15.0, DAY + 1) == 3.0
    assert plugin.late_submission_penalty("ada", 15.0, 0) is None
    with pytest.raises(Exception, match="not a penalty"):
        LatePenaltyByRule(rule="much")

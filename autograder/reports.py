"""Write what grading gave: results.json, grades.csv, and a feedback page for every submission."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path

import jinja2
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.late import duration
from autograder.paths import TEMPLATES
from autograder.results import SCHEMA, ExerciseResult, SubmissionResult
from autograder.submissions import safe_file_name
from autograder.whole_file import written_whole
from utils.card import sentence, with_code
from utils.catalogue import find_chapter, find_exercise, written_chapters

_pages = jinja2.Environment(
    loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
)
STATUS_WORDS = {
    "passed": "solved",
    "partial": "partly right",
    "failed": "not right yet",
    "error": "raises an error",
    "timeout": "took too long",
    "missing": "missing",
    "not_started": "not started",
    "forbidden": "uses what is forbidden",
}


def write_results(results: Iterable[SubmissionResult], isolation: str, folder: Path) -> None:
    """Write results.json, one submission after the other: a large class need not fit into memory."""
    with written_whole(folder / "results.json") as stream:
        stream.write(f'{{\n "schema": {SCHEMA},\n "isolation": {json.dumps(isolation)},\n "submissions": [')
        for number, result in enumerate(results):
            text = json.dumps(result.as_json(), indent=1, ensure_ascii=True)
            stream.write(("," if number else "") + "\n  " + text.replace("\n", "\n  "))
        stream.write("\n ]\n}\n")


def plain_cell(text: str) -> str:
    """Make a text harmless in a spreadsheet: what starts like a formula gets an apostrophe in front."""
    starts = text.lstrip()[:1] in ("=", "+", "-", "@", "＝", "＋", "－", "＠") or text[:1] in ("\t", "\r")
    return f"'{text}" if starts else text


def write_grades(results: Iterable[SubmissionResult], folder: Path, chapters: set[str], with_due: bool) -> None:
    """Write grades.csv: student, chapter, a column per exercise, total; with a due time, what lateness cost."""
    names = [e.name for chapter in written_chapters() if chapter.id in chapters for e in chapter.exercises]
    late_columns = ["total_before_late", "late", "handed_in"] if with_due else []
    with written_whole(folder / "grades.csv", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["student", "chapter", *names, "total", *late_columns])
        for result in results:
            scores = {exercise.name: exercise.score for exercise in result.exercises}
            row = [f"{scores[name]:g}" if name in scores else "" for name in names]
            late = _late_cells(result) if late_columns else []
            writer.writerow([plain_cell(result.student), result.chapter, *row, f"{result.score:g}", *late])


def _late_cells(result: SubmissionResult) -> list[str]:
    late = result.late
    if late is None:
        return [f"{result.earned:g}", "", ""]
    return [f"{late.before:g}", duration(late.seconds) if late.seconds else "", f"{late.handed_in} ({late.source})"]


def feedback_html(result: SubmissionResult) -> str:
    """Make the page that a learner gets back; everything of theirs is escaped."""
    chapter = find_chapter(result.chapter) if result.chapter else None
    return _pages.get_template("feedback.html.j2").render(
        result=result,
        title=f"Chapter {chapter.number}: {chapter.title}" if chapter else "Your notebook",
        code_style=HtmlFormatter(style="default").get_style_defs(".code"),
        exercises=[(exercise, find_exercise(exercise.name), _coloured(exercise)) for exercise in result.exercises],
        words=STATUS_WORDS,
        duration=duration,
        with_code=lambda text: jinja2.utils.markupsafe.Markup(with_code(sentence(text))),
    )


def _coloured(exercise: ExerciseResult) -> jinja2.utils.markupsafe.Markup:
    lines = [exercise.line] if exercise.line else []
    formatter = HtmlFormatter(cssclass="code", linenos="inline", hl_lines=lines)
    return (
        jinja2.utils.markupsafe.Markup(highlight(exercise.source, PythonLexer(), formatter)) if exercise.source else ""
    )


def feedback_file(result: SubmissionResult, folder: Path) -> Path:
    """Give where a submission's feedback page goes."""
    name = safe_file_name(result.chapter or Path(result.path).stem)
    return folder / "feedback" / safe_file_name(result.student) / f"{name}.html"


def write_feedback(result: SubmissionResult, folder: Path) -> None:
    """Write one submission's feedback page."""
    with written_whole(feedback_file(result, folder)) as stream:
        stream.write(feedback_html(result))

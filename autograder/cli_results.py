"""`course compare`, `course report` and `course export`: what is done with grades once they are there."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from autograder.terminal import console, errors, printable, wrong_call

export_app = typer.Typer(help="Write grades as other systems import them: Canvas, Moodle.", no_args_is_help=True)
Grades = Annotated[Path, typer.Argument(help="The folder that `course grade` wrote, or its results.json.")]
Roster = Annotated[Path, typer.Option(help="The list of participants, as the system itself exports it (CSV).")]
Out = Annotated[Path | None, typer.Option(help="The file to write.")]
Columns = Annotated[
    list[str] | None, typer.Option("--column", help='A chapter\'s column: 02="Attention (4711)". May be said again.')
]
ROWS_SHOWN = 40


def _read(path: Path) -> list:
    from autograder.saved_results import NoResults, read_results

    try:
        return read_results(path)
    except NoResults as error:
        raise wrong_call(str(error)) from None


def compare(
    old: Annotated[Path, typer.Argument(help="The earlier grading: folder or results.json.")],
    new: Annotated[Path, typer.Argument(help="The later grading.")],
    csv: Annotated[Path | None, typer.Option("--csv", help="Write all changes to this file.")] = None,
) -> None:
    """Say whose score changed between two gradings, by how much, in which test, and why."""
    from autograder.compare import compare as compare_results
    from autograder.compare import write_changes

    comparison = compare_results(_read(old), _read(new))
    if csv is not None:
        try:
            write_changes(comparison, csv)
        except OSError as error:
            raise wrong_call(f"{csv} can't be written: {error}") from None
    if not comparison.changes:
        console.print(f"Nothing changed: {comparison.unchanged} submissions have the same scores, test by test.")
        return
    table = Table("student", "chapter", "exercise", "before", "after", "", "why", box=None, padding=(0, 2, 0, 0))
    for change in comparison.changes[:ROWS_SHOWN]:
        by = f"{change.by:+g}" if change.by else "0"
        colour = "green" if change.by > 0 else "red" if change.by < 0 else "dim"
        words = [change.student, change.chapter, change.exercise, f"{change.before:g}", f"{change.after:g}"]
        table.add_row(*map(printable, words), f"[{colour}]{by}[/]", printable(change.why[:200]))
    console.print(table)
    if len(comparison.changes) > ROWS_SHOWN:
        console.print(f"… and {len(comparison.changes) - ROWS_SHOWN} more; --csv FILE writes them all")
    console.print(f"{len(comparison.students)} students with changes, {comparison.unchanged} submissions unchanged.")


def report(
    grades: Grades,
    out: Out = None,
) -> None:
    """Write the class report: for each exercise how many solved it, and the most common mistakes. One HTML page."""
    from autograder.class_report import count_class, write_report

    submissions = _read(grades)
    out = out or (grades if grades.is_dir() else grades.parent) / "class_report.html"
    try:
        write_report(submissions, out)
    except OSError as error:
        raise wrong_call(f"{out} can't be written: {error}") from None
    for counts in count_class(submissions):
        first = counts.start_with
        start = f"start with {first.exercise.name}" if first else "nothing stands out"
        console.print(f"chapter {counts.chapter.number}: {counts.submissions} handed in; {start}", highlight=False)
    console.print(f"[green]✓[/] {printable(str(out))}", highlight=False)


@export_app.command()
def canvas(grades: Grades, roster: Roster, out: Out = None, column: Columns = None) -> None:
    """Write grades for Canvas (Grades → Import). The roster is the gradebook as Canvas exports it."""
    from autograder.gradebook_csv import CANVAS_NAMES, canvas_export

    source = "In Canvas: Grades → Export → Export Entire Gradebook."
    _export(grades, roster, out, column, canvas_export, CANVAS_NAMES, source, "canvas.csv")


@export_app.command()
def moodle(grades: Grades, roster: Roster, out: Out = None, column: Columns = None) -> None:
    """Write grades for Moodle (Grades → Import → CSV file). The roster is its list of participants or its gradebook."""
    from autograder.gradebook_csv import MOODLE_NAMES, moodle_export

    source = "In Moodle: Grades → Export → Plain text file, or Participants → Download table data as CSV."
    _export(grades, roster, out, column, moodle_export, MOODLE_NAMES, source, "moodle.csv")


def _export(
    grades: Path,
    roster: Path,
    out: Path | None,
    column: list[str] | None,
    make: object,
    names: tuple,
    source: str,
    file: str,
) -> None:
    from autograder.gradebook_csv import NotARoster, read_roster, write_export

    submissions = _read(grades)
    out = out or (grades if grades.is_dir() else grades.parent) / file
    try:
        export = make(submissions, read_roster(roster, names, source), _titles(column))
        write_export(export, out)
    except (NotARoster, OSError) as error:
        raise wrong_call(str(error)) from None
    people = sum(bool(row[0].strip() or row[1].strip()) for row in export.rows if "Points Possible" not in row[0])
    console.print(f"[green]✓[/] {printable(str(out))}: {people} students", highlight=False)
    for words, who in (
        ("graded, but not in the roster", export.strangers),
        ("graded, but not clear who it is", export.ambiguous),
        ("in the roster, nothing graded", export.without),
    ):
        if who:
            errors.print(f"[yellow]{words}:[/] {len(who)}", highlight=False)
            for name in who:
                errors.print(f"  {printable(name)}", highlight=False, soft_wrap=True)
    if export.strangers or export.ambiguous:
        raise typer.Exit(1)


def _titles(column: list[str] | None) -> dict[str, str]:
    from utils.catalogue import find_chapter

    titles = {}
    for text in column or ():
        name, equals, title = text.partition("=")
        try:
            titles[find_chapter(name.strip()).id] = title.strip()
        except KeyError as error:
            raise wrong_call(error.args[0]) from None
        if not equals or not title.strip():
            raise wrong_call(f'{text!r}: say CHAPTER="Title of the column"')
    return titles


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(compare)
    app.command()(report)
    app.add_typer(export_app, name="export")

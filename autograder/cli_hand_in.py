"""`course validate` and `course watch`: what happens around handing in."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from autograder.terminal import (
    DueOption,
    Isolation,
    IsolationOption,
    LateOption,
    console,
    due_and_cost,
    errors,
    printable,
    wrong_call,
)


def validate(
    paths: Annotated[list[Path], typer.Argument(help="Notebooks, or folders of them.")],
    isolation: IsolationOption = Isolation.auto,
) -> None:
    """Run the visible checks on notebooks as grading would; exit 1 where one fails. Hidden tests are not run."""
    from autograder.sandbox.client import IsolationMissing
    from autograder.submissions import WrongCall, find_submissions
    from autograder.validation import HIDDEN_NOT_RUN, Validator, is_valid

    try:
        submissions = find_submissions(paths)
    except (WrongCall, OSError) as error:
        raise wrong_call(str(error)) from None
    all_valid = True
    try:
        with Validator("visible checks draw nothing", isolation.value) as validator:
            for submission in submissions:
                result = validator.grade(submission)
                all_valid &= is_valid(result)
                _show(result)
    except IsolationMissing as error:
        raise wrong_call(str(error)) from None
    console.print(f"[dim]{HIDDEN_NOT_RUN}[/]")
    raise typer.Exit(0 if all_valid else 1)


def _show(result: object) -> None:
    from autograder.reports import STATUS_WORDS

    console.print(f"[bold]{printable(result.path)}[/]", highlight=False)
    if result.error:
        errors.print(f"[red]✗[/] {printable(result.error)}", highlight=False, soft_wrap=True)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for exercise in result.exercises:
        passed = exercise.status == "passed"
        mark = "[green]✓[/]" if passed else "[red]✗[/]"
        words = "visible check passed" if passed else exercise.message or STATUS_WORDS[exercise.status]
        table.add_row(mark, exercise.name, printable(words))
    console.print(table)


def watch(
    folder: Annotated[Path, typer.Argument(help="The folder in which hand-ins arrive.")],
    out: Annotated[Path, typer.Option(help="Folder for results.json, grades.csv and feedback/.")] = Path("grades"),
    every: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.1)] = 5.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, grade what is there, and end.")] = False,
    isolation: IsolationOption = Isolation.auto,
    seed: Annotated[int | None, typer.Option(help="Draw hidden inputs from this seed instead of the secret.")] = None,
    due: DueOption = None,
    late: LateOption = None,
) -> None:
    """Grade hand-ins as they arrive: score and feedback are there seconds later. Ctrl-C ends it."""
    import time

    from autograder.grader import Grader
    from autograder.sandbox.client import IsolationMissing
    from autograder.secrets import load_secret
    from autograder.watch import Watcher

    if not folder.is_dir():
        raise wrong_call(f"{folder} isn't a folder")
    if out.resolve().is_relative_to(folder.resolve()):
        raise wrong_call("--out must lie outside the folder that is watched")
    when = due_and_cost(due, late)
    try:
        with Grader(load_secret(seed), isolation.value) as grader:
            watcher = Watcher(grader, folder, out, when)
            console.print(f"Watching {printable(str(folder))}; isolation: {grader.warm.isolation()}", highlight=False)
            while True:
                for result in watcher.look(patient=not once):
                    words = result.error or f"{result.score:g} / {result.max_score:g}"
                    line = f"{result.student}  {result.chapter or '?'}  {words}"
                    console.print(printable(line), highlight=False, soft_wrap=True)
                if once:
                    return
                time.sleep(every)
    except IsolationMissing as error:
        raise wrong_call(str(error)) from None
    except KeyboardInterrupt:
        console.print("Ended. What was graded is written.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(validate)
    app.command()(watch)

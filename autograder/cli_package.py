"""`course package`: the course's grader as other systems take it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from autograder.terminal import Isolation, IsolationOption, console, wrong_call

app = typer.Typer(help="Pack the grader for other systems: Gradescope, GitHub Classroom.", no_args_is_help=True)
ChapterArgument = Annotated[str, typer.Argument(metavar="CHAPTER", help="The chapter, by id or number (02).")]


class Shown(StrEnum):
    """When students see the score of an exercise."""

    visible = "visible"
    after_due_date = "after_due_date"
    after_published = "after_published"


def _chapter(name: str) -> object:
    from utils.catalogue import find_chapter

    try:
        chapter = find_chapter(name)
    except KeyError as error:
        raise wrong_call(error.args[0]) from None
    if not chapter.exercises:
        raise wrong_call(f"chapter {chapter.id} is not in this edition yet")
    return chapter


@app.command()
def gradescope(
    chapter: ChapterArgument,
    out: Annotated[Path | None, typer.Option(help="The zip to write.")] = None,
    scores: Annotated[Shown, typer.Option(help="When students see their exercises' scores.")] = Shown.visible,
    isolation: IsolationOption = Isolation.auto,
    pip_args: Annotated[str, typer.Option(help="Handed to pip in the container, to choose a build of PyTorch.")] = "",
    seed: Annotated[int | None, typer.Option(help="Draw hidden inputs from this seed instead of the secret.")] = None,
) -> None:
    """Pack a Gradescope autograder. It holds hidden tests: give the zip to nobody but Gradescope."""
    from autograder.gradescope_package import package_files, write_package
    from autograder.secrets import load_secret

    chosen = _chapter(chapter)
    out = out or Path("dist") / f"gradescope-{chosen.id}.zip"
    files = package_files(chosen, load_secret(seed), isolation.value, scores.value, pip_args)
    try:
        count = write_package(out, files)
    except OSError as error:
        raise wrong_call(f"{out} can't be written: {error}") from None
    console.print(f"[green]✓[/] {out}: {count} files. Upload it under Configure Autograder.", highlight=False)
    console.print("It holds the hidden tests of this chapter and a secret of its own: keep it to yourself.")


@app.command("github-classroom")
def github_classroom(
    chapter: ChapterArgument,
    out: Annotated[Path | None, typer.Option(help="The folder to write; new or empty.")] = None,
) -> None:
    """Make a starter repository whose workflow runs the visible checks. No hidden test is in it."""
    from autograder.classroom_package import WORKFLOW, write_repository

    chosen = _chapter(chapter)
    out = out or Path("dist") / f"github-classroom-{chosen.id}"
    try:
        count = write_repository(chosen, out)
    except OSError as error:
        raise wrong_call(str(error)) from None
    console.print(f"[green]✓[/] {out}: {count} files, with {WORKFLOW}", highlight=False)
    console.print("Its workflow runs the visible checks only; grade clones of the repositories with `course grade`.")

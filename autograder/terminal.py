"""How `course` talks: its two consoles, refusals, progress bars, and options that several commands share."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from autograder.late import Due

console = Console()
errors = Console(stderr=True)


class Isolation(StrEnum):
    """How strongly learners' code is walled in."""

    auto = "auto"
    strict = "strict"
    none = "none"


IsolationOption = Annotated[
    Isolation,
    typer.Option(
        help="auto: as strong as this machine can, refused where it can't; strict: everything; none: no walls."
    ),
]
DueOption = Annotated[str | None, typer.Option(help="When it was due: 2026-11-30T23:59, or with a zone +01:00.")]
LateOption = Annotated[str | None, typer.Option(help='What lateness costs: "10% per day, at most 50%".')]


def due_and_cost(due: str | None, late: str | None) -> "Due | None":
    """Understand --due and --late."""
    from autograder.late import Due, NotARule

    if late and due is None:
        raise wrong_call("--late needs to know since when: say --due as well")
    try:
        return Due.parse(due, late) if due else None
    except NotARule as error:
        raise wrong_call(str(error)) from None


def wrong_call(text: str) -> typer.Exit:
    """Say why a command can't do what was asked, and give what to raise."""
    words = "\n".join(map(printable, text.splitlines()))
    errors.print(f"[bold red]error:[/] {words}", highlight=False, soft_wrap=True)
    return typer.Exit(2)


def printable(text: str) -> str:
    """Keep terminal escapes and markup of learners' names out of the terminal."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def progress_bar() -> Progress:
    """Make a progress bar that draws itself when something advances: no thread of its own, since graders are forked."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=errors, auto_refresh=False)

"""How `course` talks: its two consoles, refusals, progress bars, and options that several commands share."""

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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

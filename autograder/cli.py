"""`course`: the command line."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from autograder import cli_hand_in, cli_package, cli_results
from autograder.terminal import DueOption, Isolation, IsolationOption, LateOption, console, due_and_cost, errors
from autograder.terminal import printable as _printable
from autograder.terminal import progress_bar as _progress
from autograder.terminal import wrong_call as _wrong_call

app = typer.Typer(
    help="From RNNs to BERT: build the notebooks, grade what learners hand in.",
    no_args_is_help=True,
    add_completion=False,
)
cli_hand_in.register(app)
cli_results.register(app)
app.add_typer(cli_package.app, name="package")
SIGNS_SHOWN = 10  # submissions with signs of tampering that are listed after grading
Chapters = Annotated[list[str] | None, typer.Argument(help="Chapters, by id or number (02). All, if none is named.")]


def _chosen_chapters(names: list[str] | None) -> list:
    from utils.catalogue import find_chapter, written_chapters

    if not names:
        return list(written_chapters())
    try:
        chosen = [find_chapter(name) for name in names]
    except KeyError as error:
        raise _wrong_call(error.args[0]) from None
    for chapter in chosen:
        if not chapter.exercises:
            raise _wrong_call(f"chapter {chapter.id} is not in this edition yet")
    return chosen


@app.command()
def doctor() -> None:
    """Say what this machine can do: versions, strength of isolation, missing pieces, and what to do about each."""
    from autograder.doctor import examine_machine

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    worst = 0
    for finding in examine_machine():
        mark = {"good": "[green]✓[/]", "missing": "[yellow]![/]", "bad": "[red]✗[/]"}[finding.state]
        table.add_row(mark, finding.what, finding.found + (f"\n[dim]{finding.remedy}[/]" if finding.remedy else ""))
        worst = max(worst, finding.state == "bad")
    console.print(table)
    raise typer.Exit(worst)


@app.command()
def build(
    chapters: Chapters = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail where committed notebooks are out of date.")
    ] = False,
) -> None:
    """Make solved and learners' notebooks, and recorded mistakes, from the sources in solutions/."""
    from autograder import build as building

    chosen = _chosen_chapters(chapters)
    if check:
        stale = [problem for chapter in chosen for problem in building.find_stale(chapter)]
        if building.home_is_stale():
            stale.append("notebooks/home.ipynb is not what the source gives")
        for problem in stale:
            errors.print(f"[red]✗[/] {problem}", highlight=False)
        if stale:
            errors.print("Run [bold]course build[/] and commit what it makes.")
            raise typer.Exit(1)
        console.print(f"[green]✓[/] {len(chosen)} chapters are up to date")
        return
    console.print(f"[green]✓[/] {building.build_home()}", highlight=False)
    for chapter in chosen:
        for step in building.build(chapter):
            console.print(f"[green]✓[/] {step}", highlight=False)


@app.command()
def bundle(
    out: Annotated[Path, typer.Option(help="The zip to write.")] = Path("dist/transformer-course.zip"),
) -> None:
    """Pack what learners need into one zip: notebooks, utils, environment, and a Makefile with `make lab`."""
    from autograder.bundle import write_bundle

    count = write_bundle(out)
    console.print(f"[green]✓[/] {out}: {count} files", highlight=False)


@app.command()
def fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Assets. All, if none is named.")] = None,
    bundle: Annotated[
        Path | None, typer.Option(help="Pack this file for a room without wifi: course, assets, and wheels.")
    ] = None,
    pip_args: Annotated[
        str, typer.Option(help="With --bundle: options for pip, such as the index of a smaller PyTorch.")
    ] = "",
    install: Annotated[Path | None, typer.Option(help="Take assets from such a file; nothing is downloaded.")] = None,
    wheels: Annotated[Path | None, typer.Option(help="With --install: unpack the wheels to this folder.")] = None,
) -> None:
    """Fetch pretrained weights and data once, or pack and install the file for a room without wifi."""
    from autograder import fetching

    if sum(map(bool, (names, bundle, install))) > 1:
        raise _wrong_call("name assets, or say --bundle FILE, or --install FILE: one at a time")
    if bundle:
        fetching.pack(bundle, pip_args)
    elif install:
        fetching.install(install, wheels)
    else:
        fetching.fetch(names or [])


@app.command()
def grade(
    paths: Annotated[list[Path], typer.Argument(help="Notebooks, folders of them, nbgrader's submitted/, or zips.")],
    out: Annotated[Path, typer.Option(help="Folder for results.json, grades.csv and feedback/.")] = Path("grades"),
    jobs: Annotated[int, typer.Option(help="Processes side by side; 0 = one per processor.", min=0)] = 0,
    isolation: IsolationOption = Isolation.auto,
    seed: Annotated[int | None, typer.Option(help="Draw hidden inputs from this seed instead of the secret.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Grade anew what hasn't changed since the last run.")] = False,
    cluster: Annotated[
        str | None, typer.Option(help="Grade on a dask.distributed cluster: its scheduler, such as tcp://host:8786.")
    ] = None,
    due: DueOption = None,
    late: LateOption = None,
) -> None:
    """Grade notebooks that learners handed in: hidden tests in a sandbox, a feedback page for everyone."""
    from autograder.submissions import WrongCall, find_submissions

    try:
        submissions = find_submissions(paths)
    except (WrongCall, OSError) as error:
        raise _wrong_call(str(error)) from None
    from autograder.grading_run import GradingRun
    from autograder.secrets import load_secret

    when = due_and_cost(due, late)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _wrong_call(f"{out} can't be written: {error}") from None
    secret = load_secret(seed)
    started = time.perf_counter()
    with GradingRun(submissions, out, secret, isolation.value, when) as run:
        positions = run.to_grade(force)
        if positions:
            _grade(run, positions, secret, isolation.value, jobs, cluster)
        for position in range(len(submissions)):
            run.write_page(position)
        run.write_reports()
        _say_how_it_went(run, len(positions), out, time.perf_counter() - started)


def _grade(run, positions: list[int], secret: str, isolation: str, jobs: int, cluster: str | None) -> None:
    """Grade on this machine or on a cluster, with a progress bar."""
    from autograder.sandbox.client import IsolationMissing

    with _progress() as progress:
        task = progress.add_task("starting", total=len(positions))

        def grade_on(engine, walls: str) -> None:
            run.note_walls(walls)
            if walls != "strict":
                errors.print(
                    f"[yellow]Isolation: {walls}.[/] Grade only notebooks that you trust. `course doctor` says more."
                )
            progress.update(task, description="grading", refresh=True)
            for _result in run.grade(positions, engine):
                progress.update(task, advance=1, refresh=True)

        try:
            if cluster:
                from autograder.cluster import Cluster, ClusterMissing

                try:
                    with Cluster(cluster, secret, isolation) as remote:
                        grade_on(remote.engine(run.submissions), remote.walls)
                except ClusterMissing as error:
                    raise _wrong_call(str(error)) from None
                return
            from autograder.batch import default_jobs, engine
            from autograder.sandbox.client import WarmClient

            with WarmClient(isolation) as warm:
                on_this_machine = engine(run.submissions, secret, warm, jobs or default_jobs())
                grade_on(on_this_machine, warm.isolation())
        except IsolationMissing as error:
            raise _wrong_call(str(error)) from None


def _say_how_it_went(run, graded: int, out: Path, seconds: float) -> None:
    table = Table("student", "chapter", "score", "remarks", box=None, padding=(0, 2, 0, 0))
    count = len(run.submissions)
    for position in range(min(count, 25)):
        result = run.result(position)
        words = result.error or ", ".join(f"{e.name}: {e.status}" for e in result.exercises if e.status != "passed")
        score = f"{result.score:g} / {result.max_score:g}"
        row = [result.student, result.chapter or "?", score, words[:160]]
        table.add_row(*(_printable(text) for text in row))
    console.print(table)
    if count > 25:
        console.print(f"… and {count - 25} more")
    for position, signs in sorted(run.to_review.items())[:SIGNS_SHOWN]:
        words = f"{run.result(position).student}: {signs[0]}{' and more' * (len(signs) > 1)}"
        console.print(f"[yellow]Worth a look:[/] {_printable(words)}", highlight=False, soft_wrap=True)
    if len(run.to_review) > SIGNS_SHOWN:
        console.print(f"… and {len(run.to_review) - SIGNS_SHOWN} more under `review` in results.json", highlight=False)
    unchanged = f" ({count - graded} unchanged since the last run)" if graded < count else ""
    console.print(
        f"{count} graded in {seconds:.1f} s{unchanged}. See {out}/grades.csv, results.json and feedback/.",
        highlight=False,
        soft_wrap=True,
    )


@app.command()
def audit(
    chapters: Chapters = None,
    answers: Annotated[
        Path | None, typer.Option(help="Folder with correct/<exercise>/*.py and wrong/<exercise>/*.py.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--exercise", help="Only this exercise; may be said again.")] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the counts to this file.")] = None,
    isolation: IsolationOption = Isolation.auto,
    seed: Annotated[int | None, typer.Option(help="Draw hidden inputs from this seed instead of the secret.")] = None,
) -> None:
    """Measure the grader itself: every correct answer must get full marks, every wrong one must lose some."""
    from autograder import answers as collection
    from autograder.audit import audit as run_audit
    from autograder.grader import Grader
    from autograder.sandbox.client import IsolationMissing
    from autograder.secrets import load_secret

    folder = answers or collection.FOLDER
    if not (folder / "correct").is_dir() and not (folder / "wrong").is_dir():
        raise _wrong_call(f"{folder} holds neither correct/ nor wrong/")
    known = [e for chapter in _chosen_chapters(chapters) for e in chapter.exercises]
    if strange := sorted(set(only or ()) - {e.name for e in known}):
        raise _wrong_call(f"no exercise named {', '.join(strange)} in the chosen chapters")
    known = [e for e in known if not only or e.name in only]
    present = collection.exercises_in(folder)
    chosen = [exercise for exercise in known if exercise.name in present]
    left_out = sorted(set(present) - {e.name for e in known})
    if left_out and not chapters and not only:
        errors.print(f"[yellow]not in this edition, left out:[/] {', '.join(left_out)}", highlight=False)
    total = sum(len(collection.answers_of(e.name, kind, folder)) for e in chosen for kind in ("correct", "wrong"))
    try:
        with Grader(load_secret(seed), isolation.value) as grader, _progress() as progress:
            task = progress.add_task("auditing", total=total)

            def tick() -> None:
                progress.advance(task)
                progress.refresh()

            audited = run_audit(grader, chosen, folder, tick)
    except IsolationMissing as error:
        raise _wrong_call(str(error)) from None
    if json_file is not None:
        content = {"exercises": {name: vars(counts) for name, counts in audited.items()}}
        json_file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    _print_audit(audited)
    if not all(counts.clean for counts in audited.values()):
        raise typer.Exit(1)


def _print_audit(audited: dict) -> None:
    table = Table("exercise", "correct accepted", "wrong rejected", "wrong named", box=None, padding=(0, 2, 0, 0))
    for name, counts in audited.items():
        mark = "[green]✓[/]" if counts.clean else "[red]✗[/]"
        row = (
            f"{counts.accepted} of {counts.correct}",
            f"{counts.rejected} of {counts.wrong}",
            f"{counts.named} of {counts.wrong}",
        )
        table.add_row(f"{mark} {name}", *row)
    console.print(table)
    for name, counts in audited.items():
        for failure in counts.failures:
            unjust = failure["kind"] == "correct" or failure["message"] == "got full marks"
            mark = "[red]✗[/]" if unjust else "[yellow]not named[/]"
            console.print(f"{mark} {name}: {failure['file']}: {_printable(failure['message'][:400])}", highlight=False)

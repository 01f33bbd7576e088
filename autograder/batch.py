"""Grade many submissions on several processes; one that crashes its grader costs itself alone."""

import contextlib
import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

from autograder.grader import Grader
from autograder.hidden import tests_of
from autograder.results import SubmissionResult
from autograder.sandbox.client import WarmClient, WarmConnection
from autograder.sandbox.processors import allowed, processors_for, stay_on
from autograder.sources import own_code_cells
from autograder.submissions import Submission, chapter_in_name
from utils.fixtures import fixture_of
from utils.probes import probes_of

FEW_COLLECTIONS = 50_000  # objects that come into being between two collections; Python's own figure is 700
# A fork shares PyTorch's memory; no thread runs in this process when graders are forked.
_processes = multiprocessing.get_context("fork")


@dataclass
class _GraderProcess:
    process: ForkProcess
    pipe: Connection
    processors: set[int] | None  # that it and its workers run on; None: wherever the system puts them
    position: int | None = None  # of the submission that it is at


def default_jobs() -> int:
    """Give how many processors this process may use."""
    return len(allowed()) or os.cpu_count() or 1


def get_ready(submissions: list[Submission]) -> None:
    """Read and import what grading needs, by the chapters in files' names: once, so that graders are forked with it."""
    for chapter in {chapter_in_name(submission.name) for submission in submissions} - {None}:
        own_code_cells(chapter.id)
        for exercise in chapter.exercises:
            with contextlib.suppress(KeyError, OSError):  # of a chapter that is being written
                tests_of(exercise.name)
                fixture_of(exercise.name)
                probes_of(exercise.name)


def engine(
    submissions: list[Submission], secret: str, warm: WarmClient, jobs: int
) -> Callable[[list[int]], Iterator[tuple[int, SubmissionResult]]]:
    """Give what grades the submissions at given positions, on this machine. Gets ready while the warm process starts."""
    get_ready(submissions)
    return lambda positions: grade_all(submissions, secret, warm, jobs, positions)


def grade_all(
    submissions: list[Submission], secret: str, warm: WarmClient, jobs: int, positions: list[int] | None = None
) -> Iterator[tuple[int, SubmissionResult]]:
    """Grade submissions (at these positions) side by side; yields each one's position and result as soon as it is there."""
    waiting = list(range(len(submissions)) if positions is None else positions)[::-1]
    graders: list[_GraderProcess] = []
    try:
        for processors in processors_for(max(1, min(jobs, len(waiting)))):
            graders.append(_start(submissions, secret, warm, processors))
        for grader in graders:
            _hand_on(grader, waiting)
        while busy := [grader for grader in graders if grader.position is not None]:
            ready = wait([grader.pipe for grader in busy])
            for grader in [grader for grader in busy if grader.pipe in ready]:
                position = grader.position
                try:
                    result = grader.pipe.recv()
                except (EOFError, OSError):
                    result = _crashed(submissions[position])
                    grader.process.join()
                    graders[graders.index(grader)] = grader = _start(submissions, secret, warm, grader.processors)
                yield position, result
                _hand_on(grader, waiting)
    finally:
        for grader in graders:
            grader.pipe.close()
        for grader in graders:
            grader.process.join(timeout=5)
            grader.process.kill()


def _crashed(submission: Submission) -> SubmissionResult:
    text = "Grading this notebook crashed the grader, so it has no score yet. The other submissions were graded."
    return SubmissionResult(submission.student, "", submission.path, error=text, lasting=False)


def _start(submissions: list[Submission], secret: str, warm: WarmClient, processors: set[int] | None) -> _GraderProcess:
    ours, theirs = _processes.Pipe()
    connection = warm.connect(processors)
    process = _processes.Process(target=_work, args=(theirs, ours, connection, submissions, secret), daemon=True)
    process.start()
    theirs.close()
    connection.close()
    return _GraderProcess(process, ours, processors)


def _hand_on(grader: _GraderProcess, waiting: list[int]) -> None:
    grader.position = waiting.pop() if waiting else None
    if grader.position is not None:
        grader.pipe.send(grader.position)


def _work(
    pipe: Connection, other_end: Connection, warm: WarmConnection, submissions: list[Submission], secret: str
) -> None:
    other_end.close()
    stay_on(warm.processors)
    gc.freeze()  # what was imported before the fork stays: no collection needs to look at it
    gc.set_threshold(FEW_COLLECTIONS)  # reading a notebook makes many objects, and hardly any in circles
    grader = Grader(secret, warm=warm)
    while True:
        try:
            position = pipe.recv()
        except EOFError:
            return
        pipe.send(grader.grade_or_say(submissions[position]))

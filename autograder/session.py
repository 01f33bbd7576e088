"""A submission's worker: its cells have run in it, and where it is lost there is a next one, without the cell that costs it."""

import time
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from autograder.cells import RunnableCell
from autograder.sandbox.client import WarmClient, WorkerHandle, WorkerLost
from autograder.sources import answer_with_imports
from utils import standins
from utils.catalogue import Exercise, find_chapter, written_chapters
from utils.execution import LearnerError

CELL_SECONDS = 15
CELLS_SECONDS = 5  # all cells together; where that isn't enough, each has CELL_SECONDS of its own
SUBMISSION_SECONDS = 180
TAKE_OUT_SECONDS = 60  # it takes a tenth of one


@dataclass
class Session:
    """A worker in which a submission's cells have run; started anew, without the culprit, where one is lost."""

    warm: WarmClient
    chapter: str
    cells: list[RunnableCell]
    until: float  # time.monotonic() at which the submission as a whole has had its time
    replaced: dict[int, list[Exercise]] = field(default_factory=dict)  # cell → exercises with a right piece after it
    worker: WorkerHandle | None = None
    broken: dict[int, tuple[str, str]] = field(default_factory=dict)  # cell → (status, what happened)
    defined: set[str] = field(default_factory=set)  # exercises of the chapter whose names there are after the cells
    carefully: bool = False  # each cell in a request of its own, since one of them ends or stops its worker
    without: Exercise | None = None  # whose forbidden shortcuts fail from the start
    stops_at_failures: bool = False  # nobody asks how many hidden tests fail, only whether one does
    touches_the_watch: list[str] = field(default_factory=list)  # where cells name what watches for shortcuts

    def afresh(self, **changes: Any) -> "Session":
        """Give a session like this one, with a worker of its own."""
        return replace(self, worker=None, broken=dict(self.broken), **changes)

    def open(self) -> WorkerHandle:
        """Give a worker with the cells run; a cell that hangs or kills its worker is left out."""
        while self.worker is None:
            if time.monotonic() > self.until:
                raise WorkerLost("timeout", "the notebook as a whole took longer than it may")
            worker = self.warm.worker()
            try:
                if self.without is not None:
                    _take_out(worker, self.without)
                ran = all(self._run(cell, worker) for cell in self.cells) if self.carefully else self._run_all(worker)
                if ran:
                    self.worker = worker
            finally:
                if self.worker is None:
                    worker.close()
        self.worker.deadline = None
        return self.worker

    def _run_all(self, worker: WorkerHandle) -> bool:
        """Run all cells in one request; False where the worker is lost, and then each is run alone to find the culprit."""
        try:
            self._ask(worker, self.cells, CELLS_SECONDS)
        except (WorkerLost, LearnerError):
            self.carefully = True
            return False
        return True

    def _run(self, cell: RunnableCell, worker: WorkerHandle) -> bool:
        """Run one cell; False where the worker is lost over it."""
        try:
            self._ask(worker, [cell], CELL_SECONDS)
        except LearnerError as error:  # not raised in the cell: it changed Python itself
            self.broken.setdefault(cell.number, ("raised", _cell_error(error)))
        except WorkerLost as lost:
            self.broken[cell.number] = (lost.status, str(lost))
            return False
        return True

    def _ask(self, worker: WorkerHandle, cells: list[RunnableCell], seconds: float) -> None:
        """Run cells in one request, and note which of them raised and which exercises are there after them."""
        names = [exercise.name for exercise in find_chapter(self.chapter).exercises]
        steps = [self._step(cell) for cell in cells]
        told = worker.request("cells", {"chapter": self.chapter, "cells": steps, "names": names}, seconds)
        for cell, error in zip(cells, told["errors"], strict=True):
            if error is not None:
                self.broken.setdefault(cell.number, ("raised", _cell_error(error)))
        self.defined = set(told["defined"])

    def _step(self, cell: RunnableCell) -> tuple[str, str, list[tuple[str, str]]]:
        """Give what a worker runs for a cell: name, source (nothing where it cost a worker before), right pieces."""
        pieces = [(exercise.name, answer_with_imports(exercise)) for exercise in self.replaced.get(cell.number, ())]
        cost_a_worker = self.broken.get(cell.number, ("raised",))[0] != "raised"
        return cell.name, "" if cost_a_worker else cell.source, pieces

    def take_over(self, other: "Session") -> None:
        """Go on in another session's worker, with this one's cells and pieces: a fork less. Its names stay there."""
        self.worker, other.worker = other.worker, None
        if self.worker is None or not self.replaced:
            return
        known = dict(self.broken)
        if not self._run_all(self.worker):
            self.close()
        self.broken = known  # hidden inputs have been in that worker: what its cells say now is for nobody

    def close(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None


def _cell_error(error: LearnerError) -> str:
    """Put the error of a cell into words; hidden inputs have not been there yet, so its message may be shown."""
    where = f" in line {error.line}" if error.line else ""
    return f"{error.type_name}{where}: {error.message}"[:500]


def _take_out(worker: WorkerHandle, exercise: Exercise) -> None:
    """Take an exercise's shortcuts out of a worker in which no cell has run yet: a failure is the grader's own."""
    try:
        worker.request("take_out", taken_out(exercise), TAKE_OUT_SECONDS)
    except (WorkerLost, LearnerError) as error:
        raise RuntimeError(f"the second look at {exercise.name} could not begin: {error}") from error


@cache
def taken_out(exercise: Exercise) -> dict:
    """Give what a worker is told to take out for an exercise, and pieces of earlier chapters that do without."""
    earlier = [each for chapter in written_chapters() if chapter.id < exercise.chapter for each in chapter.exercises]
    pieces = [(each.name, answer_with_imports(each)) for each in earlier if hasattr(standins, each.name)]
    return {"families": list(exercise.shortcuts), "pieces": pieces}

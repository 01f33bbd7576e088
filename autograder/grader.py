"""Grade one submission: run its cells in a worker, its hidden tests against it, and find words for what is wrong."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import torch
import torch.fx.experimental.symbolic_shapes  # the first backward pass imports it: here, before graders are forked

from autograder.cells import FoundExercise, Plan, RunnableCell, cells_to_run, make_plan, names_used
from autograder.hidden import HiddenTest, tests_of
from autograder.hidden.randomness import Randomness
from autograder.plain_code import is_plain
from autograder.results import ExerciseResult, SubmissionResult, TestResult, partial_score
from autograder.sandbox.client import WarmClient, WorkerHandle, WorkerLost
from autograder.sources import answer_with_imports
from autograder.submissions import Handed, Submission, Unreadable, chapter_in_name, content_hash, parse
from autograder.tampering import signs_of_tampering, touching_the_watch
from autograder.trial import Trial
from autograder.visible import VisibleReport, read_report
from utils import standins
from utils.catalogue import Chapter, Exercise, written_chapters
from utils.diagnosis import VAGUE, Diagnosis
from utils.execution import LearnerError
from utils.report import hidden_shortcut_diagnosis, shortcut_diagnosis

CELL_SECONDS = 15
CELLS_SECONDS = 5  # all cells together; where that isn't enough, each has CELL_SECONDS of its own
EXERCISE_SECONDS = 20
VISIBLE_SECONDS = 10
SUBMISSION_SECONDS = 180
MAX_MESSAGE = 1500
LOOKS = 2  # at an answer without what it may not use, and with it, before anything is concluded
MAX_SIGNS = 20  # of tampering, that are told of one submission


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
    carefully: bool = False  # each cell in a request of its own, since one of them ends or stops its worker
    without: Exercise | None = None  # whose forbidden shortcuts fail from the start
    stops_at_failures: bool = False  # nobody asks how many hidden tests fail, only whether one does
    touches_the_watch: list[str] = field(default_factory=list)  # where cells name what watches for shortcuts

    def open(self) -> WorkerHandle:
        """Give a worker with the cells run; a cell that hangs or kills its worker is left out."""
        while self.worker is None:
            if time.monotonic() > self.until:
                raise WorkerLost("timeout", "the notebook as a whole took longer than it may")
            worker = self.warm.worker()
            try:
                if self.without is not None:
                    worker.request("take_out", taken_out(self.without), CELLS_SECONDS)
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
        steps = [self._step(cell) for cell in self.cells]
        try:
            told = worker.request("cells", {"chapter": self.chapter, "cells": steps}, CELLS_SECONDS)
        except (WorkerLost, LearnerError):
            self.carefully = True
            return False
        for cell, error in zip(self.cells, told["errors"], strict=True):
            if error is not None:
                self.broken.setdefault(cell.number, ("raised", _cell_error(error)))
        return True

    def _run(self, cell: RunnableCell, worker: WorkerHandle) -> bool:
        """Run one cell; False where the worker is lost over it."""
        try:
            told = worker.request("cells", {"chapter": self.chapter, "cells": [self._step(cell)]}, CELL_SECONDS)
        except LearnerError as error:  # not raised in the cell: it changed Python itself
            self.broken.setdefault(cell.number, ("raised", _cell_error(error)))
        except WorkerLost as lost:
            self.broken[cell.number] = (lost.status, str(lost))
            return False
        else:
            if told["errors"][0] is not None:
                self.broken.setdefault(cell.number, ("raised", _cell_error(told["errors"][0])))
        return True

    def _step(self, cell: RunnableCell) -> tuple[str, str, list[tuple[str, str]]]:
        """Give what a worker runs for a cell: name, source (nothing where it cost a worker before), right pieces."""
        pieces = [(exercise.name, answer_with_imports(exercise)) for exercise in self.replaced.get(cell.number, ())]
        cost_a_worker = self.broken.get(cell.number, ("raised",))[0] != "raised"
        return cell.name, "" if cost_a_worker else cell.source, pieces

    def take_over(self, other: "Session") -> None:
        """Go on in another session's worker, with this one's cells and pieces: a fork less. Its names stay there."""
        self.worker, other.worker = other.worker, None
        if self.worker is not None and self.replaced and not self._run_all(self.worker):
            self.close()

    def close(self) -> None:
        """End the worker."""
        if self.worker is not None:
            self.worker.close()
            self.worker = None


def _cell_error(error: LearnerError) -> str:
    """Put the error of a cell into words; hidden inputs have not been there yet, so its message may be shown."""
    where = f" in line {error.line}" if error.line else ""
    return f"{error.type_name}{where}: {error.message}"[:500]


class Grader:
    """Grades submissions one after the other, on one warm process."""

    def __init__(self, secret: str, isolation: str = "auto", warm: WarmClient | None = None) -> None:
        torch.set_num_threads(1)
        self.secret, self.isolation = secret, isolation
        self.warm = warm or WarmClient(isolation)
        self._telling_tests: dict[str, set[str]] = {}

    def close(self) -> None:
        """End the warm process."""
        self.warm.close()

    def __enter__(self) -> "Grader":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def grade(self, submission: Submission) -> SubmissionResult:
        """Grade one submission; whatever is wrong with it is in the result, not raised."""
        try:
            data = submission.read()
        except Unreadable as error:
            return unreadable(error, submission)
        return self.grade_bytes(data, submission)

    def grade_or_say(self, submission: Submission) -> SubmissionResult:
        """Grade one submission of many: a fault of the grader's own costs this one alone, and only until the next run."""
        try:
            return self.grade(submission)
        except Exception as error:
            text = f"The grader failed at this notebook ({type(error).__name__}: {error}), so it has no score yet."
            return SubmissionResult(submission.student, "", submission.path, error=text, lasting=False)

    def grade_bytes(self, data: bytes, submission: Submission) -> SubmissionResult:
        """Grade the bytes of a submission that has been read."""
        started = time.perf_counter()
        try:
            handed = parse(data, submission.name)
            result = self.grade_handed(handed, submission.student, submission.path)
            guessed = chapter_in_name(submission.name)
            if handed.chapter is None and guessed is not None:
                _as_missing(result, guessed)
        except Unreadable as error:
            result = unreadable(error, submission)
        result.digest = hashlib.sha256(data).hexdigest()
        result.seconds = time.perf_counter() - started
        return result

    def grade_handed(
        self, handed: Handed, student: str = "", path: str = "", only: Exercise | None = None
    ) -> SubmissionResult:
        """Grade a notebook that has been read.

        With `only`, just this exercise is graded, and just far enough to know whether it gets full marks.
        """
        chapter = handed.chapter
        if chapter is None:
            text = "This notebook holds no exercise of this course. Hand in the chapter's own notebook, with its cells' names as they were."
            return SubmissionResult(student, "", path, error=text)
        result = SubmissionResult(student, chapter.id, path, chapter.points, error=handed.remark)
        plan = make_plan(handed, chapter)
        session = Session(self.warm, chapter.id, cells_to_run(plan), time.monotonic() + SUBMISSION_SECONDS)
        seed = content_hash(cell.source for cell in session.cells if not cell.is_own)
        signs = signs_of_tampering((cell.name, cell.source) for cell in session.cells)
        session.touches_the_watch = touching_the_watch(signs)
        session.stops_at_failures = only is not None
        result.review = signs[:MAX_SIGNS]
        try:
            for exercise in chapter.exercises:
                found = plan.exercises[exercise.name]
                if only in (None, exercise):
                    result.exercises.append(self._grade_exercise(exercise, found, session, seed))
                else:
                    result.exercises.append(ExerciseResult(exercise.name, exercise.points, status=found.status))
            pieces = self._grade_again_on_right_pieces(result, chapter, plan, session, seed)
        finally:
            session.close()
        if not all(cell.is_unchanged or is_plain(cell.source) for cell in session.cells):
            self._look_for_hidden_shortcuts(result, chapter, plan, session, seed, pieces)
        self._explain(result, chapter, plan, session)
        return result

    def _grade_exercise(
        self, exercise: Exercise, found: FoundExercise, session: Session, seed: str, before: Sequence[TestResult] = ()
    ) -> ExerciseResult:
        """Grade one exercise; hidden tests that passed `before` aren't run again."""
        result = ExerciseResult(exercise.name, exercise.points, status=found.status, message=found.message)
        result.source = found.source
        if found.status == "missing" and not found.message:
            result.message = f"No cell defines {exercise.name}. Was its cell deleted or renamed?"
        elif found.status == "not_started":
            result.message = "Not started: the cell still raises NotImplementedError."
        if found.status != "ready":
            return result
        try:
            worker = session.open()
            broken = session.broken.get(found.cell or 0)
            if broken is not None and broken[0] != "raised":
                result.status, result.message = broken[0], f"While the cell was run, {broken[1]}."
                return result
            is_defined = worker.request("has", {"name": exercise.name})["value"]
        except (WorkerLost, LearnerError) as lost:  # cells left a thread behind, or changed Python itself
            session.close()
            what = lost if isinstance(lost, WorkerLost) else "the code changed what it runs in"
            result.status, result.message = getattr(lost, "status", "error"), f"Before its hidden tests ran, {what}."
            return result
        if not is_defined:
            result.status = "error"
            result.message = broken[1] if broken else f"The cell ran, but {exercise.name} is not defined after it."
            return result
        self._run_hidden_tests(exercise, result, session, seed, {test.name: test for test in before if test.passed})
        if exercise.shortcuts and session.touches_the_watch:
            result.score, result.status, result.mistakes = 0.0, "forbidden", ["touches_the_watch"]
            title = f"The notebook reaches for what watches for shortcuts ({session.touches_the_watch[0]})."
            hint = "Exercises that forbid shortcuts then score 0. Take that out; no answer needs it."
            result.message, result.advice = f"{title} {hint}", [{"title": title, "hint": hint}]
        return result

    def _run_hidden_tests(
        self, exercise: Exercise, result: ExerciseResult, session: Session, seed: str, passed: dict[str, TestResult]
    ) -> None:
        worker = session.open()
        tests = tests_of(exercise.name)
        trial = Trial(
            exercise,
            [test for test in tests if test.name not in passed],
            lambda test: Randomness(self.secret, seed, exercise.name, test.name),
        )
        seconds = max(EXERCISE_SECONDS, sum(test.seconds for test in tests) / 4)
        worker.deadline = time.monotonic() + seconds
        lost: WorkerLost | None = None
        if session.stops_at_failures or not trial.side_by_side(worker):
            try:
                if not session.stops_at_failures:  # the worker is lost: which test is it that costs it?
                    session.close()
                    worker = session.open()
                    worker.deadline = time.monotonic() + seconds
                lost = trial.one_by_one(worker, session.stops_at_failures)
            except WorkerLost as problem:  # now its cells end it, or time is up
                lost = problem
        if lost is None:
            worker.deadline = None
        else:
            session.close()
        result.tests = [passed.get(test.name) or trial.results.get(test.name) or _not_reached(test) for test in tests]
        result.score = partial_score(exercise.points, result.tests)
        error, shortcuts = trial.first_error(), trial.shortcuts_used()
        if shortcuts:
            diagnosis = shortcut_diagnosis(exercise, shortcuts)
            result.score, result.status, result.mistakes = 0.0, "forbidden", [diagnosis.name]
            result.message = _sentence(diagnosis)
        elif result.score == exercise.points:
            result.status = "passed"
        elif lost is not None:
            result.status, result.message = lost.status, f"While hidden tests ran, {lost}."
        elif error is not None and not result.score:
            result.status = "error"
        else:
            result.status = "partial" if result.score else "failed"
        if error is not None:
            result.line = error.line

    def _grade_again_on_right_pieces(
        self, result: SubmissionResult, chapter: Chapter, plan: Plan, session: Session, seed: str
    ) -> dict[str, dict[int, list[Exercise]]]:
        """A mistake costs once: grade later exercises again with right pieces where earlier ones failed.

        Gives the pieces that were worth something: exercise → cell → pieces after it.
        """
        failed: list[str] = []
        helped: dict[str, dict[int, list[Exercise]]] = {}
        for position, exercise in enumerate(chapter.exercises):
            mine = result.exercises[position]
            if (
                mine.status in ("partial", "failed", "error", "timeout")
                and plan.exercises[exercise.name].status == "ready"
            ):
                used = [name for name in failed if _mentions(plan, name)]
                if used:
                    replaced: dict[int, list[Exercise]] = {}
                    for name in used:
                        place = plan.exercises[name].cell or session.cells[0].number
                        replaced.setdefault(place, []).append(chapter.exercise(name))
                    better = self._grade_with(
                        replaced, exercise, plan.exercises[exercise.name], session, seed, mine.tests
                    )
                    if better.score > mine.score:
                        note = (
                            f"Graded with a right {' and '.join(used)} in place of yours, so that a mistake costs once."
                        )
                        better.message = f"{better.message} {note}".strip()
                        result.exercises[position] = mine = better
                        helped[exercise.name] = replaced
            if mine.status not in ("passed", "partial") or mine.score < exercise.points:
                failed.append(exercise.name)
        return helped

    def _look_for_hidden_shortcuts(
        self,
        result: SubmissionResult,
        chapter: Chapter,
        plan: Plan,
        session: Session,
        seed: str,
        pieces: dict[str, dict[int, list[Exercise]]],
    ) -> None:
        """Run what passed again where PyTorch's own functions are gone: an answer that leans on them fails there.

        The watch for shortcuts lives in the learner's process, and code that isn't plain may have changed it. This does without.
        """
        for exercise, mine in zip(chapter.exercises, result.exercises, strict=True):
            if not exercise.shortcuts or not mine.score:
                continue
            found = plan.exercises[exercise.name]
            fresh = replace(session, worker=None, replaced=pieces.get(exercise.name, {}))
            gone = {test.name for test in mine.tests if test.passed} & self._telling(exercise)
            for _ in range(LOOKS):  # an answer that fails now and then hasn't shown anything yet
                if gone:
                    gone -= self._passed(exercise, found, replace(fresh, without=exercise), seed)
            with_them = (self._passed(exercise, found, fresh, seed) for _ in range(LOOKS))
            if gone and any(gone & passed for passed in with_them):
                diagnosis = hidden_shortcut_diagnosis(exercise)
                mine.score, mine.status, mine.mistakes = 0.0, "forbidden", [diagnosis.name]
                mine.message, mine.advice = _sentence(diagnosis), [{"title": diagnosis.title, "hint": diagnosis.hint}]

    def _passed(self, exercise: Exercise, found: FoundExercise, session: Session, seed: str) -> set[str]:
        """Give the hidden tests that pass in a worker of their own, prepared as a session says."""
        own = replace(session, worker=None, broken=dict(session.broken))
        try:
            return {test.name for test in self._grade_exercise(exercise, found, own, seed).tests if test.passed}
        finally:
            own.close()

    def _telling(self, exercise: Exercise) -> set[str]:
        """Give the hidden tests that the course's own answer passes without the shortcuts; a few build them in themselves."""
        if exercise.name not in self._telling_tests:
            cell = RunnableCell(1, answer_with_imports(exercise), False)
            session = Session(
                self.warm, exercise.chapter, [cell], time.monotonic() + SUBMISSION_SECONDS, without=exercise
            )
            right = FoundExercise(exercise.name, 1, cell.source, "ready")
            self._telling_tests[exercise.name] = self._passed(exercise, right, session, "the course's own answer")
        return self._telling_tests[exercise.name]

    def _grade_with(
        self,
        replaced: dict[int, list[Exercise]],
        exercise: Exercise,
        found: FoundExercise,
        session: Session,
        seed: str,
        before: Sequence[TestResult],
    ) -> ExerciseResult:
        """Grade an exercise on right pieces: in the worker that is there, and if it isn't right there, in a fresh one."""
        if session.worker is not None and not session.carefully:
            again = replace(session, replaced=replaced, worker=None, broken=dict(session.broken))
            again.take_over(session)
            try:
                result = self._grade_exercise(exercise, found, again, seed, before)
            finally:
                session.take_over(again)
            if result.score == exercise.points:
                return result
        again = replace(session, replaced=replaced, worker=None, broken=dict(session.broken))
        try:
            return self._grade_exercise(exercise, found, again, seed, before)
        finally:
            again.close()

    def _explain(self, result: SubmissionResult, chapter: Chapter, plan: Plan, session: Session) -> None:
        """Name the mistakes of exercises that lost points, on visible inputs, in a worker that saw no hidden ones."""
        explaining = replace(session, worker=None, broken=dict(session.broken))
        try:
            for exercise, mine in zip(chapter.exercises, result.exercises, strict=True):
                if mine.status == "passed":
                    mine.message = " ".join(filter(None, [f"All {len(mine.tests)} hidden tests passed.", mine.message]))
                elif mine.tests:
                    report = self._examine(exercise, explaining)
                    self._put_into_words(mine, report)
                mine.message = mine.message[:MAX_MESSAGE]
        finally:
            explaining.close()

    def _examine(self, exercise: Exercise, session: Session) -> VisibleReport | None:
        try:
            worker = session.open()
            worker.deadline = time.monotonic() + VISIBLE_SECONDS
            told = worker.request("examine", {"exercise": exercise.name}, VISIBLE_SECONDS)
            return read_report(exercise, told)
        except (WorkerLost, LearnerError, RuntimeError):
            session.close()
            return None

    @staticmethod
    def _put_into_words(mine: ExerciseResult, report: VisibleReport | None) -> None:
        if report is not None and report.status == "failed":
            mine.properties = [{"title": title, "passed": passed} for title, passed in report.properties]
            mine.advice += [{"title": d.title, "hint": d.hint} for d in report.diagnoses]
            names = [d.name for d in report.diagnoses if d.name not in VAGUE]
            mine.mistakes = list(dict.fromkeys([*mine.mistakes, *names]))
            mine.line = report.line or mine.line
            if mine.status != "forbidden":
                mine.message = " ".join(filter(None, [*map(_sentence, report.diagnoses), mine.message]))
            return
        failing = [test.message for test in mine.tests if not test.passed and test.message != "not reached"]
        if mine.status in ("partial", "failed", "error") and not mine.message.startswith("While"):
            told = " ".join(dict.fromkeys(failing))
            mine.message = f"The visible check passes, but on other inputs: {told} {mine.message}".strip()


def unreadable(error: Unreadable, submission: Submission) -> SubmissionResult:
    """Give the result of a notebook that can't be read."""
    result = SubmissionResult(submission.student, "", submission.path, error=str(error))
    guessed = chapter_in_name(submission.name)
    if guessed is not None:
        _as_missing(result, guessed)
    return result


def _as_missing(result: SubmissionResult, chapter: Chapter) -> None:
    result.chapter, result.max_score = chapter.id, chapter.points
    result.exercises = [ExerciseResult(e.name, e.points) for e in chapter.exercises]
    for exercise in result.exercises:
        exercise.message = result.error or ""


@cache
def taken_out(exercise: Exercise) -> dict:
    """Give what a worker is told to take out for an exercise, and pieces of earlier chapters that do without."""
    earlier = [each for chapter in written_chapters() if chapter.id < exercise.chapter for each in chapter.exercises]
    pieces = [(each.name, answer_with_imports(each)) for each in earlier if hasattr(standins, each.name)]
    return {"families": list(exercise.shortcuts), "pieces": pieces}


def _sentence(diagnosis: Diagnosis) -> str:
    return f"{diagnosis.title[0].upper()}{diagnosis.title[1:]}. {diagnosis.hint}"


def _not_reached(test: HiddenTest) -> TestResult:
    return TestResult(test.name, False, test.weight, "not reached")


def _mentions(plan: Plan, name: str) -> bool:
    """Say whether an exercise's name is used in a cell other than its own."""
    for cell in plan.cells:
        if cell.is_own or cell.number == plan.exercises[name].cell:
            continue
        if name in names_used(cell.source):
            return True
    return False

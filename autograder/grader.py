"""Grade one submission: run its cells in a worker, its hidden tests against it, and find words for what is wrong."""

import hashlib
import time
from collections.abc import Sequence

import torch
import torch.fx.experimental.symbolic_shapes  # the first backward pass imports it: here, before graders are forked

from autograder.cells import FoundExercise, Plan, cells_to_run, make_plan, names_used
from autograder.hidden import HiddenTest, tests_of
from autograder.hidden.randomness import Randomness
from autograder.plain_code import is_plain
from autograder.results import ExerciseResult, SubmissionResult, TestResult, partial_score
from autograder.sandbox.client import WarmClient, WorkerLost
from autograder.second_look import SecondLook
from autograder.session import SUBMISSION_SECONDS, Session
from autograder.submissions import Handed, Submission, Unreadable, chapter_in_name, content_hash, parse
from autograder.tampering import signs_of_tampering, touching_the_watch
from autograder.trial import Trial
from autograder.visible import VisibleReport, read_report
from utils.catalogue import Chapter, Exercise, find_exercise
from utils.diagnosis import VAGUE
from utils.execution import LearnerError
from utils.report import shortcut_diagnosis, shortcut_title

EXERCISE_SECONDS = 20
VISIBLE_SECONDS = 10
MAX_MESSAGE = 1500
MAX_SIGNS = 20  # of tampering, that are told of one submission


class Grader:
    """Grades submissions one after the other, on one warm process."""

    def __init__(self, secret: str, isolation: str = "auto", warm: WarmClient | None = None) -> None:
        torch.set_num_threads(1)
        self.secret, self.isolation = secret, isolation
        self.warm = warm or WarmClient(isolation)
        self._second_look = SecondLook(self._grade_exercise, self.warm)

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
            told = self._name_known_mistakes(result, chapter, session)
            pieces = self._grade_again_on_right_pieces(result, chapter, plan, session, seed)
        finally:
            session.close()
        if not all(cell.is_unchanged or is_plain(cell.source) for cell in session.cells):
            self._second_look.at(result, plan, session, seed, pieces)
        self._explain(result, chapter, session, told)
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
            session.open()
            broken = session.broken.get(found.cell or 0)
            if broken is not None and broken[0] != "raised":
                result.status, result.message = broken[0], f"While the cell was run, {broken[1]}."
                return result
        except WorkerLost as lost:  # no worker could be started, or the notebook as a whole has had its time
            result.status, result.message = lost.status, f"Before its hidden tests ran, {lost}."
            return result
        if exercise.name not in session.defined:
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
            result.message = diagnosis.sentence
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
            again = session.afresh(replaced=replaced)
            again.take_over(session)
            try:
                result = self._grade_exercise(exercise, found, again, seed, before)
            finally:
                session.take_over(again)
            if result.score == exercise.points:
                return result
        again = session.afresh(replaced=replaced)
        try:
            return self._grade_exercise(exercise, found, again, seed, before)
        finally:
            again.close()

    def _name_known_mistakes(
        self, result: SubmissionResult, chapter: Chapter, session: Session
    ) -> dict[str, VisibleReport]:
        """Find known mistakes behind lost points in the worker that is there: it may name them, and say nothing else."""
        told: dict[str, VisibleReport] = {}
        for exercise, mine in zip(chapter.exercises, result.exercises, strict=True):
            if session.worker is None or session.carefully or session.stops_at_failures:
                break
            if mine.tests and mine.status != "passed":
                report = self._examine(exercise, session, in_our_words=True)
                if report is not None:
                    told[exercise.name] = report
        return told

    def _explain(
        self, result: SubmissionResult, chapter: Chapter, session: Session, told: dict[str, VisibleReport]
    ) -> None:
        """Say of exercises that lost points what is wrong, on visible inputs: what isn't `told` yet is found out in a worker that
        saw no hidden ones.
        """
        explaining = session.afresh()
        try:
            for exercise, mine in zip(chapter.exercises, result.exercises, strict=True):
                if mine.status == "passed":
                    mine.message = " ".join(filter(None, [f"All {len(mine.tests)} hidden tests passed.", mine.message]))
                elif mine.tests:
                    report = told.get(exercise.name) or self._examine(exercise, explaining)
                    self._put_into_words(mine, report)
                mine.message = mine.message[:MAX_MESSAGE]
        finally:
            explaining.close()

    def _examine(self, exercise: Exercise, session: Session, in_our_words: bool = False) -> VisibleReport | None:
        try:
            worker = session.open()
            worker.deadline = time.monotonic() + VISIBLE_SECONDS
            told = worker.request("examine", {"exercise": exercise.name}, VISIBLE_SECONDS)
            worker.deadline = None
            return read_report(exercise, told, in_our_words)
        except (WorkerLost, LearnerError, RuntimeError):
            session.close()
            return None

    @staticmethod
    def _put_into_words(mine: ExerciseResult, report: VisibleReport | None) -> None:
        if report is not None and report.status == "failed":
            lines = report.properties
            if mine.status == "forbidden":  # that its process has seen no shortcut doesn't say that there was none
                lines = [line for line in lines if line != (shortcut_title(find_exercise(mine.name)), True)]
            mine.properties = [{"title": title, "passed": passed} for title, passed in lines]
            mine.advice += [{"title": d.title, "hint": d.hint} for d in report.diagnoses]
            names = [d.name for d in report.diagnoses if d.name not in VAGUE]
            mine.mistakes = list(dict.fromkeys([*mine.mistakes, *names]))
            mine.line = report.line or mine.line
            if mine.status != "forbidden":
                mine.message = " ".join(filter(None, [*(d.sentence for d in report.diagnoses), mine.message]))
            return
        failing = [test.message for test in mine.tests if not test.passed and test.message != "not reached"]
        if mine.status in ("partial", "failed", "error") and not mine.message.startswith("While"):
            told = " ".join(dict.fromkeys(failing))
            where = "On hidden inputs" if report is None else "The visible check passes, but on other inputs"
            mine.message = f"{where}: {told} {mine.message}".strip()


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

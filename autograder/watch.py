"""Grade what arrives in a folder: `course watch` looks again and again, and grades what is new or has changed.

Each look is a run of `course grade` on the files that have come to rest, so that nothing known is graded again, also after a
restart, and lateness counts as it does there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from autograder.grader import Grader
from autograder.grading_run import GradingRun
from autograder.late import Due
from autograder.results import SubmissionResult
from autograder.submissions import Submission, WrongCall, find_submissions

Mark = tuple[int, int]  # when a file was changed, and its size


@dataclass
class Watcher:
    """A folder that is watched, and how its files looked last time."""

    grader: Grader
    folder: Path
    out: Path
    due: Due | None = None
    marks: dict[str, Mark] = field(default_factory=dict)
    reported: dict[str, Mark] = field(default_factory=dict)  # the files that the reports show

    def look(self, patient: bool = True) -> list[SubmissionResult]:
        """Grade what is new since the last look; gives the results that the reports didn't show yet.

        A patient look leaves a file until the next one, and grades it if it is still the same then: it may still be arriving.
        """
        before, self.marks, resting = self.marks, {}, []
        for submission in self._found():
            try:
                status = submission.file.stat()
            except OSError:  # gone again
                continue
            mark = self.marks[submission.path] = (status.st_mtime_ns, status.st_size)
            if not patient or before.get(submission.path) == mark:
                resting.append(submission)
        showing = {submission.path: self.marks[submission.path] for submission in resting}
        if showing == self.reported or not resting:
            return []
        self.out.mkdir(parents=True, exist_ok=True)
        with GradingRun(resting, self.out, self.grader.secret, self.grader.isolation, self.due) as run:
            run.note_walls(self.grader.warm.isolation())
            for _result in run.grade(run.to_grade(), lambda positions: self._grade(resting, positions)):
                pass
            for position in range(len(resting)):
                run.write_page(position)
            run.write_reports()
            new = [position for position, (path, mark) in enumerate(showing.items()) if self.reported.get(path) != mark]
            self.reported = showing
            return [run.result(position) for position in new]

    def _found(self) -> list[Submission]:
        try:
            return find_submissions([self.folder])
        except (WrongCall, OSError):  # nothing there yet
            return []

    def _grade(self, submissions: list[Submission], positions: list[int]) -> Iterator[tuple[int, SubmissionResult]]:
        for position in positions:
            submission = submissions[position]
            try:
                yield position, self.grader.grade(submission)
            except Exception as error:  # a fault of ours must not end the watch
                text = f"The grader failed at this notebook ({type(error).__name__}: {error})."
                yield position, SubmissionResult(submission.student, "", submission.path, error=text, lasting=False)

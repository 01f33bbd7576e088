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
    digests: dict[str, str] = field(default_factory=dict)  # SHA-256 of what was graded of each of them

    def look(self, patient: bool = True) -> list[SubmissionResult]:
        """Grade what is new since the last look; gives the results that the reports didn't show yet.

        A patient look leaves a file until the next one, and grades it if it is still the same then: it may still be arriving.
        Until then the reports keep what they show of it.
        """
        before, self.marks = self.marks, {}
        shown: list[Submission] = []
        showing: dict[str, Mark] = {}
        as_before: dict[str, str] = {}
        for submission in self._found():
            try:
                status = submission.file.stat()
            except OSError:  # gone again
                continue
            path = submission.path
            self.marks[path] = (status.st_mtime_ns, status.st_size)
            if not patient or before.get(path) == self.marks[path]:
                showing[path] = self.marks[path]
            elif path in self.digests:
                showing[path], as_before[path] = self.reported[path], self.digests[path]
            else:
                continue
            shown.append(submission)
        if showing == self.reported:
            return []
        new = {path for path, mark in showing.items() if self.reported.get(path) != mark}
        results = self._run(shown, as_before)
        self.reported = showing
        self.digests = {result.path: result.digest for result in results if result.digest and result.lasting}
        return [result for result in results if result.path in new]

    def _run(self, submissions: list[Submission], as_before: dict[str, str]) -> list[SubmissionResult]:
        """Grade what isn't known, and write the reports."""
        self.out.mkdir(parents=True, exist_ok=True)
        asked = (self.out, self.grader.secret, self.grader.isolation, self.due, as_before)
        with GradingRun(submissions, *asked) as run:
            run.note_walls(self.grader.warm.isolation())
            for _result in run.grade(run.to_grade(), lambda positions: self._grade(submissions, positions)):
                pass
            for position in range(len(submissions)):
                run.write_page(position)
            run.write_reports()
            return list(run.results())

    def _found(self) -> list[Submission]:
        try:
            return find_submissions([self.folder])
        except (WrongCall, OSError):  # nothing there yet
            return []

    def _grade(self, submissions: list[Submission], positions: list[int]) -> Iterator[tuple[int, SubmissionResult]]:
        for position in positions:
            yield position, self.grader.grade_or_say(submissions[position])

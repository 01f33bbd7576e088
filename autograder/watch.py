"""Grade what arrives in a folder: `course watch` looks again and again, and grades what is new or has changed."""

from dataclasses import dataclass, field
from pathlib import Path

from autograder import reports
from autograder.grader import Grader
from autograder.results import SubmissionResult
from autograder.submissions import Submission, WrongCall, find_submissions

Mark = tuple[int, int]  # when a file was changed, and its size


@dataclass
class Watcher:
    """What has been graded so far in a folder. A file that changes is graded again, and its result replaced."""

    grader: Grader
    folder: Path
    out: Path
    graded: dict[str, Mark] = field(default_factory=dict)
    arriving: dict[str, Mark] = field(default_factory=dict)
    results: dict[str, SubmissionResult] = field(default_factory=dict)

    def look(self, patient: bool = True) -> list[SubmissionResult]:
        """Grade what is new since the last look; gives those results.

        A patient look leaves a file until the next one, and grades it if it is still the same then: it may still be arriving.
        """
        new = [self._grade(submission, mark) for submission, mark in self._changed(patient)]
        if new:
            everything = list(self.results.values())
            reports.write_results(everything, self.grader.warm.isolation(), self.out)
            reports.write_grades(everything, self.out, {result.chapter for result in everything}, with_due=False)
        return new

    def _changed(self, patient: bool) -> list[tuple[Submission, Mark]]:
        try:
            submissions = find_submissions([self.folder])
        except (WrongCall, OSError):  # nothing there yet
            return []
        changed = []
        for submission in submissions:
            try:
                status = submission.file.stat()
            except OSError:  # gone again
                continue
            mark = (status.st_mtime_ns, status.st_size)
            if self.graded.get(submission.path) == mark:
                continue
            if patient and self.arriving.get(submission.path) != mark:
                self.arriving[submission.path] = mark
                continue
            changed.append((submission, mark))
        return changed

    def _grade(self, submission: Submission, mark: Mark) -> SubmissionResult:
        try:
            result = self.grader.grade(submission)
        except Exception as error:  # a fault of ours must not end the watch
            text = f"The grader failed at this notebook ({type(error).__name__}: {error})."
            result = SubmissionResult(submission.student, "", submission.path, error=text)
        self.graded[submission.path] = mark
        self.arriving.pop(submission.path, None)
        self.results[submission.path] = result
        reports.write_feedback(result, self.out)
        return result

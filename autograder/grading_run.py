"""One run of `course grade`: grade what isn't remembered, keep each result as soon as it is there, write the reports.

Results live in a file, not in memory, so that ten thousand submissions need no more of it than a hundred.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from autograder import reports
from autograder.late import Due, apply_late_penalty
from autograder.remembered import Remembered, fingerprint, key_of
from autograder.results import SubmissionResult
from autograder.submissions import Submission, Unreadable

# Grades the submissions at these positions, in any order.
Engine = Callable[[list[int]], Iterator[tuple[int, SubmissionResult]]]


class GradingRun:
    """The submissions of one run, what is known of them already, and where the reports go.

    `as_before` names files (path → SHA-256) whose result for these bytes is to be shown, whatever is in them now.
    """

    def __init__(
        self,
        submissions: list[Submission],
        out: Path,
        secret: str,
        isolation: str,
        due: Due | None = None,
        as_before: Mapping[str, str] | None = None,
    ) -> None:
        self.submissions, self.out, self.due = submissions, out, due
        self.chapters: set[str] = set()
        self.to_review: dict[int, list[str]] = {}  # position → signs of tampering that a person should look at
        self._remembered = Remembered(out)
        self._print = fingerprint(secret, isolation)
        digests = as_before or {}
        self._keys = [self._key(submission, digests.get(submission.path, "")) for submission in submissions]
        self._once: dict[int, SubmissionResult] = {}  # results that are not to be remembered
        self._first: dict[str, int] = {}  # key → the first position that has it

        self.walls = self._remembered.walls(self._print)

    def _key(self, submission: Submission, digest: str = "") -> str | None:
        """Hash a submission; None where it can't be read, which costs nothing to find out again."""
        try:
            digest = digest or hashlib.sha256(submission.read()).hexdigest()
        except Unreadable:
            return None
        return key_of(self._print, digest, submission.name)

    def note_walls(self, stand: str) -> None:
        """Note which walls stand while this run grades."""
        self.walls = stand
        self._remembered.note_walls(self._print, stand)

    def to_grade(self, force: bool = False) -> list[int]:
        """Give the positions that have to be graded; of identical notebooks only the first."""
        known = set() if force else self._remembered.keys()
        waiting: list[int] = []
        for position, key in enumerate(self._keys):
            if key is None or (key not in known and self._first.setdefault(key, position) == position):
                waiting.append(position)
        return waiting

    def grade(self, positions: list[int], engine: Engine) -> Iterator[SubmissionResult]:
        """Grade, and keep each result the moment it is there."""
        for position, result in engine(positions):
            if not result.digest or not result.lasting:
                self._once[position] = result
            else:  # the hash is of the bytes that were graded: the file may have changed meanwhile
                self._keys[position] = self._key(self.submissions[position], result.digest)
                self._remembered.put(self._keys[position], result)
            self.write_page(position)
            yield result

    def result(self, position: int) -> SubmissionResult:
        """Give the result of a submission, under its own name, with what lateness costs."""
        submission = self.submissions[position]
        key = self._keys[position]
        result = self._once.get(position) or self._once.get(self._first.get(key, position))
        result = replace(result) if result else self._remembered.get(key)
        result.student, result.path = submission.student, submission.path
        if self.due is not None:
            apply_late_penalty(result, submission, self.due)
        return result

    def results(self) -> Iterator[SubmissionResult]:
        """Give all results, in the order of the submissions."""
        return map(self.result, range(len(self.submissions)))

    def write_page(self, position: int) -> None:
        """Write a feedback page, unless it is there and shows just this."""
        result = self.result(position)
        self.chapters.add(result.chapter)
        if result.review:
            self.to_review[position] = result.review
        file = reports.feedback_file(result, self.out)
        late = result.as_json().get("late")
        shows = hashlib.sha256(json.dumps([self._keys[position], result.student, result.path, late]).encode())
        name = str(file.relative_to(self.out))
        lasting = position not in self._once and self._keys[position] is not None
        if lasting and file.exists() and self._remembered.shown_on(name) == shows.hexdigest():
            return
        reports.write_feedback(result, self.out)
        self._remembered.note_page(name, shows.hexdigest())

    def write_reports(self) -> None:
        """Write results.json and grades.csv, and drop what is remembered of other notebooks and other tests."""
        reports.write_results(self.results(), self.walls or "none", self.out)
        reports.write_grades(self.results(), self.out, self.chapters, self.due is not None)
        self._remembered.forget_all_but(key for key in self._keys if key is not None)

    def close(self) -> None:
        """Close what is remembered."""
        self._remembered.close()

    def __enter__(self) -> "GradingRun":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

"""Grade one submission inside Gradescope's container, and write results.json as Gradescope reads it.

`run_autograder` calls this with the autograder's folder: `submission/` holds what was handed in, `results/` takes what comes out.
Each exercise is a test that students see. Each hidden test is listed too, for the instructor alone: such tests carry no points, so
Gradescope goes on showing students their total.
"""

import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from autograder.grader import Grader
from autograder.results import ExerciseResult, SubmissionResult
from autograder.sandbox.client import IsolationMissing
from autograder.submissions import Submission, Unreadable, WrongCall, find_submissions, parse
from autograder.whole_file import written_whole
from utils.catalogue import Chapter, find_chapter

SETTINGS = "gradescope.json"
SECRET = "secret"
VISIBILITIES = ("visible", "after_due_date", "after_published", "hidden")
NOT_A_MARK = "This 0 is not a mark: tell your instructor, who can grade it again."


class NotGraded(Exception):
    """A submission that gets no score; the text says why, and what to do."""


def pick_notebook(folder: Path, chapter: Chapter) -> Submission:
    """Find the notebook of this chapter among what was handed in; NotGraded where there is none, or more than one."""
    try:
        handed = find_submissions([folder])
    except (WrongCall, OSError):
        raise NotGraded(f"There is no notebook in what was handed in. Hand in {chapter.id}.ipynb.") from None
    ours, others, unreadable = [], [], []
    for submission in handed:
        name = Path(submission.path).name
        try:
            found = parse(submission.read(), name).chapter
        except Unreadable as problem:
            unreadable.append(f"{name}: {problem}")
            continue
        if found is not None and found.id == chapter.id:
            ours.append(submission)
        else:
            others.append(f"{name} ({f'chapter {found.number}, {found.title}' if found else 'not of this course'})")
    if len(ours) > 1:
        named = [submission for submission in ours if Path(submission.path).name == f"{chapter.id}.ipynb"]
        ours = named if len(named) == 1 else ours
    if len(ours) == 1:
        return ours[0]
    if ours:
        names = ", ".join(sorted(str(Path(submission.path).relative_to(folder)) for submission in ours))
        raise NotGraded(f"There are several notebooks of this chapter: {names}. Hand in one.")
    if unreadable:
        raise NotGraded(" ".join(unreadable))
    raise NotGraded(
        f"This assignment takes chapter {chapter.number}, {chapter.title}. What was handed in is {', '.join(others)}. "
        f"Hand in {chapter.id}.ipynb."
    )


def as_gradescope(result: SubmissionResult, isolation: str, scores: str = "visible") -> dict[str, Any]:
    """Write a result in Gradescope's form; `scores` says when students see their exercises."""
    chapter = find_chapter(result.chapter)
    tests: list[dict[str, Any]] = []
    for number, exercise in enumerate(result.exercises, start=1):
        title = chapter.exercise(exercise.name).title
        tests.append(_exercise_test(exercise, title, number, scores))
        tests += _hidden_tests(exercise, number)
    lines = [f"Chapter {chapter.number}, {chapter.title}: {result.score:g} of {result.max_score:g} points."]
    lines += [result.error] if result.error else []
    lines += [_walls(isolation)] if isolation != "strict" else []
    return _whole(result.score, "\n".join(lines), tests, isolation, result.seconds)


def _exercise_test(exercise: ExerciseResult, title: str, number: int, scores: str) -> dict[str, Any]:
    return {
        "name": f"{title} ({exercise.name})",
        "number": str(number),
        "score": exercise.score,
        "max_score": float(exercise.points),
        "status": "passed" if exercise.status == "passed" else "failed",
        "output": exercise.message,
        "output_format": "text",
        "tags": [exercise.status, *exercise.mistakes],
        "visibility": scores,
    }


def _hidden_tests(exercise: ExerciseResult, number: int) -> list[dict[str, Any]]:
    return [
        {
            "name": f"hidden: {test.name.replace('_', ' ')}",
            "number": f"{number}.{position}",
            "status": "passed" if test.passed else "failed",
            "output": test.message,
            "output_format": "text",
            "visibility": "hidden",
        }
        for position, test in enumerate(exercise.tests, start=1)
    ]


def _walls(isolation: str) -> str:
    return f"For the instructor: this container can't wall in learners' code fully (isolation: {isolation})."


def _whole(score: float, output: str, tests: list, isolation: str = "", seconds: float = 0.0) -> dict[str, Any]:
    return {
        "score": score,
        "execution_time": round(seconds),
        "output": output,
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "extra_data": {"isolation": isolation},
        "tests": tests,
    }


def not_graded(chapter: Chapter, reason: str) -> dict[str, Any]:
    """Write the result of a submission that couldn't be graded: the reason, and 0 for every exercise."""
    tests = [_exercise_test(ExerciseResult(e.name, e.points, message="Not graded."), e.title, number, "visible")
             for number, e in enumerate(chapter.exercises, start=1)]  # fmt: skip
    return _whole(0.0, reason, tests)


def grade_submission(base: Path) -> dict[str, Any]:
    """Grade what lies in `submission/`; every outcome is a result that Gradescope can show."""
    source = base / "source"
    settings = json.loads((source / SETTINGS).read_text(encoding="utf-8"))
    chapter = find_chapter(settings["chapter"])
    started = time.monotonic()
    try:
        submission = pick_notebook(base / "submission", chapter)
        secret = (source / SECRET).read_text(encoding="utf-8").strip()
        with Grader(secret, settings["isolation"]) as grader:
            result = grader.grade(submission)
            written = as_gradescope(result, grader.warm.isolation(), settings["scores"])
    except NotGraded as problem:
        return not_graded(chapter, str(problem))
    except IsolationMissing as problem:
        why = f"Nothing was run, since this container can't wall in learners' code: {problem}"
        return not_graded(chapter, f"Not graded. {NOT_A_MARK}\nFor the instructor: {why}")
    except Exception as error:  # a fault of ours; the details are for the instructor, on standard output
        traceback.print_exc(file=sys.stdout)
        return not_graded(chapter, f"The autograder failed ({type(error).__name__}). {NOT_A_MARK}")
    written["execution_time"] = round(time.monotonic() - started)
    return written


def main(base: Path) -> None:
    """Grade, and write results.json whole."""
    graded = grade_submission(base)
    with written_whole(base / "results" / "results.json") as stream:
        stream.write(json.dumps(graded, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

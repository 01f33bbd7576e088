"""nbgrader's front door: one preprocessor in place of `Execute` that grades in the sandbox.

It gives every graded cell its score as nbgrader reads it (a number as the cell's result), and beside it the feedback that the
learner will see. From there nbgrader goes on as always: gradebook, partial credit, formgrader, feedback, export.
"""

import atexit
from typing import Any, ClassVar

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Enum

from autograder.grader import Grader
from autograder.results import ExerciseResult
from autograder.secrets import load_secret
from autograder.sources import exercise_checked_by
from autograder.submissions import Unreadable, parse


class GradeInSandbox(NbGraderPreprocessor):
    """Grade a submitted notebook in the sandbox and write the scores into its graded cells."""

    isolation = Enum(
        ["auto", "strict", "none"],
        "auto",
        help="How strongly learners' code is walled in; auto refuses where the machine can't.",
    ).tag(config=True)

    _grader: ClassVar[Grader | None] = None  # one warm process serves all notebooks of a run

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """Grade the notebook; a notebook that can't be graded gets 0 in every cell, with the reason."""
        if GradeInSandbox._grader is None:
            GradeInSandbox._grader = Grader(load_secret(), self.isolation)
            atexit.register(GradeInSandbox._grader.close)
        problem, results = "", {}
        try:
            data = nbformat.writes(nb).encode("utf-8", "replace")
            result = GradeInSandbox._grader.grade_handed(parse(data, str(resources.get("unique_key", ""))))
            problem = result.error or ""
            results = {exercise.name: exercise for exercise in result.exercises}
        except Unreadable as unreadable:
            problem = str(unreadable)
        for cell in nb.cells:
            marks = cell.metadata.get("nbgrader", {})
            if cell.cell_type == "code" and marks.get("grade"):
                self._write_score(cell, results.get(exercise_checked_by(marks["grade_id"])), problem)
        return nb, resources

    @staticmethod
    def _write_score(cell: NotebookNode, exercise: ExerciseResult | None, problem: str) -> None:
        # A graded cell without output would get full marks, so every one is given a number.
        score = exercise.score if exercise is not None else 0.0
        words = exercise.message if exercise is not None else problem or "This exercise is not in the notebook."
        status = exercise.status.replace("_", " ") if exercise is not None else "missing"
        text = f"{status}: {words}" if words else status
        cell.execution_count = 1
        cell.outputs = [
            nbformat.v4.new_output("stream", name="stdout", text=text + "\n"),
            nbformat.v4.new_output("execute_result", data={"text/plain": f"{score:g}"}, execution_count=1),
        ]

"""nbgrader, with this course's folders and its sandboxed grader. Read by every `nbgrader` command run in this folder."""

c = get_config()  # noqa: F821  given by nbgrader

c.CourseDirectory.course_id = "transformers"  # a gradebook on PostgreSQL takes no assignment without a course
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "notebooks"
c.CourseDirectory.ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "progress.json"]

# An unsolved stub raises, bare: that is how checks tell "not started" from an error.
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError  # replace this line with your code"}

# In place of nbgrader's DeduplicateIds: copied, damaged and deleted cells cost nothing, and never end the batch.
c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "autograder.nbgrader_mend.MendCells",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# In place of nbgrader's Execute: our grader runs learners' code in its sandbox and writes the score of every graded cell.
c.Autograde.autograde_preprocessors = [
    "autograder.nbgrader_plugin.GradeInSandbox",
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

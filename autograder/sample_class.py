"""A made-up class: notebooks as a class of learners would hand them in, to try and measure the grader on."""

import random

from nbformat import NotebookNode

from autograder.answers import answers_of
from autograder.sources import read_source, right_answers
from utils.catalogue import Chapter

KINDS = ("right", "right", "correct", "wrong", "stub")


def handed_in(chapter: Chapter, number: int) -> NotebookNode:
    """Make the notebook of learner `number`: the first is right throughout, the others mix right, wrong and unsolved.

    The same number always gives the same notebook.
    """
    choose = random.Random(number)
    notebook = read_source(chapter)
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        if not marks.get("solution"):
            continue
        name = marks["grade_id"]
        kind = "right" if number == 0 else choose.choice(KINDS)
        if kind == "right":
            cell.source = right_answers(chapter.id)[name]
        elif kind == "stub":
            cell.source = f"def {name}(*arguments):\n    raise NotImplementedError"
        else:
            cell.source = choose.choice(answers_of(name, kind)).source
    return notebook

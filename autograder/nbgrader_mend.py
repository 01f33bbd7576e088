"""Mend what learners' notebooks have lost, before nbgrader reads them; runs in place of nbgrader's DeduplicateIds.

Copied cells carry the names of their originals, and nbgrader's own way of taking the names away leaves marks that it then can't read: the
batch ends with the advice to update the course. A check that was deleted would stay "needs manual grading" for good. Here copies
lose their marks, damaged marks are dropped, and missing checks come back at the end of the notebook.
"""

from typing import Any

from nbformat import NotebookNode, from_dict
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor, OverwriteCells


class MendCells(NbGraderPreprocessor):
    """Make a submitted notebook one that nbgrader can grade, whatever was done to its cells."""

    def preprocess(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """Mend the notebook's marks; its code stays as it is."""
        present = self._keep_one_mark_each(nb)
        names = resources["nbgrader"]
        with Gradebook(names["db_url"]) as gradebook:
            try:
                released = gradebook.find_notebook(names["notebook"], names["assignment"])
            except MissingEntry:
                return nb, resources
            source_cells = {cell.name: cell for cell in released.source_cells}
            for graded in released.grade_cells:
                if graded.name not in present and graded.name in source_cells:
                    self.log.warning("The graded cell %s was missing and is added at the end", graded.name)
                    restored = OverwriteCells(parent=self).missing_cell_transform(
                        source_cells[graded.name], graded.max_score
                    )
                    restored["id"] = graded.name.replace("_", "-")
                    nb.cells.append(from_dict(restored))
        return nb, resources

    def _keep_one_mark_each(self, nb: NotebookNode) -> set[str]:
        """Leave each name with the last cell that has it, as nbgrader does; gives the names that are left."""
        present: set[str] = set()
        for cell in reversed(nb.cells):
            marks = cell.metadata.get("nbgrader")
            if marks is None:
                continue
            name = marks.get("grade_id") if isinstance(marks, dict) else None
            if not isinstance(name, str) or name in present:
                self.log.warning("A copied or damaged cell is taken as the learner's own (%s)", name)
                del cell.metadata["nbgrader"]
            else:
                present.add(name)
        return present

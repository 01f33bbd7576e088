"""Grade the same 40 submissions of chapter 02 with `course grade` and with stock nbgrader, in one run, side by side.

Both are measured warm: our warm process is up, and nbgrader's application is loaded; what is counted is what every further
submission costs. Stock nbgrader uses its own `Execute` (a kernel per notebook) and hidden asserts in the graded cells.
Peak memory is that of all processes together (proportional set size, so that shared pages count once).
"""

import argparse
import json
import logging
import os
import tempfile
import threading
import time
from pathlib import Path

import nbformat
import psutil
from nbgrader.apps import NbGraderAPI
from traitlets.config import Config

from autograder.batch import grade_all
from autograder.build import nbgrader_config, put_tools_on_path
from autograder.sample_class import handed_in
from autograder.sandbox.client import WarmClient
from autograder.sources import read_source
from autograder.submissions import Submission
from utils.catalogue import find_chapter

CHAPTER = find_chapter("02")
HIDDEN_ASSERTS = {
    "attention_scores": """
q, k = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
assert torch.allclose(attention_scores(q, k), torch.einsum("bid,bjd->bij", q, k), atol=1e-5)
""",
    "softmax": """
x = torch.randn(3, 7)
assert torch.allclose(softmax(x), torch.softmax(x, -1), atol=1e-6)
assert torch.allclose(softmax(x + 1e4, 0), torch.softmax(x + 1e4, 0), atol=1e-3)
assert softmax(torch.full((2, 3), -float("inf"))).eq(0).all()
""",
    "softmax_jacobian": """
x = torch.randn(5)
truth = torch.autograd.functional.jacobian(lambda x: torch.softmax(x, -1), x)
assert torch.allclose(softmax_jacobian(torch.softmax(x, -1)), truth, atol=1e-6)
""",
    "padding_mask": """
mask = padding_mask(torch.tensor([2, 4]), 5)
assert mask.dtype == torch.bool and mask.shape == (2, 1, 5)
assert mask.tolist() == [[[True, True, False, False, False]], [[True, True, True, True, False]]]
""",
    "scaled_dot_product_attention": """
q, k, v = torch.randn(2, 3, 6), torch.randn(2, 5, 6), torch.randn(2, 5, 4)
output, weights = scaled_dot_product_attention(q, k, v)
assert torch.allclose(output, torch.nn.functional.scaled_dot_product_attention(q, k, v), atol=1e-5)
output, weights = scaled_dot_product_attention(q, k, v, torch.zeros(3, 5, dtype=torch.bool))
assert output.eq(0).all() and weights.eq(0).all()
""",
}


class PeakMemory:
    """Samples the memory of this process and all below it."""

    def __enter__(self) -> "PeakMemory":
        self.bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def _sample(self) -> None:
        while not self._stop.wait(0.3):
            total = 0
            for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
                try:
                    total += process.memory_full_info().pss
                except (psutil.NoSuchProcess, psutil.AccessDenied, PermissionError):
                    continue
            self.bytes = max(self.bytes, total)

    def __exit__(self, *exc_info: object) -> None:
        self._stop.set()
        self._thread.join()


def with_course(submissions: list[Submission], jobs: int) -> tuple[float, float]:
    """Grade with `course grade`'s own machinery; gives wall seconds and the start-up that comes before."""
    started = time.perf_counter()
    with WarmClient("auto") as warm:
        warm.wait_until_ready()
        list(grade_all(submissions[:1], "bench", warm, 1))
        start_up = time.perf_counter() - started
        started = time.perf_counter()
        results = [result for _position, result in grade_all(submissions, "bench", warm, jobs)]
        seconds = time.perf_counter() - started
    crashed = [result for result in results if not result.exercises]
    if crashed:
        raise RuntimeError(f"{len(crashed)} submissions were not graded: {crashed[0].error}")
    return seconds, start_up


def with_stock_nbgrader(notebooks: list[nbformat.NotebookNode], folder: Path) -> float:
    """Grade with nbgrader as it comes; gives wall seconds."""
    source = read_source(CHAPTER)
    for cell in source.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("grade"):
            name = marks["grade_id"].removeprefix("check-")
            cell.source += f"\n### BEGIN HIDDEN TESTS{HIDDEN_ASSERTS[name]}### END HIDDEN TESTS"
    place = folder / "solutions" / CHAPTER.id
    place.mkdir(parents=True)
    nbformat.write(source, place / f"{CHAPTER.id}.ipynb")
    config: Config = nbgrader_config()
    config.CourseDirectory.root = str(folder)
    config.CourseDirectory.db_url = f"sqlite:///{folder}/gradebook.db"
    del config.Autograde
    config.ExecutePreprocessor.timeout = 120
    put_tools_on_path()
    api = NbGraderAPI(config=config)
    _succeed(api.generate_assignment(CHAPTER.id, force=True, create=True))
    for number, notebook in enumerate(notebooks):
        target = folder / "submitted" / f"learner-{number:03d}" / CHAPTER.id
        target.mkdir(parents=True)
        nbformat.write(notebook, target / f"{CHAPTER.id}.ipynb")
    started = time.perf_counter()
    for number in range(len(notebooks)):
        _succeed(api.autograde(CHAPTER.id, f"learner-{number:03d}", force=True, create=True))
    return time.perf_counter() - started


def _succeed(outcome: dict) -> None:
    if not outcome["success"]:
        raise RuntimeError(outcome.get("error") or outcome.get("log"))


def main() -> None:
    """Run both and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="how many submissions")
    parser.add_argument("--stock", type=int, default=None, help="how many of them stock nbgrader grades (all)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    logging.getLogger("traitlets").setLevel(logging.ERROR)
    notebooks = [handed_in(CHAPTER, number) for number in range(arguments.count)]
    stock_count = arguments.stock or arguments.count
    figures: dict[str, float] = {"submissions": arguments.count, "processors": os.cpu_count()}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        submissions = []
        for number, notebook in enumerate(notebooks):
            file = folder / f"learner-{number:03d}.ipynb"
            nbformat.write(notebook, file)
            submissions.append(Submission(file.stem, str(file), file))
        for jobs in (1, 2):
            with PeakMemory() as memory:
                seconds, start_up = with_course(submissions, jobs)
            figures[f"course, {jobs} jobs: seconds per submission"] = seconds / len(submissions)
            figures[f"course, {jobs} jobs: submissions per second"] = len(submissions) / seconds
            figures[f"course, {jobs} jobs: peak memory, MiB"] = memory.bytes / 2**20
            figures["course: start-up, seconds"] = start_up
        with PeakMemory() as memory:
            stock = with_stock_nbgrader(notebooks[:stock_count], folder / "stock") / stock_count
        figures["stock nbgrader: seconds per submission"] = stock
        figures["stock nbgrader: peak memory, MiB"] = memory.bytes / 2**20
    for jobs in (1, 2):
        figures[f"ratio, {jobs} jobs"] = stock / figures[f"course, {jobs} jobs: seconds per submission"]
    for name, value in figures.items():
        print(f"{name:<45} {value:10.3f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

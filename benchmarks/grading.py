"""Grade the same notebooks of chapter 02 with `course grade`, stock nbgrader and otter-grader, in one run, on one machine.

    make bench                                 # 40 notebooks side by side: some ten minutes
    make bench ARGS="--stock 5 --otter 5"      # fewer for the two slow ones
    make bench ARGS="--growth 100 1000 10000"  # how `course grade` grows, on one job and on two

All are measured warm: start-up (ours: one import of PyTorch; nbgrader's and otter's: their application) isn't counted in the
cost of a notebook where it is paid once, and is where it is paid for each. The two others run a few asserts an exercise;
`course grade` runs all hidden tests and names mistakes. What those tests cost by themselves, in one process without any wall, is
measured last. Peak memory is that of all processes together, shared pages once.
"""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat

from autograder.batch import default_jobs, engine
from autograder.sample_class import handed_in
from autograder.sandbox.client import WarmClient
from autograder.submissions import Submission
from benchmarks import hidden_tests_alone, otter_grader, stock_nbgrader
from benchmarks.measuring import Measured
from utils.catalogue import find_chapter

CHAPTER = find_chapter("02")
MIB = 2**20
ALONE = "hidden tests alone"


def write_class(folder: Path, count: int) -> list[Submission]:
    """Write the notebooks of a made-up class."""
    submissions = []
    for number in range(count):
        file = folder / f"learner-{number:05d}" / f"{CHAPTER.id}.ipynb"
        file.parent.mkdir(parents=True)
        nbformat.write(handed_in(CHAPTER, number), file)
        submissions.append(Submission(file.parent.name, str(file), file))
    return submissions


def with_course(submissions: list[Submission], jobs: int) -> tuple[Measured, float]:
    """Grade with `course grade`'s own machinery; gives what it cost, and the seconds of start-up that come before."""
    with Measured() as start_up:
        warm = WarmClient("auto").wait_until_ready()
        grade = engine(submissions, "bench", warm, jobs)
        list(grade([0]))
    with warm, Measured() as measured:
        results = [result for _position, result in grade(list(range(len(submissions))))]
    crashed = [result for result in results if not result.exercises]
    if crashed:
        raise RuntimeError(f"{len(crashed)} submissions were not graded: {crashed[0].error}")
    return measured, start_up.seconds


def side_by_side(count: int, stock: int, otter: int, jobs: tuple[int, ...], rounds: int) -> Iterator[dict]:
    """Give a row for each grader: what a notebook costs with it. Numbers of jobs take turns, since a machine's speed changes."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        submissions = write_class(folder / "course", count)
        notebooks = [nbformat.read(submission.file, 4) for submission in submissions]
        turns = [[with_course(submissions, number) for number in jobs] for _ in range(rounds)]
        for number, costs in zip(jobs, zip(*turns, strict=True), strict=True):
            row = _row(f"course grade, {number} job{'s' * (number > 1)}", [measured for measured, _ in costs], count)
            yield row | {"start-up s": sum(start_up for _, start_up in costs) / rounds}
        if stock:
            yield _row("stock nbgrader", [stock_nbgrader.grade(notebooks[:stock], CHAPTER, folder / "stock")], stock)
        if otter:
            otter_grader.prepare()
            yield _row("otter run", [otter_grader.grade(notebooks[:otter], CHAPTER, folder / "otter")], otter)
        yield _row(ALONE, [hidden_tests_alone.grade(submissions)], count)


def _row(name: str, rounds: list[Measured], count: int) -> dict:
    seconds = sum(measured.seconds for measured in rounds) / len(rounds)
    return {
        "grader": name,
        "notebooks": count,
        "a second": count / seconds,
        "s each": seconds / count,
        "processor s each": sum(measured.processor_seconds for measured in rounds) / len(rounds) / count,
        "peak MiB": max(measured.peak_bytes for measured in rounds) / MIB,
    }


def growth(counts: list[int], jobs: tuple[int, ...]) -> Iterator[dict]:
    """Give a row for each size of class, graded by the command itself, reports and pages included."""
    with tempfile.TemporaryDirectory() as temporary:
        for count in counts:
            folder = Path(temporary) / str(count)
            write_class(folder, count)
            for number in jobs:
                out = Path(temporary) / f"graded-{count}-{number}"
                command = [Path(sys.executable).with_name("course"), "grade", folder, "--jobs", number, "--out", out]
                process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
                with Measured(process.pid) as measured:
                    process.wait()
                written = json.loads((out / "results.json").read_text(encoding="utf-8"))["submissions"]
                if len(written) != count or any(one["error"] for one in written):
                    raise RuntimeError(f"not all of {count} submissions were graded")
                yield _row(f"course grade, {number} job{'s' * (number > 1)}", [measured], count)


def show(rows: Iterator[dict]) -> list[dict]:
    """Print rows as they come."""
    there = []
    for row in rows:
        if not there:
            print("  ".join(f"{name:>24}" if name == "grader" else f"{name:>16}" for name in row))
        cells = [f"{value:>24}" if isinstance(value, str) else f"{value:16.3f}" for value in row.values()]
        print("  ".join(cells), flush=True)
        there.append(row)
    return there


def say_ratios(rows: list[dict]) -> None:
    """Print how the first rows compare with the others."""
    ours = [row for row in rows if row["grader"].startswith("course")]
    alone = next((row for row in rows if row["grader"] == ALONE), None)
    for other in rows:
        for row in ours if other not in (*ours, alone) else []:
            times, less = other["s each"] / row["s each"], other["processor s each"] / row["processor s each"]
            print(
                f"{row['grader']} to {other['grader']}: {times:.0f} times as fast, {less:.0f} times less processor time"
            )
    for row in ours if alone else []:
        more = row["processor s each"] / alone["processor s each"]
        print(f"{row['grader']}: {more:.1f} times the processor time of the hidden tests alone")
    if len(ours) == 2:
        print(f"two jobs to one: {ours[0]['s each'] / ours[1]['s each']:.2f} times as fast")


def main() -> None:
    """Measure, print, and write down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="how many notebooks")
    parser.add_argument("--stock", type=int, default=None, help="how many of them stock nbgrader grades (all)")
    parser.add_argument("--otter", type=int, default=None, help="how many of them otter grades (all)")
    parser.add_argument("--growth", type=int, nargs="+", help="sizes of classes: measure growth instead")
    parser.add_argument("--rounds", type=int, default=3, help="how often `course grade` grades them all (3)")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2], help="numbers of jobs (1 2)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    logging.getLogger("traitlets").setLevel(logging.ERROR)
    print(f"processors: {default_jobs()}, load before: {os.getloadavg()[0]:.1f}")
    jobs = tuple(arguments.jobs)
    if arguments.growth:
        rows = show(growth(arguments.growth, jobs))
    else:
        stock, otter = (arguments.count if n is None else n for n in (arguments.stock, arguments.otter))
        rows = show(side_by_side(arguments.count, stock, otter, jobs, arguments.rounds))
        say_ratios(rows)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

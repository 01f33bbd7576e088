"""Which processors graders and their workers run on."""

import contextlib
import os
import random
from collections.abc import Collection


def allowed() -> list[int]:
    """List the processors that this process may use; empty where the system doesn't say (it isn't Linux)."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def processors_for(jobs: int) -> list[set[int] | None]:
    """Give each grader a processor of its own, if there are enough; None leaves it to the system.

    A grader and its worker take turns, so two processors would each wait half of the time, and waking one up takes longer
    than most requests. Which ones is left to chance, so that several runs on a large machine don't meet on the first few.
    """
    there = allowed()
    if jobs > len(there):
        return [None] * jobs
    return [{processor} for processor in random.sample(there, jobs)]


def stay_on(processors: Collection[int] | None) -> None:
    """Keep this process on some processors, where the system lets it: being elsewhere is slower, and nothing worse."""
    if processors:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, processors)

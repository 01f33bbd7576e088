"""Which processors graders and their workers run on."""

import os

import pytest

from autograder import batch
from autograder.sandbox.client import RemoteStudent, WarmClient

ALLOWED = sorted(os.sched_getaffinity(0))
WHERE = "import os\ndef where():\n    return sorted(os.sched_getaffinity(0))"


@pytest.mark.parametrize("jobs", range(1, len(ALLOWED) + 1))
def test_each_grader_has_a_processor_of_its_own_where_there_are_enough(jobs: int) -> None:
    places = batch.processors_for(jobs)
    assert len(places) == jobs
    assert all(len(place) == 1 for place in places)
    assert len(frozenset().union(*places)) == jobs
    assert frozenset().union(*places) <= set(ALLOWED)


def test_more_graders_than_processors_are_left_to_the_system() -> None:
    assert batch.processors_for(len(ALLOWED) + 1) == [None] * (len(ALLOWED) + 1)


@pytest.mark.parametrize("processors", [None, {ALLOWED[-1]}])
def test_a_worker_runs_where_its_grader_says(warm: WarmClient, processors: set[int] | None) -> None:
    connection = warm.connect(processors)
    worker = connection.worker()
    worker.request("cells", {"chapter": "02", "cells": [("<cell 1>", WHERE, [])]})
    assert RemoteStudent(worker).where() == (sorted(processors) if processors else ALLOWED)
    worker.close()
    connection.close()

"""Which processors graders and their workers run on."""

import os

import pytest

from autograder.sandbox import processors
from autograder.sandbox.client import RemoteStudent, WarmClient

ALLOWED = sorted(os.sched_getaffinity(0))
WHERE = "import os\ndef where():\n    return sorted(os.sched_getaffinity(0))"


@pytest.mark.parametrize("jobs", range(1, len(ALLOWED) + 1))
def test_each_grader_has_a_processor_of_its_own_where_there_are_enough(jobs: int) -> None:
    places = processors.processors_for(jobs)
    assert len(places) == jobs
    assert all(len(place) == 1 for place in places)
    assert len(frozenset().union(*places)) == jobs
    assert frozenset().union(*places) <= set(ALLOWED)


def test_more_graders_than_processors_are_left_to_the_system() -> None:
    assert processors.processors_for(len(ALLOWED) + 1) == [None] * (len(ALLOWED) + 1)


@pytest.mark.parametrize("chosen", [None, {ALLOWED[-1]}])
def test_a_worker_runs_where_its_grader_says(warm: WarmClient, chosen: set[int] | None) -> None:
    connection = warm.connect(chosen)
    worker = connection.worker()
    worker.request("cells", {"chapter": "02", "cells": [("<cell 1>", WHERE, [])]})
    assert RemoteStudent(worker).where() == (sorted(chosen) if chosen else ALLOWED)
    worker.close()
    connection.close()


def test_a_system_that_allows_no_choice_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    processors.stay_on({ALLOWED[0]})
    monkeypatch.delattr(os, "sched_getaffinity")
    assert processors.processors_for(2) == [None, None]

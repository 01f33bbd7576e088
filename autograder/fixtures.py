"""Record what the right answer and known mistakes give on the visible checks' inputs."""

import json
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

import utils.fixtures
from autograder.answers import Answer, answers_of
from autograder.paths import FIXTURES
from autograder.sources import answer_with_imports
from utils.catalogue import Chapter, Exercise
from utils.differences import same_observation
from utils.fixtures import ExerciseFixture
from utils.probes import Observation, Probe, observe, probes_of
from utils.student import LocalStudent


class NotRight(Exception):
    """The course's own answer doesn't run on the visible check's inputs."""


def _observations(
    source: str, exercise: Exercise, probes: list[Probe], given: dict[str, dict[str, Any]]
) -> tuple[dict[str, Observation], list[str]]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, f"<{exercise.name}>", "exec"), namespace)
    student = LocalStudent(namespace, shortcuts=exercise.shortcuts, chapter=exercise.chapter)
    seen = {probe.name: observe(probe, student, dict(given[probe.name]))[0] for probe in probes}
    return seen, student.shortcuts_used


def record(chapter: Chapter) -> bytes:
    """Make the content of a chapter's fixture file."""
    tensors: dict[str, Tensor] = {}
    known: dict[tuple, str] = {}  # dtype, shape and bytes → key

    def stored(entry: dict[str, Any]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for label, value in entry.items():
            if isinstance(value, Tensor):
                key = _key_of(value, tensors, known)
                kept[label] = {"tensor": key}
            else:
                kept[label] = value
        return kept

    index: dict[str, Any] = {}
    for exercise in chapter.exercises:
        probes = probes_of(exercise.name)
        given = {probe.name: probe.given() for probe in probes}
        right, _used = _observations(answer_with_imports(exercise), exercise, probes, given)
        stumbling = [name for name, observation in right.items() if "raises" in observation]
        if stumbling:
            raise NotRight(f"the course's own answer to {exercise.name} raises an error in: {', '.join(stumbling)}")
        mistakes: dict[str, dict[str, Any]] = {}
        for answer in answers_of(exercise.name, "wrong"):
            seen, used = _observations(answer.source, exercise, probes, given)
            if used:
                continue  # recognised by what runs, not by what comes out
            differing = {
                probe.name: stored(seen[probe.name])
                for probe in probes
                if not same_observation(right[probe.name], seen[probe.name], probe)
            }
            entry = mistakes.setdefault(
                answer.name, {"name": answer.name, "title": answer.title, "hint": answer.hint, "recordings": []}
            )
            if differing:
                entry["recordings"].append(differing)
        index[exercise.name] = {
            "given": {name: stored(values) for name, values in given.items()},
            "right": {name: stored(observation) for name, observation in right.items()},
            "mistakes": list(mistakes.values()),
        }
    return safetensors.torch.save(tensors, metadata={"index": json.dumps(index, sort_keys=True)})


def _key_of(value: Tensor, tensors: dict[str, Tensor], known: dict[tuple, str]) -> str:
    """Store a tensor once, however often it occurs: most mistakes are right on most probes."""
    value = value.detach().contiguous().clone()
    content = value.view(-1).view(torch.uint8).numpy().tobytes() if value.numel() else b""
    key = known.setdefault((value.dtype, value.shape, content), f"{len(tensors):05d}")
    tensors.setdefault(key, value)
    return key


def fixture_path(chapter: Chapter) -> Path:
    """Give where a chapter's fixtures are kept."""
    return FIXTURES / f"{chapter.id}.safetensors"


def write(chapter: Chapter) -> None:
    """Record a chapter's fixtures and put them in their place."""
    fixture_path(chapter).write_bytes(record(chapter))


def up_to_date(chapter: Chapter) -> bool:
    """Say whether the recorded fixtures are those that the sources give, up to rounding on another processor."""
    kept, made = fixture_path(chapter).read_bytes(), record(chapter)
    if kept == made:
        return True
    old, new = (utils.fixtures.parse(data) for data in (kept, made))
    if old.keys() != new.keys():
        return False
    return all(_agree(old[exercise], new[exercise], probes_of(exercise)) for exercise in new)


def _agree(old: ExerciseFixture, new: ExerciseFixture, probes: list[Probe]) -> bool:
    by_name = {probe.name: probe for probe in probes}

    def told(fixture: ExerciseFixture) -> list[tuple]:
        return [(m.name, m.title, m.hint, [sorted(r) for r in m.recordings]) for m in fixture.mistakes]

    if told(old) != told(new) or not old.right.keys() == new.right.keys() == by_name.keys():
        return False
    pairs = [(old.right, new.right)]
    for a, b in zip(old.mistakes, new.mistakes, strict=True):
        pairs += zip(a.recordings, b.recordings, strict=True)
    return all(same_observation(a[name], b[name], by_name[name]) for a, b in pairs for name in b)


def unseen_mistakes(exercise: str) -> list[Answer]:
    """List the wrong answers that no probe of the visible check notices."""
    from utils.fixtures import fixture_of

    recorded = {mistake.name for mistake in fixture_of(exercise).mistakes if mistake.recordings}
    return [answer for answer in answers_of(exercise, "wrong") if answer.name not in recorded]

"""The catalogue of chapters and exercises: the one source for their names, titles, points and forbidden shortcuts."""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

CATALOGUE_FILE = Path(__file__).with_name("catalogue.toml")


@dataclass(frozen=True)
class Exercise:
    """One exercise: a function or class of this name, worth `points`."""

    name: str
    title: str
    points: int
    chapter: str
    number: int
    shortcuts: tuple[str, ...] = ()
    stretch: bool = False


@dataclass(frozen=True)
class Chapter:
    """One notebook of the course. A chapter without exercises has not been written yet."""

    id: str
    title: str
    idea: str
    exercises: tuple[Exercise, ...] = field(default=())

    @property
    def points(self) -> int:
        """Points of all exercises that are not a stretch."""
        return sum(exercise.points for exercise in self.exercises if not exercise.stretch)

    @property
    def number(self) -> str:
        """The two digits that the id starts with."""
        return self.id[:2]

    def exercise(self, name: str) -> Exercise:
        """Find an exercise of this chapter by name; KeyError where there is none."""
        for exercise in self.exercises:
            if exercise.name == name:
                return exercise
        raise KeyError(f"chapter {self.id} has no exercise {name!r}")


@cache
def all_chapters() -> tuple[Chapter, ...]:
    """Read the catalogue: every chapter, in the order of the course."""
    chapters = []
    for entry in tomllib.loads(CATALOGUE_FILE.read_text(encoding="utf-8"))["chapter"]:
        exercises = tuple(
            Exercise(
                name=item["name"],
                title=item["title"],
                points=item["points"],
                chapter=entry["id"],
                number=number,
                shortcuts=tuple(item.get("shortcuts", ())),
                stretch=item.get("stretch", False),
            )
            for number, item in enumerate(entry.get("exercise", ()), start=1)
        )
        chapters.append(Chapter(entry["id"], entry["title"], entry["idea"], exercises))
    return tuple(chapters)


def written_chapters() -> tuple[Chapter, ...]:
    """Give the chapters that have exercises."""
    return tuple(chapter for chapter in all_chapters() if chapter.exercises)


def find_chapter(chapter_id: str) -> Chapter:
    """Find a chapter by its id, or by its number (`"02"`); KeyError that lists what there is."""
    for chapter in all_chapters():
        if chapter_id in (chapter.id, chapter.number):
            return chapter
    known = ", ".join(chapter.id for chapter in all_chapters())
    raise KeyError(f"no chapter {chapter_id!r}; there are: {known}")


def find_exercise(name: str) -> Exercise:
    """Find an exercise by name in any chapter; KeyError where there is none."""
    for chapter in all_chapters():
        for exercise in chapter.exercises:
            if exercise.name == name:
                return exercise
    raise KeyError(f"the course has no exercise {name!r}")

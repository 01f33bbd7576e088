"""The course's own collection of answers: correct ones that differ, and wrong ones that are mistakes by name."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Answer:
    """What a learner would put into an exercise's cell. `name` is the mistake's, shared by its variants."""

    exercise: str
    name: str
    file: Path
    source: str
    title: str = ""
    hint: str = ""


def read_answer(file: Path) -> Answer:
    """Read one answer; a wrong one starts with `# mistake: …` and `# hint: …` (or `# feedback should say: …`)."""
    source = file.read_text(encoding="utf-8")
    noted = {}
    for line in source.splitlines()[:4]:
        if line.startswith("# ") and ": " in line:
            key, text = line[2:].split(": ", 1)
            noted[key] = text.strip()
    hint = noted.get("hint", noted.get("feedback should say", ""))
    return Answer(file.parent.name, file.name.split(".")[0], file, source, noted.get("mistake", ""), hint)


def answers_of(exercise: str, kind: str, folder: Path = FOLDER) -> list[Answer]:
    """List the answers to an exercise; `kind` is correct or wrong."""
    return [read_answer(file) for file in sorted((folder / kind / exercise).glob("*.py"))]


def exercises_in(folder: Path = FOLDER) -> list[str]:
    """List the exercises for which a folder holds answers."""
    found = {path.name for kind in ("correct", "wrong") for path in (folder / kind).glob("*") if path.is_dir()}
    return sorted(found)

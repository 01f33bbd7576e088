"""Where the parts of a checkout lie."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = ROOT / "solutions"
NOTEBOOKS = ROOT / "notebooks"
ANSWERS = Path(__file__).with_name("answers")
FIXTURES = ROOT / "utils" / "fixtures"
TEMPLATES = Path(__file__).with_name("templates")


def source_of(chapter_id: str) -> Path:
    """Give the one source of a chapter's notebooks."""
    return SOLUTIONS / f"{chapter_id}.py"

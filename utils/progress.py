"""Remember which checks are green, in `progress.json` beside the chapters' folders, where learners can see it."""

import contextlib
import html
import json
import os
from pathlib import Path

from utils.card import Card
from utils.catalogue import all_chapters

FILE_NAME = "progress.json"


def progress_file() -> Path:
    """Find where progress is kept: beside the folders of the chapters, whichever chapter is open."""
    here = Path.cwd()
    chapters = {chapter.id for chapter in all_chapters()}
    return (here.parent if here.name in chapters else here) / FILE_NAME


def load() -> dict[str, bool]:
    """Read which exercises were green when they were last checked; a damaged file counts as empty."""
    try:
        stored = json.loads(progress_file().read_text(encoding="utf-8"))
        return {str(name): bool(green) for name, green in stored["checks"].items()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return {}


def remember(exercise: str, green: bool) -> None:
    """Write down the outcome of a check; where the folder can't be written, progress is not kept."""
    checks = load()
    if checks.get(exercise) == green:
        return
    checks[exercise] = green
    file = progress_file()
    with contextlib.suppress(OSError):
        draft = file.with_suffix(".part")
        draft.write_text(json.dumps({"checks": dict(sorted(checks.items()))}, indent=1) + "\n", encoding="utf-8")
        os.replace(draft, file)


def progress(chapter_id: str | None = None) -> Card:
    """Show the map of the course: points whose checks are green, chapter by chapter; `chapter_id` is where you are."""
    green = load()
    rows, lines = [], []
    for chapter in all_chapters():
        earned = sum(e.points for e in chapter.exercises if green.get(e.name) and not e.stretch)
        here = chapter.id == chapter_id
        share = earned / chapter.points if chapter.points else 0
        count = f"{earned} of {chapter.points} points" if chapter.exercises else "not in this edition"
        marks = "".join("●" if green.get(e.name) else "○" for e in chapter.exercises)
        rows.append(
            f'<tr style="{"font-weight:700" if here else ""}"><td style="text-align:left">{chapter.number}</td>'
            f'<td style="text-align:left">{html.escape(chapter.title)}{" ← you are here" if here else ""}</td>'
            '<td><div style="width:160px;height:10px;border-radius:5px;background:var(--jp-layout-color3,#ddd)">'
            f'<div style="width:{share:.0%};height:10px;border-radius:5px;background:#009e73"></div></div></td>'
            f'<td style="text-align:left">{count}</td></tr>'
        )
        lines.append(f"{'→' if here else ' '} {chapter.number} {chapter.title:<42} {marks:<8} {count}")
    body = f'<table style="margin:4px 0">{"".join(rows)}</table>'
    return Card("passed", "Your way through the course", "points of checks that are green", body, "\n".join(lines))


def course_map() -> Card:
    """Show every chapter with its exercises, which of them are green, and what comes next."""
    green = load()
    todo = [e for c in all_chapters() for e in c.exercises if not green.get(e.name) and not e.stretch]
    parts, lines = [], []
    for chapter in all_chapters():
        earned = sum(e.points for e in chapter.exercises if green.get(e.name) and not e.stretch)
        count = f"{earned} of {chapter.points} points" if chapter.exercises else "not in this edition"
        title = html.escape(f"{chapter.number} · {chapter.title}")
        if chapter.exercises:
            title = f'<a href="{notebook_of(chapter.id)}">{title}</a>'
        chips = " ".join(_chip(e.name, bool(green.get(e.name)), e.stretch) for e in chapter.exercises)
        parts.append(
            f'<div style="margin:10px 0"><b>{title}</b> <small style="opacity:.7">{count}</small>'
            f'<div style="opacity:.8">{html.escape(chapter.idea)}</div><div>{chips}</div></div>'
        )
        lines.append(f"{chapter.number} {chapter.title}: {count}")
        lines += [
            f"    {'✓' if green.get(e.name) else '·'} {e.name}{' (stretch)' if e.stretch else ''}"
            for e in chapter.exercises
        ]
    if todo:
        following = f"{todo[0].name}, in chapter {todo[0].chapter[:2]}"
        parts.insert(
            0, f'<p>Next: <a href="{notebook_of(todo[0].chapter)}"><code>{html.escape(following)}</code></a></p>'
        )
    else:
        following = "nothing: every check is green"
        parts.insert(0, f"<p>Next: {following}</p>")
    total = sum(e.points for c in all_chapters() for e in c.exercises if green.get(e.name) and not e.stretch)
    possible = sum(chapter.points for chapter in all_chapters())
    return Card(
        "passed",
        "Your way through the course",
        f"{total} of {possible} points",
        "".join(parts),
        "\n".join([f"Next: {following}", *lines]),
    )


def notebook_of(chapter_id: str) -> str:
    """Give a chapter's notebook, as seen from the folder of the home notebook."""
    return f"{chapter_id}/{chapter_id}.ipynb"


def _chip(name: str, is_green: bool, stretch: bool) -> str:
    colour = "#009e73" if is_green else "var(--jp-border-color1,#bbb)"
    mark = "✓ " if is_green else ""
    kind = " · stretch" if stretch else ""
    return (
        f'<span style="display:inline-block;margin:3px 4px 0 0;padding:1px 9px;border:1.5px solid {colour};border-radius:12px;'
        f'font-size:13px">{mark}{html.escape(name)}{kind}</span>'
    )

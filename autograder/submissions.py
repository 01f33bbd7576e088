"""Find submissions in notebooks, folders, nbgrader trees and zips, and read them without trusting them."""

import hashlib
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import nbformat
from nbformat import NotebookNode

from utils.catalogue import Chapter, all_chapters, written_chapters

MAX_NOTEBOOK_BYTES = 64 << 20
MAX_OPENINGS = 2_000_000  # of lists, objects and keys: each may take thirty times the memory that it takes in the file
MAX_CELL_CHARACTERS = 200_000
MAX_CELLS = 2000
MAX_CODE_CHARACTERS = 1_000_000  # in all code cells together, each cut to its own limit: reading them takes seconds
MAX_ZIP_ENTRIES = 50_000
MAX_NAME_BYTES = 150
# What opening and unpacking raises (RuntimeError: an entry is encrypted, or packed in a way that isn't known).
DAMAGED = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)


class Unreadable(Exception):
    """A submission that can't be read at all; the text says why and what to do."""


class WrongCall(Exception):
    """A path that was given on the command line doesn't hold submissions."""


@dataclass(frozen=True)
class Submission:
    """One notebook that somebody handed in: whose, where it was found, and its bytes (or why there are none)."""

    student: str
    path: str
    file: Path
    entry: str | None = None  # the name inside a zip

    @property
    def name(self) -> str:
        """The name that it was handed in under."""
        return self.entry or str(self.file)

    def read(self) -> bytes:
        """Read the bytes; Unreadable where the file is too large or can't be opened."""
        try:
            if self.entry is not None:
                with zipfile.ZipFile(self.file) as archive, archive.open(self.entry) as stream:
                    data = stream.read(MAX_NOTEBOOK_BYTES + 1)
            elif not self.file.is_file() and self.file.exists():
                raise Unreadable("This isn't a file (but a device or a pipe), so it wasn't read.")
            else:
                with self.file.open("rb") as stream:
                    data = stream.read(MAX_NOTEBOOK_BYTES + 1)
        except DAMAGED as error:
            raise Unreadable(f"The file can't be opened: {error}") from None
        if len(data) > MAX_NOTEBOOK_BYTES:
            raise _too_large()
        return data


def _too_large() -> Unreadable:
    megabytes = MAX_NOTEBOOK_BYTES >> 20
    return Unreadable(
        f"The notebook is larger than {megabytes} MB, so it wasn't read. Clear its outputs (Edit → Clear Outputs of All Cells), "
        "save, and hand it in again."
    )


@dataclass(frozen=True)
class Handed:
    """A notebook that could be read: its code cells, the chapter it belongs to, and remarks for the learner."""

    chapter: Chapter | None
    cells: tuple["HandedCell", ...]
    remark: str | None = None


@dataclass(frozen=True)
class HandedCell:
    """One code cell as it was handed in."""

    id: str
    grade_id: str | None
    source: str


def parse(data: bytes, name: str = "") -> Handed:
    """Read a notebook's bytes; Unreadable where they aren't one."""
    if not data.strip():
        raise Unreadable("The file is empty. Save the notebook and hand it in again.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"The file isn't UTF-8 text (byte {error.start}), so it isn't a notebook. Open it in JupyterLab, save it, and hand in that file."
        ) from None
    if sum(data.count(opening) for opening in (b"{", b"[", b'":')) > MAX_OPENINGS:
        raise Unreadable(
            "The notebook holds more than two million lists and objects, most likely in its outputs, so it wasn't read. Clear its "
            "outputs (Edit → Clear Outputs of All Cells), save, and hand it in again."
        )
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        detail = str(error)[:100]
        raise Unreadable(
            f"The file isn't a notebook: it isn't valid JSON ({detail}). Hand in the .ipynb file itself."
        ) from None
    if not isinstance(content, dict) or ("cells" not in content and "worksheets" not in content):
        raise Unreadable(
            "The file is JSON, but not a notebook: it has no cells. Hand in the .ipynb file of the chapter."
        )
    remark = None
    version = content.get("nbformat", 4 if "cells" in content else None)
    if version != 4:
        content, remark = _upgraded(content, version)
    cells = content.get("cells")
    if not isinstance(cells, list):
        raise Unreadable("The notebook is damaged: its cells aren't a list. Open it in JupyterLab and save it again.")
    handed = tuple(_code_cells(cells[:MAX_CELLS]))
    if sum(len(cell.source) for cell in handed) > MAX_CODE_CHARACTERS:
        raise Unreadable(
            "The notebook holds more than a million characters of code, so it wasn't graded. Was data pasted into cells, or "
            "the same cell many times? Take it out, save, and hand the notebook in again."
        )
    return Handed(_chapter_of(content, handed, name), handed, remark)


def _upgraded(content: dict, version: object) -> tuple[dict, str]:
    named = json.dumps(version)[:20]  # whatever stands there, it is shown with escapes
    sheets = content.get("worksheets")
    lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)] if isinstance(sheets, list) else []
    if sum(len(cells) for cells in [*lists, content.get("cells")] if isinstance(cells, list)) > MAX_CELLS:
        raise Unreadable(
            f"The notebook has format {named} and more than {MAX_CELLS} cells, so it wasn't converted. "
            "Open it in JupyterLab, take out the cells that aren't yours, and save it again."
        )
    try:
        notebook = nbformat.reads(json.dumps(content), as_version=4)
    except Exception as error:  # nbformat raises many kinds for damaged old notebooks
        raise Unreadable(
            f"The notebook has format {named}, which can't be read ({type(error).__name__}). Open it in JupyterLab and save it again."
        ) from None
    return dict(notebook), (
        f"The notebook was saved in the old format {named}. It was converted and graded; "
        "save it once in JupyterLab so that nothing gets lost next time."
    )


def _code_cells(cells: list) -> Iterator[HandedCell]:
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        source = cell.get("source", "")
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        if not isinstance(source, str):
            continue
        metadata = cell.get("metadata")
        marks = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        # An exercise's cell that was turned into text by a wrong key is still an answer.
        if cell.get("cell_type") != "code" and not (isinstance(marks, dict) and marks.get("solution") is True):
            continue
        grade_id = marks.get("grade_id") if isinstance(marks, dict) else None
        # JSON may hold lone surrogates, which no UTF-8 file can: they become a question mark.
        source = source[:MAX_CELL_CHARACTERS].encode("utf-8", "replace").decode()
        yield HandedCell(str(cell.get("id", ""))[:80], grade_id if isinstance(grade_id, str) else None, source)


def _chapter_of(content: dict, cells: tuple[HandedCell, ...], name: str) -> Chapter | None:
    """Tell the chapter by the notebook's own metadata, its exercises, or its file name."""
    metadata = content.get("metadata")
    course = metadata.get("course") if isinstance(metadata, dict) else None
    noted = course.get("chapter") if isinstance(course, dict) else None
    for chapter in written_chapters():
        if noted == chapter.id:
            return chapter
    everything = "\n".join(cell.source for cell in cells)
    counted = {
        chapter.id: sum(_defines(everything, exercise.name) for exercise in chapter.exercises)
        for chapter in written_chapters()
    }
    best = max(written_chapters(), key=lambda chapter: counted[chapter.id], default=None)
    if best is not None and counted[best.id]:
        named = chapter_in_name(name)
        return named if named and counted.get(named.id) else best
    return None


def _defines(source: str, name: str) -> bool:
    return re.search(rf"^(?:def|class)\s+{name}\b|^{name}\s*=", source, re.MULTILINE) is not None


def chapter_in_name(path: str) -> Chapter | None:
    """Guess the chapter from a file's path."""
    for part in reversed(PurePosixPath(path.replace("\\", "/")).parts):
        for chapter in all_chapters():
            if chapter.id in part:
                return chapter
    return None


def find_submissions(paths: list[Path]) -> list[Submission]:
    """Find all notebooks below the given paths; WrongCall where a path doesn't exist or holds none."""
    found: list[Submission] = []
    for path in paths:
        if not path.exists():
            raise WrongCall(f"{path} doesn't exist")
        before = len(found)
        if path.is_dir():
            found += _in_folder(path)
        elif path.suffix == ".zip" or zipfile.is_zipfile(path):
            try:
                found += _in_zip(path)
            except DAMAGED as error:
                raise WrongCall(f"{path} isn't a zip file, or is damaged: {error}") from None
        else:
            found.append(Submission(_student(PurePosixPath(path.name)), str(path), path))
        if len(found) == before:
            raise WrongCall(f"{path} holds no notebooks (*.ipynb)")
    return _with_distinct_students(found)


def _in_folder(folder: Path) -> Iterator[Submission]:
    for file in sorted(folder.rglob("*.ipynb")):
        relative = PurePosixPath(file.relative_to(folder).as_posix())
        if ".ipynb_checkpoints" not in relative.parts and (file.is_file() or file.is_symlink()):
            yield Submission(_student(relative, folder.name), str(file), file)


def _in_zip(file: Path) -> Iterator[Submission]:
    with zipfile.ZipFile(file) as archive:
        for name in sorted(archive.namelist()[:MAX_ZIP_ENTRIES]):
            path = PurePosixPath(name)
            hidden = {".ipynb_checkpoints", "__MACOSX"} & set(path.parts)
            if name.endswith(".ipynb") and not hidden:
                yield Submission(_student(path, file.stem), f"{file}!{name}", file, name)


def _student(relative: PurePosixPath, folder: str = "") -> str:
    """Tell whose a notebook is: STUDENT/CHAPTER/CHAPTER.ipynb, STUDENT/CHAPTER.ipynb or STUDENT.ipynb."""
    chapters = {chapter.id for chapter in all_chapters()}
    if relative.stem not in chapters:
        parents = [part for part in relative.parts[:-1] if part not in ("..", ".", "/")]
        if len(parents) >= 2 and parents[-1] in chapters:
            return _clean(parents[-2])  # a renamed notebook in nbgrader's tree
        return _clean(relative.stem)
    for part in reversed(relative.parts[:-1]):
        if part not in chapters and part not in ("..", ".", "/"):
            return _clean(part)
    return _clean(folder if folder and folder not in chapters else relative.stem)


def _clean(name: str) -> str:
    # Controls of both kinds (terminals obey them), and signs that turn the direction of text.
    text = name.encode("utf-8", "replace").decode()
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "", text)[:100] or "unknown"


def safe_file_name(name: str) -> str:
    """Make a name fit for a folder: no separators, no leading dots, short; long names stay distinct."""
    safe = re.sub(r"[^\w.@+ -]", "_", name).strip(" .") or "unknown"
    if len(safe.encode()) <= MAX_NAME_BYTES:
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{safe.encode()[: MAX_NAME_BYTES - 9].decode('utf-8', 'ignore')}-{digest}"


def _with_distinct_students(found: list[Submission]) -> list[Submission]:
    """Give a student's second notebook for one chapter a name of its own, so that no result overwrites another."""
    taken: dict[str, set[str]] = {}  # student → chapters; "" stands for one that the path doesn't tell: any
    counted: dict[str, int] = {}
    distinct = []
    for submission in found:
        chapter = chapter_in_name(submission.entry or str(submission.file))
        chapter_id = chapter.id if chapter else ""
        name = submission.student
        while chapters := taken.get(safe_file_name(name).lower()):
            if chapter_id and not chapters & {"", chapter_id}:
                break
            counted[submission.student] = counted.get(submission.student, 1) + 1
            name = f"{submission.student} ({counted[submission.student]})"
        taken.setdefault(safe_file_name(name).lower(), set()).add(chapter_id)
        distinct.append(replace(submission, student=name))
    return distinct


def content_hash(sources: Iterable[str]) -> str:
    """Hash what a learner wrote: the sources of their cells."""
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.encode())
        digest.update(b"\0")
    return digest.hexdigest()


def as_notebook(source_cells: list[tuple[str | None, str]], chapter_id: str) -> NotebookNode:
    """Make a notebook of (grade_id, source) pairs, as learners hand it in; for audits, benchmarks and tests."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["course"] = {"chapter": chapter_id}
    for number, (grade_id, source) in enumerate(source_cells):
        cell = nbformat.v4.new_code_cell(source, id=f"cell-{number:03d}")
        if grade_id is not None:
            cell.metadata["nbgrader"] = {"grade_id": grade_id, "solution": True}
        notebook.cells.append(cell)
    return notebook

"""Remember results between runs, so that an unchanged submission under unchanged tests costs nothing.

One SQLite file beside the reports holds every result under a hash of what decides it: the notebook's bytes, the grader with
its hidden tests, the secret, the walls, and the versions of Python and PyTorch. A result is there whole or not at all,
whenever the run is killed.
"""

import hashlib
import json
import platform
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import torch

from autograder.paths import ROOT
from autograder.results import SubmissionResult
from autograder.submissions import chapter_in_name

FILE_NAME = "remembered.sqlite"
SECONDS_TO_WAIT = 60  # for another run on the same folder
DECIDING = (("autograder", ("*.py",)), ("utils", ("*.py", "*.toml", "*.safetensors")), ("solutions", ("*.py",)))


def fingerprint(secret: str, isolation: str) -> str:
    """Hash what decides a score besides the notebook itself: code, hidden tests, recordings, secret, walls, versions."""
    digest = hashlib.sha256()
    for part in (secret, isolation, platform.python_version(), torch.__version__):
        digest.update(f"{len(part)}:{part}".encode())
    for folder, patterns in DECIDING:
        for pattern in patterns:
            for path in sorted((ROOT / folder).rglob(pattern)):
                content = path.read_bytes()
                digest.update(f"{path.relative_to(ROOT)}:{len(content)}:".encode() + content)
    return digest.hexdigest()


def key_of(print_of_grader: str, digest: str, name: str) -> str:
    """Give the key of a result: one notebook (the hash of its bytes) under one grader; of its name only a chapter counts."""
    chapter = chapter_in_name(name)
    return hashlib.sha256(f"{print_of_grader}:{chapter.id if chapter else ''}:{digest}".encode()).hexdigest()


class Remembered:
    """The results of earlier runs, and which feedback pages show them."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE_NAME
        try:
            self._open()
        except sqlite3.DatabaseError:  # not a database, or a damaged one: grading anew is the way to get it right
            self._file.rename(self._file.with_name(FILE_NAME + ".damaged"))
            self._open()

    def _open(self) -> None:
        self._database = sqlite3.connect(self._file, timeout=SECONDS_TO_WAIT, isolation_level=None)
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.execute("CREATE TABLE IF NOT EXISTS result (key TEXT PRIMARY KEY, content TEXT NOT NULL)")
        self._database.execute("CREATE TABLE IF NOT EXISTS walls (key TEXT PRIMARY KEY, stood TEXT NOT NULL)")
        self._database.execute("CREATE TABLE IF NOT EXISTS page (file TEXT PRIMARY KEY, shows TEXT NOT NULL)")

    def keys(self) -> set[str]:
        """Give the keys of all results that are remembered."""
        return {key for (key,) in self._database.execute("SELECT key FROM result")}

    def put(self, key: str, result: SubmissionResult) -> None:
        """Remember a result."""
        content = json.dumps(result.everything(), ensure_ascii=True)
        self._database.execute("INSERT OR REPLACE INTO result VALUES (?, ?)", (key, content))

    def get(self, key: str) -> SubmissionResult:
        """Give a remembered result; KeyError where there is none."""
        row = self._database.execute("SELECT content FROM result WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return SubmissionResult.from_everything(json.loads(row[0]))

    def walls(self, print_of_grader: str) -> str | None:
        """Say which walls stood when results under this grader were made."""
        row = self._database.execute("SELECT stood FROM walls WHERE key = ?", (print_of_grader,)).fetchone()
        return row[0] if row else None

    def note_walls(self, print_of_grader: str, stood: str) -> None:
        """Note which walls stand."""
        self._database.execute("INSERT OR REPLACE INTO walls VALUES (?, ?)", (print_of_grader, stood))

    def forget_all_but(self, keys: Iterable[str]) -> None:
        """Drop what no submission of this run needs, such as results under earlier tests."""
        needed = set(keys)
        unneeded = [(key,) for key in self.keys() - needed]
        self._database.executemany("DELETE FROM result WHERE key = ?", unneeded)

    def shown_on(self, file: str) -> str | None:
        """Say what a feedback page shows, as it was noted; None where nothing was."""
        row = self._database.execute("SELECT shows FROM page WHERE file = ?", (file,)).fetchone()
        return row[0] if row else None

    def note_page(self, file: str, shows: str) -> None:
        """Note what a feedback page shows now."""
        self._database.execute("INSERT OR REPLACE INTO page VALUES (?, ?)", (file, shows))

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def __enter__(self) -> "Remembered":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

"""Write files whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def written_whole(file: Path, mode: str = "w", **options: Any) -> Iterator[IO]:
    """Open a file for writing; it takes its place once it is complete, and where something fails it isn't there.

    Each process has a draft of its own, should two write the same file at once. Text is UTF-8; half a character, which learners'
    messages may hold, becomes a question mark.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f"{file.name}.{os.getpid()}.part")
    if "b" not in mode:
        options = {"encoding": "utf-8", "errors": "replace"} | options
    try:
        with draft.open(mode, **options) as stream:
            yield stream
        os.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)

"""A file is written whole, or what was there before stays."""

from pathlib import Path

import pytest

from autograder.whole_file import written_whole


def test_a_file_takes_its_place_once_it_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "new" / "grades.csv"
    with written_whole(file) as stream:
        stream.write("half \ud83d a character")
        assert not file.exists()
    assert file.read_text(encoding="utf-8") == "half ? a character"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_where_writing_fails_the_old_file_stays(tmp_path: Path, error: type[BaseException]) -> None:
    file = tmp_path / "results.json"
    file.write_text("old")

    def write() -> None:
        with written_whole(file, "wb") as stream:
            stream.write(b"new")
            raise error

    with pytest.raises(error):
        write()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]

"""Submissions are found wherever they lie, told apart, and read without being trusted."""

import contextlib
import json
import os
import zipfile
from pathlib import Path

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import notebooks
from autograder import submissions
from autograder.reports import feedback_file
from autograder.results import SubmissionResult
from autograder.submissions import (
    MAX_CELL_CHARACTERS,
    MAX_CELLS,
    MAX_NAME_BYTES,
    Unreadable,
    WrongCall,
    as_notebook,
    chapter_in_name,
    content_hash,
    find_submissions,
    parse,
    safe_file_name,
)
from notebooks import CHAPTER, FILE_NAME, NAMES, as_bytes, write


def students(*paths: Path) -> list[str]:
    return [submission.student for submission in find_submissions(list(paths))]


def folder_of(tmp_path: Path, *names: str) -> Path:
    for name in names:
        write(tmp_path / name, b"{}")
    return tmp_path


# Whose a notebook is


@pytest.mark.parametrize(
    ("name", "student"),
    [
        (f"submitted/ada/{CHAPTER.id}/{FILE_NAME}", "ada"),
        (f"submitted/ada/{CHAPTER.id}/renamed.ipynb", "ada"),
        (f"ada/{CHAPTER.id}/{FILE_NAME}", "ada"),
        (f"ada/{FILE_NAME}", "ada"),
        ("ada.ipynb", "ada"),
        ("Ada Lovelace.ipynb", "Ada Lovelace"),
        ("deep/er/ada/02_scaled_dot_product.ipynb", "ada"),
        (f"group/{CHAPTER.id}/ada.ipynb", "group"),
        ("Ädä (2).ipynb", "Ädä (2)"),
        ("02_scaled_dot_product-Copy1.ipynb", "02_scaled_dot_product-Copy1"),
    ],
)
def test_the_student_is_told_by_the_path(tmp_path: Path, name: str, student: str) -> None:
    assert students(folder_of(tmp_path, name)) == [student]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(tmp_path / name, name)
    assert students(tmp_path / "all.zip") == [student]


def test_a_notebook_of_the_chapters_name_takes_the_folders_or_zips(tmp_path: Path) -> None:
    assert students(folder_of(tmp_path / "ada", FILE_NAME)) == ["ada"]
    with zipfile.ZipFile(tmp_path / "bob.zip", "w") as archive:
        archive.writestr(FILE_NAME, "{}")
    assert students(tmp_path / "bob.zip") == ["bob"]


def test_a_single_notebook_is_named_by_its_file(tmp_path: Path) -> None:
    assert students(write(tmp_path / "ada.ipynb", b"{}")) == ["ada"]
    assert students(write(tmp_path / FILE_NAME, b"{}")) == [CHAPTER.id]


def test_control_characters_are_left_out_of_names(tmp_path: Path) -> None:
    assert students(write(tmp_path / "a\x1b[2Jda\n.ipynb", b"{}")) == ["a[2Jda"]
    assert students(write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/bo\xffb.ipynb")), b"{}")) == ["bo?b"]


# Two of the same name


def distinct(*paths: Path) -> list[str]:
    """Find submissions; give the pages that their feedback goes to, all different on any file system."""
    found = find_submissions(list(paths))
    pages = [str(feedback_file(SubmissionResult(s.student, CHAPTER.id, s.path), Path("grades"))).lower() for s in found]
    assert len(set(pages)) == len(found)
    return [submission.student for submission in found]


def test_two_students_of_one_name_are_told_apart(tmp_path: Path) -> None:
    folder_of(tmp_path, f"a/ada/{FILE_NAME}", f"b/ada/{FILE_NAME}", f"c/ada/{FILE_NAME}")
    assert distinct(tmp_path) == ["ada", "ada (2)", "ada (3)"]
    assert distinct(tmp_path / "a", tmp_path / "b") == ["ada", "ada (2)"]


def test_a_student_whose_name_ends_in_a_number_keeps_it(tmp_path: Path) -> None:
    folder_of(tmp_path, "a/ada (2).ipynb", "b/ada.ipynb", "c/ada.ipynb", "d/ada (2).ipynb")
    assert distinct(tmp_path)[:2] == ["ada (2)", "ada"]


def test_names_that_differ_only_where_file_names_cannot_are_told_apart(tmp_path: Path) -> None:
    distinct(folder_of(tmp_path, "a/ADA.ipynb", "a/ada.ipynb", "a/x?.ipynb", "a/x*.ipynb", "a/x_.ipynb"))


def test_names_without_end_are_told_apart(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for last in "ab":
            for letter in "x語\U0001f600":
                archive.writestr(f"{letter * 300}{last}/{FILE_NAME}", "{}")
    found = distinct(tmp_path / "all.zip")
    assert all(len(safe_file_name(name).encode()) <= MAX_NAME_BYTES for name in found)


def test_copies_in_one_students_folder_overwrite_nothing(tmp_path: Path) -> None:
    folder = f"ada/{CHAPTER.id}"
    folder_of(
        tmp_path, f"{folder}/{FILE_NAME}", f"{folder}/{CHAPTER.id}-Copy1.ipynb", f"{folder}/final.ipynb", "ada.ipynb"
    )
    assert sorted(distinct(tmp_path)) == ["ada", "ada (2)", "ada (3)", "ada (4)"]


def test_one_students_chapters_stay_theirs(tmp_path: Path) -> None:
    folder_of(tmp_path, f"ada/{CHAPTER.id}/{FILE_NAME}", "ada/03_self_attention/03_self_attention.ipynb")
    assert students(tmp_path) == ["ada", "ada"]


@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_any_name_becomes_a_safe_file_name(name: str) -> None:
    safe = safe_file_name(name)
    assert 0 < len(os.fsencode(safe)) <= MAX_NAME_BYTES
    assert not set(safe) & set('/\\\0:*?"<>|\n')
    assert not safe.startswith(".")


# Where submissions are found


def test_checkpoints_folders_and_other_files_are_left_out(tmp_path: Path) -> None:
    folder_of(
        tmp_path, f"ada/{FILE_NAME}", "ada/.ipynb_checkpoints/x-checkpoint.ipynb", "ada/notes.txt", "ada/data.csv"
    )
    (tmp_path / "folder.ipynb").mkdir()
    os.mkfifo(tmp_path / "pipe.ipynb")
    assert students(tmp_path) == ["ada"]


def test_submissions_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    assert students(folder_of(tmp_path, "c.ipynb", "a.ipynb", "b.ipynb")) == ["a", "b", "c"]


def test_several_paths_are_taken_together(tmp_path: Path) -> None:
    folder_of(tmp_path / "one", "a.ipynb")
    assert students(tmp_path / "one", write(tmp_path / "b.ipynb", b"{}")) == ["a", "b"]


def test_what_holds_no_submission_is_a_wrong_call(tmp_path: Path) -> None:
    with pytest.raises(WrongCall, match="holds no notebooks"):
        find_submissions([tmp_path])
    with pytest.raises(WrongCall, match="doesn't exist"):
        find_submissions([tmp_path / "nowhere"])
    with pytest.raises(WrongCall, match="damaged"):
        find_submissions([write(tmp_path / "x.zip", b"PK no zip")])
    zipfile.ZipFile(tmp_path / "empty.zip", "w").close()
    with pytest.raises(WrongCall, match="holds no notebooks"):
        find_submissions([tmp_path / "empty.zip"])


def test_a_zip_under_another_name_is_read_as_one(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "handed_in", "w") as archive:
        archive.writestr("ada.ipynb", "{}")
    assert students(tmp_path / "handed_in") == ["ada"]


def test_entries_that_point_out_of_the_zip_write_nothing(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as archive:
        archive.writestr(f"../../../ada/{FILE_NAME}", "{}")
        archive.writestr("/etc/bob.ipynb", "{}")
    found = find_submissions([tmp_path / "evil.zip"])
    assert sorted(submission.student for submission in found) == ["ada", "bob"]
    for submission in found:
        assert submission.read() == b"{}"
        page = feedback_file(SubmissionResult(submission.student, "", submission.path), tmp_path / "grades")
        assert (tmp_path / "grades" / "feedback") in page.resolve().parents
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil.zip"]


def test_students_named_like_paths_stay_in_the_feedback_folder(tmp_path: Path) -> None:
    for name in ("..", ".", "../../etc", "/etc/passwd", "a/../../b", "", "\0"):
        page = feedback_file(SubmissionResult(name, "../up", "x/..ipynb"), tmp_path)
        assert page.resolve().parent.parent == tmp_path.resolve() / "feedback"


def test_an_encrypted_entry_is_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "all.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("ada.ipynb", "{}")
    content = bytearray(file.read_bytes())
    content[6] |= 1  # the flag "encrypted", in the entry and in the directory
    content[content.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(Unreadable, match="can't be opened"):
        find_submissions([write(file, bytes(content))])[0].read()


def test_no_more_is_read_than_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "MAX_NOTEBOOK_BYTES", 1000)
    for size, fits in ((1000, True), (1001, False)):
        (submission,) = find_submissions([write(tmp_path / "a.ipynb", b" " * size)])
        if fits:
            assert len(submission.read()) == size
        else:
            with pytest.raises(Unreadable, match="larger than"):
                submission.read()


# Reading a notebook


def test_a_notebook_is_read_with_ids_and_names_of_its_code_cells() -> None:
    handed = parse(notebooks.solved())
    assert handed.chapter is CHAPTER
    assert handed.remark is None
    names = {cell.grade_id: cell.source for cell in handed.cells if cell.grade_id in NAMES}
    assert names == notebooks.all_right()
    assert {"softmax", "check-softmax"} <= {cell.id for cell in handed.cells}


def test_sources_may_be_lists_of_lines() -> None:
    content = json.loads(notebooks.solved())
    assert isinstance(content["cells"][-1]["source"], list)
    texts = [cell | {"source": "".join(cell["source"])} for cell in content["cells"]]
    assert parse(json.dumps(content | {"cells": texts}).encode()) == parse(notebooks.solved())


def test_a_notebook_that_lost_its_version_is_read() -> None:
    content = json.loads(notebooks.solved())
    del content["nbformat"], content["nbformat_minor"]
    assert parse(json.dumps(content).encode()) == parse(notebooks.solved())


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty"),
        (b"\n ", "empty"),
        (b"\xff\xfe", "UTF-8"),
        (b"{", "isn't valid JSON"),
        (b"9" * 5000, "isn't valid JSON"),
        (b"[]", "has no cells"),
        (b'{"cells": 1, "nbformat": 4}', "aren't a list"),
        (b'{"cells": [], "nbformat": null}', "format null"),
        (b'{"worksheets": 1, "nbformat": 3}', "format 3"),
    ],
)
def test_what_is_no_notebook_says_what_it_is(content: bytes, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        parse(content)


json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(["code", "raw"])
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["cell_type", "source", "metadata", "id", "nbgrader", "grade_id", "course", "chapter"]),
            inner,
        ),
    ),
    max_leaves=12,
)


@given(
    st.fixed_dictionaries(
        {"cells": json_values},
        optional={"nbformat": st.one_of(st.just(4), json_values), "metadata": json_values, "worksheets": json_values},
    )
)
def test_any_json_is_read_or_refused_in_words(content: dict) -> None:
    with contextlib.suppress(Unreadable):
        parse(json.dumps(content).encode())


@given(st.binary(max_size=100))
def test_any_bytes_are_read_or_refused_in_words(content: bytes) -> None:
    with pytest.raises(Unreadable):
        parse(content)


def test_of_long_cells_and_many_cells_the_first_part_is_read() -> None:
    cells = [nbformat.v4.new_code_cell("x" * (MAX_CELL_CHARACTERS + 7))] * (MAX_CELLS + 7)
    handed = parse(as_bytes_unchecked(cells))
    assert len(handed.cells) == MAX_CELLS
    assert len(handed.cells[0].source) == MAX_CELL_CHARACTERS


def as_bytes_unchecked(cells: list) -> bytes:
    short = [cell | {"source": cell.source if number == 0 else ""} for number, cell in enumerate(cells)]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": short}).encode()


def test_half_characters_become_question_marks() -> None:
    content = notebooks.solved().replace(b"def softmax", b"# \\ud800\\ndef softmax")
    assert any("# ?\ndef softmax" in cell.source for cell in parse(content).cells)


def test_the_chapter_is_told_by_metadata_exercises_or_name() -> None:
    made = notebooks.notebook(notebooks.all_right())
    made.metadata.clear()
    assert parse(as_bytes(made)).chapter is CHAPTER
    bare = nbformat.v4.new_notebook(metadata={"course": {"chapter": CHAPTER.id}})
    assert parse(as_bytes(bare)).chapter is CHAPTER
    bare.metadata.clear()
    assert parse(as_bytes(bare)).chapter is None
    assert chapter_in_name(f"x/ada/{CHAPTER.id}/y.ipynb") is CHAPTER
    assert chapter_in_name(f"x\\{CHAPTER.id}-Copy1.ipynb") is CHAPTER
    assert chapter_in_name("x/ada.ipynb") is None


def test_a_notebook_made_for_tests_is_read_as_it_was_meant() -> None:
    made = as_notebook([("softmax", "x = 1"), (None, "y = 2")], CHAPTER.id)
    handed = parse(as_bytes(made))
    assert [(cell.grade_id, cell.source) for cell in handed.cells] == [("softmax", "x = 1"), (None, "y = 2")]
    assert handed.chapter is CHAPTER


def test_contents_that_differ_hash_differently() -> None:
    contents = [["ab", "c"], ["a", "bc"], ["abc"], ["c", "ab"], ["ab", "c", ""], []]
    assert len({content_hash(sources) for sources in contents}) == len(contents)
    assert content_hash(["ab", "c"]) == content_hash(iter(["ab", "c"]))

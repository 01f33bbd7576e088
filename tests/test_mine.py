"""`mine("…")`: the learner's own piece where it passes, PyTorch's where not, and a word on which."""

import json
import os
from pathlib import Path

import nbformat
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from autograder.audit import grade_answer
from autograder.build import released_path
from autograder.grader import Grader
from autograder.sources import answer_with_imports, right_answers
from utils import course_map, mine, quiet, standins
from utils.catalogue import find_chapter, find_exercise
from utils.report import examine
from utils.student import LocalStudent

CHAPTER = find_chapter("02")
NAME = "scaled_dot_product_attention"


@pytest.fixture
def chapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a learner, who is working in chapter 03."""
    (tmp_path / "03_self_attention").mkdir()
    (tmp_path / CHAPTER.id).mkdir()
    monkeypatch.chdir(tmp_path / "03_self_attention")
    return tmp_path


def hand_down(folder: Path, answers: dict[str, str], *, bare: bool = False) -> None:
    """Save an earlier notebook with these answers; `bare` without ids and metadata, as other editors save it."""
    notebook = nbformat.read(released_path(CHAPTER), as_version=4)
    for number, cell in enumerate(notebook.cells):
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("solution") and marks["grade_id"] in answers:
            cell.source = answers[marks["grade_id"]]
        if bare:
            cell.metadata, cell["id"] = nbformat.from_dict({}), f"other-{number}"
    nbformat.write(notebook, folder / CHAPTER.id / f"{CHAPTER.id}.ipynb")


def test_a_solved_piece_is_the_learners_own(chapters: Path, capsys: pytest.CaptureFixture) -> None:
    hand_down(chapters, right_answers(CHAPTER.id))
    piece = mine(NAME)
    assert capsys.readouterr().out == f"{NAME}: yours, from chapter 02\n"
    assert piece is not standins.scaled_dot_product_attention
    q, k, v = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)
    torch.testing.assert_close(piece(q, k, v)[0], F.scaled_dot_product_attention(q, k, v))


def test_renamed_cells_without_metadata_are_found_too(chapters: Path, capsys: pytest.CaptureFixture) -> None:
    hand_down(chapters, right_answers(CHAPTER.id), bare=True)
    mine(NAME)
    assert "yours" in capsys.readouterr().out


def test_half_done_chapters_give_what_they_have(chapters: Path, capsys: pytest.CaptureFixture) -> None:
    hand_down(chapters, {"padding_mask": right_answers(CHAPTER.id)["padding_mask"]})
    mine("padding_mask")
    assert mine(NAME) is standins.scaled_dot_product_attention
    assert capsys.readouterr().out.splitlines() == [
        "padding_mask: yours, from chapter 02",
        f"{NAME}: PyTorch's, since yours in chapter 02 is not started",
    ]


def test_a_wrong_piece_is_not_taken(chapters: Path, capsys: pytest.CaptureFixture) -> None:
    wrong = f"def {NAME}(q, k, v, mask=None):\n    w = torch.softmax(q @ k.mT, -1)\n    return w @ v, w"
    hand_down(chapters, {NAME: wrong})
    assert mine(NAME) is standins.scaled_dot_product_attention
    assert "doesn't pass its check yet" in capsys.readouterr().out


def test_without_an_earlier_notebook_nobody_is_stuck(chapters: Path, capsys: pytest.CaptureFixture) -> None:
    assert mine(NAME) is standins.scaled_dot_product_attention
    assert "there is no notebook of chapter 02 here" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cells": 3}', '{"cells": [{"cell_type": "code"}]}', "\x00\x01"])
def test_a_broken_notebook_is_no_obstacle(chapters: Path, content: str, capsys: pytest.CaptureFixture) -> None:
    (chapters / CHAPTER.id / f"{CHAPTER.id}.ipynb").write_text(content)
    assert mine(NAME) is standins.scaled_dot_product_attention
    assert "PyTorch's" in capsys.readouterr().out


def test_a_cell_that_fails_costs_itself_alone(chapters: Path, capsys: pytest.CaptureFixture) -> None:
    answers = right_answers(CHAPTER.id) | {"padding_mask": "def padding_mask(lengths, max_len)\n    oops"}
    hand_down(chapters, answers)
    mine(NAME)
    assert "yours" in capsys.readouterr().out


def test_nothing_but_definitions_is_run(chapters: Path, capsys: pytest.CaptureFixture) -> None:
    mark = chapters / "was-run"
    answers = right_answers(CHAPTER.id)
    answers["softmax"] += f"\nopen({str(mark)!r}, 'w')\nprint('training')"
    hand_down(chapters, answers)
    mine(NAME)
    assert not mark.exists()
    assert "training" not in capsys.readouterr().out


def test_an_edited_notebook_is_read_anew(chapters: Path, capsys: pytest.CaptureFixture) -> None:
    hand_down(chapters, {})
    mine(NAME)
    hand_down(chapters, right_answers(CHAPTER.id))
    os.utime(chapters / CHAPTER.id / f"{CHAPTER.id}.ipynb", (2_000_000_000, 2_000_000_000))
    mine(NAME)
    assert "yours" in capsys.readouterr().out.splitlines()[1]


def test_a_graded_notebook_never_looks_at_other_chapters(chapters: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hand_down(chapters, right_answers(CHAPTER.id))
    monkeypatch.setattr(quiet, "_on", True)
    assert mine(NAME) is standins.scaled_dot_product_attention


def test_what_no_later_chapter_needs_is_refused() -> None:
    with pytest.raises(KeyError, match="softmax_jacobian"):
        mine("softmax_jacobian")


LEARNS_POSITIONS = "TransformerEmbedding"  # PyTorch has no sinusoids


@pytest.mark.parametrize("name", sorted(set(standins.STANDINS) - {LEARNS_POSITIONS}))
def test_stand_ins_pass_the_check_of_the_exercise_they_stand_in_for(name: str) -> None:
    report = examine(LocalStudent(dict(standins.STANDINS)), name)  # PyTorch's pieces are what they may use
    lines = [line for line in report.properties if not line.passed]
    assert not lines, [line.title for line in lines]


def test_the_embeddings_stand_in_adds_positions_that_it_learns() -> None:
    embedding = standins.TransformerEmbedding(11, 6, max_len=5, dropout=0.0)
    ids = torch.tensor([[3, 3, 7], [0, 10, 3]])
    expected = 6**0.5 * F.embedding(ids, embedding.tokens.weight) + embedding.positions.weight[:3]
    torch.testing.assert_close(embedding(ids), expected)
    with pytest.raises(ValueError, match="max_len"):
        embedding(torch.zeros(1, 6, dtype=torch.long))


def test_the_multi_head_stand_in_is_pytorchs_with_zeros_where_nothing_may_be_attended() -> None:
    torch.manual_seed(0)
    ours, theirs = standins.MultiHeadAttention(12, 3), nn.MultiheadAttention(12, 3, batch_first=True)
    with torch.no_grad():
        packed = zip(theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3), strict=True)
        for layer, (weight, bias) in zip((ours.q_proj, ours.k_proj, ours.v_proj), packed, strict=True):
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)
        ours.out_proj.load_state_dict(theirs.out_proj.state_dict())
    x, y = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
    for mine_, reference in zip(ours(x, y, y), theirs(x, y, y, average_attn_weights=False), strict=True):
        torch.testing.assert_close(mine_, reference)
    closed = torch.tensor([[[True] * 7], [[False] * 7]])
    output, weights = ours(x, y, y, closed)
    torch.testing.assert_close(output[0], theirs(x, y, y)[0][0])
    torch.testing.assert_close(output[1], ours.out_proj.bias.expand(5, 12))
    assert weights[1].eq(0).all()


def test_the_map_of_the_course_says_what_is_next(chapters: Path) -> None:
    first = next(e for c in [find_chapter("01"), CHAPTER] for e in c.exercises)
    assert f"Next: {first.name}" in repr(course_map())
    everything = {e.name: True for number in ("01", "02") for e in find_chapter(number).exercises}
    (chapters / "progress.json").write_text(json.dumps({"checks": everything}))
    shown = repr(course_map())
    assert f"{CHAPTER.points} of {CHAPTER.points} points" in shown
    assert first.name not in shown.splitlines()[1]


def test_a_chapter_takes_pieces_of_earlier_chapters_only(chapters: Path) -> None:
    for name in ("SelfAttention", "causal_mask", "MultiHeadAttention"):
        with pytest.raises(ValueError, match="earlier chapters only"):
            mine(name)


TAKEN = (
    "{name} = mine('{name}')",
    "from utils.standins import {name}",
    "from utils.standins import STANDINS\n{name} = STANDINS['{name}']",
    "from utils import standins\nclass {name}(standins.{name}):\n    pass",
)


@pytest.mark.parametrize("source", TAKEN)
@pytest.mark.parametrize(
    "name", ["scaled_dot_product_attention", "SelfAttention", "CausalSelfAttention", "MultiHeadAttention"]
)
def test_an_exercise_taken_ready_made_earns_nothing(grader: Grader, source: str, name: str) -> None:
    if "class" in source and name.islower():
        source = "from utils import standins\ndef {name}(*a, **k):\n    return standins.{name}(*a, **k)"
    result = grade_answer(grader, find_exercise(name), "from utils import mine\n" + source.format(name=name))
    assert result.score == 0
    assert result.status in ("forbidden", "error")


@pytest.mark.parametrize("name", ["causal_mask", "padding_mask", "softmax"])
def test_mine_hands_out_no_exercise_of_the_chapter_that_is_graded(grader: Grader, name: str) -> None:
    result = grade_answer(grader, find_exercise(name), f"from utils import mine\n{name} = mine({name!r})")
    assert result.score == 0
    assert "earlier chapters only" in result.message


def test_a_piece_of_an_earlier_chapter_is_fine_in_a_graded_answer(grader: Grader) -> None:
    source = answer_with_imports(find_exercise("SelfAttention"))
    source = source.replace(
        "from utils.standins import scaled_dot_product_attention",
        "from utils import mine\nscaled_dot_product_attention = mine('scaled_dot_product_attention')",
    )
    assert "mine(" in source
    result = grade_answer(grader, find_exercise("SelfAttention"), source)
    assert result.score == result.points

"""Pictures of hidden words: every token's fate is read off inputs and labels alone."""

import matplotlib.pyplot as plt
import torch

from utils import word_fates

INPUTS = torch.tensor([[1, 9, 6, 8, 3, 2], [1, 5, 3, 7, 4, 2]])
LABELS = torch.tensor([[-100, 5, -100, 8, 7, -100], [-100, -100, 6, -100, -100, -100]])
WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e", "f"]


def test_fates_are_told_apart() -> None:
    fates = word_fates.fates(INPUTS, LABELS, 3)
    assert fates.tolist() == [[0, 2, 0, 3, 1, 0], [0, 0, 1, 0, 0, 0]]


def test_texts_are_drawn_as_the_model_sees_them() -> None:
    ax = word_fates.draw_texts(INPUTS, LABELS, 3, WORDS)
    assert [text.get_text() for text in ax.texts] == [WORDS[number] for number in INPUTS.flatten().tolist()]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(word_fates.NAMES)
    plt.close("all")


def test_shares_are_those_of_the_chosen() -> None:
    ax = word_fates.draw_shares(INPUTS, LABELS, 3)
    assert [bar.get_width() for bar in ax.patches] == [50.0, 25.0, 25.0]
    assert ax.get_title() == "4 chosen words, 33.3 % of all"
    plt.close("all")


def test_nothing_chosen_can_be_drawn() -> None:
    ax = word_fates.draw_shares(INPUTS, torch.full_like(LABELS, -100), 3)
    assert [bar.get_width() for bar in ax.patches] == [0.0, 0.0, 0.0]
    plt.close("all")

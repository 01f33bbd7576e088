"""The translation tasks of chapter 06, the LSTM translators beside the learner's, and the host that decodes from a table."""

import random

import pytest
import torch
from torch import nn

from utils import alignment, date_task, reversal_task, translation
from utils.hosts_decoding import ScriptedTranslator
from utils.recurrent_translators import RecurrentTranslator
from utils.translation import BOS, EOS, PAD


def copied(targets: torch.Tensor) -> object:
    """Decode by giving the targets back, whatever is asked."""
    return lambda _model, src: targets[: len(src), 1:]


def test_no_training_date_is_held_out():
    train, held_out = date_task._dates()
    assert len(held_out) == len(set(held_out)) == 2000
    assert len(train) == 47_482 - 2000
    assert not set(train) & set(held_out)


def test_every_format_of_every_date_is_in_the_vocabulary():
    train, held_out = date_task._dates()
    for date in [*held_out, *train[::7]]:
        for write in date_task.FORMATS:
            date_task.source_ids(write(date))
        assert date_task.target_text([*date_task.target_ids(date.isoformat()), EOS, PAD]) == date.isoformat()


def test_each_format_writes_the_same_day():
    date = date_task.Date(1992, 12, 20)
    written = [write(date) for write in date_task.FORMATS]
    assert len(set(written)) == 14
    assert {"20/12/1992", "Sun 20-Dec-1992", "December twentieth, nineteen ninety-two"} <= set(written)
    assert date_task.year_in_words(1900) == "nineteen hundred"
    assert date_task.year_in_words(2005) == "two thousand and five"
    assert [date_task.ordinal(day) for day in (1, 2, 3, 11, 12, 13, 21, 30)] == [
        *("1st", "2nd", "3rd", "11th", "12th", "13th", "21st", "30th")
    ]


@pytest.mark.parametrize("text", ["the 3rd of Foo 1990", "1990 & 3", ""])
def test_unknown_words_are_refused(text):
    with pytest.raises(ValueError, match=r"no written date|nothing to translate"):
        date_task.source_ids(text)


def test_same_seed_same_batches():
    first, second, other = (date_task.batches(5, seed)(1) for seed in (3, 3, 4))
    assert torch.equal(first.src, second.src) and torch.equal(first.tgt, second.tgt)
    assert first.src.shape != other.src.shape or not torch.equal(first.src, other.src)


def test_reversals_are_reversed():
    pairs = reversal_task.draw(20, (3, 7), random.Random(0))
    for src, tgt in zip(pairs.src.tolist(), pairs.tgt.tolist(), strict=True):
        string = [token for token in src if token != PAD]
        assert 3 <= len(string) <= 7
        assert [token for token in tgt if token != PAD] == [BOS, *string[::-1], EOS]


def test_a_translation_is_right_only_as_a_whole():
    pairs = translation.as_pairs([[5], [6], [7]], [[3, 4], [3], [4, 4, 4]])
    assert translation.right_ones(nn.Identity(), pairs, copied(pairs.tgt)).tolist() == [True] * 3
    broken = pairs.tgt.clone()
    broken[0, 2], broken[1, 2] = 5, 3  # a wrong token, and one in the place of EOS
    assert translation.right_ones(nn.Identity(), pairs, copied(broken)).tolist() == [False, False, True]
    assert translation.right_ones(nn.Identity(), pairs, copied(pairs.tgt[:, :3])).tolist() == [False, True, False]


def test_initialise_reaches_every_matrix_and_leaves_vectors():
    model = nn.Sequential(nn.Embedding(300, 64, padding_idx=0), nn.Linear(64, 50), nn.LayerNorm(50), nn.Linear(64, 300))
    model[3].weight = model[0].weight  # a tied output layer
    bias = model[1].bias.clone()
    translation.initialise(model, seed=1)
    assert model[0].weight[1:].std().item() == pytest.approx(64**-0.5, rel=0.05)
    assert model[1].weight.abs().max().item() <= (6 / 114) ** 0.5
    assert model[0].weight[0].abs().max() == 0
    assert torch.equal(model[1].bias, bias) and bool((model[2].weight == 1).all())


def test_least_loss_is_pytorchs_at_the_smoothed_target():
    target = torch.full((14,), 0.1 / 14)
    target[3] += 0.9
    expected = nn.functional.cross_entropy(target.log()[None], torch.tensor([3]), label_smoothing=0.1)
    assert translation.least_loss(0.1, 14) == pytest.approx(expected.item(), abs=1e-5)


@pytest.mark.parametrize("attention", [True, False])
def test_padding_changes_nothing_for_a_recurrent_translator(attention):
    torch.manual_seed(0)
    model = RecurrentTranslator(11, 7, 16, attention)
    src, tgt = torch.tensor([[4, 9, 3]]), torch.tensor([[1, 5, 6]])
    wider = torch.tensor([[4, 9, 3, 0, 0], [5, 5, 5, 5, 5]])
    assert torch.allclose(model(src, tgt)[0], model(wider, tgt.expand(2, -1))[0], atol=1e-6)
    later = model(src, torch.tensor([[1, 5, 2]]))
    assert torch.equal(model(src, tgt)[:, :2], later[:, :2])  # no look ahead


def test_training_makes_the_loss_smaller():
    torch.manual_seed(0)
    model = RecurrentTranslator(reversal_task.VOCABULARY, reversal_task.VOCABULARY, 16)
    held_out = reversal_task.draw(10, (2, 3), random.Random(1))

    def loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD)

    draw = reversal_task.batches(16, (2, 3), 0)
    course = translation.train(model, loss, lambda step: 0.01, draw, 30, held_out, copied(held_out.tgt), every=20)
    assert course.losses[-1] < 0.8 * course.losses[0]
    assert course.asked == [20, 30] and course.exact == [1.0, 1.0]


def test_the_script_decides_and_train_mode_says_the_opposite():
    table = torch.randn(2, 3, 5, 5)
    model, src, tgt = ScriptedTranslator(table).eval(), torch.tensor([[1, 4], [0, 3]]), torch.tensor([[1, 4], [1, 2]])
    logits = model(src, tgt)
    assert torch.equal(logits[0], table[1, [0, 1], [1, 4]]) and torch.equal(logits[1], table[0, [0, 1], [1, 2]])
    assert (model.longest, model.in_train_mode, model.with_gradients) == (2, False, True)
    with torch.no_grad():
        assert torch.equal(model.train()(src, tgt), -logits)
    with pytest.raises(ValueError, match="other sources"):
        model.decode(tgt, model.encode(src).flip(0), src)


class _Silent(nn.Module):
    """A translator without any module that gives weights."""

    def encode(self, src: torch.Tensor) -> torch.Tensor:
        return src

    def decode(self, tgt: torch.Tensor, memory: torch.Tensor, src: torch.Tensor) -> torch.Tensor:
        return tgt


def test_no_cross_attention_is_said_in_words():
    with pytest.raises(LookupError, match="cross_attention"):
        alignment.cross_attention(_Silent(), torch.ones(1, 4), torch.ones(1, 3))

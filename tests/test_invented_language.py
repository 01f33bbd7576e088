"""The small language keeps its own rules, its questions are fair, and what is read off a model is what is there."""

import math

import pytest
import torch
from torch import Tensor, nn

from utils import few_labels, head_roles
from utils import invented_language as language
from utils import masked_word_training as training
from utils.standins import MultiHeadAttention

TEXTS = language.draw_texts(2_000, seed=1)


class Layer(nn.Module):
    """Attention and a network, each with its norm after it."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.network = nn.Sequential(nn.Linear(d_model, 2 * d_model), nn.GELU(), nn.Linear(2 * d_model, d_model))

    def forward(self, x: Tensor, padding: Tensor | None) -> Tensor:
        x = self.norm_1(x + self.attention(x, x, x, padding)[0])
        return self.norm_2(x + self.network(x))


class Encoder(nn.Module):
    """An encoder with what these modules need of one: `tokens`, `d_model`, and `forward(ids, padding)`."""

    def __init__(self, d_model: int = 16, n_heads: int = 2, n_layers: int = 3) -> None:
        super().__init__()
        self.d_model = d_model
        self.tokens = nn.Embedding(len(language.VOCABULARY), d_model)
        self.positions = nn.Embedding(language.MAX_LEN, d_model)
        self.layers = nn.ModuleList(Layer(d_model, n_heads) for _ in range(n_layers))

    def forward(self, ids: Tensor, padding: Tensor | None = None) -> Tensor:
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, padding)
        return x


def hide_some(
    ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, p: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Hide chosen words, without the other two fates: enough to train on."""
    chosen = (torch.rand(ids.shape, generator=generator) < p) & ~special
    return ids.masked_fill(chosen, mask_id), ids.masked_fill(~chosen, -100)


def loss(logits: Tensor, labels: Tensor) -> Tensor:
    return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def is_plural(text: language.Text, role: str) -> bool:
    return text.words[text.places[role] + 1] == "##s"


# The language


def test_words_are_numbered_once_and_special_ones_come_first() -> None:
    assert len(set(language.VOCABULARY)) == len(language.VOCABULARY)
    ids = torch.arange(len(language.VOCABULARY)).unsqueeze(0)
    special = [language.VOCABULARY[number] for number in ids[language.is_special(ids)].tolist()]
    assert special == ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]


def test_every_verb_agrees_with_its_subject_also_across_another_noun() -> None:
    for text in TEXTS:
        verb = text.words[text.places["verb"]]
        assert verb in (language.PLURAL if is_plural(text, "subject") else language.SINGULAR)


def test_clash_says_whether_the_noun_between_differs_in_number() -> None:
    for text in TEXTS:
        if "between" not in text.places:
            assert text.clash is None
        else:
            assert text.places["subject"] < text.places["between"] < text.places["verb"]
            assert text.clash == (is_plural(text, "between") != is_plural(text, "subject"))
    kinds = [sum(text.clash is kind for text in TEXTS) / len(TEXTS) for kind in (None, False, True)]
    assert kinds == pytest.approx([0.3, 0.35, 0.35], abs=0.04)


def test_pronouns_have_the_gender_of_the_name() -> None:
    for text in TEXTS:
        names = {"she": language.SHE, "he": language.HE}[text.words[text.places["pronoun"]]]
        assert text.words[text.places["name"]] in names


def test_nouns_are_of_the_topic_almost_always() -> None:
    on_topic = [text.words[text.places["object"]] in language.NOUNS[text.topic] for text in TEXTS]
    expected = language.ON_TOPIC + (1 - language.ON_TOPIC) / len(language.TOPICS)
    assert sum(on_topic) / len(TEXTS) == pytest.approx(expected, abs=0.02)


def test_texts_are_reproducible_by_seed_and_differ_between_seeds() -> None:
    assert language.draw_texts(50, seed=1) == TEXTS[:50]
    assert language.draw_texts(50, seed=2) != TEXTS[:50]


def test_texts_fit_the_length_and_read_well() -> None:
    assert max(len(text.words) for text in TEXTS) <= language.MAX_LEN
    plain = language.written(
        language.Text(("[CLS]", "the", "wave", "##s", "are", "deep", ".", "[SEP]"), "sea", {}, None)
    )
    assert plain == "the waves are deep."


def test_batches_are_padded_at_the_end() -> None:
    ids, padding = language.batch_of(TEXTS[:9])
    assert padding.shape == (9, 1, ids.shape[1])
    assert padding.dtype == torch.bool
    for row, real, text in zip(ids, padding[:, 0], TEXTS, strict=False):
        assert tuple(language.VOCABULARY[number] for number in row[real].tolist()) == text.words
        assert row[~real].eq(language.PAD).all()


# The questions


def as_logits(probe: language.Probe, chosen: Tensor) -> Tensor:
    """Make logits that prefer some word of the chosen groups (B,), and not always the first."""
    logits = torch.zeros(*probe.ids.shape, len(language.VOCABULARY))
    rows = torch.arange(len(chosen))
    noise = torch.rand(len(chosen), len(language.VOCABULARY), generator=torch.Generator().manual_seed(0))
    favourite = (noise * probe.groups[chosen]).argmax(-1)
    logits[rows, probe.places, favourite] = 9.0
    return logits


@pytest.mark.parametrize("probe", language.probes(), ids=lambda probe: probe.name)
def test_who_knows_the_rule_gets_everything_right_and_who_knows_its_opposite_nothing(probe: language.Probe) -> None:
    assert language.share_right(probe, as_logits(probe, probe.answers)) == 1.0
    other = (probe.answers + 1) % len(probe.groups)
    assert language.share_right(probe, as_logits(probe, other)) == 0.0


@pytest.mark.parametrize("probe", language.probes(), ids=lambda probe: probe.name)
def test_always_the_same_answer_is_worth_about_chance(probe: language.Probe) -> None:
    for group in range(len(probe.groups)):
        share = language.share_right(probe, as_logits(probe, torch.full_like(probe.answers, group)))
        assert share == pytest.approx(probe.chance, abs=0.13)


def test_a_clashing_noun_is_all_that_a_model_sees_beside_the_verb() -> None:
    across = next(probe for probe in language.probes() if probe.name == language.ACROSS)
    rows = torch.arange(len(across.ids))
    before = across.ids[rows, across.places - 1]
    looks_plural = (before == language.IDS["##s"]).long()
    assert looks_plural.eq(1 - across.answers).all(), "whoever goes by the nearest noun must always be wrong"


def test_questions_hide_one_word_and_show_no_training_text() -> None:
    trained_on = {text.words for text in language.draw_texts(training.TEXTS, seed=0)}
    asked = {text.words for text in language.draw_texts(800, seed=10_000)}
    assert len(asked & trained_on) <= 8
    for probe in language.probes():
        assert (probe.ids == language.MASK).sum(1).eq(1).all()
        assert probe.ids[torch.arange(len(probe.ids)), probe.places].eq(language.MASK).all()


def test_an_untrained_model_is_at_chance() -> None:
    shares = {probe.name: [] for probe in language.probes()}
    for seed in range(5):
        encoder = Encoder()
        training.set_fresh_weights(encoder, seed)
        torch.manual_seed(seed)
        for name, share in training.ask(training.MaskedWordModel(encoder), language.probes()).items():
            shares[name].append(share)
    for probe in language.probes():
        assert sum(shares[probe.name]) / 5 == pytest.approx(probe.chance, abs=0.12)


# Training


def test_guesses_are_made_with_the_embeddings_of_the_words() -> None:
    encoder = Encoder()
    model = training.MaskedWordModel(encoder)
    assert sum(parameter is encoder.tokens.weight for parameter in model.parameters()) == 1
    before = model(torch.tensor([[1, 9, 4, 2]]))
    with torch.no_grad():
        encoder.tokens.weight[50] += 1.0  # a word that isn't in the text: only its logit may change
    changed = (model(torch.tensor([[1, 9, 4, 2]])) != before).any(1).flatten().nonzero().flatten().tolist()
    assert changed == [50]


def test_fresh_weights_have_the_right_spread_and_come_back_by_seed() -> None:
    one, two = Encoder(), Encoder()
    for encoder in (one, two):
        training.set_fresh_weights(encoder, seed=3)
    for name, weight in one.named_parameters():
        assert weight.equal(two.get_parameter(name))
    assert one.tokens.weight.std().item() == pytest.approx(1 / math.sqrt(16), rel=0.1)
    assert one.layers[0].attention.q_proj.bias.eq(0).all()
    training.set_fresh_weights(two, seed=4)
    assert not one.tokens.weight.equal(two.tokens.weight)


def test_training_lowers_the_loss_repeats_itself_and_is_watched() -> None:
    seen = []
    runs = [
        training.pretrain(Encoder(), hide_some, loss, steps=30, batch=32, rate=1e-2, warmup=5, every=15,
                          watch=lambda history: seen.append(history.steps[-1]))
        for _ in range(2)
    ]  # fmt: skip
    (model, history), (_again, same) = runs
    assert history.losses == same.losses
    assert sum(history.losses[-5:]) < 0.9 * sum(history.losses[:5])
    assert seen == [0, 15, 30] * 2
    assert all(len(shares) == 3 for shares in history.shares.values())
    assert 30 * 32 * 12 < history.tokens < 30 * 32 * language.MAX_LEN
    assert not model.training


def test_the_rate_rises_and_falls() -> None:
    rates = [training.rate_at(step, 100, 2.0, warmup=10) for step in range(100)]
    assert rates.index(max(rates)) == 9
    assert rates[0] == pytest.approx(0.2)
    assert rates[-1] == pytest.approx(0.02)


# Heads


def test_weights_are_those_that_the_attention_gives() -> None:
    encoder, (ids, padding) = Encoder().train(), language.batch_of(TEXTS[:5])
    weights = head_roles.attention_weights(encoder, ids, padding)
    assert weights.shape == (3, 5, 2, ids.shape[1], ids.shape[1])
    assert torch.allclose(weights.sum(-1), torch.ones(()), atol=1e-5)
    x = encoder.tokens(ids) + encoder.positions.weight[: ids.shape[1]]
    _output, first = encoder.layers[0].attention(x, x, x, padding)
    assert torch.allclose(weights[0], first, atol=1e-6)
    assert encoder.training
    assert not any(module._forward_hooks for module in encoder.modules())


def test_an_encoder_without_weights_is_told_so(capsys: pytest.CaptureFixture) -> None:
    silent = Encoder()
    silent.layers = nn.ModuleList()
    with pytest.raises(head_roles.NoWeights):
        head_roles.attention_weights(silent, *language.batch_of(TEXTS[:3]))
    assert head_roles.draw_roles(silent, head_roles.roles(n=20)) is None
    assert "gives no weights" in capsys.readouterr().out


class Pointing(nn.Module):
    """An encoder of one layer with two heads: one looks where it is told, the other everywhere alike."""

    def __init__(self, role: head_roles.Role) -> None:
        super().__init__()
        self.role, self.attention = role, self.Attention()

    class Attention(nn.Module):
        def forward(self, weights: Tensor) -> tuple[Tensor, Tensor]:
            return weights.sum(-1), weights

    def forward(self, ids: Tensor, padding: Tensor) -> Tensor:
        real = padding.float() / padding.sum(-1, keepdim=True)  # (B, 1, T)
        told = self.role.keys.float().unsqueeze(1) / self.role.keys.sum(1)[:, None, None].clamp(min=1)
        return self.attention(torch.stack([told, real], dim=1).expand(-1, -1, ids.shape[1], -1))[0]


@pytest.mark.parametrize("role", head_roles.roles(n=60), ids=lambda role: role.name)
def test_a_head_that_looks_at_the_answer_gets_one_and_an_even_one_its_share(role: head_roles.Role) -> None:
    pointing, even = head_roles.looked_at(Pointing(role), role)[0].tolist()
    assert pointing == pytest.approx(role.keys.any(1).double().mean().item())
    assert even == pytest.approx(role.evenly)
    assert 0.02 < even < 0.5


# Few labels


def test_classes_are_those_of_the_topics() -> None:
    ids, padding, outdoors = few_labels.labelled(40, seed=5)
    topics = [text.topic for text in language.draw_texts(40, seed=5)]
    assert outdoors.tolist() == [int(topic in ("sea", "garden")) for topic in topics]
    assert padding.squeeze(1).equal(ids != language.PAD)


def test_a_bag_keeps_which_words_there_are_and_nothing_else() -> None:
    bag = few_labels.which_words(torch.tensor([[3, 5, 5, 7], [7, 5, 3, 3]]))
    assert bag[0].equal(bag[1])
    assert bag[0].nonzero().flatten().tolist() == [3, 5, 7]


def test_adapting_trains_a_copy_and_learns_its_texts() -> None:
    encoder, texts = Encoder(d_model=32), few_labels.labelled(16, seed=6)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    model = few_labels.adapt(encoder, texts, seed=0, epochs=60)
    guess = lambda ids, padding: model(ids, padding).argmax(-1)  # noqa: E731
    assert few_labels.share_right(guess, texts) == 1.0
    assert all(value.equal(before[name]) for name, value in encoder.state_dict().items())

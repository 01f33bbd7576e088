"""Forbidden built-ins are noticed however they are called, and nothing else is."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.catalogue import all_chapters
from utils.shortcuts import ALL_NAMES, FUNCTIONS, MODULES, ShortcutWatch, family_in_words, shortcuts_allowed

X = torch.randn(2, 3, 4)


def found(call: Callable[[], object], *families: str) -> list[str]:
    with ShortcutWatch(families) as watch:
        call()
    return watch.found


my_alias = torch.softmax


class Heads(nn.MultiheadAttention):
    """A subclass under a name of its own."""


class Mine(nn.Module):
    """A module that hides another one."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.inner(*inputs)


SOFTMAX: dict[str, Callable[[], object]] = {
    "torch.softmax": lambda: torch.softmax(X, -1),
    "F.softmax": lambda: F.softmax(X, dim=-1),
    "Tensor.softmax": lambda: X.softmax(-1),
    "Tensor.softmax, unbound": lambda: Tensor.softmax(X, -1),
    "an alias": lambda: my_alias(X, -1),
    "by name": lambda: getattr(torch, "soft" + "max")(X, -1),
    "nn.Softmax": lambda: nn.Softmax(-1)(X),
    "nn.Softmax.forward": lambda: nn.Softmax(-1).forward(X),
    "nn.Softmax inside": lambda: Mine(nn.Softmax(-1))(X),
    "nn.Softmin": lambda: nn.Softmin(-1)(-X),
    "nn.Softmax2d": lambda: nn.Softmax2d()(X),
    "torch.special": lambda: torch.special.softmax(X, -1),
    "log-softmax": lambda: F.log_softmax(X, -1).exp(),
    "Tensor.log_softmax": lambda: X.log_softmax(-1).exp(),
    "nn.LogSoftmax": lambda: nn.LogSoftmax(-1)(X).exp(),
    "torch.ops.aten": lambda: torch.ops.aten.softmax.int(X, -1),
    "torch.ops.aten, packet": lambda: torch.ops.aten.softmax(X, -1),
    "torch.ops.aten._softmax": lambda: torch.ops.aten._softmax(X, -1, False),
    "torch._softmax": lambda: torch._softmax(X, -1, False),
    "gumbel": lambda: F.gumbel_softmax(X),
    "cross-entropy": lambda: F.cross_entropy(X[0], torch.tensor([1, 2, 0])),
    "a distribution": lambda: torch.distributions.Categorical(logits=X).probs,
    "vmap": lambda: torch.vmap(lambda row: row.softmax(-1))(X),
    "a trace": lambda: torch.fx.symbolic_trace(lambda x: x.softmax(-1))(X),
    "checkpointing": lambda: torch.utils.checkpoint.checkpoint(lambda x: x.softmax(-1), X, use_reentrant=False),
}


@pytest.mark.parametrize("call", SOFTMAX.values(), ids=SOFTMAX)
def test_softmax_is_noticed(call: Callable[[], object]) -> None:
    assert found(call, "softmax")
    assert not found(call, "attention")


def _attend() -> object:
    return F.scaled_dot_product_attention(X, X, X)


ATTENTION: dict[str, Callable[[], object]] = {
    "F.scaled_dot_product_attention": _attend,
    "torch._C": lambda: torch._C._nn.scaled_dot_product_attention(X, X, X),
    "torch.ops.aten": lambda: torch.ops.aten.scaled_dot_product_attention(X, X, X),
    "the math behind it": lambda: torch.ops.aten._scaled_dot_product_attention_math(X, X, X),
    "nn.MultiheadAttention": lambda: nn.MultiheadAttention(4, 2, batch_first=True)(X, X, X),
    "nn.MultiheadAttention, no weights": lambda: nn.MultiheadAttention(4, 2).eval()(X, X, X, need_weights=False),
    "a subclass": lambda: Heads(4, 2)(X, X, X),
    "inside a module": lambda: Mine(Heads(4, 2))(X, X, X),
    "F.multi_head_attention_forward": lambda: F.multi_head_attention_forward(
        X, X, X, 4, 2, torch.zeros(12, 4), torch.zeros(12), None, None, False, 0.0, torch.zeros(4, 4), torch.zeros(4)
    ),
    "an encoder layer": lambda: nn.TransformerEncoderLayer(4, 2, 8).eval()(X),
    "a decoder layer": lambda: nn.TransformerDecoderLayer(4, 2, 8).eval()(X, X),
}


@pytest.mark.parametrize("call", ATTENTION.values(), ids=ATTENTION)
def test_attention_is_noticed(call: Callable[[], object]) -> None:
    assert found(call, "attention")
    assert not found(call, "recurrent")


OTHERS: dict[str, tuple[str, Callable[[], object]]] = {
    "nn.RNN": ("recurrent", lambda: nn.RNN(4, 5)(X)),
    "nn.GRU": ("recurrent", lambda: nn.GRU(4, 5)(X)),
    "nn.LSTM": ("recurrent", lambda: nn.LSTM(4, 5)(X)),
    "nn.RNNCell": ("recurrent", lambda: nn.RNNCell(4, 5)(X[0])),
    "nn.LSTMCell": ("recurrent", lambda: nn.LSTMCell(4, 5)(X[0])),
    "nn.LayerNorm": ("norm", lambda: nn.LayerNorm(4)(X)),
    "F.layer_norm": ("norm", lambda: F.layer_norm(X, (4,))),
    "torch.layer_norm": ("norm", lambda: torch.layer_norm(X, (4,))),
    "nn.BatchNorm1d": ("norm", lambda: nn.BatchNorm1d(3)(X)),
    "nn.GroupNorm": ("norm", lambda: nn.GroupNorm(1, 3)(X)),
    "nn.RMSNorm": ("norm", lambda: nn.RMSNorm(4)(X)),
    "nn.Transformer": ("transformer", lambda: nn.Transformer(4, 2, 1, 1, 8, batch_first=True)(X, X)),
    "nn.TransformerEncoder": (
        "transformer",
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1, enable_nested_tensor=False)(X),
    ),
    "nn.TransformerDecoderLayer": ("transformer", lambda: nn.TransformerDecoderLayer(4, 2, 8)(X, X)),
    "F.cross_entropy": ("cross_entropy", lambda: F.cross_entropy(X[0], torch.tensor([1, 2, 0]))),
    "nn.CrossEntropyLoss": ("cross_entropy", lambda: nn.CrossEntropyLoss()(X[0], torch.tensor([1, 2, 0]))),
}


@pytest.mark.parametrize(("family", "call"), OTHERS.values(), ids=OTHERS)
def test_other_built_ins_are_noticed(family: str, call: Callable[[], object]) -> None:
    assert found(call, family)


def by_hand(x: Tensor) -> Tensor:
    powers = (x - x.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


HARMLESS: dict[str, tuple[str, Callable[[], object]]] = {
    "exponentials": ("softmax", lambda: by_hand(X)),
    "logsumexp": ("softmax", lambda: (X - X.logsumexp(-1, keepdim=True)).exp()),
    "maxima": ("softmax", lambda: (X.max(-1), X.amax(-1), torch.maximum(X, X))),
    "softplus and sigmoid": ("softmax", lambda: (F.softplus(X), X.sigmoid(), X.tanh())),
    "a vector norm": ("norm", lambda: (X.norm(), torch.linalg.vector_norm(X), F.normalize(X), X.std(), X.var(-1))),
    "softmax for attention": ("attention", lambda: torch.softmax(X @ X.mT / math.sqrt(4), -1) @ X),
    "layers for attention": ("attention", lambda: nn.LayerNorm(4)(nn.Linear(4, 4)(X))),
    "attention for a Transformer": ("transformer", lambda: nn.MultiheadAttention(4, 2)(X, X, X)),
    "log-softmax for cross-entropy": (
        "cross_entropy",
        lambda: F.nll_loss(X[0].log_softmax(-1), torch.tensor([1, 2, 0])),
    ),
    "matrix products": ("attention", lambda: torch.einsum("bqd,bkd->bqk", X, X)),
    "a layer that is only built": ("recurrent", lambda: nn.LSTM(4, 5)),
    "a function that is only named": ("softmax", lambda: (torch.softmax, F.softmax, nn.Softmax(-1))),
    "a name that only looks like it": ("softmax", lambda: Mine(nn.Linear(4, 4))(X)),
}


@pytest.mark.parametrize(("family", "call"), HARMLESS.values(), ids=HARMLESS)
def test_what_is_allowed_raises_no_alarm(family: str, call: Callable[[], object]) -> None:
    assert found(call, family) == []


def test_what_is_noticed_has_a_name_that_learners_know() -> None:
    assert found(lambda: torch.softmax(X, -1), "softmax") == ["softmax"]
    assert found(lambda: X.softmax(-1), "softmax") == ["softmax"]
    assert found(lambda: Heads(4, 2)(X, X, X), "attention")[0] == "nn.MultiheadAttention"
    assert found(_attend, "attention") == ["scaled_dot_product_attention"]


@pytest.mark.parametrize("call", [*SOFTMAX.values(), *ATTENTION.values()], ids=[*SOFTMAX, *ATTENTION])
def test_every_name_that_is_reported_is_a_known_one(call: Callable[[], object]) -> None:
    assert set(found(call, *FUNCTIONS)) <= ALL_NAMES


def test_each_name_is_told_once() -> None:
    assert found(lambda: [X.softmax(-1) for _ in range(5)], "softmax") == ["softmax"]


def test_several_families_are_watched_at_once() -> None:
    both = found(lambda: (X.softmax(-1), F.layer_norm(X, (4,))), "softmax", "norm")
    assert both == ["softmax", "layer_norm"]


def test_nothing_is_watched_before_and_after() -> None:
    with ShortcutWatch(["softmax"]) as watch:
        pass
    torch.softmax(X, -1)
    nn.Softmax(-1)(X)
    assert watch.found == []


def test_a_watch_ends_where_an_error_passes_through() -> None:
    watch = ShortcutWatch(["softmax"])
    with pytest.raises(ValueError, match="learner"), watch:
        raise ValueError("learner")
    nn.Softmax(-1)(X)
    assert watch.found == []


def test_results_and_gradients_are_the_same_under_a_watch() -> None:
    def run() -> tuple[Tensor, Tensor]:
        x = X.clone().requires_grad_()
        result = by_hand(x)
        (gradient,) = torch.autograd.grad(result.square().sum(), x)
        return result, gradient

    with ShortcutWatch(list(FUNCTIONS)):
        watched = run()
    assert all(torch.equal(a, b) for a, b in zip(watched, run(), strict=True))


def test_the_courses_own_pieces_may_use_what_learners_build() -> None:
    def run() -> None:
        with shortcuts_allowed():
            torch.softmax(X, -1)
            nn.Softmax(-1)(X)

    assert found(run, "softmax") == []
    assert found(lambda: (run(), X.log_softmax(-1)), "softmax") == ["log_softmax"]


def test_every_family_of_the_catalogue_is_known_and_has_words() -> None:
    used = {family for chapter in all_chapters() for exercise in chapter.exercises for family in exercise.shortcuts}
    assert used <= FUNCTIONS.keys() == MODULES.keys()
    assert all(family_in_words(family) for family in FUNCTIONS)

"""Hidden tests of chapter 07, part 2: the encoder. References are formulas, and PyTorch's own layer."""

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from autograder.hidden import hidden
from autograder.hidden.expectations import Unmet, a_tensor, close, expect, refused, untouched
from autograder.hidden.randomness import Randomness
from utils.student import HeldObject, Student

State = dict[str, Tensor]
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")


class Config:
    """Sizes of an encoder, pairwise different."""

    def __init__(self, rng: Randomness, n_layers: int = 2, n_segments: int = 2) -> None:
        self.vocab, self.n_heads, self.width, self.max_len = rng.sizes(4, 3, 9)
        self.vocab += 10
        self.d_model = self.n_heads * self.width
        self.d_ff = self.d_model + rng.integer(3, 9)
        self.n_layers, self.n_segments = n_layers, n_segments

    def arguments(self) -> tuple[int, ...]:
        """Give the constructor's arguments, all but the dropout."""
        return (self.vocab, self.d_model, self.n_heads, self.n_layers, self.d_ff, self.max_len, self.n_segments)


def _state(rng: Randomness, config: Config, dtype: torch.dtype = torch.float64) -> State:
    """Draw weights under which nothing saturates."""
    d = config.d_model

    def linear(name: str, out: int, into: int) -> State:
        weight = rng.normal(out, into, dtype=dtype, std=1.4 * into**-0.5)
        return {f"{name}.weight": weight, f"{name}.bias": rng.normal(out, dtype=dtype, std=0.5)}

    def norm(name: str) -> State:
        return {f"{name}.weight": 1 + rng.normal(d, dtype=dtype, std=0.3), f"{name}.bias": rng.normal(d, dtype=dtype)}

    state = {"tokens.weight": rng.normal(config.vocab, d, dtype=dtype)}
    state |= {"positions.weight": rng.normal(config.max_len, d, dtype=dtype)}
    state |= {"segments.weight": rng.normal(config.n_segments, d, dtype=dtype)} | norm("norm")
    for n in range(config.n_layers):
        for name in PROJECTIONS:
            state |= linear(f"layers.{n}.attention.{name}", d, d)
        state |= linear(f"layers.{n}.feed_forward.linear_1", config.d_ff, d)
        state |= linear(f"layers.{n}.feed_forward.linear_2", d, config.d_ff)
        state |= norm(f"layers.{n}.norm_1") | norm(f"layers.{n}.norm_2")
    return state


# the reference: formulas, head by head


def _norm(state: State, name: str, x: Tensor) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    return state[f"{name}.weight"] * centred / (variance + 1e-12).sqrt() + state[f"{name}.bias"]


def _linear(state: State, name: str, x: Tensor) -> Tensor:
    return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def _attention(state: State, name: str, n_heads: int, x: Tensor, padding: Tensor | None) -> Tensor:
    q, k, v = (_linear(state, f"{name}.{projection}", x).chunk(n_heads, -1) for projection in PROJECTIONS[:3])
    heads = []
    for head in range(n_heads):
        scores = q[head] @ k[head].transpose(1, 2) / math.sqrt(q[head].shape[-1])
        if padding is not None:
            scores = scores.masked_fill(~padding, -math.inf)
        heads.append(F.softmax(scores, -1).nan_to_num(0.0) @ v[head])
    return _linear(state, f"{name}.out_proj", torch.cat(heads, -1))


def _embedded(state: State, ids: Tensor, segments: Tensor | None = None) -> Tensor:
    segment = state["segments.weight"][torch.zeros_like(ids) if segments is None else segments]
    return _norm(state, "norm", state["tokens.weight"][ids] + state["positions.weight"][: ids.shape[1]] + segment)


def _encoded(
    state: State, config: Config, ids: Tensor, padding: Tensor | None = None, segments: Tensor | None = None
) -> Tensor:
    x = _embedded(state, ids, segments)
    for n in range(config.n_layers):
        layer = f"layers.{n}"
        x = _norm(state, f"{layer}.norm_1", x + _attention(state, f"{layer}.attention", config.n_heads, x, padding))
        inner = _linear(state, f"{layer}.feed_forward.linear_1", x)
        inner = inner * (1 + torch.erf(inner / math.sqrt(2))) / 2
        x = _norm(state, f"{layer}.norm_2", x + _linear(state, f"{layer}.feed_forward.linear_2", inner))
    return x


def _torch_layer(state: State, config: Config, n: int) -> nn.TransformerEncoderLayer:
    """Give PyTorch's own layer with the same weights."""
    layer = nn.TransformerEncoderLayer(
        config.d_model, config.n_heads, config.d_ff, 0.0, "gelu", layer_norm_eps=1e-12, batch_first=True
    ).double()
    part = {
        name.removeprefix(f"layers.{n}."): value for name, value in state.items() if name.startswith(f"layers.{n}.")
    }
    named = {"self_attn.in_proj_" + kind: torch.cat([part[f"attention.{name}.{kind}"] for name in PROJECTIONS[:3]]) for kind in ("weight", "bias")}  # fmt: skip
    pairs = {"self_attn.out_proj": "attention.out_proj", "linear1": "feed_forward.linear_1"}
    pairs |= {"linear2": "feed_forward.linear_2", "norm1": "norm_1", "norm2": "norm_2"}
    named |= {
        f"{theirs}.{kind}": part[f"{ours}.{kind}"] for theirs, ours in pairs.items() for kind in ("weight", "bias")
    }
    layer.load_state_dict(named)
    return layer.train()  # train mode avoids the fused path; dropout is 0


# helpers of the tests


def _built(student: Student, state: State, config: Config, *dropout: float) -> HeldObject:
    """Build the learner's encoder with these weights, in eval mode."""
    encoder = student.BertEncoder(*config.arguments(), *dropout)
    if state["norm.bias"].dtype == torch.float64:
        encoder.to("float64")
    missing = set(state) - set(encoder.parameters())
    if missing:
        raise Unmet("parameters aren't named as the docstring and the contract say")
    return encoder.load(state).eval()


def _ids(rng: Randomness, config: Config, batch: int = 3, length: int | None = None) -> Tensor:
    return rng.integers(0, config.vocab - 1, batch, config.max_len if length is None else length)


def _padding(rng: Randomness, ids: Tensor) -> Tensor:
    """Draw a padding mask: the first sentence is full, each other has at least one real and one padding token."""
    lengths = rng.integers(1, ids.shape[1] - 1, len(ids))
    lengths[0] = ids.shape[1]
    return (torch.arange(ids.shape[1]) < lengths[:, None]).unsqueeze(1)


def _compare(
    student: Student, encoder: HeldObject, state: State, config: Config, ids: Tensor, padding: Tensor | None = None,
    segments: Tensor | None = None,
) -> None:  # fmt: skip
    """Compare outputs; where there is padding, at real tokens only."""
    given = (ids,) if padding is None and segments is None else (ids, padding, segments)
    found = a_tensor(encoder(*given), "the output")
    untouched(student)
    expected = _encoded(state, config, ids, padding, segments)
    expect(found.shape == expected.shape, "wrong shape: the output")
    real = torch.ones_like(ids, dtype=torch.bool) if padding is None else padding[:, 0]
    close(found[real], expected[real], "the output at real tokens" if padding is not None else "the output")


# BertEncoder


@hidden("BertEncoder", weight=4)
def the_encoder_follows_the_formulas(student: Student, rng: Randomness) -> None:
    """Embeddings, their norm, attention, GELU network and norms after each sum give what the formulas give."""
    for n_layers in (1, 2, 3):
        config = Config(rng, n_layers)
        state = _state(rng, config)
        encoder = _built(student, state, config)
        _compare(student, encoder, state, config, _ids(rng, config))
        _compare(student, encoder, state, config, _ids(rng, config, length=2))


@hidden("BertEncoder", weight=3)
def layers_equal_pytorchs(student: Student, rng: Randomness) -> None:
    """After the embeddings, the layers give what PyTorch's own encoder layers give, with padding and without."""
    config = Config(rng)
    state = _state(rng, config)
    encoder = _built(student, state, config)
    ids = _ids(rng, config)
    for padding in (None, _padding(rng, ids)):
        expected = _embedded(state, ids)
        for n in range(config.n_layers):
            closed = None if padding is None else ~padding[:, 0]
            expected = _torch_layer(state, config, n)(expected, src_key_padding_mask=closed).detach()
        real = torch.ones_like(ids, dtype=torch.bool) if padding is None else padding[:, 0]
        found = a_tensor(encoder(ids, padding), "the output")
        expect(found.shape == expected.shape, "wrong shape: the output")
        close(found[real], expected[real], "the output", rtol=1e-7, atol=1e-8)


@hidden("BertEncoder", weight=2)
def segments_are_added(student: Student, rng: Randomness) -> None:
    """The embedding of each token's segment is added, for two segments and for more; without segments that of segment 0."""
    for n_segments in (2, 5):
        config = Config(rng, 1, n_segments)
        state = _state(rng, config)
        encoder = _built(student, state, config)
        ids = _ids(rng, config)
        segments = rng.integers(0, n_segments - 1, *ids.shape)
        _compare(student, encoder, state, config, ids, None, segments)
        _compare(student, encoder, state, config, ids, _padding(rng, ids), segments)
        _compare(student, encoder, state, config, ids, None, None)


@hidden("BertEncoder", weight=2)
def padding_is_hidden_in_every_layer(student: Student, rng: Randomness) -> None:
    """Real tokens come out as if their sentence stood alone, whatever stands in the padding."""
    config = Config(rng, 3)
    state = _state(rng, config)
    encoder = _built(student, state, config)
    ids = _ids(rng, config, 4)
    padding = _padding(rng, ids)
    _compare(student, encoder, state, config, ids, padding)
    real = padding[:, 0]
    other = torch.where(real, ids, _ids(rng, config, 4))
    close(a_tensor(encoder(other, padding))[real], _encoded(state, config, ids, padding)[real], "the output")
    for row, length in zip(ids, real.sum(1).tolist(), strict=True):
        _compare(student, encoder, state, config, row[None, :length])


@hidden("BertEncoder")
def nothing_but_padding_is_no_trouble(student: Student, rng: Randomness) -> None:
    """A sentence of nothing but padding gives no NaN, forward or backward, and leaves other sentences alone."""
    config = Config(rng)
    state = _state(rng, config)
    encoder = _built(student, state, config)
    ids = _ids(rng, config, 2)
    padding = torch.stack([torch.ones_like(ids[:1]), torch.zeros_like(ids[:1])]).bool()
    output = a_tensor(encoder(ids, padding), "the output")
    expected = _encoded(state, config, ids[:1])
    expect(output.shape[1:] == expected.shape[1:], "wrong shape: the output")
    close(output[:1], expected, "the output of the other sentence")
    expect(bool(output.isfinite().all()), "NaN or infinity: the output")
    encoder.zero_grad()
    expect(output.requires_grad, "no gradient flows back through the output")
    output.sum().backward()
    left = encoder.gradients()
    expect(bool(left) and all(bool(value.isfinite().all()) for value in left.values()), "NaN or infinity: gradients")


@hidden("BertEncoder", weight=2)
def small_numbers_are_normalised(student: Student, rng: Randomness) -> None:
    """Every norm has eps 1e-12: numbers much smaller than 1 are normalised like any others."""
    small: tuple[Iterable[str], ...] = (
        ("tokens.weight", "positions.weight", "segments.weight"),
        ("norm.weight", "norm.bias", "layers.0.attention.out_proj.weight", "layers.0.attention.out_proj.bias"),
        ("layers.0.norm_1.weight", "layers.0.norm_1.bias", "layers.0.feed_forward.linear_2.weight", "layers.0.feed_forward.linear_2.bias"),
    )  # fmt: skip
    for dtype in (torch.float32, torch.float64):
        for names in small:
            config = Config(rng, 1)
            state = _state(rng, config, dtype)
            state |= {name: state[name] * 1e-3 for name in names}
            _compare(student, _built(student, state, config), state, config, _ids(rng, config))


@hidden("BertEncoder", weight=2)
def parameters_have_the_names_of_the_contract(student: Student, rng: Randomness) -> None:
    """Parameters have the contract's names and shapes, and there are no others; d_model is an attribute."""
    config = Config(rng, 3, 4)
    wanted = {name: tuple(value.shape) for name, value in _state(rng, config).items()}
    encoder = student.BertEncoder(*config.arguments())
    found = {name: tuple(value.shape) for name, value in encoder.parameters().items()}
    expect(set(wanted) <= set(found), "parameters are missing, or have other names")
    expect(found == wanted, "parameters have other shapes, or there are some that don't belong")
    expect(all(encoder.trainable().values()), "some parameters don't learn")
    expect(encoder.attribute("d_model") == config.d_model, "d_model isn't an attribute with the width")
    plain = student.BertEncoder(*config.arguments()[:5]).parameters()
    expect(plain["positions.weight"].shape[0] == 512, "by default there are positions for 512 tokens")
    expect(plain["segments.weight"].shape[0] == 2, "by default there are two segments")


@hidden("BertEncoder")
def too_long_is_refused(student: Student, rng: Randomness) -> None:
    """As many tokens as there are positions work; more are refused with a ValueError."""
    config = Config(rng, 1)
    state = _state(rng, config)
    encoder = _built(student, state, config)
    _compare(student, encoder, state, config, _ids(rng, config, 2, config.max_len))
    for more in (1, 7):
        refused(lambda more=more: encoder(_ids(rng, config, 2, config.max_len + more)))


@hidden("BertEncoder")
def one_sentence_and_one_token(student: Student, rng: Randomness) -> None:
    """One sentence works, and so does one token."""
    config = Config(rng)
    state = _state(rng, config)
    encoder = _built(student, state, config)
    for batch, length in ((1, 3), (4, 1), (1, 1)):
        ids = _ids(rng, config, batch, length)
        _compare(student, encoder, state, config, ids)
        _compare(student, encoder, state, config, ids, torch.ones(batch, 1, length, dtype=torch.bool))


@hidden("BertEncoder", weight=2)
def dropout_only_in_training(student: Student, rng: Randomness) -> None:
    """Train mode drops numbers at random, by default too; eval mode and rate 0 drop nothing."""
    config = Config(rng)
    state = _state(rng, config)
    ids = _ids(rng, config)
    expected = _encoded(state, config, ids)
    student.seed(rng.integer(0, 10**6))
    for dropout in ((), (0.4,)):
        encoder = _built(student, state, config, *dropout)
        close(encoder(ids), expected, "the output in eval mode")
        encoder.train()
        busy = [a_tensor(encoder(ids), "the output in train mode").detach() for _ in range(2)]
        expect(all(output.shape == expected.shape for output in busy), "wrong shape: the output in train mode")
        expect(not torch.allclose(*busy, atol=1e-3), "nothing is dropped in train mode")
        close(encoder.eval()(ids), expected, "the output back in eval mode")
    close(_built(student, state, config, 0.0).train()(ids), expected, "the output in train mode at rate 0")


@hidden("BertEncoder")
def the_encoder_keeps_dtypes(student: Student, rng: Randomness) -> None:
    """The output has the dtype of the weights, in its full precision."""
    config = Config(rng)
    for dtype in (torch.float32, torch.float64):
        state = _state(rng, config, dtype)
        ids = _ids(rng, config)
        _compare(student, _built(student, state, config), state, config, ids, _padding(rng, ids))


@hidden("BertEncoder", weight=2)
def gradients_reach_every_parameter(student: Student, rng: Randomness) -> None:
    """Every parameter gets the gradient that the formulas give."""
    config = Config(rng)
    state = _state(rng, config)
    encoder = _built(student, state, config)
    ids = _ids(rng, config).clamp(min=1)  # an embedding with padding_idx=0 doesn't learn row 0, and may be used
    padding, segments = _padding(rng, ids), rng.integers(0, 1, *ids.shape)
    known = {name: value.clone().requires_grad_() for name, value in state.items()}
    real = padding[:, 0]
    expected = _encoded(known, config, ids, padding, segments)[real]
    cotangent = rng.normal(*expected.shape)
    wanted = torch.autograd.grad(expected, list(known.values()), cotangent)
    encoder.zero_grad()
    output = a_tensor(encoder(ids, padding, segments), "the output")
    expect(output.shape[:2] == ids.shape, "wrong shape: the output")
    close(output[real], expected, "the output at real tokens")
    expect(output.requires_grad, "no gradient flows back through the output")
    output[real].backward(cotangent)
    left = encoder.gradients()
    for name, correct in zip(known, wanted, strict=True):
        expect(name in left, "the gradient doesn't reach every parameter")
        close(left[name], correct, "the gradient of a parameter", rtol=1e-6, atol=1e-8)

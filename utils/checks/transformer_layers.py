"""What the visible checks of chapter 06 look at in its parts: layer norm, feed-forward, encoder and decoder layer.

Sizes are pairwise different and none is the square of another; weights are inputs, scores aren't saturated.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from utils.probes import Numbers, gradients, probe
from utils.student import HeldObject, Student

D_MODEL, HEADS, D_FF = 18, 3, 11
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
ENCODER, DECODER = ("attention",), ("self_attention", "cross_attention")
MASK = torch.tensor(
    [[1, 0, 0, 1, 0], [1, 1, 0, 0, 1], [0, 1, 1, 1, 0], [1, 1, 1, 0, 1], [0, 0, 1, 0, 1]], dtype=torch.bool
)
PADDING = torch.tensor([[[1, 1, 1, 0, 0]], [[1, 1, 1, 1, 1]]], dtype=torch.bool)
CROSS = torch.tensor([[1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 0]], dtype=torch.bool).unsqueeze(1)
CAUSAL = torch.ones(5, 5, dtype=torch.bool).tril()


# weights


def _shapes(attentions: tuple[str, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """List the parameters of a layer, in a fixed order."""
    for attention in attentions:
        for layer in PROJECTIONS:
            yield f"{attention}.{layer}.weight", (D_MODEL, D_MODEL)
            yield f"{attention}.{layer}.bias", (D_MODEL,)
    yield "feed_forward.linear_1.weight", (D_FF, D_MODEL)
    yield "feed_forward.linear_1.bias", (D_FF,)
    yield "feed_forward.linear_2.weight", (D_MODEL, D_FF)
    yield "feed_forward.linear_2.bias", (D_MODEL,)
    for number in range(1, len(attentions) + 2):
        yield f"norm_{number}.weight", (D_MODEL,)
        yield f"norm_{number}.bias", (D_MODEL,)


def _some(numbers: Numbers, attentions: tuple[str, ...]) -> Tensor:
    return numbers.normal(sum(torch.Size(shape).numel() for _, shape in _shapes(attentions)))


def _state(w: Tensor, attentions: tuple[str, ...]) -> dict[str, Tensor]:
    """Cut one long vector of normal numbers into the weights of a layer."""
    state, rest = {}, w
    for name, shape in _shapes(attentions):
        size = torch.Size(shape).numel()
        value, rest = rest[:size].reshape(shape), rest[size:]
        if name.startswith("norm") and name.endswith("weight"):
            state[name] = 1 + 0.3 * value
        else:
            state[name] = value / (shape[1] ** 0.5 if len(shape) == 2 else 2)
    return state


def _encoder(student: Student, w: Tensor) -> HeldObject:
    return student.EncoderLayer(D_MODEL, HEADS, D_FF).load(_state(w, ENCODER)).eval()


def _decoder(student: Student, w: Tensor) -> HeldObject:
    return student.DecoderLayer(D_MODEL, HEADS, D_FF).load(_state(w, DECODER)).eval()


def _silenced(state: dict[str, Tensor], *layers: str) -> dict[str, Tensor]:
    """Let some layers give nothing but zeros."""
    return {name: torch.zeros_like(v) if name.startswith(layers) else v for name, v in state.items()}


# dropout


def _near(found: float, expected: float, by: float) -> bool:
    return abs(found - expected) < by


def _dropout_facts(student: Student, kind: str, attentions: tuple[str, ...], x: Tensor, *others: Tensor) -> dict:
    """Let one sublayer after the other give 1 everywhere and the rest 0, and look what dropout does to the ones.

    Features of x are 0 and 2 in turn, which has variance 1: norms keep their distance, so sizes are measured by it.
    """
    d_model, p = x.shape[-1], 0.4
    module = getattr(student, kind)(d_model, 3, 11, p)
    blank = {name: torch.zeros_like(value) for name, value in module.parameters().items()}
    blank |= {name: torch.ones_like(v) for name, v in blank.items() if "norm" in name and name.endswith("weight")}
    facts: dict[str, bool] = {}
    for sublayer in (*attentions, "feed_forward"):
        last = f"{sublayer}.linear_2.bias" if sublayer == "feed_forward" else f"{sublayer}.out_proj.bias"
        module.load({**blank, last: torch.ones(d_model)})
        still = module.eval()(x, *others)
        student.seed(6)
        output = module.train()(x, *others).detach()
        low, high = output[..., ::2], output[..., 1::2]
        bottom = low.amin(-1, keepdim=True)
        kept = (low - bottom) / (high.amin(-1, keepdim=True) - bottom) * 2
        stays = kept > 0.3
        if (low - bottom).amax() < 1e-4:  # all alike: nothing is dropped
            kept, stays = torch.ones_like(kept), torch.ones_like(stays)
        share = 1 - stays.float().mean().item()
        size = kept[stays].median().item() if stays.any() else 0.0
        facts[f"eval mode drops nothing ({sublayer})"] = _near(still[0, 0, ::2].std().item(), 0, 1e-4)
        facts[f"train mode drops something ({sublayer})"] = share > 0.02
        facts[f"train mode drops the share p ({sublayer})"] = _near(share, p, 0.06)
        facts[f"what stays of the output of {sublayer} is divided by 1 − p"] = _near(size, 1 / (1 - p), 0.02)
    return facts


def _zeros_and_twos(n: Numbers) -> Tensor:
    return (2.0 * (torch.arange(120) % 2)).expand(2, 30, 120).clone()


# LayerNorm


@probe(
    "LayerNorm",
    "with weight 1 and bias 0, the features of every token have mean 0 and variance 1",
    axes=("token", "feature"),
    x=lambda n: 2 + 3 * n.normal(2, 5, 7),
)
def normalises_each_token(student: Student, x: Tensor) -> object:
    return student.LayerNorm(7).load({"weight": torch.ones(7), "bias": torch.zeros(7)})(x)


@probe(
    "LayerNorm",
    "every feature is then multiplied by its weight, and its bias is added",
    axes=("token", "feature"),
    x=lambda n: 2 + 3 * n.normal(2, 5, 7),
    weight=lambda n: 1 + n.normal(7) / 3,
    bias=lambda n: n.normal(7),
)
def scales_and_shifts(student: Student, x: Tensor, weight: Tensor, bias: Tensor) -> object:
    return student.LayerNorm(7).load({"weight": weight, "bias": bias})(x)


@probe(
    "LayerNorm",
    "eps is added to the variance, inside the root; the argument counts",
    labels=("eps = 0.5", "the default, 1e-5"),
    x=lambda n: n.normal(2, 3, 7),
)
def eps_inside(student: Student, x: Tensor) -> object:
    plain = {"weight": torch.ones(7), "bias": torch.zeros(7)}
    return student.LayerNorm(7, 0.5).load(plain)(x), student.LayerNorm(7).load(plain)(x / 300)


@probe(
    "LayerNorm",
    "a token whose features are all equal gives the bias: no NaN",
    x=lambda n: torch.stack([torch.full((7,), 0.5), torch.zeros(7), n.normal(7)])[None],
    bias=lambda n: n.normal(7),
)
def equal_features(student: Student, x: Tensor, bias: Tensor) -> object:
    return student.LayerNorm(7).load({"weight": torch.ones(7), "bias": bias})(x)


@probe(
    "LayerNorm",
    "works for any dimensions in front: (d_model,), (B, d_model), (B, H, T, d_model)",
    labels=("one vector", "(B, d_model)", "(B, H, T, d_model)"),
    x=lambda n: n.normal(2, 3, 5, 7),
    bias=lambda n: n.normal(7),
)
def dimensions_in_front(student: Student, x: Tensor, bias: Tensor) -> object:
    norm = student.LayerNorm(7).load({"weight": torch.ones(7), "bias": bias})
    return norm(x[0, 0, 0]), norm(x[0, 0]), norm(x)


@probe(
    "LayerNorm",
    "weight and bias are the parameters, and a new norm doesn't erase what it is given",
    x=lambda n: n.normal(2, 3, 7),
)
def norm_parameters(student: Student, x: Tensor) -> object:
    norm = student.LayerNorm(7)
    return {
        "parameters": ", ".join(f"{name} {tuple(value.shape)}" for name, value in sorted(norm.parameters().items())),
        "tokens differ after a new norm": bool((norm(x).std(dim=-1) > 1e-3).all()),
    }


@probe(
    "LayerNorm",
    "gradients flow back, through mean and variance too",
    x=lambda n: n.normal(2, 5, 7),
    weight=lambda n: 1 + n.normal(7) / 3,
)
def norm_gradient(student: Student, x: Tensor, weight: Tensor) -> object:
    x = x.clone().requires_grad_()
    return gradients(student.LayerNorm(7).load({"weight": weight, "bias": torch.zeros(7)})(x), x)


@probe("LayerNorm", "keeps float64", x=lambda n: n.normal(2, 5, 7, dtype=torch.float64))
def norm_double(student: Student, x: Tensor) -> object:
    return student.LayerNorm(7).to("float64").load({"weight": torch.ones(7), "bias": torch.zeros(7)})(x)


# FeedForward


def _network(student: Student, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> HeldObject:
    state = {"linear_1.weight": w1, "linear_1.bias": b1, "linear_2.weight": w2, "linear_2.bias": b2}
    return student.FeedForward(w1.shape[1], w1.shape[0]).load(state).eval()


NETWORK = {
    "w1": lambda n: n.normal(11, 7) / 3,
    "b1": lambda n: n.normal(11) / 2,
    "w2": lambda n: n.normal(7, 11) / 3,
    "b2": lambda n: n.normal(7),
}


@probe(
    "FeedForward",
    "the result is linear_2 of the ReLU of linear_1",
    axes=("token", "feature"),
    x=lambda n: n.normal(2, 5, 7),
    **NETWORK,
)
def follows_the_formula(student: Student, x: Tensor, **weights: Tensor) -> object:
    return _network(student, **weights)(x)


@probe(
    "FeedForward",
    "a hidden unit below 0 adds nothing, one above 0 counts in full",
    labels=("linear_2 is the identity", "linear_2 turns signs round"),
    x=torch.tensor([[-2.0, 3.0]]),
)
def rectifies(student: Student, x: Tensor) -> object:
    eye, none = torch.eye(2), torch.zeros(2)
    return _network(student, eye, none, eye, none)(x), _network(student, eye, none, -eye, none)(x)


@probe(
    "FeedForward",
    "every position is treated alike, and by itself",
    labels=("one position", "four dimensions"),
    x=lambda n: n.normal(2, 3, 5, 7),
    **NETWORK,
)
def position_by_position(student: Student, x: Tensor, **weights: Tensor) -> object:
    network = _network(student, **weights)
    return network(x[0, :1, :1]), network(x)


@probe(
    "FeedForward",
    "in train mode hidden units are dropped with probability p, in eval mode none",
    x=torch.ones(2, 30, 120),
)
def drops_hidden_units(student: Student, x: Tensor) -> object:
    width, p = 120, 0.4
    state = {
        "linear_1.weight": torch.full((width, width), 1 / width),  # every hidden unit is the mean of x: 1
        "linear_1.bias": torch.zeros(width),
        "linear_2.weight": torch.eye(width),
        "linear_2.bias": torch.full((width,), 5.0),
    }
    network = student.FeedForward(width, width, p).load(state)
    still = network.eval()(x)
    student.seed(3)
    output = network.train()(x).detach()
    dropped = (output < output.amax() - 1e-3).float().mean().item()
    return {
        "eval mode drops nothing": bool(torch.allclose(still, torch.full_like(still, 6.0))),
        "train mode drops something": dropped > 0.02,
        "train mode drops the share p": _near(dropped, p, 0.06),
        "train mode drops the share 1 − p": _near(dropped, 1 - p, 0.06),
        "linear_2's bias is never dropped": _near(output.amin().item(), 5, 1e-3),
        "what stays is divided by 1 − p": _near(output.amax().item(), 5 + 1 / (1 - p), 1e-3),
    }


@probe("FeedForward", "linear_1 and linear_2 are its parameters, with the sizes asked for")
def network_parameters(student: Student) -> object:
    parameters = student.FeedForward(7, 11).parameters()
    shapes = {name: tuple(value.shape) for name, value in parameters.items()}
    return {"parameters": ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items()))}


@probe("FeedForward", "gradients flow back", x=lambda n: n.normal(2, 5, 7), **NETWORK)
def network_gradient(student: Student, x: Tensor, **weights: Tensor) -> object:
    x = x.clone().requires_grad_()
    return gradients(_network(student, **weights)(x), x)


# EncoderLayer


@probe(
    "EncoderLayer",
    "attention, residual, norm; then network, residual, norm",
    axes=("position", "feature"),
    w=lambda n: _some(n, ENCODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def encoder_layer(student: Student, w: Tensor, x: Tensor) -> object:
    return _encoder(student, w)(x)


@probe(
    "EncoderLayer",
    "each sublayer for itself: with a silent network, and with silent attention",
    labels=("silent network", "silent attention"),
    w=lambda n: _some(n, ENCODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def one_sublayer_silent(student: Student, w: Tensor, x: Tensor) -> object:
    layer, state = _encoder(student, w), _state(w, ENCODER)
    without_network = layer.load(_silenced(state, "feed_forward.linear_2"))(x)
    return without_network, layer.load(_silenced(state, "attention.out_proj"))(x)


@probe(
    "EncoderLayer",
    "the mask says who may attend to whom: (T, T), (B, 1, T) and (B, T, T)",
    labels=("(T, T)", "(B, 1, T)", "(B, T, T)"),
    w=lambda n: _some(n, ENCODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    mask=MASK,
    padding=PADDING,
)
def encoder_masks(student: Student, w: Tensor, x: Tensor, mask: Tensor, padding: Tensor) -> object:
    layer = _encoder(student, w)
    return layer(x, mask), layer(x, padding), layer(x, torch.stack([mask, mask.mT]))


@probe(
    "EncoderLayer",
    "a position that may attend to nothing goes on without: no NaN",
    w=lambda n: _some(n, ENCODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    mask=torch.stack([MASK & torch.tensor([[1], [0], [1], [1], [1]]).bool(), torch.zeros(5, 5).bool()]),
)
def encoder_nothing_to_attend(student: Student, w: Tensor, x: Tensor, mask: Tensor) -> object:
    return _encoder(student, w)(x, mask)


@probe(
    "EncoderLayer",
    "in train mode dropout acts on what each sublayer gives, before it is added to x; in eval mode not at all",
    x=_zeros_and_twos,
)
def encoder_dropout(student: Student, x: Tensor) -> object:
    return _dropout_facts(student, "EncoderLayer", ENCODER, x)


@probe(
    "EncoderLayer",
    "gradients flow back to x and to every parameter",
    w=lambda n: _some(n, ENCODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def encoder_gradient(student: Student, w: Tensor, x: Tensor) -> object:
    layer, x = _encoder(student, w), x.clone().requires_grad_()
    seen = gradients(layer(x), x)
    return {**seen, **_reached(layer)}


def _reached(module: HeldObject) -> dict[str, bool]:
    """Observe whether every parameter has a gradient; to be asked after one was sent back."""
    return {"every parameter gets a gradient": set(module.parameters()) == set(module.gradients())}


# DecoderLayer


@probe(
    "DecoderLayer",
    "self-attention, cross-attention, network, each followed by residual and norm",
    axes=("position", "feature"),
    w=lambda n: _some(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
)
def decoder_layer(student: Student, w: Tensor, x: Tensor, memory: Tensor) -> object:
    return _decoder(student, w)(x, memory)


@probe(
    "DecoderLayer",
    "each sublayer for itself, while the two others are silent",
    labels=("self-attention", "cross-attention", "network"),
    w=lambda n: _some(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
)
def two_sublayers_silent(student: Student, w: Tensor, x: Tensor, memory: Tensor) -> object:
    layer, state = _decoder(student, w), _state(w, DECODER)
    own, cross, network = "self_attention.out_proj", "cross_attention.out_proj", "feed_forward.linear_2"
    silent = ((cross, network), (own, network), (own, cross))
    return tuple(layer.load(_silenced(state, *layers))(x, memory) for layers in silent)


@probe(
    "DecoderLayer",
    "self_mask holds in self-attention only: (T, T), (B, 1, T) and (B, T, T)",
    labels=("(T, T)", "(B, 1, T)", "(B, T, T)"),
    w=lambda n: _some(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
    padding=PADDING,
)
def self_masks(student: Student, w: Tensor, x: Tensor, memory: Tensor, padding: Tensor) -> object:
    layer = _decoder(student, w)
    return layer(x, memory, CAUSAL), layer(x, memory, padding), layer(x, memory, CAUSAL & padding)


@probe(
    "DecoderLayer",
    "cross_mask holds in cross-attention only: (B, 1, T_memory) and (B, T, T_memory)",
    labels=("(B, 1, T_memory)", "(B, T, T_memory)"),
    w=lambda n: _some(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
    mask=lambda n: n.booleans(2, 5, 7) | torch.tensor([0, 1, 0, 0, 0, 0, 0]).bool(),
)
def cross_masks(student: Student, w: Tensor, x: Tensor, memory: Tensor, mask: Tensor) -> object:
    layer = _decoder(student, w)
    return layer(x, memory, None, CROSS), layer(x, memory, None, mask)


@probe(
    "DecoderLayer",
    "both masks together, also where both sentences have the same length",
    labels=("T = 5, T_memory = 7", "T = T_memory = 5"),
    w=lambda n: _some(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
)
def both_masks(student: Student, w: Tensor, x: Tensor, memory: Tensor) -> object:
    layer = _decoder(student, w)
    return layer(x, memory, CAUSAL, CROSS), layer(x, memory[:, :5], CAUSAL, PADDING)


@probe(
    "DecoderLayer",
    "where all of memory is hidden, the rest goes on: no NaN",
    w=lambda n: _some(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
    mask=torch.stack([torch.ones(1, 7), torch.zeros(1, 7)]).bool(),
)
def decoder_nothing_to_attend(student: Student, w: Tensor, x: Tensor, memory: Tensor, mask: Tensor) -> object:
    return _decoder(student, w)(x, memory, CAUSAL, mask)


@probe(
    "DecoderLayer",
    "in train mode dropout acts on what each sublayer gives, before it is added to x; in eval mode not at all",
    x=_zeros_and_twos,
    memory=lambda n: n.normal(2, 7, 120),
)
def decoder_dropout(student: Student, x: Tensor, memory: Tensor) -> object:
    return _dropout_facts(student, "DecoderLayer", DECODER, x, memory)


@probe(
    "DecoderLayer",
    "gradients flow back to x, to memory and to every parameter",
    w=lambda n: _some(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
)
def decoder_gradient(student: Student, w: Tensor, x: Tensor, memory: Tensor) -> object:
    layer = _decoder(student, w)
    x, memory = x.clone().requires_grad_(), memory.clone().requires_grad_()
    seen = gradients(layer(x, memory), x, memory)
    return {**seen, **_reached(layer)}

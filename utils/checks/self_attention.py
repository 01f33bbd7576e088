"""What the visible checks of chapter 03 look at.

Modules get their weights from the probe's inputs, so nothing depends on how they start. Sizes are pairwise different and none
is the square of another; scores aren't saturated.
"""

import torch
from torch import Tensor

from utils.probes import gradients, probe
from utils.student import HeldObject, Student

BOTH = ("output", "weights")
BATCH, LENGTH, D_MODEL, D_K, D_V = 2, 5, 7, 6, 3
NAMES = ("query", "key", "value")

# The inputs of most probes: x and the three matrices, small enough that softmax doesn't saturate.
LAYERS = {
    "x": lambda n: n.normal(BATCH, LENGTH, D_MODEL),
    "query": lambda n: 0.5 * n.normal(D_K, D_MODEL),
    "key": lambda n: 0.5 * n.normal(D_K, D_MODEL),
    "value": lambda n: n.normal(D_V, D_MODEL),
}
SOME_KEYS = torch.tensor([[1, 0, 0, 1, 0], [1, 1, 0, 0, 1], [0, 1, 1, 1, 0], [1, 1, 1, 0, 1], [0, 0, 1, 0, 1]]).bool()
NO_KEY = torch.tensor([[1, 0, 0, 1, 0], [0, 0, 0, 0, 0], [0, 1, 1, 1, 0], [1, 1, 1, 0, 1], [0, 0, 1, 0, 1]]).bool()
PADDING = torch.tensor([[[1, 1, 1, 0, 0]], [[1, 1, 1, 1, 1]]]).bool()
HOLES = torch.tensor([[[1, 1, 1, 0, 0]], [[1, 0, 1, 1, 1]]]).bool()
LEFT_PADDING = torch.tensor([[[0, 0, 1, 1, 1]], [[1, 1, 1, 1, 1]]]).bool()


def _module(student: Student, kind: str, query: Tensor, key: Tensor, value: Tensor, dtype: str = "") -> HeldObject:
    """Build a learner's module for these matrices and put them in."""
    module = getattr(student, kind)(query.shape[1], query.shape[0], value.shape[0])
    if dtype:
        module.to(dtype)
    return module.load({"query.weight": query, "key.weight": key, "value.weight": value}).eval()


def _parameters(module: HeldObject) -> str:
    """Write a module's parameters in one line: "key.weight (6, 7), …"; fixed ones are marked."""
    trainable = module.trainable()
    return ", ".join(
        f"{name} {tuple(value.shape)}{'' if trainable[name] else ' fixed'}"
        for name, value in sorted(module.parameters().items())
    )


def _all_gradients(module: HeldObject, result: object, x: Tensor) -> dict[str, object]:
    """Send a gradient back; observe what arrives at x and at the three matrices."""
    seen = gradients(result, x)
    arrived = module.gradients()
    return {"x": seen["gradient 0"]} | {name: arrived.get(f"{name}.weight", "no gradient arrives") for name in NAMES}


def _layers_are_named(student: Student, kind: str) -> dict[str, str]:
    return {"parameters": _parameters(getattr(student, kind)(D_MODEL, D_K, D_V))}


def _defaults_hold(student: Student, kind: str) -> dict[str, str]:
    build = getattr(student, kind)
    return {"with d_k=3": _parameters(build(7, d_k=3)), "with d_v=2": _parameters(build(7, d_v=2))}


# SelfAttention


@probe("SelfAttention", "three linear layers without bias: query, key, value")
def layers(student: Student) -> object:
    return _layers_are_named(student, "SelfAttention")


@probe("SelfAttention", "d_model alone is enough")
def width_alone(student: Student) -> object:
    return {"with d_model=7 alone": _parameters(student.SelfAttention(7))}


@probe("SelfAttention", "each of d_k and d_v on its own is d_model where it isn't given")
def widths(student: Student) -> object:
    return _defaults_hold(student, "SelfAttention")


@probe("SelfAttention", "output and weights follow the formula", labels=BOTH, axes=("query", "key"), **LAYERS)
def self_attention_formula(student: Student, x: Tensor, **weights: Tensor) -> object:
    return _module(student, "SelfAttention", **weights)(x)


@probe(
    "SelfAttention",
    "the same input gives the same output: nothing random in a forward pass",
    x=LAYERS["x"],
    query=LAYERS["query"],
    key=LAYERS["key"],
    value=LAYERS["value"],
)
def repeatable(student: Student, x: Tensor, **weights: Tensor) -> object:
    module = _module(student, "SelfAttention", **weights)
    student.seed(1)
    first = module(x)[0]
    student.seed(2)
    return {"two passes give the same": bool(torch.equal(first, module(x)[0]))}


@probe("SelfAttention", "a mask (T, T) hides keys: True may be attended", labels=BOTH, mask=SOME_KEYS, **LAYERS)
def self_attention_masked(student: Student, x: Tensor, mask: Tensor, **weights: Tensor) -> object:
    return _module(student, "SelfAttention", **weights)(x, mask)


@probe("SelfAttention", "in train mode the mask holds as well", mask=SOME_KEYS, **LAYERS)
def self_attention_training(student: Student, x: Tensor, mask: Tensor, **weights: Tensor) -> object:
    _output, found = _module(student, "SelfAttention", **weights).train()(x, mask)
    return {"hidden keys get weight 0 in train mode": bool((found.masked_fill(mask, 0) == 0).all())}


@probe("SelfAttention", "a padding mask (B, 1, T) hides keys from every query", labels=BOTH, mask=PADDING, **LAYERS)
def self_attention_padded(student: Student, x: Tensor, mask: Tensor, **weights: Tensor) -> object:
    return _module(student, "SelfAttention", **weights)(x, mask)


@probe("SelfAttention", "a position that may attend to nothing gets zeros, not NaN", labels=BOTH, mask=NO_KEY, **LAYERS)
def self_attention_empty(student: Student, x: Tensor, mask: Tensor, **weights: Tensor) -> object:
    return _module(student, "SelfAttention", **weights)(x, mask)


@probe(
    "SelfAttention",
    "works for one sequence, for one token, and where all widths are equal",
    labels=(
        "output of one sequence",
        "its weights",
        "output of one token",
        "its weights (1)",
        "output at equal widths",
        "weights at equal widths",
    ),
    square=lambda n: 0.5 * n.normal(3, D_MODEL, D_MODEL),
    **LAYERS,
)
def self_attention_sizes(student: Student, x: Tensor, square: Tensor, **weights: Tensor) -> object:
    module = _module(student, "SelfAttention", **weights)
    equal = _module(student, "SelfAttention", *square)
    return (*module(x[:1]), *module(x[:, :1]), *equal(x))


@probe(
    "SelfAttention",
    "keeps float64",
    labels=BOTH,
    mask=SOME_KEYS,
    x=lambda n: n.normal(BATCH, LENGTH, D_MODEL, dtype=torch.float64),
    query=lambda n: 0.5 * n.normal(D_K, D_MODEL, dtype=torch.float64),
    key=lambda n: 0.5 * n.normal(D_K, D_MODEL, dtype=torch.float64),
    value=lambda n: n.normal(D_V, D_MODEL, dtype=torch.float64),
)
def self_attention_double(student: Student, x: Tensor, mask: Tensor, **weights: Tensor) -> object:
    return _module(student, "SelfAttention", **weights, dtype="float64")(x, mask)


@probe("SelfAttention", "gradients reach x and all three layers, through masks too", mask=NO_KEY, **LAYERS)
def self_attention_gradients(student: Student, x: Tensor, mask: Tensor, **weights: Tensor) -> object:
    x = x.clone().requires_grad_()
    module = _module(student, "SelfAttention", **weights)
    return _all_gradients(module, module(x, mask), x)


# causal_mask


@probe("causal_mask", "row i is True up to column i, itself included", axes=("query", "key"), T=5)
def triangle(student: Student, T: int) -> object:
    return student.causal_mask(T)


@probe("causal_mask", "every T has its own triangle, one token too", labels=("T = 1", "T = 2", "T = 12"))
def every_length(student: Student) -> object:
    return student.causal_mask(1), student.causal_mask(2), student.causal_mask(12)


@probe("causal_mask", "the mask is made on the device that is asked for", labels=("device by name", "device second"))
def on_device(student: Student) -> object:
    # "meta" is a device that every machine has: its tensors have a shape and no numbers
    return student.causal_mask(4, device="meta"), student.causal_mask(4, "meta")


# CausalSelfAttention


@probe("CausalSelfAttention", "the layers of SelfAttention: query, key, value, without bias")
def causal_layers(student: Student) -> object:
    return _layers_are_named(student, "CausalSelfAttention")


@probe("CausalSelfAttention", "d_model alone is enough")
def causal_width_alone(student: Student) -> object:
    return {"with d_model=7 alone": _parameters(student.CausalSelfAttention(7))}


@probe("CausalSelfAttention", "each of d_k and d_v on its own is d_model where it isn't given")
def causal_widths(student: Student) -> object:
    return _defaults_hold(student, "CausalSelfAttention")


@probe(
    "CausalSelfAttention",
    "position i attends to positions 0 to i, and to all of them",
    labels=BOTH,
    axes=("query", "key"),
    **LAYERS,
)
def causal_formula(student: Student, x: Tensor, **weights: Tensor) -> object:
    return _module(student, "CausalSelfAttention", **weights)(x)


@probe(
    "CausalSelfAttention",
    "what comes later changes nothing that came before, in training neither",
    later=lambda n: n.normal(BATCH, 2, D_MODEL),
    **LAYERS,
)
def no_leak(student: Student, x: Tensor, later: Tensor, **weights: Tensor) -> object:
    module = _module(student, "CausalSelfAttention", **weights)
    other = torch.cat([x[:, :3], later], dim=1)
    seen = {}
    for mode, switch in (("eval", module.eval), ("train", module.train)):
        switch()
        before, after = [], []
        for into, sentence in ((before, x), (after, other)):
            student.seed(1)
            into.append(module(sentence)[0])
        same = torch.allclose(before[0][:, :3], after[0][:, :3], atol=1e-6, equal_nan=True)
        seen[f"in {mode} mode the past stays as it was"] = bool(same)
    return seen


@probe(
    "CausalSelfAttention",
    "with padding, a key is visible only where both masks allow it",
    labels=BOTH,
    axes=("query", "key"),
    padding=HOLES,
    **LAYERS,
)
def both_masks(student: Student, x: Tensor, padding: Tensor, **weights: Tensor) -> object:
    return _module(student, "CausalSelfAttention", **weights)(x, padding)


@probe(
    "CausalSelfAttention",
    "where padding comes first, positions with nothing to attend to get zeros, not NaN",
    labels=BOTH,
    axes=("query", "key"),
    padding=LEFT_PADDING,
    **LAYERS,
)
def padding_first(student: Student, x: Tensor, padding: Tensor, **weights: Tensor) -> object:
    return _module(student, "CausalSelfAttention", **weights)(x, padding)


@probe(
    "CausalSelfAttention",
    "padding belongs to its own sequence, also where there are as many sequences as positions",
    labels=BOTH,
    x=lambda n: n.normal(3, 3, D_MODEL),
    padding=torch.tensor([[[1, 1, 0]], [[1, 0, 0]], [[1, 1, 1]]]).bool(),
    query=LAYERS["query"],
    key=LAYERS["key"],
    value=LAYERS["value"],
)
def as_many_sequences(student: Student, x: Tensor, padding: Tensor, **weights: Tensor) -> object:
    return _module(student, "CausalSelfAttention", **weights)(x, padding)


@probe(
    "CausalSelfAttention",
    "one module takes sequences of any length: 5, 1 and 40 tokens",
    labels=("output (5)", "weights (5)", "output (1)", "weights (1)", "output (40)", "weights (40)"),
    long=lambda n: n.normal(1, 40, D_MODEL),
    **LAYERS,
)
def any_length(student: Student, x: Tensor, long: Tensor, **weights: Tensor) -> object:
    module = _module(student, "CausalSelfAttention", **weights)
    return (*module(x), *module(x[:, :1]), *module(long))


@probe(
    "CausalSelfAttention",
    "keeps float64",
    labels=BOTH,
    padding=HOLES,
    x=lambda n: n.normal(BATCH, LENGTH, D_MODEL, dtype=torch.float64),
    query=lambda n: 0.5 * n.normal(D_K, D_MODEL, dtype=torch.float64),
    key=lambda n: 0.5 * n.normal(D_K, D_MODEL, dtype=torch.float64),
    value=lambda n: n.normal(D_V, D_MODEL, dtype=torch.float64),
)
def causal_double(student: Student, x: Tensor, padding: Tensor, **weights: Tensor) -> object:
    return _module(student, "CausalSelfAttention", **weights, dtype="float64")(x, padding)


@probe(
    "CausalSelfAttention", "gradients reach x and all three layers, through both masks", padding=LEFT_PADDING, **LAYERS
)
def causal_gradients(student: Student, x: Tensor, padding: Tensor, **weights: Tensor) -> object:
    x = x.clone().requires_grad_()
    module = _module(student, "CausalSelfAttention", **weights)
    return _all_gradients(module, module(x, padding), x)


# permutation_gap

ROUND = torch.tensor([2, 0, 4, 1, 3])  # not its own inverse
OFFSETS = torch.tensor([[0.3, -0.2], [1.1, 0.4], [-0.6, 0.9], [0.1, -2.0], [0.7, 0.5]])


@probe(
    "permutation_gap",
    "0, up to rounding, for a module that treats every position alike",
    x=lambda n: n.normal(2, 5, 3),
    weight=lambda n: n.normal(3, 4),
    perm=ROUND,
)
def pointwise(student: Student, x: Tensor, weight: Tensor, perm: Tensor) -> object:
    return student.permutation_gap(student.host("pointwise", weight), x, perm)


@probe(
    "permutation_gap",
    "the largest difference for a module that knows positions, whichever its sign",
    labels=("perm", "the inverse of perm", "no permutation"),
    x=lambda n: n.normal(3, 5, 2),
    offsets=OFFSETS,
    perm=ROUND,
)
def position_aware(student: Student, x: Tensor, offsets: Tensor, perm: Tensor) -> object:
    module = student.host("position_aware", offsets)
    return tuple(student.permutation_gap(module, x, order) for order in (perm, perm.argsort(), torch.arange(5)))


@probe(
    "permutation_gap",
    "takes modules that return (output, weights), and compares the outputs",
    labels=("a module that knows positions", "self-attention"),
    offsets=OFFSETS,
    perm=ROUND,
    **LAYERS,
)
def pairs(student: Student, x: Tensor, offsets: Tensor, perm: Tensor, **weights: Tensor) -> object:
    aware = student.host("position_aware", offsets, as_pair=True)
    attention = student.host("self_attention", D_MODEL, D_K, D_V)
    attention.load({f"{name}.weight": weight for name, weight in weights.items()})
    return student.permutation_gap(aware, x[..., :2], perm), student.permutation_gap(attention, x, perm)


@probe(
    "permutation_gap",
    "every sequence of the batch counts",
    labels=("the first is furthest off", "the second", "the third"),
    x=lambda n: n.normal(3, 5, 2),
    scale=torch.tensor([0.7, 1.2, 0.9, 1.4, 0.6]),
    perm=ROUND,
)
def every_sequence(student: Student, x: Tensor, scale: Tensor, perm: Tensor) -> object:
    module = student.host("squared_memory", scale)
    enlarged = [x * torch.tensor([3.0 if i == which else 1.0 for i in range(3)])[:, None, None] for which in range(3)]
    return tuple(student.permutation_gap(module, one, perm) for one in enlarged)


@probe("permutation_gap", "the module and x are left as they were", perm=ROUND, **LAYERS)
def left_alone(student: Student, x: Tensor, perm: Tensor, **weights: Tensor) -> object:
    module = student.host("self_attention", D_MODEL, D_K, D_V)
    module.load({f"{name}.weight": weight for name, weight in weights.items()}).train()
    before = module.parameters()
    student.permutation_gap(module, x, perm)
    after = module.parameters()
    seen = {
        "still in train mode": module.training,
        "still trainable": all(module.trainable().values()),
        "no gradients left behind": not module.gradients(),
        "the weights are the same": all(_same(before[name], after[name]) for name in before),
        "x is the same": not student.changed,
    }
    module.eval()
    student.permutation_gap(module, x, perm)
    return seen | {"still in eval mode": not module.training}


def _same(before: Tensor, after: Tensor) -> bool:
    return before.dtype == after.dtype and bool(torch.equal(before, after))


@probe(
    "permutation_gap",
    "keeps the full precision of float64",
    rtol=1e-9,
    atol=1e-12,
    x=lambda n: n.normal(2, 5, 2, dtype=torch.float64),
    offsets=OFFSETS.double() * 1.0000001,
    perm=ROUND,
)
def precise(student: Student, x: Tensor, offsets: Tensor, perm: Tensor) -> object:
    return student.permutation_gap(student.host("position_aware", offsets), x, perm)

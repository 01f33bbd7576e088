"""What the visible checks of chapter 01 look at.

Sizes are pairwise different and none is the square of another, so that no mistake hides behind a symmetry; states aren't
saturated, so that a wrong sum inside a tanh or a sigmoid shows.
"""

from typing import Any

import torch
from torch import Tensor

from utils.probes import error_of, gradients, probe
from utils.student import HeldObject, Student

FIELDS = ("operations", "sequential", "path")


def _learning(*tensors: Tensor) -> list[Tensor]:
    return [tensor.clone().requires_grad_() for tensor in tensors]


def as_fields(cost: Any) -> Any:
    """Read a LayerCost: named tuples arrive as plain ones, a dataclass is asked for its fields."""
    return tuple(cost.attribute(name) for name in FIELDS) if isinstance(cost, HeldObject) else cost


# rnn_forward

STATES = ("states", "last")


@probe(
    "rnn_forward",
    "each state is tanh of input, previous state and bias; the last one is returned too",
    labels=STATES,
    axes=("step", "unit"),
    x=lambda n: n.normal(2, 7, 3),
    weight_ih=lambda n: n.normal(5, 3) / 2,
    weight_hh=lambda n: n.normal(5, 5) / 2,
    bias=lambda n: n.normal(5) / 2,
)
def recurrence(student: Student, x: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor) -> object:
    return student.rnn_forward(x, weight_ih, weight_hh, bias)


@probe(
    "rnn_forward",
    "starts from h0 where it is given",
    labels=STATES,
    axes=("step", "unit"),
    x=lambda n: n.normal(3, 5, 2),
    weight_ih=lambda n: n.normal(7, 2) / 2,
    weight_hh=lambda n: n.normal(7, 7) / 3,
    bias=lambda n: n.normal(7) / 2,
    h0=lambda n: n.normal(3, 7),
)
def initial_state(student: Student, h0: Tensor, **given: Tensor) -> object:
    return student.rnn_forward(given["x"], given["weight_ih"], given["weight_hh"], given["bias"], h0)


@probe(
    "rnn_forward",
    "works where inputs are as wide as states, and every matrix fits everywhere",
    labels=STATES,
    axes=("step", "unit"),
    x=lambda n: n.normal(2, 3, 5),
    weight_ih=lambda n: n.normal(5, 5) / 2,
    weight_hh=lambda n: n.normal(5, 5) / 2,
    bias=lambda n: n.normal(5) / 2,
)
def equal_widths(student: Student, x: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor) -> object:
    return student.rnn_forward(x, weight_ih, weight_hh, bias)


@probe(
    "rnn_forward",
    "works for one sequence of one step, and for one unit",
    labels=("states (1, 1, d)", "last (1, d)", "states (B, T, 1)", "last (B, 1)"),
    x=lambda n: n.normal(1, 1, 3),
    more=lambda n: n.normal(2, 5, 3),
    weight_ih=lambda n: n.normal(6, 3) / 2,
    weight_hh=lambda n: n.normal(6, 6) / 2,
    bias=lambda n: n.normal(6) / 2,
)
def smallest_sizes(
    student: Student, x: Tensor, more: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor
) -> object:
    one_step = student.rnn_forward(x, weight_ih, weight_hh, bias)
    return (*one_step, *student.rnn_forward(more, weight_ih[:1], weight_hh[:1, :1], bias[:1]))


@probe(
    "rnn_forward",
    "keeps float64",
    labels=STATES,
    x=lambda n: n.normal(2, 7, 3, dtype=torch.float64),
    weight_ih=lambda n: n.normal(5, 3, dtype=torch.float64) / 2,
    weight_hh=lambda n: n.normal(5, 5, dtype=torch.float64) / 2,
    bias=lambda n: n.normal(5, dtype=torch.float64) / 2,
)
def rnn_double(student: Student, x: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor) -> object:
    return student.rnn_forward(x, weight_ih, weight_hh, bias)


@probe(
    "rnn_forward",
    "gradients flow back through time, to inputs, weights and h0",
    x=lambda n: n.normal(2, 7, 3),
    weight_ih=lambda n: n.normal(5, 3) / 2,
    weight_hh=lambda n: n.normal(5, 5) / 2,
    bias=lambda n: n.normal(5) / 2,
    h0=lambda n: n.normal(2, 5),
)
def rnn_gradient(student: Student, **given: Tensor) -> object:
    inputs = _learning(*(given[name] for name in ("x", "weight_ih", "weight_hh", "bias", "h0")))
    states, last = student.rnn_forward(*inputs)
    through_last = {f"{label} (last)": value for label, value in gradients(last, *inputs).items()}
    return {**gradients(states, *inputs), **through_last}


# lstm_cell

HIDDEN_AND_CELL = ("h", "c")


def _cell(student: Student, given: dict[str, Tensor]) -> Any:
    return student.lstm_cell(
        given["x"], (given["h"], given["c"]), given["weight_ih"], given["weight_hh"], given["bias"]
    )


@probe(
    "lstm_cell",
    "h and c follow the formulas, with gates in the order i, f, g, o",
    labels=HIDDEN_AND_CELL,
    axes=("sequence", "unit"),
    x=lambda n: n.normal(2, 3),
    h=lambda n: n.normal(2, 5),
    c=lambda n: n.normal(2, 5),
    weight_ih=lambda n: n.normal(20, 3) / 2,
    weight_hh=lambda n: n.normal(20, 5) / 2,
    bias=lambda n: n.normal(20) / 2,
)
def lstm_formula(student: Student, **given: Tensor) -> object:
    return _cell(student, given)


@probe(
    "lstm_cell",
    "with the forget gate open and the input gate closed, c passes unchanged",
    labels=HIDDEN_AND_CELL,
    axes=("sequence", "unit"),
    x=lambda n: n.normal(3, 2),
    h=lambda n: n.normal(3, 2),
    c=torch.tensor([[2.0, -0.5], [-3.0, 0.25], [1.5, 0.75]]),
    weight_ih=torch.zeros(8, 2),
    weight_hh=torch.zeros(8, 2),
    bias=torch.tensor([-30.0, -30.0, 30.0, 30.0, 0.5, -0.5, 0.3, -0.6]),
)
def open_road(student: Student, **given: Tensor) -> object:
    return _cell(student, given)


@probe(
    "lstm_cell",
    "works for one sequence, and for one unit",
    labels=("h (1, d)", "c (1, d)", "h (B, 1)", "c (B, 1)"),
    x=lambda n: n.normal(3, 2),
    h=lambda n: n.normal(3, 5),
    c=lambda n: n.normal(3, 5),
    weight_ih=lambda n: n.normal(20, 2) / 2,
    weight_hh=lambda n: n.normal(20, 5) / 2,
    bias=lambda n: n.normal(20) / 2,
)
def lstm_smallest(student: Student, **given: Tensor) -> object:
    one = {**given, **{name: given[name][:1] for name in ("x", "h", "c")}}
    narrow = {name: given[name][:4] for name in ("weight_ih", "bias")}
    narrow |= {"weight_hh": given["weight_hh"][:4, :1], "h": given["h"][:, :1], "c": given["c"][:, :1]}
    return (*_cell(student, one), *_cell(student, {**given, **narrow}))


@probe(
    "lstm_cell",
    "keeps float64",
    labels=HIDDEN_AND_CELL,
    x=lambda n: n.normal(2, 3, dtype=torch.float64),
    h=lambda n: n.normal(2, 5, dtype=torch.float64),
    c=lambda n: n.normal(2, 5, dtype=torch.float64),
    weight_ih=lambda n: n.normal(20, 3, dtype=torch.float64) / 2,
    weight_hh=lambda n: n.normal(20, 5, dtype=torch.float64) / 2,
    bias=lambda n: n.normal(20, dtype=torch.float64) / 2,
)
def lstm_double(student: Student, **given: Tensor) -> object:
    return _cell(student, given)


@probe(
    "lstm_cell",
    "gradients flow back to input, both states and weights",
    x=lambda n: n.normal(2, 3),
    h=lambda n: n.normal(2, 5),
    c=lambda n: n.normal(2, 5),
    weight_ih=lambda n: n.normal(20, 3) / 2,
    weight_hh=lambda n: n.normal(20, 5) / 2,
    bias=lambda n: n.normal(20) / 2,
)
def lstm_gradient(student: Student, **given: Tensor) -> object:
    names = ("x", "h", "c", "weight_ih", "weight_hh", "bias")
    inputs = dict(zip(names, _learning(*(given[name] for name in names)), strict=True))
    h, c = _cell(student, inputs)
    through_c = {f"{label} (cell)": value for label, value in gradients(c, *list(inputs.values())).items()}
    return {**gradients(h, *list(inputs.values())), **through_c}


# gradient_by_distance


@probe(
    "gradient_by_distance",
    "one norm for each step, in the order of t, for a sum that fades by a half",
    axes=("", "step"),
    weight=torch.tensor([[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]]),
    x=lambda n: n.normal(3, 5, 2),
)
def fading(student: Student, weight: Tensor, x: Tensor) -> object:
    return student.gradient_by_distance(student.host("fading_sum", weight, 0.5), x)


@probe(
    "gradient_by_distance",
    "norms first, then their mean over the batch, where sequences differ",
    axes=("", "step"),
    scale=torch.tensor([0.5, 1.0, -0.25, 2.0, 0.75, -1.5, 0.3]),
    x=lambda n: n.normal(5, 7, 3),
)
def different_sequences(student: Student, scale: Tensor, x: Tensor) -> object:
    return student.gradient_by_distance(student.host("squared_memory", scale), x)


@probe(
    "gradient_by_distance",
    "x comes back asking for no gradients and carrying none",
    labels=("result", "asks for gradients afterwards", "carries a gradient afterwards"),
    weight=torch.tensor([[0.5, 1.0], [-1.0, 2.0], [0.3, 0.1]]),
    x=lambda n: n.normal(2, 5, 3),
)
def left_as_it_was(student: Student, weight: Tensor, x: Tensor) -> object:
    norms = student.gradient_by_distance(student.host("fading_sum", weight, 0.8), x)
    return norms, "requires_grad" in student.left, "grad" in student.left


@probe(
    "gradient_by_distance",
    "a second call gives the same again",
    labels=("first call", "second call"),
    scale=torch.tensor([0.5, 1.0, -0.25, 2.0, 0.75]),
    x=lambda n: n.normal(3, 5, 2),
)
def called_twice(student: Student, scale: Tensor, x: Tensor) -> object:
    host = student.host("squared_memory", scale)
    return student.gradient_by_distance(host, x), student.gradient_by_distance(host, x)


@probe(
    "gradient_by_distance",
    "works for one sequence and for a single step",
    labels=("one sequence", "one step"),
    weight=torch.tensor([[1.0, -2.0, 0.5], [0.25, 1.5, -1.0]]),
    x=lambda n: n.normal(1, 5, 2),
)
def one_of_each(student: Student, weight: Tensor, x: Tensor) -> object:
    host = student.host("fading_sum", weight, 0.7)
    return student.gradient_by_distance(host, x), student.gradient_by_distance(host, x[:, :1])


@probe(
    "gradient_by_distance",
    "keeps float64",
    scale=torch.tensor([0.5, 1.0, -0.25, 2.0, 0.75], dtype=torch.float64),
    x=lambda n: n.normal(3, 5, 2, dtype=torch.float64),
)
def norms_double(student: Student, scale: Tensor, x: Tensor) -> object:
    return student.gradient_by_distance(student.host("squared_memory", scale), x)


# layer_cost


@probe("layer_cost", "self-attention: n² · d operations, nothing waits, path 1", labels=FIELDS, n=7, d=5)
def attention_cost(student: Student, n: int, d: int) -> object:
    return as_fields(student.layer_cost("self_attention", n, d))


@probe("layer_cost", "recurrent: n · d² operations, n steps in sequence, path n", labels=FIELDS, n=7, d=5)
def recurrent_cost(student: Student, n: int, d: int) -> object:
    return as_fields(student.layer_cost("recurrent", n, d))


@probe(
    "layer_cost", "convolution: k · n · d² operations, nothing waits, path ⌈log_k n⌉", labels=FIELDS, n=70, d=11, k=5
)
def convolution_cost(student: Student, n: int, d: int, k: int) -> object:
    return as_fields(student.layer_cost("convolution", n, d, k))


def _paths(student: Student, lengths: list[int], k: int) -> dict[str, Any]:
    """Give the path of a convolution for each length."""
    costs = {n: as_fields(student.layer_cost("convolution", n, 2, k)) for n in lengths}
    return {
        f"path for n = {n}, k = {k}": cost[2] if isinstance(cost, tuple) and len(cost) == 3 else cost
        for n, cost in costs.items()
    }


@probe(
    "layer_cost",
    "the path is exact at powers of k, and next to them",
    lengths=[8, 9, 10, 26, 27, 28, 243, 3**22 + 1],
    k=3,
)
def powers(student: Student, lengths: list[int], k: int) -> object:
    return _paths(student, lengths, k)


@probe("layer_cost", "… where logarithms round up", lengths=[124, 125, 126], k=5)
def rounding_up(student: Student, lengths: list[int], k: int) -> object:
    return _paths(student, lengths, k)


@probe(
    "layer_cost",
    "… and for numbers that no float can hold",
    lengths=[3**40 - 1, 3**40, 3**40 + 1, 3**70, 3**70 + 1],
    k=3,
)
def large_numbers(student: Student, lengths: list[int], k: int) -> object:
    return _paths(student, lengths, k)


@probe("layer_cost", "k is 3 where it isn't given", labels=FIELDS, n=20, d=7)
def default_kernel(student: Student, n: int, d: int) -> object:
    return as_fields(student.layer_cost("convolution", n, d))


@probe("layer_cost", "another kind is refused with a ValueError", n=7, d=5)
def unknown_kind(student: Student, n: int, d: int) -> object:
    seen = {}
    for kind in ("pooling", ""):
        returned: list[Any] = []
        seen[kind] = error_of(lambda kind=kind, returned=returned: returned.append(student.layer_cost(kind, n, d)))
        if returned:
            what = {type(None): "nothing is returned", str: "a text is returned"}
            seen[kind] = f"no error: {what.get(type(returned[0]), 'a cost is returned')}"
    return seen

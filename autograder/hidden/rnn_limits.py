"""Hidden tests of chapter 01. References are PyTorch's own recurrent layers, autograd, and Table 1 of the paper."""

from typing import Any

import torch
from torch import Tensor, nn

from autograder.hidden import hidden
from autograder.hidden.expectations import close, expect, gradients, pair, refused, untouched
from autograder.hidden.randomness import Randomness
from utils.checks.rnn_limits import as_fields
from utils.student import Student


def _learning(*tensors: Tensor) -> list[Tensor]:
    return [tensor.clone().requires_grad_() for tensor in tensors]


def _only_dtype(found: object, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    expect(isinstance(found, Tensor) and found.dtype == dtype, "the result has another dtype than the inputs")
    expect(tuple(found.shape) == shape, "the result has the wrong shape")


def _same_gradients(found: Any, expected: Tensor, inputs: list[Tensor], rng: Randomness) -> None:
    close(found, expected)
    cotangent = rng.normal(*expected.shape)
    arrived = gradients(found, cotangent, inputs)
    wanted = torch.autograd.grad(expected, inputs, cotangent, retain_graph=True)
    for gradient, correct in zip(arrived, wanted, strict=True):
        close(gradient, correct, "the gradient")


# rnn_forward


def _rnn(x: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor, h0: Tensor | None = None) -> tuple:
    """Give what nn.RNN gives."""
    layer = nn.RNN(x.shape[-1], weight_hh.shape[0], batch_first=True, dtype=x.dtype)
    names = {"weight_ih_l0": weight_ih, "weight_hh_l0": weight_hh, "bias_ih_l0": bias}
    names["bias_hh_l0"] = torch.zeros_like(bias)
    states, last = torch.func.functional_call(layer, names, (x, None if h0 is None else h0[None]))
    return states, last[0]


def _rnn_inputs(
    rng: Randomness, batch: int, steps: int, d_in: int, d_h: int, dtype: torch.dtype = torch.float64
) -> list[Tensor]:
    x = rng.normal(batch, steps, d_in, dtype=dtype)
    shapes = ((d_h, d_in), (d_h, d_h), (d_h,), (batch, d_h))
    return [x, *(rng.normal(*shape, dtype=dtype, std=0.5) for shape in shapes)]


def _compare_rnn(student: Student, *arguments: Tensor) -> None:
    states, last = pair(student.rnn_forward(*arguments), "(states, last)")
    untouched(student)
    expected_states, expected_last = _rnn(*arguments)
    close(states, expected_states, "the states")
    close(last, expected_last, "the last state")


@hidden("rnn_forward", weight=3)
def states_are_pytorchs(student: Student, rng: Randomness) -> None:
    """Starting from zeros, all states and the last one are those of PyTorch's RNN."""
    for _ in range(2):
        _compare_rnn(student, *_rnn_inputs(rng, *rng.sizes(4))[:4])


@hidden("rnn_forward", weight=2)
def h0_is_where_it_starts(student: Student, rng: Randomness) -> None:
    """Starts from h0 where it is given, one for each sequence, by position or by name."""
    arguments = _rnn_inputs(rng, *rng.sizes(4))
    _compare_rnn(student, *arguments)
    *others, h0 = arguments
    states, last = pair(student.rnn_forward(*others, h0=h0), "(states, last)")
    untouched(student)
    close(states, _rnn(*arguments)[0], "the states")
    states, last = pair(student.rnn_forward(*others, h0=None), "(states, last)")
    close(last, _rnn(*others)[1], "the last state where h0 is None")


@hidden("rnn_forward", weight=2)
def rnn_sizes_of_every_kind(student: Student, rng: Randomness) -> None:
    """Works for one sequence, one step, one feature, one unit, equal widths, and on tensors that aren't contiguous."""
    batch, steps, d_in, d_h = rng.sizes(4)
    one_of_each = ((1, steps, d_in, d_h), (batch, 1, d_in, d_h), (batch, steps, 1, d_h), (batch, steps, d_in, 1))
    for sizes in (*one_of_each, (batch, steps, d_h, d_h)):
        _compare_rnn(student, *_rnn_inputs(rng, *sizes))
        _compare_rnn(student, *_rnn_inputs(rng, *sizes)[:4])
    arguments = _rnn_inputs(rng, batch, steps, d_in, d_h)
    arguments[0] = rng.normal(steps, batch, d_in).transpose(0, 1)
    arguments[1] = rng.normal(d_in, d_h, std=0.5).T
    _compare_rnn(student, *arguments)
    _compare_rnn(student, *_rnn_inputs(rng, 2, 40, d_in, d_h))


@hidden("rnn_forward")
def rnn_keeps_dtypes(student: Student, rng: Randomness) -> None:
    """States have the dtype of the inputs, with its full precision, with h0 and without."""
    batch, steps, _d_in, d_h = sizes = rng.sizes(4)
    for dtype in (torch.float32, torch.float64):
        arguments = _rnn_inputs(rng, *sizes, dtype)
        _compare_rnn(student, *arguments)
        _compare_rnn(student, *arguments[:4])
    states, last = pair(student.rnn_forward(*_rnn_inputs(rng, *sizes, torch.bfloat16)[:4]), "(states, last)")
    _only_dtype(states, torch.bfloat16, (batch, steps, d_h))
    _only_dtype(last, torch.bfloat16, (batch, d_h))


@hidden("rnn_forward", weight=2)
def gradients_flow_back_through_time(student: Student, rng: Randomness) -> None:
    """Gradients flow back from states and from the last state to inputs, weights, bias and h0, through every step."""
    for part in (0, 1):
        inputs = _learning(*_rnn_inputs(rng, *rng.sizes(4)))
        found = pair(student.rnn_forward(*inputs), "(states, last)")[part]
        _same_gradients(found, _rnn(*inputs)[part], inputs, rng)


# lstm_cell


def _lstm(x: Tensor, state: tuple, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Give what nn.LSTMCell gives."""
    cell = nn.LSTMCell(x.shape[-1], weight_hh.shape[1], dtype=x.dtype)
    names = {"weight_ih": weight_ih, "weight_hh": weight_hh, "bias_ih": bias, "bias_hh": torch.zeros_like(bias)}
    return torch.func.functional_call(cell, names, (x, tuple(state)))


def _lstm_inputs(rng: Randomness, batch: int, d_in: int, d_h: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    states = [rng.normal(batch, d_h, dtype=dtype) for _ in range(2)]
    shapes = ((4 * d_h, d_in), (4 * d_h, d_h), (4 * d_h,))
    return [rng.normal(batch, d_in, dtype=dtype), *states, *(rng.normal(*s, dtype=dtype, std=0.7) for s in shapes)]


def _compare_lstm(student: Student, x: Tensor, h: Tensor, c: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
    found_h, found_c = pair(student.lstm_cell(x, (h, c), *weights), "(h, c)")
    untouched(student)
    expected_h, expected_c = _lstm(x, (h, c), *weights)
    close(found_c, expected_c, "the cell state")
    close(found_h, expected_h, "the hidden state")
    return found_h, found_c


@hidden("lstm_cell", weight=3)
def one_step_is_pytorchs(student: Student, rng: Randomness) -> None:
    """Hidden and cell state are those of PyTorch's LSTMCell, with gates in the order i, f, g, o."""
    for _ in range(2):
        _compare_lstm(student, *_lstm_inputs(rng, *rng.sizes(3)))


@hidden("lstm_cell", weight=2)
def gates_open_and_close(student: Student, rng: Randomness) -> None:
    """With a gate fully open or closed, what it guards passes fully or not at all, also where c is large."""
    batch, d_in, d_h = rng.sizes(3)
    x, h, c, weight_ih, weight_hh, _bias = _lstm_inputs(rng, batch, d_in, d_h)
    for pattern in ((-60.0, 60.0, 0.4, 60.0), (60.0, -60.0, 0.4, 60.0), (60.0, 60.0, -0.7, -60.0)):
        bias = torch.tensor(pattern, dtype=torch.float64).repeat_interleave(d_h)
        _compare_lstm(student, x, h, c, weight_ih / 20, weight_hh / 20, bias)
    _compare_lstm(student, x, h, 5 * c, *_lstm_inputs(rng, batch, d_in, d_h)[3:])


@hidden("lstm_cell", weight=2)
def lstm_sizes_of_every_kind(student: Student, rng: Randomness) -> None:
    """Works for one sequence, four sequences, one feature, one unit, for as many features as units, and not contiguous."""
    batch, d_in, d_h = rng.sizes(3)
    for sizes in ((1, d_in, d_h), (4, d_in, d_h), (batch, 1, d_h), (batch, d_in, 1), (1, 1, 1), (batch, d_h, d_h)):
        _compare_lstm(student, *_lstm_inputs(rng, *sizes))
    arguments = _lstm_inputs(rng, batch, d_in, d_h)
    arguments[0] = rng.normal(d_in, batch).T
    arguments[3] = rng.normal(d_in, 4 * d_h, std=0.7).T
    _compare_lstm(student, *arguments)


@hidden("lstm_cell")
def steps_can_be_chained(student: Student, rng: Randomness) -> None:
    """Fed with its own result, step after step, the cell is PyTorch's LSTM."""
    batch, d_in, d_h = rng.sizes(3)
    _x, h, c, *weights = _lstm_inputs(rng, batch, d_in, d_h)
    state = wanted = (h, c)
    for _ in range(4):
        x = rng.normal(batch, d_in)
        state = pair(student.lstm_cell(x, state, *weights), "(h, c)")
        wanted = _lstm(x, wanted, *weights)
        close(state[0], wanted[0], "the hidden state")
        close(state[1], wanted[1], "the cell state")


@hidden("lstm_cell")
def lstm_keeps_dtypes(student: Student, rng: Randomness) -> None:
    """Both states have the dtype of the inputs, with its full precision."""
    batch, _d_in, d_h = sizes = rng.sizes(3)
    for dtype in (torch.float32, torch.float64):
        _compare_lstm(student, *_lstm_inputs(rng, *sizes, dtype))
    x, h, c, *weights = _lstm_inputs(rng, *sizes, torch.bfloat16)
    for found in pair(student.lstm_cell(x, (h, c), *weights), "(h, c)"):
        _only_dtype(found, torch.bfloat16, (batch, d_h))


@hidden("lstm_cell", weight=2)
def gradients_flow_back_through_the_cell(student: Student, rng: Randomness) -> None:
    """Gradients flow back from h and from c to the input, to both old states and to all weights."""
    for part in (0, 1):
        inputs = _learning(*_lstm_inputs(rng, *rng.sizes(3)))
        x, h, c, *weights = inputs
        found = pair(student.lstm_cell(x, (h, c), *weights), "(h, c)")[part]
        expected = _lstm(x, (h, c), *weights)[part]
        _same_gradients(found, expected, inputs, rng)


# gradient_by_distance


def _left_alone(student: Student) -> None:
    untouched(student)
    expect("requires_grad" not in student.left, "x still asks for gradients afterwards")
    expect("grad" not in student.left, "x carries a gradient afterwards")


def _fading(weight: Tensor, decay: float, x: Tensor) -> Tensor:
    """Give the norms for a fading sum: the gradient at distance d is decay^d times the row sums of the weight."""
    steps = x.shape[1]
    distances = torch.arange(steps - 1, -1, -1, dtype=x.dtype)
    return torch.tensor(decay, dtype=x.dtype) ** distances * weight.sum(dim=1).norm()


def _squared(scale: Tensor, x: Tensor) -> Tensor:
    """Give the norms for a squared memory: the gradient at step t is twice scale[t] times the weighted sum of all steps."""
    total = torch.einsum("t,btd->bd", scale, x)
    return (2 * scale.abs()[None, :] * total.norm(dim=1)[:, None]).mean(dim=0)


@hidden("gradient_by_distance", weight=3)
def a_fading_sum_fades(student: Student, rng: Randomness) -> None:
    """For a sum that fades by a known factor, the norms are powers of that factor, the last step's the largest."""
    for decay in (0.5, 0.9, 1.3):
        batch, steps, d_in, d_h = rng.sizes(4)
        weight, x = rng.normal(d_in, d_h), rng.normal(batch, steps, d_in)
        norms = student.gradient_by_distance(student.host("fading_sum", weight, decay), x)
        close(norms, _fading(weight, decay, x), "the norms")


@hidden("gradient_by_distance", weight=3)
def sequences_count_one_by_one(student: Student, rng: Randomness) -> None:
    """Where the gradient differs from sequence to sequence, the norms are averaged, not the gradients."""
    for _ in range(2):
        batch, steps, d = rng.sizes(3)
        scale, x = rng.normal(steps), rng.normal(batch, steps, d)
        norms = student.gradient_by_distance(student.host("squared_memory", scale), x)
        close(norms, _squared(scale, x), "the norms")


@hidden("gradient_by_distance", weight=2)
def x_comes_back_as_it_was(student: Student, rng: Randomness) -> None:
    """Afterwards x holds the same numbers, asks for no gradients and carries none, and a second call gives the same."""
    batch, steps, d = rng.sizes(3)
    scale, x = rng.normal(steps), rng.normal(batch, steps, d)
    host = student.host("squared_memory", scale)
    for _ in range(2):
        norms = student.gradient_by_distance(host, x)
        _left_alone(student)
        close(norms, _squared(scale, x), "the norms")


@hidden("gradient_by_distance", weight=2)
def recurrent_layers_are_measured(student: Student, rng: Randomness) -> None:
    """For an RNN and an LSTM, the norms are those that autograd finds."""
    for kind in ("rnn", "lstm"):
        batch, steps, d_in, d_h = rng.sizes(4)
        host = student.host("recurrent", kind, d_in, d_h).to("float64")
        theirs = {"rnn": nn.RNN, "lstm": nn.LSTM}[kind](d_in, d_h, batch_first=True, dtype=torch.float64)
        weights = {name: rng.normal(*value.shape, std=0.5) for name, value in theirs.named_parameters()}
        host.load({f"layer.{name}": value for name, value in weights.items()})
        x = rng.normal(batch, steps, d_in)
        (probe,) = _learning(x)
        last = torch.func.functional_call(theirs, weights, (probe,))[0][:, -1].sum()
        (gradient,) = torch.autograd.grad(last, probe)
        expected = gradient.square().sum(-1).sqrt().mean(0)
        close(student.gradient_by_distance(host, x), expected, "the norms")
        _left_alone(student)


@hidden("gradient_by_distance", weight=2)
def norms_for_sizes_and_dtypes_of_every_kind(student: Student, rng: Randomness) -> None:
    """Works for one sequence, one step, one feature, where nothing arrives at all, and not contiguous; keeps the dtype."""
    batch, steps, d_in, d_h = rng.sizes(4)
    for front, width in (((1, steps), d_in), ((batch, 1), d_in), ((batch, steps), 1)):
        weight, x = rng.normal(width, d_h), rng.normal(*front, width)
        norms = student.gradient_by_distance(student.host("fading_sum", weight, 0.6), x)
        close(norms, _fading(weight, 0.6, x), "the norms")
    weight, x = rng.normal(d_in, d_h), rng.normal(steps, batch, d_in).transpose(0, 1)
    norms = student.gradient_by_distance(student.host("fading_sum", weight, 0.0), x)
    close(norms, _fading(weight, 0.0, x), "the norms where only the last step counts")
    scale, x = rng.normal(steps, dtype=torch.float32), rng.normal(batch, steps, d_in, dtype=torch.float32)
    close(student.gradient_by_distance(student.host("squared_memory", scale), x), _squared(scale, x), "the norms")


# layer_cost


def _layers(n: int, k: int) -> int:
    """Give the least number of layers whose reach k^layers is at least n."""
    layers = 0
    while k**layers < n:
        layers += 1
    return layers


def _compare_cost(student: Student, expected: tuple[int, int, int], *arguments: Any, **named: Any) -> None:
    cost = as_fields(student.layer_cost(*arguments, **named))
    expect(isinstance(cost, tuple) and len(cost) == 3, "a LayerCost of three fields should be returned")
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in cost)
    expect(whole, "all three fields should be whole numbers (int)")
    for value, correct, name in zip(cost, expected, ("operations", "sequential", "path"), strict=True):
        expect(value == correct, f"wrong number: {name}")


@hidden("layer_cost", weight=3)
def attention_and_recurrence_are_table_1(student: Student, rng: Randomness) -> None:
    """Self-attention and recurrence cost what Table 1 says, for any length and width."""
    for _ in range(3):
        n, d, k = rng.sizes(3, 3, 90)
        _compare_cost(student, (n * n * d, 1, 1), "self_attention", n, d)
        _compare_cost(student, (n * d * d, n, n), "recurrent", n, d)
        _compare_cost(student, (n * n * d, 1, 1), "self_attention", n, d, k)
        _compare_cost(student, (n * d * d, n, n), kind="recurrent", n=n, d=d, k=k)


@hidden("layer_cost", weight=3)
def convolutions_are_table_1(student: Student, rng: Randomness) -> None:
    """Convolutions cost what Table 1 says, for any kernel width, and for 3 where none is given."""
    for _ in range(4):
        n, d = rng.sizes(2, 5, 90)
        k = rng.integer(2, 7)
        _compare_cost(student, (k * n * d * d, 1, _layers(n, k)), "convolution", n, d, k)
        _compare_cost(student, (k * n * d * d, 1, _layers(n, k)), "convolution", n, d, k=k)
        _compare_cost(student, (3 * n * d * d, 1, _layers(n, 3)), "convolution", n, d)
    _compare_cost(student, (11 * 5 * 49, 1, 1), "convolution", 5, 7, 11)


@hidden("layer_cost", weight=2)
def paths_are_exact_at_powers(student: Student, rng: Randomness) -> None:
    """The path of a convolution is exact at every power of k and on either side of it."""
    d = rng.integer(2, 9)
    for k in (2, 3, 5, 6, 7, 10):
        for power in range(2, 7):
            for n in (k**power - 1, k**power, k**power + 1):
                _compare_cost(student, (k * n * d * d, 1, _layers(n, k)), "convolution", n, d, k)


@hidden("layer_cost", weight=2)
def huge_numbers_are_exact(student: Student, rng: Randomness) -> None:
    """Numbers that no float can hold are exact too, operations as well as paths."""
    for k, power in ((3, rng.integer(36, 60)), (7, rng.integer(20, 40)), (2, rng.integer(54, 90))):
        for n in (k**power - 1, k**power, k**power + 1):
            d = rng.integer(1001, 9999)
            _compare_cost(student, (k * n * d * d, 1, _layers(n, k)), "convolution", n, d, k)
            _compare_cost(student, (n * n * d, 1, 1), "self_attention", n, d)
            _compare_cost(student, (n * d * d, n, n), "recurrent", n, d)


@hidden("layer_cost")
def other_kinds_are_refused(student: Student, rng: Randomness) -> None:
    """Any other kind raises ValueError, and the three known ones don't."""
    n, d = rng.sizes(2, 3, 90)
    for kind in ("pooling", "fully_connected", ""):
        refused(lambda kind=kind: student.layer_cost(kind, n, d))
    _compare_cost(student, (n * n * d, 1, 1), "self_attention", n, d)
    _compare_cost(student, (n * d * d, n, n), "recurrent", n, d)

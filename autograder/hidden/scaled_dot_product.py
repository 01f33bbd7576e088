"""Hidden tests of chapter 02. References are PyTorch's own operators, or the formula where they disagree with the contract."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.hidden import hidden
from autograder.hidden.expectations import close, expect, finite, gradients, pair, untouched
from autograder.hidden.randomness import Randomness
from utils.student import Student

inf = float("inf")
# In float64. Wide enough for a root or an epsilon in single precision, as in `torch.sqrt(torch.tensor(d_k))`; that numbers
# themselves aren't cut to single precision is shown by inputs that lose far more by it.
ATTENTION = {"rtol": 1e-6, "atol": 1e-7}
SOFTMAX = {"rtol": 1e-7, "atol": 1e-9}


def _learning(*tensors: Tensor) -> list[Tensor]:
    return [tensor.clone().requires_grad_() for tensor in tensors]


def _outer_products(q: Tensor, k: Tensor) -> Tensor:
    return (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(-1)  # not by matmul, as answers do


# attention_scores


@hidden("attention_scores", weight=3)
def every_pair_is_compared(student: Student, rng: Randomness) -> None:
    """Each entry is the plain dot product of one query with one key, for any numbers of queries, keys and features."""
    batch, t_q, t_k, d_k = rng.sizes(4)
    for size in (batch, 1):
        q, k = rng.normal(size, t_q, d_k), rng.normal(size, t_k, d_k)
        close(student.attention_scores(q, k), _outer_products(q, k), "the scores")
        untouched(student)
    q, k = rng.normal(batch, t_k, d_k), rng.normal(batch, t_q, d_k)  # more keys than queries, and the other way round
    close(student.attention_scores(q, k), _outer_products(q, k), "the scores")
    q, k = rng.normal(batch, 1, d_k), rng.normal(batch, 1, d_k)
    close(student.attention_scores(q, k), _outer_products(q, k), "the scores for one query and one key")


@hidden("attention_scores", weight=2)
def any_dimensions_in_front(student: Student, rng: Randomness) -> None:
    """Works without a batch, and with batch and heads (or more) in front, contiguous or not."""
    batch, heads, t_q, t_k, d_k = rng.sizes(5)
    for front in ((), (batch, heads), (2, 1, heads)):
        q, k = rng.normal(*front, t_q, d_k), rng.normal(*front, t_k, d_k)
        close(student.attention_scores(q, k), _outer_products(q, k), "the scores")
    q = rng.normal(batch, t_q, heads, d_k).transpose(1, 2)
    k = rng.normal(batch, t_k, heads, d_k).transpose(1, 2)
    close(student.attention_scores(q, k), _outer_products(q, k), "the scores of tensors that aren't contiguous")


@hidden("attention_scores")
def dtypes_are_kept(student: Student, rng: Randomness) -> None:
    """The scores have the dtype of the inputs, with its full precision."""
    t_q, t_k, d_k = rng.sizes(3)
    for dtype in (torch.float32, torch.float64):
        q, k = rng.normal(t_q, d_k, dtype=dtype), rng.normal(t_k, d_k, dtype=dtype)
        close(student.attention_scores(q, k), _outer_products(q, k), "the scores")
    q, k = rng.normal(2, t_q, d_k, dtype=torch.bfloat16), rng.normal(2, t_k, d_k, dtype=torch.bfloat16)
    _only_dtype(student.attention_scores(q, k), torch.bfloat16, (2, t_q, t_k))


@hidden("attention_scores")
def gradients_reach_queries_and_keys(student: Student, rng: Randomness) -> None:
    """Gradients flow back to queries and keys."""
    batch, t_q, t_k, d_k = rng.sizes(4)
    q, k = _learning(rng.normal(batch, t_q, d_k), rng.normal(batch, t_k, d_k))
    _same_gradients(student.attention_scores, _outer_products, [q, k], rng)


# softmax


@hidden("softmax", weight=3)
def the_formula_holds_along_every_dimension(student: Student, rng: Randomness) -> None:
    """Gives eˣ divided by its sum, along whichever dimension is asked for."""
    a, b, c = rng.sizes(3)
    x = rng.normal(a, b, c, std=2.0)
    close(student.softmax(x), F.softmax(x, -1), **SOFTMAX)
    untouched(student)
    for dim in (0, 1, 2, -1, -2, -3):
        close(student.softmax(x, dim=dim), F.softmax(x, dim), **SOFTMAX)
    vector, deep = rng.normal(b), rng.normal(2, a, 1, b, c)
    close(student.softmax(vector), F.softmax(vector, -1), **SOFTMAX)
    close(student.softmax(deep, 3), F.softmax(deep, 3), **SOFTMAX)
    close(student.softmax(deep, 2), torch.ones_like(deep), "softmax along a dimension of size 1", **SOFTMAX)


@hidden("softmax", weight=2)
def large_numbers_overflow_nothing(student: Student, rng: Randomness) -> None:
    """Scores of 10,000 and more, positive or negative, overflow nothing, and rows far apart don't disturb each other."""
    rows, width = rng.sizes(2)
    for level in (1e4, -1e4):
        x = level + rng.normal(rows, width, dtype=torch.float32, std=2.0)
        close(student.softmax(x), F.softmax(x, -1), rtol=1e-3, atol=1e-3)
    spread = torch.linspace(-2e4, 2e4, rows).unsqueeze(1) + rng.normal(rows, width, dtype=torch.float32)
    close(student.softmax(spread), F.softmax(spread, -1), rtol=4e-3, atol=4e-3)
    columns = spread.T.contiguous()
    close(student.softmax(columns, 0), F.softmax(columns, 0), rtol=4e-3, atol=4e-3)
    huge = rng.normal(rows, width, dtype=torch.float32, std=1e20)
    finite(student.softmax(huge), "the result for huge scores")
    exact = 3e4 + rng.normal(rows, width)
    close(student.softmax(exact), F.softmax(exact, -1), rtol=1e-6, atol=1e-9)


@hidden("softmax", weight=2)
def minus_infinity_gets_nothing(student: Student, rng: Randomness) -> None:
    """Entries of −∞ get 0, and a slice of nothing but −∞ gives zeros, never NaN."""
    rows, width = rng.sizes(2)
    x = rng.normal(rows, width).masked_fill(~rng.mask(rows, width), -inf)
    close(student.softmax(x), F.softmax(x, -1), "the result with entries of −∞", **SOFTMAX)
    untouched(student)
    x[rng.integer(0, rows - 1)] = -inf
    close(student.softmax(x), F.softmax(x, -1).nan_to_num(0.0), "the result with a slice of nothing but −∞", **SOFTMAX)
    close(
        student.softmax(x.T.contiguous(), 0),
        F.softmax(x.T, 0).nan_to_num(0.0),
        "the result along dimension 0",
        **SOFTMAX,
    )
    nothing = torch.full((2, width), -inf)
    close(student.softmax(nothing), torch.zeros(2, width), "the result of nothing but −∞")


@hidden("softmax")
def softmax_keeps_dtypes(student: Student, rng: Randomness) -> None:
    """The result has the dtype of the input, with its full precision."""
    rows, width = rng.sizes(2)
    x = rng.normal(rows, width, dtype=torch.float32)
    close(student.softmax(x), F.softmax(x, -1))
    x = 100 + rng.normal(rows, width)  # single precision would lose five digits here
    close(student.softmax(x), F.softmax(x, -1), **SOFTMAX)
    _only_dtype(student.softmax(rng.normal(rows, width, dtype=torch.bfloat16)), torch.bfloat16, (rows, width))


@hidden("softmax")
def gradients_are_those_of_softmax(student: Student, rng: Randomness) -> None:
    """Gradients are right, with entries of −∞ too."""
    a, b, c = rng.sizes(3)
    (x,) = _learning(rng.normal(a, b, c))
    _same_gradients(student.softmax, lambda x: F.softmax(x, -1), [x], rng, **SOFTMAX)
    (x,) = _learning(rng.normal(a, b).masked_fill(~rng.mask(a, b), -inf))
    _same_gradients(student.softmax, lambda x: F.softmax(x, -1), [x], rng, **SOFTMAX)


# softmax_jacobian


def _true_jacobian(p: Tensor) -> Tensor:
    return torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2)


@hidden("softmax_jacobian", weight=3)
def every_slope_is_right(student: Student, rng: Randomness) -> None:
    """Entry (i, j) is the derivative of probability i with respect to score j, as autograd finds it."""
    for _ in range(2):
        x = rng.normal(rng.integer(3, 9))
        expected = torch.autograd.functional.jacobian(lambda x: F.softmax(x, -1), x)
        close(student.softmax_jacobian(F.softmax(x, -1)), expected)
        untouched(student)
    close(student.softmax_jacobian(torch.ones(1)), torch.zeros(1, 1), "the slope for a single score")


@hidden("softmax_jacobian", weight=2)
def one_matrix_for_each_distribution(student: Student, rng: Randomness) -> None:
    """Any dimensions in front give one matrix for each distribution."""
    a, b, n = rng.sizes(3)
    for front in ((a,), (a, b), (1,), (2, b, a)):
        p = F.softmax(rng.normal(*front, n), -1)
        close(student.softmax_jacobian(p), _true_jacobian(p))


@hidden("softmax_jacobian")
def certainty_has_no_slope(student: Student, rng: Randomness) -> None:
    """Where one probability is 1, or some are 0, the slopes are right too."""
    n = rng.integer(3, 8)
    p = torch.eye(n, dtype=torch.float64)[rng.order(n)]
    close(student.softmax_jacobian(p), torch.zeros(n, n, n, dtype=torch.float64))
    p = F.softmax(rng.normal(n), -1)
    p[rng.integer(0, n - 1)] = 0
    p = p / p.sum()
    close(student.softmax_jacobian(p), _true_jacobian(p))


@hidden("softmax_jacobian")
def jacobian_keeps_dtypes(student: Student, rng: Randomness) -> None:
    """The result has the dtype of the input, with its full precision."""
    a, n = rng.sizes(2)
    for dtype in (torch.float32, torch.float64):
        p = F.softmax(rng.normal(a, n), -1).to(dtype)
        close(student.softmax_jacobian(p), _true_jacobian(p))
    p = F.softmax(rng.normal(a, n), -1).to(torch.bfloat16)
    _only_dtype(student.softmax_jacobian(p), torch.bfloat16, (a, n, n))


@hidden("softmax_jacobian")
def jacobian_can_be_differentiated(student: Student, rng: Randomness) -> None:
    """Gradients flow back through the result."""
    a, n = rng.sizes(2)
    (p,) = _learning(F.softmax(rng.normal(a, n), -1))
    found, expected = student.softmax_jacobian(p), _true_jacobian(p)
    close(found, expected)
    cotangent = rng.normal(a, n, n)
    (arrived,) = gradients(found, cotangent, [p])
    (wanted,) = torch.autograd.grad(expected, [p], cotangent)
    # Probabilities add up to 1: a gradient means something only along that plane.
    close(*(gradient - gradient.mean(-1, keepdim=True) for gradient in (arrived, wanted)), "the gradient")


# padding_mask


def _true_padding(lengths: Tensor, max_len: int) -> Tensor:
    rows = [[[position < length for position in range(max_len)]] for length in lengths.tolist()]
    return torch.tensor(rows, dtype=torch.bool)


@hidden("padding_mask", weight=3)
def real_tokens_are_true(student: Student, rng: Randomness) -> None:
    """True at real tokens, False at padding, of shape (B, 1, max_len), also where nothing is padded."""
    batch, max_len = rng.sizes(2)
    for extra in (0, 3):
        lengths = rng.integers(1, max_len, batch)
        lengths[rng.integer(0, batch - 1)] = max_len
        close(student.padding_mask(lengths, max_len + extra), _true_padding(lengths, max_len + extra), "the mask")
        untouched(student)
    full = torch.full((batch,), max_len)
    close(student.padding_mask(full, max_len), _true_padding(full, max_len), "the mask of full sequences")


@hidden("padding_mask", weight=2)
def edges_hold(student: Student, rng: Randomness) -> None:
    """Sequences of length 0, a batch of one, and a width of one give the right mask."""
    max_len = rng.integer(4, 9)
    lengths = torch.cat([torch.tensor([0]), rng.integers(0, max_len, 3)])[rng.order(4)]
    close(student.padding_mask(lengths, max_len), _true_padding(lengths, max_len), "the mask")
    one = rng.integers(1, max_len - 1, 1)
    close(student.padding_mask(one, max_len), _true_padding(one, max_len), "the mask of one sequence")
    narrow = torch.tensor([1, 0, 1])
    close(student.padding_mask(narrow, 1), _true_padding(narrow, 1), "the mask of width 1")
    square = rng.integers(0, max_len, max_len)
    close(student.padding_mask(square, max_len), _true_padding(square, max_len), "the mask where B = max_len")


# scaled_dot_product_attention


def _attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The formula of section 3.2.1, with zeros where nothing may be attended to."""
    scores = _outer_products(q, k) / math.sqrt(q.shape[-1])
    if mask is None:
        weights = F.softmax(scores, -1)
    else:
        open_rows = mask.any(-1, keepdim=True)
        hidden_keys = (~mask & open_rows).expand(scores.shape)
        weights = F.softmax(scores.masked_fill(hidden_keys, -inf), -1) * open_rows
    return weights @ v, weights


def _qkv(rng: Randomness, front: tuple[int, ...], dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    t_q, t_k, d_k, d_v = rng.sizes(4)
    shapes = ((*front, t_q, d_k), (*front, t_k, d_k), (*front, t_k, d_v))
    return tuple(rng.normal(*shape, dtype=dtype) for shape in shapes)


def _compare(student: Student, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, **tolerance: float) -> None:
    arguments = (q, k, v) if mask is None else (q, k, v, mask)
    output, weights = pair(student.scaled_dot_product_attention(*arguments), "(output, weights)")
    untouched(student)
    expected_output, expected_weights = _attention(q, k, v, mask)
    if q.dtype == torch.float64:
        tolerance = ATTENTION | tolerance
    close(weights, expected_weights, "the weights", **tolerance)
    close(output, expected_output, "the output", **tolerance)


@hidden("scaled_dot_product_attention", weight=3)
def output_is_pytorchs(student: Student, rng: Randomness) -> None:
    """Without a mask, output and weights are those of softmax(q kᵀ / √d_k) v."""
    for front in ((2,), (3,)):
        q, k, v = _qkv(rng, front)
        output, weights = pair(student.scaled_dot_product_attention(q, k, v), "(output, weights)")
        untouched(student)
        close(output, F.scaled_dot_product_attention(q, k, v), "the output", **ATTENTION)
        close(weights, _attention(q, k, v)[1], "the weights", **ATTENTION)
    wide = [rng.normal(2, t, 40) for t in rng.sizes(2)]
    _compare(student, wide[0], wide[1], rng.normal(2, wide[1].shape[1], 5))


@hidden("scaled_dot_product_attention", weight=2)
def shapes_of_every_kind(student: Student, rng: Randomness) -> None:
    """Works without a batch, with heads, for one query or one key, and on tensors that aren't contiguous."""
    for front in ((), (2, 3), (2, 1, 3), (1,)):
        _compare(student, *_qkv(rng, front))
    q, k, v = _qkv(rng, (2,))
    _compare(student, k, q, rng.normal(2, q.shape[1], v.shape[-1]))  # more keys than queries, and the other way round
    _compare(student, q[:, :1], k, v)
    _compare(student, q, k[:, :1], v[:, :1])
    batch, heads, t_q, t_k, d_k = rng.sizes(5, 2, 9)
    shapes = ((batch, t_q, heads, d_k), (batch, t_k, heads, d_k), (batch, t_k, heads, d_k + 1))
    _compare(student, *(rng.normal(*shape).transpose(1, 2) for shape in shapes))


@hidden("scaled_dot_product_attention", weight=3)
def masks_hide_keys(student: Student, rng: Randomness) -> None:
    """Keys that the mask marks False get weight 0, and the others share the rest, for masks that broadcast in any way."""
    q, k, v = _qkv(rng, (2,))
    t_q, t_k = q.shape[-2], k.shape[-2]
    for shape in ((t_q, t_k), (2, t_q, t_k), (2, 1, t_k), (1, t_k)):
        _compare(student, q, k, v, rng.mask(*shape))
    q, k, v = _qkv(rng, (3, 2))
    t_q, t_k = q.shape[-2], k.shape[-2]
    for shape in ((t_q, t_k), (3, 1, 1, t_k), (3, 2, t_q, t_k), (3, 1, t_q, t_k), (2, 1, t_k)):
        _compare(student, q, k, v, rng.mask(*shape))
    q, k, v = _qkv(rng, ())
    _compare(student, q, k, v, torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool))


@hidden("scaled_dot_product_attention", weight=2)
def nothing_to_attend_to_gives_zeros(student: Student, rng: Randomness) -> None:
    """A query that may attend to nothing gets weights 0 and output 0, never NaN."""
    q, k, v = _qkv(rng, (2,))
    t_q, t_k = q.shape[-2], k.shape[-2]
    mask = rng.mask(2, t_q, t_k)
    mask[0, rng.integer(0, t_q - 1)] = False
    mask[1, rng.integer(0, t_q - 1)] = False
    _compare(student, q, k, v, mask)
    _compare(student, q, k, v, mask[0])
    padding = rng.mask(2, 1, t_k)
    padding[rng.integer(0, 1)] = False
    _compare(student, q, k, v, padding)
    _compare(student, q.float(), k.float(), v.float(), torch.zeros(t_q, t_k, dtype=torch.bool))


@hidden("scaled_dot_product_attention", weight=2)
def extreme_scores_stay_exact(student: Student, rng: Randomness) -> None:
    """Very large and very negative scores overflow nothing, and no masked key shines through."""
    t_q, t_k, d_k, d_v = rng.sizes(4)
    direction = rng.normal(d_k)
    direction = direction / direction.norm() * 100 * d_k**0.25
    for sign in (-1, 1):
        q = 4 * direction + rng.normal(2, t_q, d_k) / 100
        k = sign * direction + rng.normal(2, t_k, d_k) / 200
        _compare(student, q, k, rng.normal(2, t_k, d_v), rng.mask(t_q, t_k), rtol=1e-5, atol=1e-7)
    q, k, v = _qkv(rng, (2,))
    mask = rng.mask(k.shape[-2])
    loud = k.masked_fill(~mask.unsqueeze(-1), 0) - 1e4 * q.mean(1, keepdim=True) * (~mask).unsqueeze(-1)
    _compare(student, q, -loud, v, mask.unsqueeze(0))
    q, k, v = (t.float() for t in _qkv(rng, (2,)))
    output, weights = pair(student.scaled_dot_product_attention(100 * q, 100 * k, v), "(output, weights)")
    expected_output, expected_weights = _attention(100 * q, 100 * k, v)
    close(weights, expected_weights, "the weights", rtol=5e-3, atol=5e-3)
    close(output, expected_output, "the output", rtol=2e-2, atol=2e-2)


@hidden("scaled_dot_product_attention")
def attention_keeps_dtypes(student: Student, rng: Randomness) -> None:
    """Output and weights have the dtype of the inputs, with its full precision, masked or not."""
    for dtype in (torch.float32, torch.float64):
        q, k, v = _qkv(rng, (2,), dtype)
        _compare(student, q, k, v)
        _compare(student, q, k, v, rng.mask(q.shape[-2], k.shape[-2]))
    q, k, v = _qkv(rng, (2,))
    _compare(student, q, k, v + 1e6, rtol=0, atol=1e-4)  # single precision would keep one digit after the point
    q, k, v = _qkv(rng, (2,), torch.bfloat16)
    mask = rng.mask(q.shape[-2], k.shape[-2])
    output, weights = pair(student.scaled_dot_product_attention(q, k, v, mask), "(output, weights)")
    _only_dtype(output, torch.bfloat16, (2, q.shape[-2], v.shape[-1]))
    _only_dtype(weights, torch.bfloat16, (2, q.shape[-2], k.shape[-2]))


@hidden("scaled_dot_product_attention", weight=2)
def gradients_reach_q_k_and_v(student: Student, rng: Randomness) -> None:
    """Gradients flow back to q, k and v from output and weights, and are never NaN, not even for an empty row."""
    q, k, v = _qkv(rng, (2,))
    mask = rng.mask(q.shape[-2], k.shape[-2])
    mask[rng.integer(0, q.shape[-2] - 1)] = False
    for chosen in (None, mask):
        for part in (0, 1):
            inputs = _learning(q, k, v)[: 3 - part]
            given = inputs if part == 0 else [*inputs, v]
            arguments = given if chosen is None else [*given, chosen]
            found = pair(student.scaled_dot_product_attention(*arguments), "(output, weights)")[part]
            expected = _attention(*given, chosen)[part]
            _compare_gradients(found, expected, inputs, rng, **ATTENTION)


# shared


def _only_dtype(found: object, dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    expect(isinstance(found, Tensor) and found.dtype == dtype, "the result has another dtype than the inputs")
    expect(tuple(found.shape) == shape, "the result has the wrong shape")


def _same_gradients(
    answer: object, reference: object, inputs: list[Tensor], rng: Randomness, **tolerance: float
) -> None:
    _compare_gradients(answer(*inputs), reference(*inputs), inputs, rng, **tolerance)


def _compare_gradients(
    found: object, expected: Tensor, inputs: list[Tensor], rng: Randomness, **tolerance: float
) -> None:
    close(found, expected, **tolerance)
    cotangent = rng.normal(*expected.shape)
    arrived = gradients(found, cotangent, inputs)
    wanted = torch.autograd.grad(expected, inputs, cotangent, allow_unused=True)
    for gradient, correct in zip(arrived, wanted, strict=True):
        close(gradient, correct, "the gradient", **tolerance)

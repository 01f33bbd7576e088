"""Hidden tests of chapter 05. References are the paper's formulas, written entry by entry, and the rotary paper's rotation."""

import math

import torch
from torch import Tensor

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, gradients, refused, untouched
from autograder.hidden.randomness import Randomness
from utils.execution import LearnerError
from utils.student import HeldObject, Student

EXACT = {"rtol": 0.0, "atol": 1e-4}  # what the contract promises of the encoding


def _rates(d_model: int, base: float) -> Tensor:
    """One rate per column, in float64; the two columns of a pair share it."""
    return torch.tensor([base ** (-(column - column % 2) / d_model) for column in range(d_model)], dtype=torch.float64)


def _encoding(positions: Tensor, d_model: int, base: float = 10_000.0) -> Tensor:
    """The encoding of any positions (T,), negative ones too, in float64: a cosine is a sine a quarter of a turn ahead."""
    quarter = torch.tensor([math.pi / 2 * (column % 2) for column in range(d_model)], dtype=torch.float64)
    return torch.sin(positions.double().unsqueeze(-1) * _rates(d_model, base) + quarter)


# sinusoidal_encoding


def _compare_encoding(student: Student, length: int, d_model: int, *base: float) -> None:
    found = a_tensor(student.sinusoidal_encoding(length, d_model, *base), "the encoding")
    expect(found.is_floating_point(), "the encoding isn't made of floating-point numbers")
    close(found.double(), _encoding(torch.arange(length), d_model, *base), "the encoding", **EXACT)


@hidden("sinusoidal_encoding", weight=3)
def every_column_is_its_wave(student: Student, rng: Randomness) -> None:
    """Even columns hold sines and odd columns cosines, each pair at its own rate, for any number of positions."""
    length, half = rng.sizes(2, 3, 12)
    _compare_encoding(student, length, 2 * half)
    _compare_encoding(student, 1, 2 * half)
    _compare_encoding(student, 150, 2)
    _compare_encoding(student, rng.integer(40, 60), 64)
    _compare_encoding(student, 2, 512)


@hidden("sinusoidal_encoding", weight=2)
def odd_widths_have_one_sine_more(student: Student, rng: Randomness) -> None:
    """An odd width works: the last column is a sine without its cosine, and the exponents still divide by d_model."""
    length, half = rng.sizes(2, 3, 12)
    for width in (2 * half + 1, 2 * half - 1, 3, 1):
        _compare_encoding(student, length, width)


@hidden("sinusoidal_encoding", weight=2)
def the_base_sets_the_rates(student: Student, rng: Randomness) -> None:
    """Another base, given by name or as third argument, changes the rates."""
    length, half = rng.sizes(2, 3, 12)
    for base in (float(rng.integer(20, 90)), 2.5, 1e6):
        _compare_encoding(student, length, 2 * half, base)
        found = a_tensor(student.sinusoidal_encoding(length, 2 * half + 1, base=base), "the encoding")
        close(found.double(), _encoding(torch.arange(length), 2 * half + 1, base), "the encoding", **EXACT)


@hidden("sinusoidal_encoding", weight=2)
def far_positions_are_exact(student: Student, rng: Randomness) -> None:
    """At T = 10,000 every entry is still exact to 0.0001."""
    for width in (24, 15):  # wide enough for several rates just below 1, where coarse angles show
        _compare_encoding(student, 10_000, width)
    _compare_encoding(student, 10_000, rng.integer(6, 9), 50.0)


@hidden("sinusoidal_encoding")
def the_result_is_single_precision(student: Student, rng: Randomness) -> None:
    """The result is a float32 tensor of the right numbers, whatever the angles were computed in."""
    length, half = rng.sizes(2, 3, 12)
    for width in (2 * half, 2 * half - 1):
        close(student.sinusoidal_encoding(length, width), _encoding(torch.arange(length), width).float(), **EXACT)


# shift_matrix


def _shifts(student: Student, positions: Tensor, offset: int, d_model: int, *base: float) -> None:
    """Expect that the matrix takes the encoding of each position to that of `offset` later, up to its own precision."""
    found = a_tensor(student.shift_matrix(offset, d_model, *base), "the matrix")
    expect(found.is_floating_point(), "the matrix isn't made of floating-point numbers")
    expect(tuple(found.shape) == (d_model, d_model), "wrong shape: the matrix")
    atol = max(1e-4, 4 * torch.finfo(found.dtype).eps)
    moved = _encoding(positions, d_model, *base) @ found.detach().double().mT
    close(moved, _encoding(positions + offset, d_model, *base), "the shifted encoding", rtol=0.0, atol=atol)


@hidden("shift_matrix", weight=3)
def every_position_is_shifted(student: Student, rng: Randomness) -> None:
    """One matrix takes the encoding of every position p to the encoding of p + offset."""
    half, offset, _ = rng.sizes(3, 3, 12)
    near, far = torch.arange(2 * half + 20), rng.integers(100, 5000, 40)
    for width in (2 * half, 2, 32):
        _shifts(student, near, offset, width)
        _shifts(student, far, offset, width)
    _shifts(student, near, 1, 2 * half)
    _shifts(student, near, rng.integer(40, 90), 2 * half)


@hidden("shift_matrix", weight=2)
def backwards_and_not_at_all(student: Student, rng: Randomness) -> None:
    """A negative offset goes back, and offset 0 gives the identity."""
    half, offset = rng.sizes(2, 3, 12)
    positions = torch.arange(offset, offset + 60)
    _shifts(student, positions, -offset, 2 * half)
    _shifts(student, positions, -1, 2)
    _shifts(student, positions, 0, 2 * half)
    still = a_tensor(student.shift_matrix(0, 2 * half), "the matrix")
    close(still.double(), torch.eye(2 * half, dtype=torch.float64), "the matrix of offset 0", rtol=0.0, atol=1e-4)


@hidden("shift_matrix", weight=2)
def the_base_sets_the_angles(student: Student, rng: Randomness) -> None:
    """Another base, given by name or as third argument, changes the angles."""
    half, offset = rng.sizes(2, 3, 12)
    positions = torch.arange(50)
    for base in (float(rng.integer(20, 90)), 3.5):
        _shifts(student, positions, offset, 2 * half, base)
        named = a_tensor(student.shift_matrix(offset, 2 * half, base=base), "the matrix")
        third = a_tensor(student.shift_matrix(offset, 2 * half, base), "the matrix")
        close(named.double(), third.double(), "the matrix")


@hidden("shift_matrix")
def odd_widths_are_refused(student: Student, rng: Randomness) -> None:
    """An odd width raises ValueError, since a lone sine can't be shifted; the even width beside it works."""
    half, offset = rng.sizes(2, 3, 12)
    _shifts(student, torch.arange(30), offset, 2 * half)
    for width in (2 * half + 1, 2 * half - 1, 1):
        refused(lambda width=width: student.shift_matrix(offset, width))
    refused(lambda: student.shift_matrix(0, 2 * half + 1))


# TransformerEmbedding


def _built(student: Student, table: Tensor, max_len: int, *dropout: float) -> HeldObject:
    module = student.TransformerEmbedding(table.shape[0], table.shape[1], max_len, *dropout)
    if table.dtype == torch.float64:
        module.to("float64")
    return module.load({"tokens.weight": table}).eval()


def _sum(table: Tensor, ids: Tensor) -> Tensor:
    """The contract's formula, in float64."""
    width = table.shape[1]
    return table.double()[ids] * math.sqrt(width) + _encoding(torch.arange(ids.shape[1]), width)


def _compare_sum(module: HeldObject, student: Student, table: Tensor, ids: Tensor) -> None:
    found = module(ids)
    untouched(student)
    close(found, _sum(table, ids).to(table.dtype), "the sum", rtol=1e-5, atol=1e-4)


def _table(rng: Randomness, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return rng.normal(rng.integer(13, 29), width, dtype=dtype)


@hidden("TransformerEmbedding", weight=3)
def scaled_tokens_and_positions_are_added(student: Student, rng: Randomness) -> None:
    """The result is the token's vector times √d_model, plus the encoding of its place in the sequence."""
    batch, length, half = rng.sizes(3, 3, 9)
    table = _table(rng, 2 * half)
    module = _built(student, table, length + 2, 0.3)
    for shape in ((batch, length), (1, length), (batch, 1), (1, 1), (length + 4, 2)):
        _compare_sum(module, student, table, rng.integers(0, len(table) - 1, *shape))
    ids = rng.integers(0, len(table) - 1, length, batch).T
    _compare_sum(module, student, table, ids)
    repeated = rng.integers(0, len(table) - 1, 1, 1).expand(batch, length)
    _compare_sum(module, student, table, repeated)


@hidden("TransformerEmbedding", weight=2)
def dropout_acts_on_the_sum_in_training(student: Student, rng: Randomness) -> None:
    """In train mode numbers of the whole sum are set to 0 at the given rate, 0.1 by default, and the others are scaled up."""
    table = _table(rng, 40)
    ids = rng.integers(0, len(table) - 1, 6, 25)
    whole = _sum(table, ids)
    for options, rate in (((0.3,), 0.3), ((0.6,), 0.6), ((), 0.1)):
        module = _built(student, table, 30, *options)
        close(module(ids).double(), whole, "the sum in eval mode", rtol=1e-5, atol=1e-4)
        student.seed(rng.integer(0, 10**6))
        seen = a_tensor(module.train()(ids), "the sum")
        expect(seen.shape == whole.shape, "wrong shape: the sum")
        zero = seen == 0
        share = zero.double().mean().item()
        expect(share > 0, "nothing is dropped in train mode")
        expect(abs(share - rate) < 0.04, "the share of numbers that are dropped in train mode isn't the rate")
        expect(
            not bool(zero.all(-1).any() or zero.all(1).any()), "whole rows or columns are dropped, not single numbers"
        )
        kept = torch.isclose(seen.double(), whole / (1 - rate), rtol=1e-4, atol=1e-3)
        expect(bool((zero | kept).all()), "what isn't dropped should be the whole sum, divided by 1 − p")
    still = _built(student, table, 30, 0.0).train()
    close(still(ids), whole.float(), "the sum in train mode at rate 0", rtol=1e-5, atol=1e-4)


@hidden("TransformerEmbedding", weight=2)
def the_table_is_the_only_parameter(student: Student, rng: Randomness) -> None:
    """The only parameter is tokens.weight, which is trained; the encoding is fixed."""
    batch, length, half = rng.sizes(3, 3, 9)
    table = _table(rng, 2 * half)
    module = _built(student, table, length)
    found = module.parameters()
    expect(set(found) == {"tokens.weight"}, "the parameters should be tokens.weight and nothing else")
    expect(tuple(found["tokens.weight"].shape) == tuple(table.shape), "wrong shape: tokens.weight")
    expect(module.trainable()["tokens.weight"], "tokens.weight can't be trained")
    ids = rng.integers(1, len(table) - 1, batch, length)
    result = a_tensor(module(ids), "the sum")
    close(result, _sum(table, ids).float(), "the sum", rtol=1e-5, atol=1e-4)
    expect(result.requires_grad, "no gradient flows back to tokens.weight")
    cotangent = rng.normal(*result.shape, dtype=torch.float32)
    result.backward(cotangent)
    arrived = module.gradients()
    expect("tokens.weight" in arrived, "no gradient flows back to tokens.weight")
    wanted = torch.zeros_like(table).index_add_(0, ids.flatten(), cotangent.flatten(0, 1)) * math.sqrt(table.shape[1])
    close(arrived["tokens.weight"], wanted, "the gradient of tokens.weight", rtol=1e-4, atol=1e-4)


@hidden("TransformerEmbedding", weight=2)
def the_encoding_follows_the_module(student: Student, rng: Randomness) -> None:
    """After .to() to another dtype or device the sum is of that dtype, on that device: nothing is left behind."""
    batch, length, half = rng.sizes(3, 3, 9)
    table = _table(rng, 2 * half, torch.float64)
    module = _built(student, table, length + 1, 0.2)
    ids = rng.integers(0, len(table) - 1, batch, length)
    _compare_sum(module, student, table, ids)
    single = _built(student, table.float(), length + 1)
    _compare_sum(single, student, table.float(), ids)
    single.to("meta")  # a device that every machine has: its tensors have a shape and no numbers
    try:
        moved = single(ids.to("meta"))
    except LearnerError as error:
        # Whoever looks into the numbers of ids finds none there; that isn't what this test is about.
        expect("device" not in error.message, "the encoding is left behind when the module moves to another device")
        return
    expect(isinstance(moved, Tensor) and moved.device.type == "meta", "the sum isn't on the device of the module")
    expect(tuple(moved.shape) == (batch, length, 2 * half), "wrong shape: the sum")


@hidden("TransformerEmbedding")
def max_len_is_the_limit(student: Student, rng: Randomness) -> None:
    """max_len tokens fit; one more is refused with ValueError, in train mode too."""
    batch, length, half = rng.sizes(3, 3, 9)
    table = _table(rng, 2 * half)
    module = _built(student, table, length)
    _compare_sum(module, student, table, rng.integers(0, len(table) - 1, batch, length))
    for longer in (length + 1, length + 7, 2 * length):
        ids = rng.integers(0, len(table) - 1, batch, longer)
        refused(lambda ids=ids: module(ids))
        refused(lambda ids=ids: module.train()(ids))
        module.eval()
    one = _built(student, table, 1)
    _compare_sum(one, student, table, rng.integers(0, len(table) - 1, batch, 1))
    refused(lambda: one(rng.integers(0, len(table) - 1, batch, 2)))


# rotary


def _rotated(x: Tensor, positions: Tensor, base: float, halves: bool) -> Tensor:
    """Turn pairs of features in the complex plane, pairs of neighbours or of halves: both conventions are in use."""
    width = x.shape[-1]
    angles = positions.double().unsqueeze(-1) * _rates(width, base)[::2]  # (T, d_k / 2)
    first, second = (x[..., : width // 2], x[..., width // 2 :]) if halves else (x[..., ::2], x[..., 1::2])
    turned = torch.complex(first.double(), second.double()) * torch.polar(torch.ones_like(angles), angles)
    parts = (turned.real, turned.imag)
    result = torch.cat(parts, dim=-1) if halves else torch.stack(parts, dim=-1).flatten(-2)
    return result.to(x.dtype)


def _compare_rotary(student: Student, x: Tensor, positions: Tensor, *base: float, **tolerance: float) -> Tensor:
    """Expect the rotation in one of the two conventions; give the expected result in that one."""
    tolerance = {"rtol": 1e-4, "atol": 1e-4} | tolerance
    found = a_tensor(student.rotary(x, positions, *base), "the rotated vectors")
    untouched(student)
    both = [_rotated(x, positions, base[0] if base else 10_000.0, halves) for halves in (False, True)]
    if found.shape == x.shape and found.dtype == x.dtype:
        for expected in both:
            if torch.allclose(found.detach(), expected.detach(), **tolerance):
                return expected
    close(found, both[0], "the rotated vectors", **tolerance)
    return both[0]


@hidden("rotary", weight=3)
def pairs_turn_at_their_rates(student: Student, rng: Randomness) -> None:
    """Each pair of features is turned by position times rate, pairs being neighbours or halves, and lengths are kept."""
    batch, length, half = rng.sizes(3, 3, 9)
    positions = torch.arange(length)
    for width in (2 * half, 2 * half + 2, 2):
        x = rng.normal(batch, length, width)
        _compare_rotary(student, x, positions)
        lengths = student.rotary(x, positions).norm(dim=-1)
        close(lengths, x.norm(dim=-1), "the lengths of the rotated vectors", rtol=1e-4, atol=1e-4)


@hidden("rotary", weight=2)
def the_given_positions_count(student: Student, rng: Randomness) -> None:
    """Positions may start anywhere and come in any order; a single one works too."""
    batch, length, half = rng.sizes(3, 3, 9)
    x = rng.normal(batch, length, 2 * half)
    for positions in (torch.arange(length) + rng.integer(5, 60), rng.order(100)[:length], torch.full((length,), 7)):
        _compare_rotary(student, x, positions)
    _compare_rotary(student, x[:, :1], torch.tensor([rng.integer(5, 60)]))


@hidden("rotary", weight=2)
def only_the_distance_counts(student: Student, rng: Randomness) -> None:
    """Dot products of rotated queries and keys stay the same when both move on, and are those of the formula."""
    batch, length, half = rng.sizes(3, 3, 9)
    q, k = (rng.normal(batch, size, 2 * half) for size in (length, length + 2))
    places_q, places_k = rng.order(40)[:length], rng.order(40)[: length + 2]
    scores = []
    for start in (0, rng.integer(3, 90)):
        turned_q, turned_k = student.rotary(q, places_q + start), student.rotary(k, places_k + start)
        scores.append(a_tensor(turned_q, "the rotated queries") @ a_tensor(turned_k, "the rotated keys").mT)
    close(scores[1], scores[0], "the scores after both have moved on", rtol=1e-3, atol=1e-3)
    expected_q = _compare_rotary(student, q, places_q)
    halves = torch.equal(expected_q, _rotated(q, places_q, 10_000.0, True))
    expected = expected_q @ _rotated(k, places_k, 10_000.0, halves).mT
    close(scores[0], expected, "the scores", rtol=1e-3, atol=1e-3)


@hidden("rotary")
def position_zero_is_the_identity(student: Student, rng: Randomness) -> None:
    """At position 0 nothing changes, to full precision; elsewhere something does."""
    batch, length, half = rng.sizes(3, 3, 9)
    for dtype in (torch.float64, torch.float32):
        x = rng.normal(batch, length, 2 * half, dtype=dtype)
        close(student.rotary(x, torch.zeros(length, dtype=torch.long)), x, "the vectors at position 0")
        _compare_rotary(student, x, torch.arange(length))


@hidden("rotary")
def rotary_has_a_base(student: Student, rng: Randomness) -> None:
    """Another base, given by name or as third argument, changes the rates."""
    batch, length, half = rng.sizes(3, 3, 9)
    x, positions = rng.normal(batch, length, 2 * half), torch.arange(length)
    for base in (float(rng.integer(20, 90)), 3.5):
        expected = _compare_rotary(student, x, positions, base)
        close(student.rotary(x, positions, base=base), expected, "the rotated vectors", rtol=1e-4, atol=1e-4)


@hidden("rotary")
def any_dimensions_may_stand_in_front(student: Student, rng: Randomness) -> None:
    """Works without a batch, with heads in front, and on tensors that aren't contiguous, without writing into them."""
    batch, heads, length, half = rng.sizes(4, 2, 9)
    positions = torch.arange(length) + 3
    for front in ((), (batch,), (batch, heads), (1, 2, heads)):
        _compare_rotary(student, rng.normal(*front, length, 2 * half), positions)
    _compare_rotary(student, rng.normal(batch, length, heads, 2 * half).transpose(1, 2), positions)


@hidden("rotary")
def rotary_keeps_dtypes(student: Student, rng: Randomness) -> None:
    """The result has the dtype of x."""
    batch, length, half = rng.sizes(3, 3, 9)
    positions = torch.arange(length)
    for dtype in (torch.float32, torch.float64):
        _compare_rotary(student, rng.normal(batch, length, 2 * half, dtype=dtype), positions)
    small = rng.normal(batch, length, 2 * half, dtype=torch.bfloat16)
    found = a_tensor(student.rotary(small, positions), "the rotated vectors")
    expect(found.dtype == torch.bfloat16, "wrong dtype: the rotated vectors")
    expect(found.shape == small.shape, "wrong shape: the rotated vectors")


@hidden("rotary")
def gradients_turn_back(student: Student, rng: Randomness) -> None:
    """Gradients flow back to x through the rotation."""
    batch, length, half = rng.sizes(3, 3, 9)
    x, positions = rng.normal(batch, length, 2 * half).requires_grad_(), rng.order(30)[:length]
    expected = _compare_rotary(student, x, positions)
    cotangent = rng.normal(batch, length, 2 * half)
    (arrived,) = gradients(student.rotary(x, positions), cotangent, [x], "the rotated vectors")
    (wanted,) = torch.autograd.grad(expected, [x], cotangent)
    close(arrived, wanted, "the gradient", rtol=1e-4, atol=1e-4)

"""What the visible checks of chapter 05 look at.

Sizes are pairwise different and none is the square of another. Rotary embedding has two conventions for its pairs; what is
observed of it is the same in both.
"""

import torch
from torch import Tensor

from utils.execution import LearnerError
from utils.probes import error_of, gradients, probe
from utils.student import HeldObject, Student

# sinusoidal_encoding


@probe(
    "sinusoidal_encoding",
    "sines in even columns, cosines in odd ones, each pair slower than the one before",
    atol=1e-4,
    axes=("position", "column"),
)
def waves(student: Student) -> object:
    return student.sinusoidal_encoding(5, 8)


@probe(
    "sinusoidal_encoding",
    "odd widths work: the last pair has only its sine",
    labels=("width 7", "width 3", "width 1"),
    atol=1e-4,
)
def odd_widths(student: Student) -> object:
    return student.sinusoidal_encoding(5, 7), student.sinusoidal_encoding(6, 3), student.sinusoidal_encoding(4, 1)


@probe(
    "sinusoidal_encoding",
    "another base gives other rates",
    labels=("base=50 by name", "base=7 as third argument"),
    atol=1e-4,
)
def other_base(student: Student) -> object:
    return student.sinusoidal_encoding(7, 10, base=50.0), student.sinusoidal_encoding(3, 6, 7.0)


@probe("sinusoidal_encoding", "works for one position, and for more positions than columns", atol=1e-4, labels=("T = 1", "T = 13"))  # fmt: skip
def few_and_many(student: Student) -> object:
    return student.sinusoidal_encoding(1, 6), student.sinusoidal_encoding(13, 2)


@probe("sinusoidal_encoding", "still exact to 0.0001 at position 9,999", rtol=0.0, atol=1e-4)
def far_away(student: Student) -> object:
    return student.sinusoidal_encoding(10_000, 24)[-4:]


# shift_matrix: the matrix is unique; half precision is exact enough


def _matrix(value: object) -> object:
    return value.float() if isinstance(value, Tensor) and value.is_floating_point() else value


@probe(
    "shift_matrix",
    "one step ahead: in each pair of columns a turn by the pair's own angle",
    atol=5e-3,
    axes=("column after", "column before"),
)
def one_step(student: Student) -> object:
    return _matrix(student.shift_matrix(1, 6))


@probe(
    "shift_matrix",
    "any offset, forwards and backwards, in any width",
    labels=("offset 5", "offset −3", "offset 40"),
    atol=5e-3,
)
def any_offset(student: Student) -> object:
    offsets = ((5, 8), (-3, 2), (40, 10))
    return tuple(_matrix(student.shift_matrix(*arguments)) for arguments in offsets)


@probe("shift_matrix", "offset 0 is the identity", atol=5e-3)
def no_shift(student: Student) -> object:
    return _matrix(student.shift_matrix(0, 4))


@probe(
    "shift_matrix",
    "another base gives other angles",
    labels=("base=50 by name", "base=7 as third argument"),
    atol=5e-3,
)
def shift_base(student: Student) -> object:
    return _matrix(student.shift_matrix(2, 6, base=50.0)), _matrix(student.shift_matrix(3, 8, 7.0))


@probe("shift_matrix", "an odd width is refused with ValueError, since no such matrix exists")
def refuses_odd_widths(student: Student) -> object:
    return {
        "for width 7": error_of(lambda: student.shift_matrix(2, 7)),
        "for width 1": error_of(lambda: student.shift_matrix(1, 1)),
        "for width 8": error_of(lambda: student.shift_matrix(2, 8)),
    }


# TransformerEmbedding

VOCABULARY, D_MODEL, MAX_LEN = 11, 6, 7
IDS = torch.tensor([[3, 0, 10, 3, 7], [1, 8, 3, 5, 0]])
NO_ZEROS = torch.tensor([[3, 2, 10, 3, 7], [1, 8, 3, 5, 2]])  # 0 may be the padding, which learns nothing
TABLE = {"table": lambda n: n.normal(VOCABULARY, D_MODEL)}


def _embedding(student: Student, table: Tensor, dropout: float = 0.0, max_len: int = MAX_LEN) -> HeldObject:
    module = student.TransformerEmbedding(table.shape[0], table.shape[1], max_len, dropout)
    return module.load({"tokens.weight": table}).eval()


@probe("TransformerEmbedding", "one parameter, tokens.weight: the encoding is fixed, not learned")
def parameters(student: Student) -> object:
    module = student.TransformerEmbedding(VOCABULARY, D_MODEL, MAX_LEN)
    trainable = module.trainable()
    names = [
        f"{name} {tuple(value.shape)}{'' if trainable[name] else ' fixed'}"
        for name, value in sorted(module.parameters().items())
    ]
    return {"parameters": ", ".join(names)}


@probe(
    "TransformerEmbedding",
    "token vectors times √d_model, plus the encoding of the position",
    atol=1e-4,
    axes=("position", "component"),
    ids=IDS,
    **TABLE,
)
def sum_of_both(student: Student, ids: Tensor, table: Tensor) -> object:
    return _embedding(student, table)(ids)


@probe(
    "TransformerEmbedding",
    "works for one sequence, one token, and more sequences than max_len",
    labels=("one sequence", "one token", "nine sequences"),
    atol=1e-4,
    ids=lambda n: n.integers(VOCABULARY, 9, 4),
    **TABLE,
)
def batches(student: Student, ids: Tensor, table: Tensor) -> object:
    module = _embedding(student, table)
    return module(ids[:1]), module(ids[:2, :1]), module(ids)


@probe(
    "TransformerEmbedding",
    "max_len tokens fit; more are refused with ValueError",
    labels=("result",),
    atol=1e-4,
    ids=lambda n: n.integers(VOCABULARY, 2, 10),
    **TABLE,
)
def length_limit(student: Student, ids: Tensor, table: Tensor) -> object:
    module = _embedding(student, table)
    return {"max_len tokens": module(ids[:, :MAX_LEN])} | _too_long(module, ids[:, : MAX_LEN + 1], ids)


def _too_long(module: HeldObject, *batches: Tensor) -> dict[str, str]:
    """Observe what becomes of sequences that are too long: the error, or how many vectors come back."""
    seen = {}
    for ids in batches:
        results: list[object] = []
        outcome = error_of(lambda ids=ids, results=results: results.append(module(ids)))
        if results and isinstance(results[0], Tensor) and results[0].dim() > 1:
            outcome = f"{results[0].shape[1]} vectors"
        seen[f"{ids.shape[1]} tokens where max_len is {MAX_LEN}"] = outcome
    return seen


def _dropped(module: HeldObject, ids: Tensor, rate: float) -> dict[str, bool]:
    """Compare a pass in train mode with the sum without dropout, number by number."""
    whole = module.eval()(ids)
    seen = module.train()(ids)
    if not (isinstance(whole, Tensor) and isinstance(seen, Tensor) and whole.shape == seen.shape):
        return {"the same shape in both modes": False}
    zero = seen == 0
    share = zero.double().mean().item()
    scaled = torch.isclose(seen, whole / (1 - rate), rtol=1e-3, atol=1e-4)
    return {
        "numbers are set to 0": bool(zero.any()),
        f"about {rate:.0%} of them": abs(share - rate) < 0.05,
        "each for itself, not whole rows or columns": not bool(zero.all(-1).any() or zero.all(1).any()),
        "the whole sum is kept or dropped": bool((zero | scaled).all()),
    }


@probe(
    "TransformerEmbedding",
    "in train mode, dropout on the sum",
    ids=lambda n: n.integers(VOCABULARY, 5, 14),
    table=lambda n: n.normal(VOCABULARY, 40),
)
def dropout_in_training(student: Student, ids: Tensor, table: Tensor) -> object:
    student.seed(5)
    silent = _embedding(student, torch.zeros_like(table), 0.4, 20)  # words of zeros: only the encoding is left
    waves, seen = silent(ids), silent.train()(ids)
    return _dropped(_embedding(student, table, 0.4, 20), ids, 0.4) | {
        "the encoding is dropped too": bool((seen[waves != 0] == 0).any())
    }


@probe(
    "TransformerEmbedding",
    "the rate of dropout is 0.1 where none is given",
    ids=lambda n: n.integers(VOCABULARY, 5, 14),
    table=lambda n: n.normal(VOCABULARY, 40),
)
def default_dropout(student: Student, ids: Tensor, table: Tensor) -> object:
    student.seed(6)
    module = student.TransformerEmbedding(VOCABULARY, 40, 20).load({"tokens.weight": table})
    return _dropped(module, ids, 0.1)


@probe(
    "TransformerEmbedding",
    "in eval mode nothing is random and nothing is dropped",
    ids=lambda n: n.integers(VOCABULARY, 5, 14),
    table=lambda n: n.normal(VOCABULARY, 40),
)
def no_dropout_in_eval(student: Student, ids: Tensor, table: Tensor) -> object:
    student.seed(7)
    module = _embedding(student, table, 0.4, 20)
    first, second = module(ids), module(ids)
    return {
        "two passes give the same": bool(torch.equal(first, second)),
        "numbers are set to 0": bool((first == 0).any()),
    }


@probe(
    "TransformerEmbedding",
    "follows its module: to float64, and to another device",
    atol=1e-4,
    ids=IDS,
    table=lambda n: n.normal(VOCABULARY, D_MODEL),
)
def follows_the_module(student: Student, ids: Tensor, table: Tensor) -> object:
    module = _embedding(student, table)
    module.to("float64")
    doubled = module(ids)
    return {"dtype": str(doubled.dtype), "sum": doubled.float(), "after .to(device)": _moved(module, ids)}


def _moved(module: HeldObject, ids: Tensor) -> str:
    """Say whether a module's encoding moves along: to half precision, and where that leaves a doubt, to another device."""
    module.to("bfloat16")
    if module(ids).dtype == torch.bfloat16:
        return "moved"  # the usual case; the first operation on "meta" takes PyTorch a second
    module.to("meta")  # a device that every machine has: its tensors have a shape and no numbers
    try:
        moved = module(ids.to("meta"))
    except LearnerError as error:  # whoever looks into numbers of ids has none to look into: that is another matter
        return "left behind" if "device" in error.message else "moved"
    return "moved" if isinstance(moved, Tensor) and moved.is_meta else "left behind"


@probe("TransformerEmbedding", "the gradient reaches the table, √d_model times", ids=NO_ZEROS, **TABLE)
def gradient_of_the_table(student: Student, ids: Tensor, table: Tensor) -> object:
    module = _embedding(student, table)
    result = module(ids)
    if isinstance(result, Tensor) and result.requires_grad:
        cotangent = torch.linspace(-1, 1, result.numel(), dtype=result.dtype).reshape(result.shape)
        result.backward(cotangent)
    return {"tokens.weight": module.gradients().get("tokens.weight", "no gradient arrives")}


# rotary


@probe(
    "rotary",
    "a single pair turns by its position, counterclockwise",
    x=lambda n: n.normal(3, 5, 2),
    positions=torch.arange(5),
)
def one_pair(student: Student, x: Tensor, positions: Tensor) -> object:
    return student.rotary(x, positions)


@probe(
    "rotary",
    "position 0 leaves every number exactly as it is",
    x=lambda n: n.normal(3, 2, 8, dtype=torch.float64),
    positions=torch.tensor([0, 0]),
)
def position_zero(student: Student, x: Tensor, positions: Tensor) -> object:
    found = student.rotary(x, positions)
    return {"dtype": str(found.dtype), "change": found - x}  # the difference shows a loss of precision


@probe("rotary", "lengths are kept", x=lambda n: n.normal(3, 5, 6), positions=torch.tensor([1, 2, 3, 4, 5]))
def length_kept(student: Student, x: Tensor, positions: Tensor) -> object:
    return {"length": student.rotary(x, positions).norm(dim=-1)}


def _turns(turned: Tensor) -> dict[str, object]:
    """Describe how basis vectors (d, T, d) are turned, in the same way for both conventions.

    With itself a basis vector keeps the cosine of its angle; its partner gets the sine, with a sign that says which of the
    two comes first.
    """
    size = turned.shape[-1]
    if turned.dim() != 3 or turned.shape[0] != size:
        return {"turned": turned}
    matrices = turned.transpose(0, 1)  # (T, d, d): row = basis vector, column = component
    above, below = matrices.triu(1).flatten(1), matrices.tril(-1).flatten(1)
    return {
        "cosines of the angles": matrices.diagonal(dim1=-2, dim2=-1).sort(-1).values,
        "largest sines": above.sort(-1).values[:, -size // 2 :],
        "smallest sines": below.sort(-1).values[:, : size // 2],
        "partners": (matrices.abs() > 1e-6).sum((-2, -1)),
    }


def _basis(size: int, length: int) -> Tensor:
    return torch.eye(size)[:, None, :].expand(size, length, size)


@probe("rotary", "each pair turns at its own rate, as in the sinusoids", positions=torch.tensor([1, 2]))
def rates(student: Student, positions: Tensor) -> object:
    return _turns(student.rotary(_basis(6, 2), positions))


@probe("rotary", "the positions that are given count: any start, any order", positions=torch.tensor([5, 2, 23, 4]))
def given_positions(student: Student, positions: Tensor) -> object:
    return _turns(student.rotary(_basis(6, 4), positions))


@probe(
    "rotary",
    "another base gives other rates",
    positions=torch.tensor([1, 3]),
)
def rotary_base(student: Student, positions: Tensor) -> object:
    by_name, third = student.rotary(_basis(8, 2), positions, base=50.0), student.rotary(_basis(6, 2), positions, 7.0)
    return {f"{key} (base 50)": value for key, value in _turns(by_name).items()} | {
        f"{key} (base 7)": value for key, value in _turns(third).items()
    }


@probe(
    "rotary",
    "dot products depend on the distance alone",
    atol=1e-4,
    q=lambda n: n.normal(3, 5, 6),
    k=lambda n: n.normal(3, 5, 6),
    positions=torch.tensor([0, 1, 2, 3, 4]),
)
def relative_only(student: Student, q: Tensor, k: Tensor, positions: Tensor) -> object:
    near = student.rotary(q, positions) @ student.rotary(k, positions).mT  # (3, 5, 5)
    far = student.rotary(q, positions + 9) @ student.rotary(k, positions + 9).mT
    return {"change of the scores when both move on by 9": far - near}


@probe(
    "rotary",
    "any dimensions in front, contiguous or not, and a single position",
    labels=("(T, d_k)", "heads", "one position"),
    x=lambda n: n.normal(2, 5, 3, 2),
    positions=torch.tensor([4, 5, 6, 7, 8]),
)
def leading_dimensions(student: Student, x: Tensor, positions: Tensor) -> object:
    plain, heads = x[0, :, 0], x.transpose(1, 2)  # (5, 2) and (2, 3, 5, 2)
    return (
        student.rotary(plain, positions),
        student.rotary(heads, positions),
        student.rotary(heads[..., :1, :], positions[:1]),
    )


@probe(
    "rotary",
    "gradients flow back, turned the other way",
    x=lambda n: n.normal(3, 4, 2),
    positions=torch.tensor([1, 2, 3, 4]),
)
def rotary_gradient(student: Student, x: Tensor, positions: Tensor) -> object:
    x = x.clone().requires_grad_()
    return gradients(student.rotary(x, positions), x)

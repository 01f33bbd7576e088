"""What the visible checks of chapter 04 look at in split_heads and merge_heads.

Sizes are pairwise different and none is the square of another.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from utils.probes import error_of, gradients, probe
from utils.student import Student

# split_heads


def _outcome(call: Callable[[], object]) -> str:
    """Observe the error that a call raises, or what it gives instead."""
    given: list[object] = []
    error = error_of(lambda: given.append(call()))
    return (
        error if error != "no error" else f"no error, but {'a tensor' if isinstance(given[0], Tensor) else 'a value'}"
    )


@probe(
    "split_heads",
    "every head holds all words, and of each word its own block of neighbouring features",
    axes=("word", "feature"),
    x=torch.arange(2)[:, None, None] * 10.0 + torch.arange(5)[:, None] + torch.arange(18) / 100,
)
def blocks_of_features(student: Student, x: Tensor) -> object:
    return student.split_heads(x, 3)


@probe(
    "split_heads",
    "one head, and as many heads as features, work too",
    labels=("one head", "7 heads of width 1"),
    x=lambda n: n.normal(2, 3, 7),
)
def extremes(student: Student, x: Tensor) -> object:
    return student.split_heads(x, 1), student.split_heads(x, 7)


@probe("split_heads", "works for one word of one sentence", x=lambda n: n.normal(1, 1, 15))
def one_word(student: Student, x: Tensor) -> object:
    return student.split_heads(x, 3)


@probe("split_heads", "works on a tensor that isn't contiguous in memory", x=lambda n: n.normal(5, 2, 12))
def split_transposed(student: Student, x: Tensor) -> object:
    return student.split_heads(x.transpose(0, 1), 3)


@probe(
    "split_heads",
    "a width that can't be shared out evenly is refused with a ValueError",
    labels=("7 features, 3 heads", "4 features, 8 heads"),
    x=lambda n: n.normal(2, 5, 7),
)
def uneven_width(student: Student, x: Tensor) -> object:
    return _outcome(lambda: student.split_heads(x, 3)), _outcome(lambda: student.split_heads(x[..., :4], 8))


@probe("split_heads", "keeps float64", x=lambda n: n.normal(2, 5, 12, dtype=torch.float64))
def split_double(student: Student, x: Tensor) -> object:
    return student.split_heads(x, 3)


@probe("split_heads", "gradients flow back", x=lambda n: n.normal(2, 5, 12))
def split_gradient(student: Student, x: Tensor) -> object:
    x = x.clone().requires_grad_()
    return gradients(student.split_heads(x, 3), x)


# merge_heads


@probe(
    "merge_heads",
    "every word gets the features of all heads side by side, head 0 first",
    axes=("word", "feature"),
    x=torch.arange(2)[:, None, None, None] * 10.0
    + torch.arange(3)[:, None, None]
    + torch.arange(5)[:, None] / 10
    + torch.arange(6) / 100,
)
def side_by_side(student: Student, x: Tensor) -> object:
    return student.merge_heads(x)


@probe(
    "merge_heads",
    "one head, and heads of width 1, work too",
    labels=("one head", "7 heads of width 1"),
    x=lambda n: n.normal(2, 7, 3, 1),
)
def merge_extremes(student: Student, x: Tensor) -> object:
    return student.merge_heads(x.transpose(1, 3)), student.merge_heads(x)


@probe("merge_heads", "works for one word of one sentence", x=lambda n: n.normal(1, 3, 1, 5))
def merge_one_word(student: Student, x: Tensor) -> object:
    return student.merge_heads(x)


@probe(
    "merge_heads",
    "works on tensors that aren't contiguous in memory",
    labels=("swapped before", "turned round"),
    x=lambda n: n.normal(2, 5, 3, 6),
)
def merge_transposed(student: Student, x: Tensor) -> object:
    return student.merge_heads(x.transpose(1, 2)), student.merge_heads(x.permute(0, 3, 1, 2))


@probe("merge_heads", "keeps float64", x=lambda n: n.normal(2, 3, 5, 6, dtype=torch.float64))
def merge_double(student: Student, x: Tensor) -> object:
    return student.merge_heads(x)


@probe("merge_heads", "gradients flow back", x=lambda n: n.normal(2, 3, 5, 6))
def merge_gradient(student: Student, x: Tensor) -> object:
    x = x.clone().requires_grad_()
    return gradients(student.merge_heads(x), x)

"""Hidden tests of chapter 04's split_heads and merge_heads. References are plain loops over heads."""

import torch

from autograder.hidden import hidden
from autograder.hidden.expectations import close, refused, untouched
from autograder.hidden.multi_head_reference import draw_sizes, same_gradients, true_merge, true_split
from autograder.hidden.randomness import Randomness
from utils.student import Student

# split_heads


@hidden("split_heads", weight=3)
def each_head_gets_its_block_of_features(student: Student, rng: Randomness) -> None:
    """Head h holds, for every word in order, the h-th block of neighbouring features."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    for heads in (n_heads, 1, d_model):
        x = rng.normal(batch, t, d_model)
        close(student.split_heads(x, heads), true_split(x, heads), "the heads")
        untouched(student)
    for size, length in ((1, t), (batch, 1), (1, 1)):
        x = rng.normal(size, length, d_model)
        close(student.split_heads(x, n_heads), true_split(x, n_heads), "the heads of one sentence or one word")


@hidden("split_heads", weight=2)
def splits_what_is_not_contiguous(student: Student, rng: Randomness) -> None:
    """Works on tensors that aren't contiguous in memory."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    for x in (
        rng.normal(t, batch, d_model).transpose(0, 1),
        rng.normal(batch, d_model, t).transpose(1, 2),
        rng.normal(batch, t, 2 * d_model)[..., ::2],
    ):
        close(student.split_heads(x, n_heads), true_split(x, n_heads), "the heads")


@hidden("split_heads", weight=2)
def uneven_widths_are_refused(student: Student, rng: Randomness) -> None:
    """A width that the number of heads doesn't divide raises ValueError, and every width that it divides is split."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    for rest in (1, n_heads - 1):
        x = rng.normal(batch, t, d_model + rest)
        refused(lambda x=x: student.split_heads(x, n_heads))
    few = rng.normal(batch, t, n_heads)
    refused(lambda: student.split_heads(few, 2 * n_heads))
    close(student.split_heads(few, n_heads), true_split(few, n_heads), "heads of width 1")


@hidden("split_heads")
def split_keeps_dtypes_and_gradients(student: Student, rng: Randomness) -> None:
    """The heads have the dtype of x, and gradients flow back."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = rng.normal(batch, t, d_model, dtype=dtype)
        close(student.split_heads(x, n_heads), true_split(x, n_heads), "the heads")
    x = rng.normal(batch, t, d_model).requires_grad_()
    same_gradients(student.split_heads(x, n_heads), true_split(x, n_heads), [x], rng)


# merge_heads


@hidden("merge_heads", weight=3)
def heads_lie_side_by_side(student: Student, rng: Randomness) -> None:
    """Each word gets the features of all heads side by side, all of head 0 first."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    for heads, width in ((n_heads, d_model // n_heads), (1, d_model), (d_model, 1)):
        x = rng.normal(batch, heads, t, width)
        close(student.merge_heads(x), true_merge(x), "the merged heads")
        untouched(student)
    for size, length in ((1, t), (batch, 1), (1, 1)):
        x = rng.normal(size, n_heads, length, 4)
        close(student.merge_heads(x), true_merge(x), "the merged heads of one sentence or one word")


@hidden("merge_heads", weight=2)
def merges_what_is_not_contiguous(student: Student, rng: Randomness) -> None:
    """Works on tensors in any layout of memory, as they come from a split or from a product."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    width = d_model // n_heads
    for x in (
        rng.normal(batch, t, n_heads, width).transpose(1, 2),
        rng.normal(batch, n_heads, width, t).transpose(2, 3),
        rng.normal(n_heads, batch, t, width).transpose(0, 1),
        rng.normal(batch, n_heads, t, 2 * width)[..., ::2],
    ):
        close(student.merge_heads(x), true_merge(x), "the merged heads")


@hidden("merge_heads")
def merge_undoes_a_split(student: Student, rng: Randomness) -> None:
    """Merging gives back what a split into heads took apart, for any number of heads."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    x = rng.normal(batch, t, d_model)
    for heads in (1, n_heads, d_model // n_heads, d_model):
        close(student.merge_heads(true_split(x, heads)), x, "the merged heads")


@hidden("merge_heads")
def merge_keeps_dtypes_and_gradients(student: Student, rng: Randomness) -> None:
    """The result has the dtype of the heads, and gradients flow back."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    shape = (batch, n_heads, t, d_model // n_heads)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        x = rng.normal(*shape, dtype=dtype)
        close(student.merge_heads(x), true_merge(x), "the merged heads")
    x = rng.normal(*shape).requires_grad_()
    same_gradients(student.merge_heads(x), true_merge(x), [x], rng)

"""Hidden tests of chapter 06: the loss and the learning rate. References: F.cross_entropy, and the paper's formula."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, finite, gradients, untouched
from autograder.hidden.randomness import Randomness
from utils.student import Student

# label_smoothed_loss


def _reference(logits: Tensor, target: Tensor, smoothing: float, pad_id: int) -> Tensor:
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=pad_id, label_smoothing=smoothing)


def _batch(rng: Randomness, pad_id: int, dtype: torch.dtype = torch.float64, **options: float) -> tuple[Tensor, Tensor]:
    """Draw logits and targets whose rows have different numbers of real tokens, one of them none."""
    vocabulary, length, batch = sorted(rng.sizes(3), reverse=True)
    logits = rng.normal(batch, length, vocabulary, dtype=dtype, **options)
    target = (pad_id + rng.integers(1, vocabulary - 1, batch, length)) % vocabulary  # anything but padding
    for row in range(batch):
        target[row, length - row :] = pad_id
    target[rng.integer(1, batch - 1), :] = pad_id
    return logits, target


@hidden("label_smoothed_loss", weight=3)
def equals_cross_entropy_without_padding(student: Student, rng: Randomness) -> None:
    """Where nothing is padding, the loss is cross-entropy with smoothing spread over all classes, at any smoothing."""
    for smoothing in (0.0, 0.1, 0.37, 1.0):
        vocabulary, length, batch = rng.sizes(3)
        logits = rng.normal(batch, length, vocabulary)
        target = rng.integers(1, vocabulary - 1, batch, length)
        found = student.label_smoothed_loss(logits, target, smoothing)
        close(found, _reference(logits, target, smoothing, 0), "the loss")
        untouched(student)
    close(
        student.label_smoothed_loss(logits, target),
        _reference(logits, target, 0.1, 0),
        "the loss without a smoothing given",
    )


@hidden("label_smoothed_loss", weight=3)
def padding_does_not_count(student: Student, rng: Randomness) -> None:
    """The loss is a mean over all real tokens of the batch; padding adds nothing, whatever the logits there are."""
    for smoothing in (0.0, 0.25):
        logits, target = _batch(rng, 0)
        expected = _reference(logits, target, smoothing, 0)
        close(student.label_smoothed_loss(logits, target, smoothing=smoothing), expected, "the loss")
        untouched(student)
        louder = torch.where((target == 0).unsqueeze(-1), 100 * rng.normal(*logits.shape), logits)
        close(student.label_smoothed_loss(louder, target, smoothing=smoothing), expected, "the loss")


@hidden("label_smoothed_loss", weight=2)
def any_id_may_be_padding(student: Student, rng: Randomness) -> None:
    """pad_id may be any id of the vocabulary; all other ids, 0 too, are tokens that count."""
    for pad_id in (1, 2, 3):
        logits, target = _batch(rng, pad_id)
        target[0, 0] = 0
        found = student.label_smoothed_loss(logits, target, 0.2, pad_id)
        close(found, _reference(logits, target, 0.2, pad_id), "the loss")
        found = student.label_smoothed_loss(logits, target, pad_id=pad_id)
        close(found, _reference(logits, target, 0.1, pad_id), "the loss")


@hidden("label_smoothed_loss", weight=2)
def gradients_are_those_of_cross_entropy(student: Student, rng: Randomness) -> None:
    """The gradient is cross-entropy's: probability minus smoothed target, 0 at padding."""
    for smoothing in (0.0, 0.1, 0.5):
        logits, target = _batch(rng, 0)
        logits.requires_grad_()
        expected = _reference(logits, target, smoothing, 0)
        found = student.label_smoothed_loss(logits, target, smoothing)
        close(found, expected, "the loss")
        (arrived,) = gradients(found, torch.tensor(1.0, dtype=found.dtype), [logits], "the loss")
        (wanted,) = torch.autograd.grad(expected, logits)
        close(arrived, wanted, "the gradient")


@hidden("label_smoothed_loss", weight=2)
def nothing_but_padding_is_zero(student: Student, rng: Randomness) -> None:
    """A batch of nothing but padding has loss 0, and sends back gradients of 0; other batches aren't 0."""
    for pad_id in (0, 2):
        batch, length, vocabulary = rng.sizes(3)
        logits = rng.normal(batch, length, vocabulary, dtype=torch.float32).requires_grad_()
        target = torch.full((batch, length), pad_id)
        found = student.label_smoothed_loss(logits, target, 0.1, pad_id)
        close(found, torch.zeros(()), "the loss")
        (arrived,) = gradients(found, torch.tensor(1.0), [logits], "the loss")
        close(arrived, torch.zeros_like(logits), "the gradient")
        target[0, 0] = (pad_id + 1) % vocabulary
        found = student.label_smoothed_loss(logits, target, 0.1, pad_id)
        close(found, _reference(logits, target, 0.1, pad_id), "the loss of a single real token")


@hidden("label_smoothed_loss", weight=2)
def large_logits_overflow_nothing(student: Student, rng: Randomness) -> None:
    """Logits of thousands, and all shifted far from 0, give a finite loss with finite gradients."""
    for std, shift in ((3000.0, 0.0), (1.0, 5000.0), (1.0, -5000.0)):
        logits, target = _batch(rng, 0, torch.float32, std=std)
        logits = (logits + shift).requires_grad_()
        for smoothing in (0.0, 0.1):
            found = student.label_smoothed_loss(logits, target, smoothing)
            finite(found, "the loss")
            close(found, _reference(logits, target, smoothing, 0), "the loss", rtol=1e-3, atol=5e-3)
            (arrived,) = gradients(found, torch.tensor(1.0), [logits], "the loss")
            finite(arrived, "the gradient")


@hidden("label_smoothed_loss")
def sizes_and_dtypes_of_the_loss(student: Student, rng: Randomness) -> None:
    """Works for one sequence, one token, two classes and tensors that aren't contiguous, in float32 and float64."""
    for shape in ((1, 7, 5), (4, 1, 6), (1, 1, 3), (3, 5, 2)):
        for dtype in (torch.float32, torch.float64):
            logits = rng.normal(*shape, dtype=dtype)
            target = rng.integers(1, shape[-1] - 1, *shape[:2])
            close(student.label_smoothed_loss(logits, target), _reference(logits, target, 0.1, 0), "the loss")
    logits, target = _batch(rng, 0)
    turned, turned_target = logits.transpose(0, 1), target.T
    expected = _reference(turned, turned_target, 0.1, 0)
    close(student.label_smoothed_loss(turned, turned_target), expected, "the loss of tensors that aren't contiguous")
    small = rng.normal(2, 3, 5, dtype=torch.bfloat16)
    found = a_tensor(student.label_smoothed_loss(small, torch.tensor([[1, 2, 3], [4, 0, 0]])), "the loss")
    expect(found.dtype == torch.bfloat16, "the loss has another dtype than the logits")


# noam_rate


def _rate(step: int, d_model: int, warmup: int) -> float:
    """Compute the paper's formula by way of logarithms."""
    rising, falling = math.log(step) - 1.5 * math.log(warmup), -0.5 * math.log(step)
    return math.exp(min(rising, falling) - 0.5 * math.log(d_model))


def _compare_rates(student: Student, steps: list[int], d_model: int, warmup: int) -> None:
    for step in steps:
        found = student.noam_rate(step, d_model, warmup)
        expect(isinstance(found, float), "a rate is not a float")
        expect(math.isclose(found, _rate(step, d_model, warmup), rel_tol=1e-6), "wrong numbers: the rate")


@hidden("noam_rate", weight=2)
def rises_in_a_straight_line(student: Student, rng: Randomness) -> None:
    """Up to the end of the warm-up, the rate is proportional to the step."""
    for _ in range(5):
        warmup, d_model = rng.integer(50, 6000), rng.integer(16, 1500)
        _compare_rates(student, [1, 2, rng.integer(3, warmup - 1), warmup - 1, warmup], d_model, warmup)


@hidden("noam_rate", weight=2)
def falls_with_the_root_of_the_step(student: Student, rng: Randomness) -> None:
    """After the warm-up, the rate falls as one over the root of the step, however long the warm-up was."""
    for _ in range(5):
        warmup, d_model = rng.integer(1, 6000), rng.integer(16, 1500)
        _compare_rates(student, [warmup + 1, warmup + rng.integer(2, 10_000), 10**7], d_model, warmup)


@hidden("noam_rate")
def step_zero_is_zero(student: Student, rng: Randomness) -> None:
    """Step 0 has rate 0, and step 1 doesn't."""
    warmup, d_model = rng.integer(2, 6000), rng.integer(16, 1500)
    found = student.noam_rate(0, d_model, warmup)
    expect(isinstance(found, (int, float)) and not isinstance(found, bool) and found == 0, "step 0 hasn't the rate 0.0")
    _compare_rates(student, [1], d_model, warmup)


@hidden("noam_rate")
def shortest_warmup_and_widths(student: Student, rng: Randomness) -> None:
    """A warm-up of a single step works, and so does every width."""
    for d_model in (1, 2, rng.integer(3, 99)):
        _compare_rates(student, [1, 2, 3, rng.integer(4, 500)], d_model, 1)

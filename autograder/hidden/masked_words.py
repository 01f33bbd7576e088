"""Hidden tests of chapter 07, part 1: hiding words, and the loss on what was hidden.

Draws differ from answer to answer, so shares are compared with their probabilities; a right answer fails a bound once in more
than a billion draws.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, finite, gradients, pair, untouched
from autograder.hidden.randomness import Randomness
from utils.student import HeldObject, Student

SIGMAS = 7.0
UNASKED = -100


# mask_tokens


def _draw(student: Student, ids: Tensor, special: Tensor, mask_id: int, vocab_size: int, *p: float,
          generator: HeldObject | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Call the learner's function; give (inputs, labels), whose form and labels are what they have to be."""
    options = {} if generator is None else {"generator": generator}
    inputs, labels = pair(student.mask_tokens(ids, special, mask_id, vocab_size, *p, **options), "(inputs, labels)")
    untouched(student)
    for value, what in ((inputs, "the inputs"), (labels, "the labels")):
        expect(a_tensor(value, what).shape == ids.shape, f"wrong shape: {what}")
        expect(value.dtype == torch.int64, f"wrong dtype: {what}")
    expect(
        bool(((labels == ids) | (labels == UNASKED)).all()),
        "labels should be the true id, or -100 where nothing is asked",
    )
    expect(bool((inputs == ids)[labels == UNASKED].all()), "a token that wasn't chosen has changed in the inputs")
    expect(bool((labels == UNASKED)[special].all()), "a special token was chosen")
    return inputs, labels


def _likely(seen: Tensor, probability: float, what: str) -> None:
    expect(seen.numel() > 0, f"there is nothing to measure {what} on: no token was chosen")
    spread = (probability * (1 - probability) / seen.numel()) ** 0.5
    share = seen.double().mean().item()
    expect(abs(share - probability) <= SIGMAS * spread + 1e-12, f"the share is wrong: {what}")


def _batch(rng: Randomness, rows: int = 120, columns: int = 150) -> tuple[Tensor, Tensor, int, int]:
    """Draw (ids, special, mask_id, vocab_size); mask_id stands in no text, and isn't the last id."""
    vocab_size = rng.integer(700, 1500)
    mask_id = rng.integer(200, 500)
    ids = rng.integers(1, vocab_size - 2, rows, columns)
    ids[ids == mask_id] += 1
    return ids, rng.mask(rows, columns, share=0.2), mask_id, vocab_size


@hidden("mask_tokens", weight=2)
def chosen_with_probability_p(student: Student, rng: Randomness) -> None:
    """Tokens that aren't special are chosen with probability p, 0.15 by default; with 0 none, with 1 all of them."""
    ids, special, mask_id, vocab_size = _batch(rng)
    student.seed(rng.integer(0, 10**6))
    for options, p in (((), 0.15), ((0.3,), 0.3), ((0.62,), 0.62), ((0.0,), 0.0), ((1.0,), 1.0)):
        inputs, labels = _draw(student, ids, special, mask_id, vocab_size, *options)
        _likely((labels != UNASKED)[~special], p, "tokens that are chosen")
        if p:
            _likely((inputs == mask_id)[~special], 0.8 * p + 0.1 * p / vocab_size, "tokens that are hidden by mask_id")


@hidden("mask_tokens")
def the_choice_differs_from_place_to_place(student: Student, rng: Randomness) -> None:
    """Each row and each column has a choice of its own."""
    ids, _special, mask_id, vocab_size = _batch(rng, 80, 90)
    none = torch.zeros_like(ids, dtype=torch.bool)
    student.seed(rng.integer(0, 10**6))
    chosen = _draw(student, ids, none, mask_id, vocab_size, 0.5)[1] != UNASKED
    _likely(chosen, 0.5, "tokens that are chosen")
    expect(len(chosen.unique(dim=0)) == 80, "several rows are treated alike")
    expect(len(chosen.unique(dim=1)[0]) == 90, "several columns are treated alike")


@hidden("mask_tokens", weight=3)
def the_three_fates(student: Student, rng: Randomness) -> None:
    """Of the chosen tokens 80 % become mask_id, 10 % another id, 10 % stay, whatever p is."""
    for p in (1.0, 0.35):
        ids, special, mask_id, vocab_size = _batch(rng)
        student.seed(rng.integer(0, 10**6))
        inputs, labels = _draw(student, ids, special, mask_id, vocab_size, p)
        chosen = labels != UNASKED
        masked, kept = (inputs == mask_id)[chosen], (inputs == ids)[chosen]
        _likely(masked, 0.8 + 0.1 / vocab_size, "chosen tokens that become mask_id")
        _likely(kept, 0.1 + 0.1 / vocab_size, "chosen tokens that stay as they are")
        _likely(~masked & ~kept, 0.1 - 0.2 / vocab_size, "chosen tokens that become another id")


@hidden("mask_tokens", weight=2)
def random_ids_come_from_everywhere(student: Student, rng: Randomness) -> None:
    """Random ids are drawn from all ids of the vocabulary, alike, and for each token anew."""
    vocab_size = rng.integer(9, 14)
    mask_id = rng.integer(2, 4)  # most ids lie above it
    for true_id in (0, vocab_size - 1):  # where the true id is 0, the draws don't show whether 0 is ever drawn
        ids = torch.full((150, 200), true_id)
        student.seed(rng.integer(0, 10**6))
        none = torch.zeros_like(ids, dtype=torch.bool)
        inputs, _labels = _draw(student, ids, none, mask_id, vocab_size, 1.0)
        drawn = inputs[(inputs != mask_id) & (inputs != true_id)]
        expect(bool(drawn.numel()), "no token became a random id")
        expect(bool((drawn >= 0).all() and (drawn < vocab_size).all()), "a random id lies outside the vocabulary")
        others = [number for number in range(vocab_size) if number not in (mask_id, true_id)]
        for number in others:
            _likely(drawn == number, 1 / len(others), "random ids that are a certain one")


@hidden("mask_tokens", weight=2)
def special_tokens_are_never_chosen(student: Student, rng: Randomness) -> None:
    """Special tokens stay in the inputs and have no label, even with p = 1 or where nothing else is there."""
    ids, special, mask_id, vocab_size = _batch(rng, 40, 30)
    student.seed(rng.integer(0, 10**6))
    inputs, labels = _draw(student, ids, special, mask_id, vocab_size, 1.0)
    expect(bool((inputs == ids)[special].all()), "a special token has changed")
    expect(bool((labels == ids)[~special].all()), "with p = 1, every token that isn't special is chosen")
    inputs, labels = _draw(student, ids, torch.ones_like(special), mask_id, vocab_size, 1.0)
    expect(bool((inputs == ids).all() and (labels == UNASKED).all()), "where all tokens are special, nothing happens")


@hidden("mask_tokens", weight=2)
def the_generator_decides(student: Student, rng: Randomness) -> None:
    """The same generator state gives the same result, whatever torch's own state; each further call draws anew."""
    ids, special, mask_id, vocab_size = _batch(rng, 12, 50)
    seed = rng.integer(0, 10**6)

    def drawn(generator: HeldObject | None) -> Tensor:
        return torch.stack(_draw(student, ids, special, mask_id, vocab_size, 0.5, generator=generator))

    first_generator = student.host("generator", seed)
    student.seed(1)
    first, second = drawn(first_generator), drawn(first_generator)
    student.seed(2)
    expect(torch.equal(first, drawn(student.host("generator", seed))), "the same generator state gives something else")
    expect(not torch.equal(first, second), "the same generator, used again, gives the same again")
    expect(not torch.equal(first, drawn(student.host("generator", seed + 1))), "another generator state gives the same")


@hidden("mask_tokens")
def without_a_generator_torchs_own_decides(student: Student, rng: Randomness) -> None:
    """Without a generator torch.manual_seed decides, and each call draws anew."""
    ids, special, mask_id, vocab_size = _batch(rng, 12, 50)
    seed = rng.integer(0, 10**6)
    draws = []
    for _ in range(2):
        student.seed(seed)
        draws.append([torch.stack(_draw(student, ids, special, mask_id, vocab_size, 0.5)) for _ in range(2)])
    expect(torch.equal(draws[0][0], draws[1][0]), "the same seed gives something else")
    expect(torch.equal(draws[0][1], draws[1][1]), "the same seed gives something else in the second call")
    expect(not torch.equal(*draws[0]), "two calls give the same")


@hidden("mask_tokens")
def works_for_small_and_transposed_batches(student: Student, rng: Randomness) -> None:
    """Works for a single token and for ids that aren't contiguous in memory."""
    student.seed(rng.integer(0, 10**6))
    for _ in range(5):
        token = rng.integers(5, 90, 1, 1)
        inputs, labels = _draw(student, token, torch.zeros(1, 1, dtype=torch.bool), 3, 97, 1.0)
        expect(torch.equal(labels, token), "with p = 1 the only token is chosen")
    ids, special, mask_id, vocab_size = _batch(rng, 90, 60)
    inputs, labels = _draw(student, ids.T, special.T, mask_id, vocab_size, 1.0)
    expect(torch.equal(labels != UNASKED, ~special.T), "with p = 1, every token that isn't special is chosen")
    _likely((inputs == mask_id)[~special.T], 0.8 + 0.1 / vocab_size, "chosen tokens that become mask_id")


# mlm_loss


def _asked(rng: Randomness, *shape: int, high: int, share: float = 0.4) -> Tensor:
    """Draw labels of which some are asked about, and some not."""
    labels = rng.integers(0, high - 1, *shape)
    return labels.masked_fill(~rng.mask(shape[0] * shape[1], share=share).reshape(shape), UNASKED)


@hidden("mlm_loss", weight=3)
def the_mean_over_what_is_asked(student: Student, rng: Randomness) -> None:
    """The loss is the mean cross-entropy over all tokens that are asked about, however many each sentence has."""
    for share in (0.15, 0.5, 0.9):
        batch, length, vocabulary = rng.sizes(3)
        logits = 2 * rng.normal(batch, length, vocabulary)
        labels = _asked(rng, batch, length, high=vocabulary, share=share)
        loss = student.mlm_loss(logits, labels)
        untouched(student)
        close(loss, F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=UNASKED), "the loss")


@hidden("mlm_loss", weight=2)
def id_zero_is_a_token_too(student: Student, rng: Randomness) -> None:
    """A token whose true id is 0 counts like any other, and so does the last id."""
    batch, length, vocabulary = rng.sizes(3)
    logits = rng.normal(batch, length, vocabulary)
    for number in (0, vocabulary - 1):
        labels = torch.full((batch, length), UNASKED)
        labels[0, 1] = number
        labels[-1, 0] = 1
        wanted = -(logits[0, 1].log_softmax(-1)[number] + logits[-1, 0].log_softmax(-1)[1]) / 2
        close(student.mlm_loss(logits, labels), wanted, "the loss")


@hidden("mlm_loss", weight=2)
def nothing_asked_is_zero_and_connected(student: Student, rng: Randomness) -> None:
    """Where nothing is asked the loss is 0, and a backward pass gives gradients of 0."""
    batch, length, vocabulary = rng.sizes(3)
    logits = rng.normal(batch, length, vocabulary).requires_grad_()
    some = _asked(rng, batch, length, high=vocabulary)
    close(student.mlm_loss(logits, some), F.cross_entropy(logits.flatten(0, 1), some.flatten()), "the loss")
    loss = student.mlm_loss(logits, torch.full((batch, length), UNASKED))
    close(loss, logits.new_zeros(()), "the loss where nothing is asked")
    (gradient,) = gradients(loss, torch.ones(()), [logits], "the loss where nothing is asked")
    close(gradient, torch.zeros_like(logits), "the gradient where nothing is asked")


@hidden("mlm_loss", weight=2)
def gradients_of_the_loss(student: Student, rng: Randomness) -> None:
    """Gradients reach the tokens that are asked about, and only those."""
    batch, length, vocabulary = rng.sizes(3)
    logits = rng.normal(batch, length, vocabulary).requires_grad_()
    labels = _asked(rng, batch, length, high=vocabulary)
    loss = student.mlm_loss(logits, labels)
    expected = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=UNASKED)
    close(loss, expected, "the loss")
    (gradient,) = gradients(loss, torch.ones(()), [logits], "the loss")
    close(gradient, torch.autograd.grad(expected, logits)[0], "the gradient")


@hidden("mlm_loss")
def dtypes_sizes_and_large_logits(student: Student, rng: Randomness) -> None:
    """Keeps float32 and float64; works for one token, for logits that aren't contiguous, and for very large ones."""
    batch, length, vocabulary = rng.sizes(3)
    for dtype in (torch.float32, torch.float64):
        for logits in (
            rng.normal(batch, length, vocabulary, dtype=dtype),
            1e4 * rng.normal(batch, length, vocabulary, dtype=dtype),
            rng.normal(length, batch, vocabulary, dtype=dtype).transpose(0, 1),
            rng.normal(1, 1, vocabulary, dtype=dtype),
        ):
            labels = rng.integers(0, vocabulary - 1, *logits.shape[:2])
            loss = student.mlm_loss(logits, labels)
            finite(loss, "the loss")
            close(loss, F.cross_entropy(logits.flatten(0, 1), labels.flatten()), "the loss")

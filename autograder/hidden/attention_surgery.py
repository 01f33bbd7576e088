"""Hidden tests of chapter 04's copy_from_torch and without_head. References are the paper's formula, head by head."""

from collections.abc import Iterator

import torch

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, gradients, pair
from autograder.hidden.multi_head_reference import (
    PAIR,
    State,
    draw_sizes,
    draw_state,
    hosted,
    packed_state,
    same_state,
    true_attention,
)
from autograder.hidden.randomness import Randomness
from utils.student import HeldObject, Student

# copy_from_torch


def _pairs(student: Student, rng: Randomness) -> Iterator[tuple[State, int, HeldObject, HeldObject]]:
    """Give (weights, number of heads, mine, theirs) after the copy, with biases and without."""
    for bias in (True, False):
        _batch, n_heads, _t_q, _t_k, d_model = draw_sizes(rng)
        state = draw_state(rng, d_model, bias, torch.float32)
        mine = hosted(student, draw_state(rng, d_model, bias, torch.float32), n_heads)
        theirs = student.host("torch_multihead_attention", d_model, n_heads, bias=bias).load(packed_state(state))
        student.copy_from_torch(mine, theirs)
        yield state, n_heads, mine, theirs


@hidden("copy_from_torch", weight=3)
def all_weights_are_copied(student: Student, rng: Randomness) -> None:
    """Weights and biases of all four layers become PyTorch's, each in its place, with biases or without."""
    for state, _n_heads, mine, _theirs in _pairs(student, rng):
        same_state(mine.parameters(), state, "mine")


@hidden("copy_from_torch", weight=2)
def both_give_the_same_output(student: Student, rng: Randomness) -> None:
    """After the copy, both give the same output and weights."""
    for state, n_heads, mine, _theirs in _pairs(student, rng):
        d_model = state["q_proj.weight"].shape[0]
        query, memory = (rng.normal(2, t, d_model, dtype=torch.float32) for t in rng.sizes(2))
        output, weights = pair(mine(query, memory, memory), PAIR)
        expected_output, expected_weights = true_attention(state, n_heads, query, memory, memory)
        close(output, expected_output, "the output")
        close(weights, expected_weights, "the weights")


@hidden("copy_from_torch", weight=2)
def values_are_copied_and_not_storage(student: Student, rng: Randomness) -> None:
    """Changing one of the two later doesn't change the other."""
    for state, _n_heads, mine, theirs in _pairs(student, rng):
        theirs.load({name: value + 1 for name, value in packed_state(state).items()})
        same_state(mine.parameters(), state, "mine, after theirs has changed,")
        mine.load({name: value - 1 for name, value in state.items()})
        same_state(
            theirs.parameters(), {n: v + 1 for n, v in packed_state(state).items()}, "theirs, after mine has changed,"
        )


@hidden("copy_from_torch", weight=2)
def everything_can_still_be_trained(student: Student, rng: Randomness) -> None:
    """After the copy all parameters still learn: they ask for gradients, and get them."""
    for state, n_heads, mine, theirs in _pairs(student, rng):
        same_state(mine.parameters(), state, "mine")
        expect(all(mine.trainable().get(name, False) for name in state), "parameters of mine don't learn any more")
        expect(all(theirs.trainable().values()), "parameters of theirs don't learn any more")
        x = rng.normal(2, 5, state["q_proj.weight"].shape[0], dtype=torch.float32).requires_grad_()
        output = pair(mine(x, x, x), PAIR)[0]
        close(output, true_attention(state, n_heads, x, x, x)[0], "the output")
        gradients(output, torch.ones_like(output), [x])
        expect(set(state) <= set(mine.gradients()), "the gradient doesn't reach every layer of mine")


@hidden("copy_from_torch")
def the_source_stays_as_it_was(student: Student, rng: Randomness) -> None:
    """PyTorch's block isn't changed by the copy."""
    for state, _n_heads, mine, theirs in _pairs(student, rng):
        same_state(theirs.parameters(), packed_state(state), "theirs")
        same_state(mine.parameters(), state, "mine")


@hidden("copy_from_torch")
def copies_in_float64_too(student: Student, rng: Randomness) -> None:
    """In float64 nothing is rounded."""
    _batch, n_heads, _t_q, _t_k, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model)
    mine = hosted(student, draw_state(rng, d_model), n_heads)
    theirs = student.host("torch_multihead_attention", d_model, n_heads).to("float64").load(packed_state(state))
    student.copy_from_torch(mine, theirs)
    same_state(mine.parameters(), state, "mine")


# without_head


def _without(student: Student, rng: Randomness, bias: bool, dtype: torch.dtype = torch.float32) -> tuple:
    batch, n_heads, t_q, t_k, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model, bias, dtype)
    query, memory = (rng.normal(batch, t, d_model, dtype=dtype) for t in (t_q, t_k))
    return state, n_heads, hosted(student, state, n_heads), query, memory


@hidden("without_head", weight=3)
def the_head_adds_nothing(student: Student, rng: Randomness) -> None:
    """The output is that of all other heads plus out_proj's bias, whichever head is taken away, with biases or without."""
    for bias in (True, False):
        state, n_heads, mha, x, memory = _without(student, rng, bias)
        for head in range(n_heads):
            output, _weights = pair(student.without_head(mha, head).eval()(x, memory, memory), PAIR)
            close(output, true_attention(state, n_heads, x, memory, memory, removed=(head,))[0], "the output")


@hidden("without_head", weight=2)
def the_original_keeps_its_head(student: Student, rng: Randomness) -> None:
    """The original gives what it gave before, and its parameters are what they were."""
    state, n_heads, mha, x, memory = _without(student, rng, bias=True)
    head = rng.integer(0, n_heads - 1)
    output, _weights = pair(student.without_head(mha, head).eval()(x, memory, memory), PAIR)
    close(output, true_attention(state, n_heads, x, memory, memory, removed=(head,))[0], "the output of the copy")
    same_state(mha.parameters(), state, "the original")
    close(
        pair(mha(x, memory, memory), PAIR)[0],
        true_attention(state, n_heads, x, memory, memory)[0],
        "the original's output",
    )
    expect(all(mha.trainable().values()), "parameters of the original don't learn any more")


@hidden("without_head", weight=2)
def original_and_copy_share_nothing(student: Student, rng: Randomness) -> None:
    """Changing the original later doesn't change the copy."""
    state, n_heads, mha, x, memory = _without(student, rng, bias=True)
    head = rng.integer(0, n_heads - 1)
    silenced = student.without_head(mha, head).eval()
    mha.load({name: value + 1 for name, value in state.items()})
    output, _weights = pair(silenced(x, memory, memory), PAIR)
    close(output, true_attention(state, n_heads, x, memory, memory, removed=(head,))[0], "the output of the copy")


@hidden("without_head", weight=2)
def the_copy_is_a_whole_attention(student: Student, rng: Randomness) -> None:
    """The copy takes masks, gives the other heads' weights in their places, and heads can be taken from it again."""
    state, n_heads, mha, x, memory = _without(student, rng, bias=True)
    first, second = rng.order(n_heads)[:2].tolist()
    silenced = student.without_head(mha, first).eval()
    mask = rng.mask(x.shape[0], x.shape[1], memory.shape[1])
    expected = true_attention(state, n_heads, x, memory, memory, mask, removed=(first,))
    output, weights = pair(silenced(x, memory, memory, mask), PAIR)
    close(output, expected[0], "the output")
    others = [head for head in range(n_heads) if head != first]
    expect(a_tensor(weights, "the weights").shape == expected[1].shape, "wrong shape: the weights")
    close(weights[:, others], expected[1][:, others], "the weights of the other heads")
    expect(silenced.attribute("n_heads") == n_heads, "n_heads isn't that of the original")
    output, _weights = pair(student.without_head(silenced, second).eval()(x, memory, memory), PAIR)
    removed = (first, second)
    close(output, true_attention(state, n_heads, x, memory, memory, removed=removed)[0], "the output without two heads")


@hidden("without_head")
def the_copy_has_the_originals_dtype(student: Student, rng: Randomness) -> None:
    """A copy of a module in float64 computes in float64."""
    state, n_heads, mha, x, memory = _without(student, rng, bias=True, dtype=torch.float64)
    head = rng.integer(0, n_heads - 1)
    output, _weights = pair(student.without_head(mha, head).eval()(x, memory, memory), PAIR)
    close(output, true_attention(state, n_heads, x, memory, memory, removed=(head,))[0], "the output")

"""Hidden tests of chapter 04's KVCache. The reference is causal attention over the whole sentence."""

import torch
from torch import Tensor

from autograder.hidden import hidden
from autograder.hidden.expectations import a_tensor, close, expect, pair, untouched
from autograder.hidden.multi_head_reference import (
    PAIR,
    State,
    draw_sizes,
    draw_state,
    hosted,
    same_state,
    true_attention,
)
from autograder.hidden.randomness import Randomness
from utils.student import HeldObject, Student


def _causal(state: State, n_heads: int, x: Tensor) -> Tensor:
    length = x.shape[1]
    return true_attention(state, n_heads, x, x, x, torch.ones(length, length).tril().bool())[0]


def _step(student: Student, cache: HeldObject, token: Tensor) -> Tensor:
    output = a_tensor(cache.method("step", token), "the output of a step")
    untouched(student)
    expect(output.shape == token.shape, "wrong shape: the output of a step")
    return output


def _steps(student: Student, cache: HeldObject, x: Tensor) -> Tensor:
    return torch.cat([_step(student, cache, token) for token in x.split(1, dim=1)], dim=1)


@hidden("KVCache", weight=3)
def steps_equal_the_whole_sentence(student: Student, rng: Randomness) -> None:
    """Step by step, the outputs are those of causal attention over the whole sentence, for several sentences at once."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model)
    mha = hosted(student, state, n_heads)
    for size, length in ((batch, t), (1, 3), (n_heads, 5)):
        x = rng.normal(size, length, d_model)
        close(_steps(student, student.KVCache(mha), x), _causal(state, n_heads, x), "the steps' outputs")


@hidden("KVCache", weight=2)
def every_number_of_heads_works(student: Student, rng: Randomness) -> None:
    """Works for any number of heads, with biases or without."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    for heads, bias in ((1, True), (d_model, False), (n_heads, False)):
        state = draw_state(rng, d_model, bias)
        x = rng.normal(batch, t, d_model)
        cache = student.KVCache(hosted(student, state, heads))
        close(_steps(student, cache, x), _causal(state, heads, x), "the steps' outputs")


@hidden("KVCache", weight=2)
def caches_share_no_memory(student: Student, rng: Randomness) -> None:
    """Several caches of one module run side by side without seeing each other, also with different batches."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model)
    mha = hosted(student, state, n_heads)
    texts = [rng.normal(batch, t, d_model), rng.normal(batch, t, d_model), rng.normal(batch + 1, t, d_model)]
    caches = [student.KVCache(mha) for _ in texts]
    outputs: list[list[Tensor]] = [[] for _ in texts]
    for position in range(t):
        for cache, text, steps in zip(caches, texts, outputs, strict=True):
            steps.append(_step(student, cache, text[:, position : position + 1]))
    for text, steps in zip(texts, outputs, strict=True):
        close(torch.cat(steps, dim=1), _causal(state, n_heads, text), "the steps' outputs")


@hidden("KVCache")
def cache_keeps_float32(student: Student, rng: Randomness) -> None:
    """The outputs have the dtype of the tokens, in float32 as in float64."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    for dtype in (torch.float32, torch.float64):
        state = draw_state(rng, d_model, dtype=dtype)
        x = rng.normal(batch, t, d_model, dtype=dtype)
        cache = student.KVCache(hosted(student, state, n_heads))
        close(_steps(student, cache, x), _causal(state, n_heads, x), "the steps' outputs")


@hidden("KVCache")
def the_module_stays_as_it_was(student: Student, rng: Randomness) -> None:
    """The cache leaves the module that it uses as it was."""
    batch, n_heads, t, _, d_model = draw_sizes(rng)
    state = draw_state(rng, d_model)
    mha = hosted(student, state, n_heads)
    x = rng.normal(batch, t, d_model)
    close(_steps(student, student.KVCache(mha), x), _causal(state, n_heads, x), "the steps' outputs")
    same_state(mha.parameters(), state, "the module")
    close(pair(mha(x, x, x), PAIR)[0], true_attention(state, n_heads, x, x, x)[0], "the module's output")

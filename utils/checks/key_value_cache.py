"""What the visible check of chapter 04 looks at in KVCache.

Sizes are pairwise different and none is the square of another; weights are inputs, scores aren't saturated.
"""

import torch
from torch import Tensor

from utils.checks.multi_head_weights import (
    D_MODEL,
    HEADS,
    draw_biases,
    draw_matrices,
    hosted,
    state_of,
    unchanged,
)
from utils.probes import probe
from utils.student import HeldObject, Student


def _all_steps(cache: HeldObject, x: Tensor) -> Tensor:
    return torch.cat([cache.method("step", token) for token in x.split(1, dim=1)], dim=1)


@probe(
    "KVCache",
    "the first step: the token can look at nothing but itself",
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 1, D_MODEL),
)
def first_step(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return student.KVCache(hosted(student, w, b)).method("step", x)


@probe(
    "KVCache",
    "the second step: the token looks at the first one and at itself",
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 2, D_MODEL),
)
def second_step(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    cache = student.KVCache(hosted(student, w, b))
    cache.method("step", x[:, :1])
    return cache.method("step", x[:, 1:])


@probe(
    "KVCache",
    "step by step equals causal attention over the whole sentence",
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 7, D_MODEL),
)
def all_steps(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return _all_steps(student.KVCache(hosted(student, w, b)), x)


@probe("KVCache", "works for one sentence, and without biases", w=draw_matrices, x=lambda n: n.normal(1, 5, D_MODEL))
def one_sentence(student: Student, w: Tensor, x: Tensor) -> object:
    return _all_steps(student.KVCache(hosted(student, w, None)), x)


@probe(
    "KVCache",
    "two caches don't see each other's memory",
    labels=("first", "second"),
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
    y=lambda n: n.normal(2, 5, D_MODEL),
)
def two_caches(student: Student, w: Tensor, b: Tensor, x: Tensor, y: Tensor) -> object:
    mha = hosted(student, w, b)
    first, second = student.KVCache(mha), student.KVCache(mha)
    results = [(first.method("step", x[:, t : t + 1]), second.method("step", y[:, t : t + 1])) for t in range(5)]
    return tuple(torch.cat(side, dim=1) for side in zip(*results, strict=True))


@probe(
    "KVCache", "works where there is a single head", w=draw_matrices, b=draw_biases, x=lambda n: n.normal(2, 3, D_MODEL)
)
def one_head(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    mha = student.host("multi_head_attention", D_MODEL, 1).load(state_of(w, b)).eval()
    return _all_steps(student.KVCache(mha), x)


@probe(
    "KVCache", "keeps float64", w=draw_matrices, b=draw_biases, x=lambda n: n.normal(2, 5, D_MODEL, dtype=torch.float64)
)
def cache_double(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    state = {name: value.double() for name, value in state_of(w, b).items()}
    mha = student.host("multi_head_attention", D_MODEL, HEADS).to("float64").load(state).eval()
    return _all_steps(student.KVCache(mha), x)


@probe(
    "KVCache",
    "the attention that it uses stays as it was",
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 3, D_MODEL),
)
def attention_unchanged(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    mha = hosted(student, w, b)
    steps = _all_steps(student.KVCache(mha), x)
    return {"steps": steps, "its weights are untouched": unchanged(mha, state_of(w, b)), "output": mha(x, x, x)[0]}

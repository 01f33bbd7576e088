"""What the visible checks of chapter 04 look at in copy_from_torch and without_head.

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

# copy_from_torch


def _theirs(student: Student, w: Tensor, b: Tensor | None) -> HeldObject:
    packed = {"in_proj_weight": w[:3].flatten(0, 1), "out_proj.weight": w[3]}
    if b is not None:
        packed |= {"in_proj_bias": b[:3].flatten(), "out_proj.bias": b[3]}
    return student.host("torch_multihead_attention", D_MODEL, HEADS, bias=b is not None).load(packed)


def _copied(student: Student, w: Tensor, b: Tensor | None) -> tuple[HeldObject, HeldObject]:
    mine = hosted(student, 0.1 + 0 * w, None if b is None else 0.2 + 0 * b)
    theirs = _theirs(student, w, b)
    student.copy_from_torch(mine, theirs)
    return mine, theirs


@probe("copy_from_torch", "weights and biases of all four layers are PyTorch's", w=draw_matrices, b=draw_biases)
def all_parameters(student: Student, w: Tensor, b: Tensor) -> object:
    mine, _theirs = _copied(student, w, b)
    return mine.parameters()


@probe("copy_from_torch", "works where neither has biases", w=draw_matrices)
def no_biases(student: Student, w: Tensor) -> object:
    mine, _theirs = _copied(student, w, None)
    return mine.parameters()


@probe(
    "copy_from_torch",
    "both give the same output afterwards",
    w=draw_matrices,
    b=draw_biases,
    query=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
)
def same_output(student: Student, w: Tensor, b: Tensor, query: Tensor, memory: Tensor) -> object:
    mine, _theirs = _copied(student, w, b)
    return mine(query, memory, memory)[0]


@probe(
    "copy_from_torch",
    "values are copied, not storage: neither model changes the other later",
    w=draw_matrices,
    b=draw_biases,
)
def own_storage(student: Student, w: Tensor, b: Tensor) -> object:
    mine, theirs = _copied(student, w, b)
    before = mine.parameters()
    theirs.load({name: value + 1 for name, value in theirs.parameters().items()})
    follows = [name for name, value in mine.parameters().items() if not torch.equal(value, before[name])]
    mine.load({name: value - 5 for name, value in mine.parameters().items()})
    expected = {name: value + 1 for name, value in _theirs(student, w, b).parameters().items()}
    return {
        "follows a change of theirs": ", ".join(follows) or "none",
        "theirs stays as it was": unchanged(theirs, expected),
    }


@probe("copy_from_torch", "the parameters can still be trained, and theirs too", w=draw_matrices, b=draw_biases)
def still_learning(student: Student, w: Tensor, b: Tensor) -> object:
    mine, theirs = _copied(student, w, b)
    frozen = [f"mine: {name}" for name, learns in mine.trainable().items() if not learns]
    frozen += [f"theirs: {name}" for name, learns in theirs.trainable().items() if not learns]
    missing = sorted(set(state_of(w, b)) - set(mine.parameters()))
    return {"frozen": ", ".join(frozen) or "none", "no parameters any more": ", ".join(missing) or "none"}


@probe("copy_from_torch", "theirs isn't changed", w=draw_matrices, b=draw_biases)
def theirs_untouched(student: Student, w: Tensor, b: Tensor) -> object:
    _mine, theirs = _copied(student, w, b)
    return theirs.parameters()


# without_head


def _each_head_removed(student: Student, mha: HeldObject, x: Tensor) -> dict[str, object]:
    return {f"output without head {head}": student.without_head(mha, head)(x, x, x)[0] for head in range(HEADS)}


@probe(
    "without_head",
    "the output is the sum over the other heads, plus the bias of out_proj",
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def others_remain(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return _each_head_removed(student, hosted(student, w, b), x)


@probe("without_head", "works without biases", w=draw_matrices, x=lambda n: n.normal(2, 5, D_MODEL))
def others_remain_without_bias(student: Student, w: Tensor, x: Tensor) -> object:
    return _each_head_removed(student, hosted(student, w, None), x)


@probe(
    "without_head", "the original stays as it was", w=draw_matrices, b=draw_biases, x=lambda n: n.normal(2, 5, D_MODEL)
)
def original_unchanged(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    mha = hosted(student, w, b)
    silenced = student.without_head(mha, 1)
    seen = {"the original's output": mha(x, x, x)[0], "its weights are untouched": unchanged(mha, state_of(w, b))}
    silenced.train()
    return seen | {"the copy is another object": not mha.training}


@probe(
    "without_head",
    "the copy shares no weights with the original",
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def own_weights(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    mha = hosted(student, w, b)
    silenced = student.without_head(mha, 2)
    mha.load({name: value + 1 for name, value in state_of(w, b).items()})
    return silenced(x, x, x)[0]


@probe(
    "without_head",
    "the copy is a whole attention: cross-attention, masks, weights of the other heads, n_heads",
    w=draw_matrices,
    b=draw_biases,
    query=lambda n: n.normal(2, 4, D_MODEL),
    memory=lambda n: n.normal(2, 5, D_MODEL),
    mask=torch.tensor([[[1, 1, 1, 0, 0]], [[0, 1, 1, 1, 1]]]).bool(),
)
def whole_attention(student: Student, w: Tensor, b: Tensor, query: Tensor, memory: Tensor, mask: Tensor) -> object:
    silenced = student.without_head(hosted(student, w, b), 1)
    output, weights = silenced(query, memory, memory, mask)
    others = weights[:, [0, 2]]
    return {"output": output, "weights of the other heads": others, "n_heads": silenced.attribute("n_heads")}


@probe(
    "without_head",
    "two heads can be taken away, one after the other",
    w=draw_matrices,
    b=draw_biases,
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def twice(student: Student, w: Tensor, b: Tensor, x: Tensor) -> object:
    return student.without_head(student.without_head(hosted(student, w, b), 0), 2)(x, x, x)[0]

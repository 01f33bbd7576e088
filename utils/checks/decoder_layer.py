"""What the visible check of chapter 06 looks at in DecoderLayer.

Sizes are pairwise different and none is the square of another; weights are inputs, scores aren't saturated.
"""

import torch
from torch import Tensor

from utils.checks.sublayer_dropout import dropout_facts, zeros_and_twos
from utils.checks.transformer_layer_weights import (
    D_FF,
    D_MODEL,
    DECODER,
    HEADS,
    PADDING,
    draw_weights,
    reached,
    silenced,
    state_of,
)
from utils.probes import gradients, probe
from utils.student import HeldObject, Student

CROSS = torch.tensor([[1, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 0]], dtype=torch.bool).unsqueeze(1)
CAUSAL = torch.ones(5, 5, dtype=torch.bool).tril()


def _decoder(student: Student, w: Tensor) -> HeldObject:
    return student.DecoderLayer(D_MODEL, HEADS, D_FF).load(state_of(w, DECODER)).eval()


@probe(
    "DecoderLayer",
    "self-attention, cross-attention, network, each followed by residual and norm",
    axes=("position", "feature"),
    w=lambda n: draw_weights(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
)
def decoder_layer(student: Student, w: Tensor, x: Tensor, memory: Tensor) -> object:
    return _decoder(student, w)(x, memory)


@probe(
    "DecoderLayer",
    "each sublayer for itself, while the two others are silent",
    labels=("self-attention", "cross-attention", "network"),
    w=lambda n: draw_weights(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
)
def two_sublayers_silent(student: Student, w: Tensor, x: Tensor, memory: Tensor) -> object:
    layer, state = _decoder(student, w), state_of(w, DECODER)
    own, cross, network = "self_attention.out_proj", "cross_attention.out_proj", "feed_forward.linear_2"
    silent = ((cross, network), (own, network), (own, cross))
    return tuple(layer.load(silenced(state, *layers))(x, memory) for layers in silent)


@probe(
    "DecoderLayer",
    "self_mask holds in self-attention only: (T, T), (B, 1, T) and (B, T, T)",
    labels=("(T, T)", "(B, 1, T)", "(B, T, T)"),
    w=lambda n: draw_weights(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
    padding=PADDING,
)
def self_masks(student: Student, w: Tensor, x: Tensor, memory: Tensor, padding: Tensor) -> object:
    layer = _decoder(student, w)
    return layer(x, memory, CAUSAL), layer(x, memory, padding), layer(x, memory, CAUSAL & padding)


@probe(
    "DecoderLayer",
    "cross_mask holds in cross-attention only: (B, 1, T_memory) and (B, T, T_memory)",
    labels=("(B, 1, T_memory)", "(B, T, T_memory)"),
    w=lambda n: draw_weights(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
    mask=lambda n: n.booleans(2, 5, 7) | torch.tensor([0, 1, 0, 0, 0, 0, 0]).bool(),
)
def cross_masks(student: Student, w: Tensor, x: Tensor, memory: Tensor, mask: Tensor) -> object:
    layer = _decoder(student, w)
    return layer(x, memory, None, CROSS), layer(x, memory, None, mask)


@probe(
    "DecoderLayer",
    "both masks together, also where both sentences have the same length",
    labels=("T = 5, T_memory = 7", "T = T_memory = 5"),
    w=lambda n: draw_weights(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
)
def both_masks(student: Student, w: Tensor, x: Tensor, memory: Tensor) -> object:
    layer = _decoder(student, w)
    return layer(x, memory, CAUSAL, CROSS), layer(x, memory[:, :5], CAUSAL, PADDING)


@probe(
    "DecoderLayer",
    "where all of memory is hidden, the rest goes on: no NaN",
    w=lambda n: draw_weights(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
    mask=torch.stack([torch.ones(1, 7), torch.zeros(1, 7)]).bool(),
)
def decoder_nothing_to_attend(student: Student, w: Tensor, x: Tensor, memory: Tensor, mask: Tensor) -> object:
    return _decoder(student, w)(x, memory, CAUSAL, mask)


@probe(
    "DecoderLayer",
    "in train mode dropout acts on what each sublayer gives, before it is added to x; in eval mode not at all",
    x=zeros_and_twos,
    memory=lambda n: n.normal(2, 7, 120),
)
def decoder_dropout(student: Student, x: Tensor, memory: Tensor) -> object:
    return dropout_facts(student, "DecoderLayer", DECODER, x, memory)


@probe(
    "DecoderLayer",
    "gradients flow back to x, to memory and to every parameter",
    w=lambda n: draw_weights(n, DECODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    memory=lambda n: n.normal(2, 7, D_MODEL),
)
def decoder_gradient(student: Student, w: Tensor, x: Tensor, memory: Tensor) -> object:
    layer = _decoder(student, w)
    x, memory = x.clone().requires_grad_(), memory.clone().requires_grad_()
    seen = gradients(layer(x, memory), x, memory)
    return {**seen, **reached(layer)}

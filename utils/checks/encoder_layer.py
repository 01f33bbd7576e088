"""What the visible check of chapter 06 looks at in EncoderLayer.

Sizes are pairwise different and none is the square of another; weights are inputs, scores aren't saturated.
"""

import torch
from torch import Tensor

from utils.checks.sublayer_dropout import dropout_facts, zeros_and_twos
from utils.checks.transformer_layer_weights import (
    D_FF,
    D_MODEL,
    ENCODER,
    HEADS,
    PADDING,
    draw_weights,
    reached,
    silenced,
    state_of,
)
from utils.probes import gradients, probe
from utils.student import HeldObject, Student

MASK = torch.tensor(
    [[1, 0, 0, 1, 0], [1, 1, 0, 0, 1], [0, 1, 1, 1, 0], [1, 1, 1, 0, 1], [0, 0, 1, 0, 1]], dtype=torch.bool
)


def _encoder(student: Student, w: Tensor) -> HeldObject:
    return student.EncoderLayer(D_MODEL, HEADS, D_FF).load(state_of(w, ENCODER)).eval()


@probe(
    "EncoderLayer",
    "attention, residual, norm; then network, residual, norm",
    axes=("position", "feature"),
    w=lambda n: draw_weights(n, ENCODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def encoder_layer(student: Student, w: Tensor, x: Tensor) -> object:
    return _encoder(student, w)(x)


@probe(
    "EncoderLayer",
    "each sublayer for itself: with a silent network, and with silent attention",
    labels=("silent network", "silent attention"),
    w=lambda n: draw_weights(n, ENCODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def one_sublayer_silent(student: Student, w: Tensor, x: Tensor) -> object:
    layer, state = _encoder(student, w), state_of(w, ENCODER)
    without_network = layer.load(silenced(state, "feed_forward.linear_2"))(x)
    return without_network, layer.load(silenced(state, "attention.out_proj"))(x)


@probe(
    "EncoderLayer",
    "the mask says who may attend to whom: (T, T), (B, 1, T) and (B, T, T)",
    labels=("(T, T)", "(B, 1, T)", "(B, T, T)"),
    w=lambda n: draw_weights(n, ENCODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    mask=MASK,
    padding=PADDING,
)
def encoder_masks(student: Student, w: Tensor, x: Tensor, mask: Tensor, padding: Tensor) -> object:
    layer = _encoder(student, w)
    return layer(x, mask), layer(x, padding), layer(x, torch.stack([mask, mask.mT]))


@probe(
    "EncoderLayer",
    "a position that may attend to nothing goes on without: no NaN",
    w=lambda n: draw_weights(n, ENCODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
    mask=torch.stack([MASK & torch.tensor([[1], [0], [1], [1], [1]]).bool(), torch.zeros(5, 5).bool()]),
)
def encoder_nothing_to_attend(student: Student, w: Tensor, x: Tensor, mask: Tensor) -> object:
    return _encoder(student, w)(x, mask)


@probe(
    "EncoderLayer",
    "in train mode dropout acts on what each sublayer gives, before it is added to x; in eval mode not at all",
    x=zeros_and_twos,
)
def encoder_dropout(student: Student, x: Tensor) -> object:
    return dropout_facts(student, "EncoderLayer", ENCODER, x)


@probe(
    "EncoderLayer",
    "gradients flow back to x and to every parameter",
    w=lambda n: draw_weights(n, ENCODER),
    x=lambda n: n.normal(2, 5, D_MODEL),
)
def encoder_gradient(student: Student, w: Tensor, x: Tensor) -> object:
    layer, x = _encoder(student, w), x.clone().requires_grad_()
    seen = gradients(layer(x), x)
    return {**seen, **reached(layer)}

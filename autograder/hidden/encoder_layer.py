"""Hidden tests of chapter 06's EncoderLayer.

References are PyTorch's own layer with the same weights; the formula where a row has nothing to attend to.
"""

import torch
from torch import nn

from autograder.hidden import hidden
from autograder.hidden.expectations import close, gradients, untouched
from autograder.hidden.randomness import Randomness
from autograder.hidden.sublayer_dropout import expect_dropout
from autograder.hidden.transformer_layer_reference import (
    State,
    draw_layer_state,
    draw_sizes,
    loaded,
    packed_state,
    same_gradients,
    torch_mask,
    true_encoder,
)
from utils.student import Student


def _encoder_state(rng: Randomness, d_model: int, d_ff: int, dtype: torch.dtype = torch.float64) -> State:
    return draw_layer_state(rng, d_model, d_ff, ("attention",), dtype)


@hidden("EncoderLayer", weight=3)
def encoder_layer_equals_pytorchs(student: Student, rng: Randomness) -> None:
    """With the same weights the layer equals PyTorch's: post-norm, ReLU; without a mask and with one for all."""
    for single in (False, True):
        batch, n_heads, t, _, d_model, d_ff = draw_sizes(rng)
        state = _encoder_state(rng, d_model, d_ff)
        theirs = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, 0.0, batch_first=True).double()
        theirs.load_state_dict(packed_state(state, {"attention": "self_attn"}))
        module = loaded(student.EncoderLayer(d_model, n_heads, d_ff), state)
        x = rng.normal(1, 1, d_model) if single else rng.normal(t, batch, d_model).transpose(0, 1)
        for mask in (None,) if single else (None, rng.mask(t, t), torch.ones(t, t).tril().bool()):
            found = module(x) if mask is None else module(x, mask)
            untouched(student)
            close(found, theirs(x, src_mask=torch_mask(mask, n_heads, t)), rtol=1e-7, atol=1e-8)


@hidden("EncoderLayer", weight=2)
def encoder_masks_per_sentence(student: Student, rng: Randomness) -> None:
    """Masks of three dimensions, (B, 1, T) and (B, T, T), hold for their sentence and every head."""
    batch, n_heads, t, _, d_model, d_ff = draw_sizes(rng)
    state = _encoder_state(rng, d_model, d_ff)
    theirs = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, 0.0, batch_first=True).double()
    theirs.load_state_dict(packed_state(state, {"attention": "self_attn"}))
    module = loaded(student.EncoderLayer(d_model, n_heads, d_ff), state)
    for size in (batch, n_heads, 1):
        x = rng.normal(size, t, d_model)
        for mask in (rng.mask(size, 1, t), rng.mask(size, t, t)):
            expected = theirs(x, src_mask=torch_mask(mask, n_heads, t))
            close(module(x, mask), expected, rtol=1e-7, atol=1e-8)


@hidden("EncoderLayer")
def encoder_rows_with_nothing_to_attend_to(student: Student, rng: Randomness) -> None:
    """A position that may attend to nothing goes on without attention: no NaN, in the result or in gradients."""
    batch, n_heads, t, _, d_model, d_ff = draw_sizes(rng)
    state = _encoder_state(rng, d_model, d_ff)
    module = loaded(student.EncoderLayer(d_model, n_heads, d_ff), state)
    padding, rows = rng.mask(batch, 1, t), rng.mask(t, t)
    padding[rng.integer(0, batch - 1)] = False
    rows[rng.integer(0, t - 1)] = False
    for mask in (padding, rows):
        x = rng.normal(batch, t, d_model).requires_grad_()
        found, expected = module(x, mask), true_encoder(state, n_heads, x, mask)
        close(found, expected)
        cotangent = rng.normal(*expected.shape)
        (arrived,) = gradients(found, cotangent, [x])
        close(arrived, torch.autograd.grad(expected, x, cotangent)[0], "the gradient")


@hidden("EncoderLayer", weight=2)
def encoder_drops_from_sublayers(student: Student, rng: Randomness) -> None:
    """In train mode, each sublayer's output loses a share p before the residual is added; in eval mode nothing is lost."""
    expect_dropout(student, rng, "EncoderLayer", ("attention",))


@hidden("EncoderLayer")
def encoder_layer_gradients(student: Student, rng: Randomness) -> None:
    """Gradients reach x and every parameter; with dropout 0 train mode gives the same as eval mode."""
    batch, n_heads, t, _, d_model, d_ff = draw_sizes(rng)
    state = _encoder_state(rng, d_model, d_ff)
    module = loaded(student.EncoderLayer(d_model, n_heads, d_ff, 0.0), state).train()
    x = rng.normal(batch, t, d_model).requires_grad_()
    mask = rng.mask(batch, t, t)
    known = {name: value.clone().requires_grad_() for name, value in state.items()}
    same_gradients(module, module(x, mask), true_encoder(known, n_heads, x, mask), [x], known, rng)


@hidden("EncoderLayer")
def encoder_keeps_float32(student: Student, rng: Randomness) -> None:
    """In float32 the result is float32, for one head and for many."""
    batch, n_heads, t, _, d_model, d_ff = draw_sizes(rng)
    for heads in (1, n_heads, d_model):
        state = _encoder_state(rng, d_model, d_ff, torch.float32)
        module = loaded(student.EncoderLayer(d_model, heads, d_ff), state)
        x, mask = rng.normal(batch, t, d_model, dtype=torch.float32), rng.mask(batch, 1, t)
        close(module(x, mask), true_encoder(state, heads, x, mask))

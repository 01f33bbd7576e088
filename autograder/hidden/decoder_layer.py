"""Hidden tests of chapter 06's DecoderLayer.

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
    true_decoder,
)
from utils.student import Student


def _decoder_state(rng: Randomness, d_model: int, d_ff: int, dtype: torch.dtype = torch.float64) -> State:
    return draw_layer_state(rng, d_model, d_ff, ("self_attention", "cross_attention"), dtype)


def _torch_decoder(state: State, n_heads: int, d_model: int, d_ff: int) -> nn.Module:
    theirs = nn.TransformerDecoderLayer(d_model, n_heads, d_ff, 0.0, batch_first=True).double()
    theirs.load_state_dict(packed_state(state, {"self_attention": "self_attn", "cross_attention": "multihead_attn"}))
    return theirs


@hidden("DecoderLayer", weight=3)
def decoder_layer_equals_pytorchs(student: Student, rng: Randomness) -> None:
    """With the same weights the layer equals PyTorch's, without masks and with masks for all, for any two lengths."""
    for lengths in (None, (1, 6), (5, 1)):
        batch, n_heads, t, t_memory, d_model, d_ff = draw_sizes(rng)
        t, t_memory = lengths or (t, t_memory)
        state = _decoder_state(rng, d_model, d_ff)
        theirs = _torch_decoder(state, n_heads, d_model, d_ff)
        module = loaded(student.DecoderLayer(d_model, n_heads, d_ff), state)
        x, memory = rng.normal(t, batch, d_model).transpose(0, 1), rng.normal(batch, t_memory, d_model)
        found = module(x, memory)
        untouched(student)
        close(found, theirs(x, memory), rtol=1e-7, atol=1e-8)
        own, cross = torch.ones(t, t).tril().bool(), rng.mask(t, t_memory)
        for masks in ((own, None), (None, cross), (own, cross)):
            expected = theirs(x, memory, *(None if mask is None else ~mask for mask in masks))
            close(module(x, memory, *masks), expected, rtol=1e-7, atol=1e-8)


@hidden("DecoderLayer", weight=2)
def decoder_masks_per_sentence(student: Student, rng: Randomness) -> None:
    """Each mask holds in its own attention: (B, 1, T) and (B, T_q, T_k) for both, also where both lengths are equal."""
    batch, n_heads, t, t_memory, d_model, d_ff = draw_sizes(rng)
    state = _decoder_state(rng, d_model, d_ff)
    theirs = _torch_decoder(state, n_heads, d_model, d_ff)
    module = loaded(student.DecoderLayer(d_model, n_heads, d_ff), state)
    for size, length in ((batch, t_memory), (n_heads, t), (1, t_memory)):
        x, memory = rng.normal(size, t, d_model), rng.normal(size, length, d_model)
        for own, cross in (
            (rng.mask(size, t, t), rng.mask(size, 1, length)),
            (rng.mask(size, 1, t), rng.mask(size, t, length)),
        ):
            expected = theirs(x, memory, torch_mask(own, n_heads, t), torch_mask(cross, n_heads, t))
            close(module(x, memory, own, cross), expected, rtol=1e-7, atol=1e-8)
            close(module(x, memory, self_mask=own, cross_mask=cross), expected, rtol=1e-7, atol=1e-8)


@hidden("DecoderLayer")
def decoder_rows_with_nothing_to_attend_to(student: Student, rng: Randomness) -> None:
    """Where all of memory is padding, or a position may see nothing, the rest goes on: no NaN, in gradients neither."""
    batch, n_heads, t, t_memory, d_model, d_ff = draw_sizes(rng)
    state = _decoder_state(rng, d_model, d_ff)
    module = loaded(student.DecoderLayer(d_model, n_heads, d_ff), state)
    own, cross = rng.mask(batch, t, t), rng.mask(batch, 1, t_memory)
    own[0, rng.integer(0, t - 1)] = False
    cross[1] = False
    inputs = [rng.normal(batch, length, d_model).requires_grad_() for length in (t, t_memory)]
    found, expected = module(*inputs, own, cross), true_decoder(state, n_heads, *inputs, own, cross)
    close(found, expected)
    cotangent = rng.normal(*expected.shape)
    arrived = gradients(found, cotangent, inputs)
    for gradient, correct in zip(arrived, torch.autograd.grad(expected, inputs, cotangent), strict=True):
        close(gradient, correct, "the gradient")


@hidden("DecoderLayer", weight=2)
def decoder_drops_from_sublayers(student: Student, rng: Randomness) -> None:
    """In train mode, each of the three sublayers' outputs loses a share p before the residual is added."""
    expect_dropout(student, rng, "DecoderLayer", ("self_attention", "cross_attention"))


@hidden("DecoderLayer")
def decoder_layer_gradients(student: Student, rng: Randomness) -> None:
    """Gradients reach x, memory and every parameter; with dropout 0 train mode gives the same as eval mode."""
    batch, n_heads, t, t_memory, d_model, d_ff = draw_sizes(rng)
    state = _decoder_state(rng, d_model, d_ff)
    module = loaded(student.DecoderLayer(d_model, n_heads, d_ff, 0.0), state).train()
    inputs = [rng.normal(batch, length, d_model).requires_grad_() for length in (t, t_memory)]
    masks = rng.mask(batch, t, t), rng.mask(batch, 1, t_memory)
    known = {name: value.clone().requires_grad_() for name, value in state.items()}
    same_gradients(module, module(*inputs, *masks), true_decoder(known, n_heads, *inputs, *masks), inputs, known, rng)


@hidden("DecoderLayer")
def decoder_keeps_float32(student: Student, rng: Randomness) -> None:
    """In float32 the result is float32, for one head and for many."""
    batch, n_heads, t, t_memory, d_model, d_ff = draw_sizes(rng)
    for heads in (1, n_heads, d_model):
        state = _decoder_state(rng, d_model, d_ff, torch.float32)
        module = loaded(student.DecoderLayer(d_model, heads, d_ff), state)
        x, memory = (rng.normal(batch, length, d_model, dtype=torch.float32) for length in (t, t_memory))
        masks = torch.ones(t, t).tril().bool(), rng.mask(batch, 1, t_memory)
        close(module(x, memory, *masks), true_decoder(state, heads, x, memory, *masks))

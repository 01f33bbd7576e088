"""What hidden tests expect of dropout in chapter 06's encoder and decoder layer, seen through norms."""

import torch
from torch import Tensor

from autograder.hidden.expectations import a_tensor, close, expect
from autograder.hidden.randomness import Randomness
from autograder.hidden.transformer_layer_reference import State, draw_layer_state, true_decoder, true_encoder
from utils.student import Student


def expect_dropout(student: Student, rng: Randomness, kind: str, attentions: tuple[str, ...]) -> None:
    """Expect dropout on each sublayer's output in train mode, and none in eval mode."""
    d_model, n_heads = 120, 3
    marked = torch.arange(d_model) % 2 == 0
    x = (2.0 * marked).expand(2, 40, d_model).clone()
    others = [] if kind == "EncoderLayer" else [rng.normal(2, 7, d_model, dtype=torch.float32)]
    for p in (0.25, 0.5):
        for sublayer in (*attentions, "feed_forward"):
            state = _constant_layer(draw_layer_state(rng, d_model, 11, attentions, torch.float32), sublayer)
            module = getattr(student, kind)(d_model, n_heads, 11, p).load(state).train()
            student.seed(rng.integer(0, 10**6))
            output = a_tensor(module(x, *others))
            expect(output.shape == x.shape, "wrong shape: the result in train mode")
            share, size = _dropout_of(output, marked)
            expect(share > 0, "in train mode nothing is dropped from a sublayer's output")
            expect(abs(share - p) < 0.05, "the share that is dropped isn't what the argument says")
            expect(abs(size - 1 / (1 - p)) < 0.02, "what stays of a sublayer's output isn't divided by 1 − p")
            still = a_tensor(module.eval()(x, *others))
            close(still, a_tensor(module(x, *others)), "the result in eval mode")
            known = true_encoder if kind == "EncoderLayer" else true_decoder
            close(still, known(state, n_heads, x, *others), "the result in eval mode", rtol=1e-3, atol=1e-4)


def _constant_layer(state: State, sublayer: str) -> State:
    """Give weights under which one sublayer gives 1 everywhere, the others 0, and norms only normalise."""
    quiet = {name: torch.zeros_like(value) for name, value in state.items()}
    quiet |= {name: torch.ones_like(v) for name, v in state.items() if name.startswith("norm") and "weight" in name}
    bias = "feed_forward.linear_2.bias" if sublayer == "feed_forward" else f"{sublayer}.out_proj.bias"
    return quiet | {bias: torch.ones_like(state[bias])}


def _dropout_of(output: Tensor, marked: Tensor) -> tuple[float, float]:
    """Find the dropped share and the size of what stays, where a sublayer gives 1 everywhere.

    Features of x are 0, or 2 where `marked`, which has variance 1, so that earlier norms leave the distance between the
    two kinds as it is. The last norm shifts and stretches; so sizes are measured by this distance.
    """
    low, high = output[..., ~marked], output[..., marked]
    bottom = low.amin(-1, keepdim=True)
    unit = (high.amin(-1, keepdim=True) - bottom) / 2
    kept = (low - bottom) / unit
    stays = kept > 0.3
    return 1 - stays.double().mean().item(), (kept[stays].median().item() if stays.any() else 0.0)

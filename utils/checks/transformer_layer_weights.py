"""Sizes and weights of the layers that the visible checks of chapter 06 build, and the padding that they share.

Sizes are pairwise different and none is the square of another; weights are inputs, scores aren't saturated.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from utils.probes import Numbers
from utils.student import HeldObject

D_MODEL, HEADS, D_FF = 18, 3, 11
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
ENCODER, DECODER = ("attention",), ("self_attention", "cross_attention")
PADDING = torch.tensor([[[1, 1, 1, 0, 0]], [[1, 1, 1, 1, 1]]], dtype=torch.bool)


def _shapes(attentions: tuple[str, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """List the parameters of a layer, in a fixed order."""
    for attention in attentions:
        for layer in PROJECTIONS:
            yield f"{attention}.{layer}.weight", (D_MODEL, D_MODEL)
            yield f"{attention}.{layer}.bias", (D_MODEL,)
    yield "feed_forward.linear_1.weight", (D_FF, D_MODEL)
    yield "feed_forward.linear_1.bias", (D_FF,)
    yield "feed_forward.linear_2.weight", (D_MODEL, D_FF)
    yield "feed_forward.linear_2.bias", (D_MODEL,)
    for number in range(1, len(attentions) + 2):
        yield f"norm_{number}.weight", (D_MODEL,)
        yield f"norm_{number}.bias", (D_MODEL,)


def draw_weights(numbers: Numbers, attentions: tuple[str, ...]) -> Tensor:
    """Draw one long vector of normal numbers, as many as a layer has weights."""
    return numbers.normal(sum(torch.Size(shape).numel() for _, shape in _shapes(attentions)))


def state_of(w: Tensor, attentions: tuple[str, ...]) -> dict[str, Tensor]:
    """Cut one long vector of normal numbers into the weights of a layer."""
    state, rest = {}, w
    for name, shape in _shapes(attentions):
        size = torch.Size(shape).numel()
        value, rest = rest[:size].reshape(shape), rest[size:]
        if name.startswith("norm") and name.endswith("weight"):
            state[name] = 1 + 0.3 * value
        else:
            state[name] = value / (shape[1] ** 0.5 if len(shape) == 2 else 2)
    return state


def silenced(state: dict[str, Tensor], *layers: str) -> dict[str, Tensor]:
    """Let some layers give nothing but zeros."""
    return {name: torch.zeros_like(v) if name.startswith(layers) else v for name, v in state.items()}


def reached(module: HeldObject) -> dict[str, bool]:
    """Observe whether every parameter has a gradient; to be asked after one was sent back."""
    return {"every parameter gets a gradient": set(module.parameters()) == set(module.gradients())}

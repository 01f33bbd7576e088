"""What the hidden tests of chapter 06's layers share: drawn weights, and the results to compare with.

References are plain loops and the formula; weights and masks are also given as PyTorch's own layers take them.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.hidden.expectations import close, expect, gradients
from autograder.hidden.randomness import Randomness
from utils.student import HeldObject

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
State = dict[str, Tensor]


# weights and sizes


def draw_linear(rng: Randomness, name: str, d_in: int, d_out: int, dtype: torch.dtype) -> State:
    """Draw the weight (d_out, d_in) and the bias (d_out,) of a linear layer."""
    weight = rng.normal(d_out, d_in, dtype=dtype, std=d_in**-0.5)
    return {f"{name}.weight": weight, f"{name}.bias": rng.normal(d_out, dtype=dtype, std=0.5)}


def draw_norm(rng: Randomness, name: str, d_model: int, dtype: torch.dtype) -> State:
    """Draw the weight and the bias of a layer norm, (d_model,) each."""
    weight = 1 + rng.normal(d_model, dtype=dtype, std=0.3)
    return {f"{name}.weight": weight, f"{name}.bias": rng.normal(d_model, dtype=dtype, std=0.5)}


def draw_layer_state(
    rng: Randomness, d_model: int, d_ff: int, attentions: tuple[str, ...], dtype: torch.dtype = torch.float64
) -> State:
    """Draw weights of a whole layer: attentions, feed-forward network, and one norm more than attentions."""
    state: State = {}
    for attention in attentions:
        for layer in PROJECTIONS:
            state |= draw_linear(rng, f"{attention}.{layer}", d_model, d_model, dtype)
    state |= draw_linear(rng, "feed_forward.linear_1", d_model, d_ff, dtype)
    state |= draw_linear(rng, "feed_forward.linear_2", d_ff, d_model, dtype)
    for number in range(1, len(attentions) + 2):
        state |= draw_norm(rng, f"norm_{number}", d_model, dtype)
    return state


def loaded(module: HeldObject, state: State) -> HeldObject:
    """Put weights into a module of the learner's, and into eval mode."""
    if next(iter(state.values())).dtype == torch.float64:
        module.to("float64")
    return module.load(state).eval()


def draw_sizes(rng: Randomness) -> tuple[int, int, int, int, int, int]:
    """Draw B, H, T, T_memory, d_model and d_ff."""
    batch, n_heads = ((2, 3), (3, 2), (2, 5))[rng.integer(0, 2)]
    t, t_memory = rng.sizes(2, 10, 13)
    d_model = n_heads * (6 if n_heads != 2 else 7)
    return batch, n_heads, t, t_memory, d_model, 2 * d_model + 5


# references


def _attention(state: State, name: str, n_heads: int, query: Tensor, memory: Tensor, mask: Tensor | None) -> Tensor:
    """Attend head by head; zeros before out_proj where nothing may be attended to."""
    q, k, v = (
        F.linear(x, state[f"{name}.{layer}.weight"], state[f"{name}.{layer}.bias"])
        for layer, x in zip(PROJECTIONS, (query, memory, memory), strict=False)
    )
    width, heads = q.shape[-1] // n_heads, []
    for head in range(n_heads):
        part = slice(head * width, (head + 1) * width)
        scores = torch.einsum("bid,bjd->bij", q[..., part], k[..., part]) / math.sqrt(width)
        if mask is None:
            weights = F.softmax(scores, -1)
        else:
            is_open = mask.any(-1, keepdim=True)
            closed = (~mask & is_open).expand(scores.shape)
            weights = F.softmax(scores.masked_fill(closed, -math.inf), -1) * is_open
        heads.append(weights @ v[..., part])
    return F.linear(torch.cat(heads, -1), state[f"{name}.out_proj.weight"], state[f"{name}.out_proj.bias"])


def _normed(state: State, number: int, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], state[f"norm_{number}.weight"], state[f"norm_{number}.bias"])


def true_network(state: State, x: Tensor, prefix: str = "feed_forward.") -> Tensor:
    """Apply the feed-forward network to x (…, d_model)."""
    hidden_units = F.linear(x, state[f"{prefix}linear_1.weight"], state[f"{prefix}linear_1.bias"])
    return F.linear(F.relu(hidden_units), state[f"{prefix}linear_2.weight"], state[f"{prefix}linear_2.bias"])


def true_encoder(state: State, n_heads: int, x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Apply a whole encoder layer to x (B, T, d_model)."""
    x = _normed(state, 1, x + _attention(state, "attention", n_heads, x, x, mask))
    return _normed(state, 2, x + true_network(state, x))


def true_decoder(
    state: State, n_heads: int, x: Tensor, memory: Tensor, own: Tensor | None = None, cross: Tensor | None = None
) -> Tensor:
    """Apply a whole decoder layer to x (B, T, d_model) and memory (B, T_memory, d_model)."""
    x = _normed(state, 1, x + _attention(state, "self_attention", n_heads, x, x, own))
    x = _normed(state, 2, x + _attention(state, "cross_attention", n_heads, x, memory, cross))
    return _normed(state, 3, x + true_network(state, x))


# PyTorch's layers


def packed_state(state: State, attentions: dict[str, str]) -> State:
    """Give a layer's weights under PyTorch's names."""
    theirs = {}
    for mine, name in attentions.items():
        for kind in ("weight", "bias"):
            theirs[f"{name}.in_proj_{kind}"] = torch.cat([state[f"{mine}.{p}.{kind}"] for p in PROJECTIONS[:3]])
            theirs[f"{name}.out_proj.{kind}"] = state[f"{mine}.out_proj.{kind}"]
    for name, value in state.items():
        if name.startswith(("feed_forward.", "norm_")):
            theirs[name.removeprefix("feed_forward.").replace("_", "")] = value
    return theirs


def torch_mask(mask: Tensor | None, n_heads: int, t_q: int) -> Tensor | None:
    """Turn a mask of ours into one of PyTorch's: True = closed, one per sentence and head."""
    if mask is None or mask.dim() == 2:
        return None if mask is None else ~mask
    return ~mask.expand(-1, t_q, -1).repeat_interleave(n_heads, dim=0)


# comparisons


def same_gradients(
    module: HeldObject, found: object, expected: Tensor, inputs: list[Tensor], known: State, rng: Randomness
) -> None:
    """Compare gradients with respect to inputs and parameters."""
    close(found, expected)
    cotangent = rng.normal(*expected.shape)
    module.zero_grad()
    arrived = gradients(found, cotangent, inputs)
    wanted = torch.autograd.grad(expected, [*inputs, *known.values()], cotangent)
    for gradient, correct in zip(arrived, wanted, strict=False):
        close(gradient, correct, "the gradient")
    left = module.gradients()
    for name, correct in zip(known, wanted[len(inputs) :], strict=True):
        expect(name in left, "the gradient doesn't reach every parameter")
        close(left[name], correct, "the gradient of a parameter")

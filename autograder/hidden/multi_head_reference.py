"""What the hidden tests of chapter 04 share: drawn weights, modules that hold them, and the results to compare with.

References are plain loops over heads and the paper's formula.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from autograder.hidden.expectations import close, expect, gradients
from autograder.hidden.randomness import Randomness
from utils.student import HeldObject, Student

LAYERS = ("q_proj", "k_proj", "v_proj", "out_proj")
PAIR = "(output, weights)"
State = dict[str, Tensor]


# weights and sizes


def draw_state(rng: Randomness, d_model: int, bias: bool = True, dtype: torch.dtype = torch.float64) -> State:
    """Draw weights under which no score saturates."""
    state = {f"{layer}.weight": rng.normal(d_model, d_model, dtype=dtype, std=d_model**-0.5) for layer in LAYERS}
    return state | ({f"{layer}.bias": rng.normal(d_model, dtype=dtype) for layer in LAYERS} if bias else {})


def packed_state(state: State) -> State:
    """Give the weights as PyTorch's block keeps them."""
    packed = {"in_proj_weight": torch.cat([state[f"{layer}.weight"] for layer in LAYERS[:3]])}
    packed["out_proj.weight"] = state["out_proj.weight"]
    if "q_proj.bias" in state:
        packed["in_proj_bias"] = torch.cat([state[f"{layer}.bias"] for layer in LAYERS[:3]])
        packed["out_proj.bias"] = state["out_proj.bias"]
    return packed


def draw_sizes(rng: Randomness) -> tuple[int, int, int, int, int]:
    """Draw B, H, T_q, T_k and d_model, with d_k different from all of them."""
    batch, n_heads = ((2, 3), (3, 2), (2, 5))[rng.integer(0, 2)]
    width = 6 if n_heads != 2 else 7
    t_q, t_k = rng.sizes(2, 10, 13)
    return batch, n_heads, t_q, t_k, n_heads * width


# modules


def hosted(student: Student, state: State, n_heads: int) -> HeldObject:
    """Build the course's own module with these weights, in eval mode."""
    bias = "q_proj.bias" in state
    module = student.host("multi_head_attention", state["q_proj.weight"].shape[0], n_heads, bias=bias)
    return with_weights(module, state).eval()


def with_weights(module: HeldObject, state: State) -> HeldObject:
    """Put weights into a module, in their own precision."""
    if state["q_proj.weight"].dtype == torch.float64:
        module.to("float64")
    return module.load(state)


# references


def true_split(x: Tensor, n_heads: int) -> Tensor:
    """Cut x (B, T, d_model) into its heads (B, H, T, d_k), one block of features after the other."""
    width = x.shape[-1] // n_heads
    return torch.stack([x[:, :, head * width : (head + 1) * width] for head in range(n_heads)], dim=1)


def true_merge(x: Tensor) -> Tensor:
    """Put the heads (B, H, T, d_k) side by side: (B, T, d_model)."""
    return torch.cat([x[:, head] for head in range(x.shape[1])], dim=-1)


def _project(state: State, layer: str, x: Tensor) -> Tensor:
    return F.linear(x, state[f"{layer}.weight"], state.get(f"{layer}.bias"))


def true_attention(
    state: State, n_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None,
    removed: tuple[int, ...] = (),
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Multi-head attention head by head; zeros where nothing may be attended to; without what `removed` heads add."""
    q, k, v = (_project(state, layer, x) for layer, x in zip(LAYERS, (query, key, value), strict=False))
    width = q.shape[-1] // n_heads
    heads, all_weights = [], []
    for head in range(n_heads):
        part = slice(head * width, (head + 1) * width)
        scores = torch.einsum("bid,bjd->bij", q[..., part], k[..., part]) / math.sqrt(width)
        weights = _weights(scores, mask, head)
        heads.append((weights @ v[..., part]) * (head not in removed))
        all_weights.append(weights)
    return _project(state, "out_proj", torch.cat(heads, dim=-1)), torch.stack(all_weights, dim=1)


def _weights(scores: Tensor, mask: Tensor | None, head: int) -> Tensor:
    if mask is None:
        return F.softmax(scores, -1)
    if mask.dim() == 4:
        mask = mask[:, head if mask.shape[1] > 1 else 0]
    is_open = mask.any(-1, keepdim=True)
    closed = (~mask & is_open).expand(scores.shape)
    return F.softmax(scores.masked_fill(closed, -math.inf), -1) * is_open


# comparisons


def same_state(found: State, expected: State, what: str) -> None:
    """Expect these parameters, to the last bit."""
    for name, value in expected.items():
        expect(name in found, f"{what} has lost a parameter")
        close(found[name], value, f"the parameters of {what}", rtol=0, atol=0)


def same_gradients(found: object, expected: Tensor, inputs: list[Tensor], rng: Randomness) -> None:
    """Compare results, and gradients with respect to inputs."""
    close(found, expected)
    cotangent = rng.normal(*expected.shape)
    arrived = gradients(found, cotangent, inputs)
    wanted = torch.autograd.grad(expected, inputs, cotangent, allow_unused=True)
    for gradient, correct in zip(arrived, wanted, strict=True):
        close(gradient, correct, "the gradient")

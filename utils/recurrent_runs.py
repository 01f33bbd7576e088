"""Run recurrent cells along sequences, give them fresh weights, and take the time of layers."""

import time
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm.auto import tqdm

Weights = tuple[Tensor, Tensor, Tensor]  # weight_ih, weight_hh, bias


def fresh_weights(d_in: int, d_h: int, gates: int = 1, forget_bias: float = 0.0, seed: int = 0) -> Weights:
    """Draw weights as PyTorch does, evenly from ±1/√d_h; biases are 0, but for the forget gate's (gates i, f, g, o)."""
    generator = torch.Generator().manual_seed(seed)
    reach = d_h**-0.5
    shapes = ((gates * d_h, d_in), (gates * d_h, d_h))
    weight_ih, weight_hh = (reach * (2 * torch.rand(shape, generator=generator).double() - 1) for shape in shapes)
    bias = torch.zeros(gates * d_h, dtype=torch.float64)
    if gates == 4:
        bias[d_h : 2 * d_h] = forget_bias
    return weight_ih, weight_hh, bias


def run_lstm(cell: Callable, x: Tensor, weights: Weights) -> tuple[Tensor, Tensor]:
    """Take a learner's cell along x (B, T, d_in), from zeros: hidden and cell states, (B, T, d_h) each."""
    zeros = x.new_zeros(x.shape[0], weights[1].shape[1])
    pairs = [(zeros, zeros)]
    for x_t in x.unbind(dim=1):
        pairs.append(cell(x_t, pairs[-1], *weights))
    hidden, cells = zip(*pairs[1:], strict=True)
    return torch.stack(hidden, dim=1), torch.stack(cells, dim=1)


@torch.no_grad()
def milliseconds(
    layers: dict[str, Callable[[Tensor], object]], lengths: Sequence[int], batch: int, d: int, rounds: int = 10
) -> dict[str, list[float]]:
    """Take the wall time of one forward pass of every layer at every length on one core: the shortest of all rounds.

    Rounds, rather than one layer after another, so that a moment in which the machine is busy spoils no single number.
    """
    times = {name: [float("inf")] * len(lengths) for name in layers}
    inputs = [torch.randn(batch, length, d) for length in lengths]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for _ in tqdm(range(rounds), desc="taking the time", unit="round", leave=False):
            for name, layer in layers.items():
                for place, x in enumerate(inputs):
                    started = time.perf_counter()
                    layer(x)
                    times[name][place] = min(times[name][place], 1000 * (time.perf_counter() - started))
    finally:
        torch.set_num_threads(threads)
    return times


def built_in_rnn(d: int) -> Callable[[Tensor], Tensor]:
    """Build PyTorch's RNN, which gives its states."""
    layer = nn.RNN(d, d, batch_first=True)
    return lambda x: layer(x)[0]


def self_attention(x: Tensor) -> Tensor:
    """Let x attend to itself with PyTorch's attention; queries, keys and values are x as it is."""
    one_head = x.unsqueeze(1)  # (B, 1, T, d): the form for which PyTorch has its fastest code
    return F.scaled_dot_product_attention(one_head, one_head, one_head).squeeze(1)

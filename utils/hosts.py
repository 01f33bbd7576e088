"""Small public modules for exercises that take a callable or a module: a test can't send code, so it names one of these.

Their weights come from whoever asks (as lists or tensors); none of them solves an exercise.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from utils import hosts_decoding, hosts_fine_tuning, standins
from utils.shortcuts import allowed_for_host


class FadingSum(nn.Module):
    """states[t] = Σ_{s≤t} decay^(t−s) · x[s] @ weight: a recurrence without a nonlinearity, whose gradient is known exactly."""

    def __init__(self, weight: Tensor, decay: float) -> None:
        super().__init__()
        self.weight, self.decay = weight, decay

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, T, d_in) to (B, T, d_h)."""
        state, states = 0.0, []
        for t in range(x.shape[1]):
            state = self.decay * state + x[:, t] @ self.weight
            states.append(state)
        return torch.stack(states, dim=1)


class SquaredMemory(nn.Module):
    """states[t] = (Σ_{s≤t} scale[s] · x[s])²: its gradient depends on the input, and so on the sample in the batch."""

    def __init__(self, scale: Tensor) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, T, d) to (B, T, d)."""
        return (x * self.scale[: x.shape[1]].unsqueeze(-1)).cumsum(dim=1) ** 2


class Recurrent(nn.Module):
    """PyTorch's RNN or LSTM, giving the states alone."""

    def __init__(self, kind: str, d_in: int, d_h: int) -> None:
        super().__init__()
        self.layer = {"rnn": nn.RNN, "lstm": nn.LSTM}[kind](d_in, d_h, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, T, d_in) to (B, T, d_h)."""
        with allowed_for_host(self):
            return self.layer(x)[0]


class Pointwise(nn.Module):
    """The same map at every position: permuting its input permutes its output. Gives a tensor, or (output, weights)."""

    def __init__(self, weight: Tensor, as_pair: bool = False) -> None:
        super().__init__()
        self.weight, self.as_pair = weight, as_pair

    def forward(self, x: Tensor) -> Any:
        """Map (B, T, d) to (B, T, d_out)."""
        output = torch.tanh(x @ self.weight)
        return (output, output.new_zeros(x.shape[0], x.shape[1], x.shape[1])) if self.as_pair else output


class PositionAware(nn.Module):
    """Adds something of its own at every position: permuting its input does not just permute its output."""

    def __init__(self, offsets: Tensor, as_pair: bool = False) -> None:
        super().__init__()
        self.offsets, self.as_pair = offsets, as_pair

    def forward(self, x: Tensor) -> Any:
        """Map (B, T, d) to (B, T, d)."""
        output = x + self.offsets[: x.shape[1]]
        return (output, x.new_zeros(x.shape[0], x.shape[1], x.shape[1])) if self.as_pair else output


def generator(seed: int) -> torch.Generator:
    """Give a generator of random numbers in the state that a seed sets."""
    return torch.Generator().manual_seed(seed)


def torch_multihead_attention(d_model: int, n_heads: int, bias: bool = True) -> nn.MultiheadAttention:
    """Build PyTorch's own multi-head attention, batch first."""
    return nn.MultiheadAttention(d_model, n_heads, bias=bias, batch_first=True)


class HostedMultiHeadAttention(standins.MultiHeadAttention):
    """The stand-in as a host: what an exercise is handed is no shortcut of the learner's."""

    def forward(self, *inputs: Tensor | None, **options: Tensor | None) -> tuple[Tensor, Tensor]:
        """Attend as the stand-in does."""
        with allowed_for_host(self):
            return super().forward(*inputs, **options)


class HostedSelfAttention(standins.SelfAttention):
    """The stand-in as a host."""

    def forward(self, *inputs: Tensor | None, **options: Tensor | None) -> tuple[Tensor, Tensor]:
        """Attend as the stand-in does."""
        with allowed_for_host(self):
            return super().forward(*inputs, **options)


HOSTS: dict[str, Callable] = {
    "fading_sum": FadingSum,
    "squared_memory": SquaredMemory,
    "recurrent": Recurrent,
    "pointwise": Pointwise,
    "position_aware": PositionAware,
    "generator": generator,
    "torch_multihead_attention": torch_multihead_attention,
    "multi_head_attention": HostedMultiHeadAttention,
    "self_attention": HostedSelfAttention,
    **hosts_decoding.HOSTS,
    **hosts_fine_tuning.FINE_TUNING_HOSTS,
}


def build(name: str, *args: Any, **kwargs: Any) -> Any:
    """Build a host by name; KeyError where there is none."""
    if name not in HOSTS:
        raise KeyError(f"no host named {name!r}; there are: {', '.join(HOSTS)}")
    return HOSTS[name](*args, **kwargs)

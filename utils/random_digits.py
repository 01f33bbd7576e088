"""Guess the next digit of a sequence that was drawn at random: nobody can be right more than once in ten."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm.auto import tqdm

DIGITS, LENGTH = 10, 12


def draw(batch: int, generator: torch.Generator) -> Tensor:
    """Draw random digits: (B, 12)."""
    return torch.randint(DIGITS, (batch, LENGTH), generator=generator)


class NextDigit(nn.Module):
    """Digits and places as vectors, one layer of attention, and a linear readout of the next digit at every position."""

    def __init__(self, attention: nn.Module, d_model: int) -> None:
        super().__init__()
        self.digits = nn.Embedding(DIGITS, d_model)
        self.places = nn.Embedding(LENGTH, d_model)
        self.attention = attention
        self.readout = nn.Linear(d_model, DIGITS)

    def forward(self, digits: Tensor) -> Tensor:
        """Give logits (B, T, 10) for the digit after each position."""
        x = self.digits(digits) + self.places.weight[: digits.shape[1]]  # (B, T, d_model)
        output, _weights = self.attention(x)
        return self.readout(output)


def train(build: Callable[[int], nn.Module], d_model: int, steps: int, seed: int = 0) -> tuple[NextDigit, list[float]]:
    """Train on fresh sequences, every position at once; give the model and its loss step by step."""
    torch.manual_seed(seed)
    model = NextDigit(build(d_model), d_model)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in tqdm(range(steps), desc="guessing digits", unit="step", leave=False):
        digits = draw(64, generator)
        logits = model(digits)[:, :-1]  # the last position has no next digit
        loss = F.cross_entropy(logits.flatten(0, 1), digits[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model.eval(), losses


@torch.no_grad()
def accuracies(model: NextDigit, batch: int = 500, seed: int = 1) -> tuple[float, float]:
    """Give the share of right guesses with whole sequences at hand, as in training, and with the past alone, as in use."""
    digits = draw(batch, torch.Generator().manual_seed(seed))
    whole = (model(digits)[:, :-1].argmax(-1) == digits[:, 1:]).double().mean().item()
    steps = [model(digits[:, : t + 1])[:, -1].argmax(-1) == digits[:, t + 1] for t in range(LENGTH - 1)]
    return whole, torch.stack(steps).double().mean().item()

"""What needs no fine-tuning: logistic regression, on bags of words and on a frozen encoder's states."""

import re
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

BAG_PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
PROBE_PENALTIES = (1e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)


def words(text: str) -> list[str]:
    """Cut a text into lower-case words and punctuation marks."""
    return re.findall(r"[^\W_]+|[^\w\s]", text.lower())


def vocabulary(texts: Sequence[str]) -> dict[str, int]:
    """Number the words that occur in these texts."""
    return {word: number for number, word in enumerate(sorted({word for text in texts for word in words(text)}))}


def bags(texts: Sequence[str], known: dict[str, int]) -> Tensor:
    """Give (N, V): which known words a text has, whatever their order and number, as rows of length 1."""
    rows = torch.zeros(len(texts), len(known))
    for row, text in zip(rows, texts, strict=True):
        row[[known[word] for word in words(text) if word in known]] = 1.0
    return F.normalize(rows, dim=1)


def logistic_regression(
    features: Tensor, labels: Tensor, penalty: float, steps: int = 100
) -> Callable[[Tensor], Tensor]:
    """Fit weights to features (N, d) and labels (N,), with an L2 penalty; gives the function from features to classes."""
    weight = torch.zeros(features.shape[1], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=steps, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        scores = features @ weight + bias
        loss = F.binary_cross_entropy_with_logits(scores, labels.float()) + penalty * weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return lambda given: ((given @ weight + bias) > 0).long().detach()


def best_on_dev(
    train: tuple[Tensor, Tensor], dev: tuple[Tensor, Tensor], penalties: Sequence[float]
) -> tuple[float, float, Callable[[Tensor], Tensor]]:
    """Fit with every penalty; give the one that is best on dev (the strongest of equals), its accuracy there, its fit."""
    best = (penalties[0], -1.0, lambda given: given)
    for penalty in penalties:
        fit = logistic_regression(*train, penalty)
        accuracy = (fit(dev[0]) == dev[1]).float().mean().item()
        if accuracy >= best[1]:
            best = (penalty, accuracy, fit)
    return best

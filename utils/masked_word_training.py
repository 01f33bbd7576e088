"""Pretrain an encoder by masked words, and watch what it knows while it learns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm.auto import tqdm

from utils import invented_language as language
from utils.tile_task import one_thread

MaskTokens = Callable[..., tuple[Tensor, Tensor]]
Loss = Callable[[Tensor, Tensor], Tensor]
TEXTS = 20_000


@torch.no_grad()
def set_fresh_weights(encoder: nn.Module, seed: int) -> None:
    """Draw all linear and embedding weights anew with standard deviation 1/√d_model; biases are 0.

    BERT's own 0.02 suits a width of 768. At a width of 64 it leaves the layers so weak that nothing is learned in minutes.
    """
    generator = torch.Generator().manual_seed(seed)
    for _name, module in sorted(encoder.named_modules(), key=lambda named: named[0]):  # in whatever order it was built
        if isinstance(module, nn.Linear | nn.Embedding):
            module.weight.normal_(0.0, encoder.d_model**-0.5, generator=generator)
        if isinstance(module, nn.Linear) and module.bias is not None:
            module.bias.zero_()


class MaskedWordModel(nn.Module):
    """An encoder, and a head that guesses words by comparing states with the embeddings of all words (BERT, appendix A.2)."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        vocab_size, d_model = encoder.tokens.weight.shape
        self.encoder = encoder
        self.transform, self.norm = nn.Linear(d_model, d_model), nn.LayerNorm(d_model)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, ids: Tensor, padding: Tensor | None = None) -> Tensor:
        """Guess the word at every place of ids (B, T): logits (B, T, V)."""
        states = self.encoder(ids, padding)  # (B, T, d_model)
        return self.norm(F.gelu(self.transform(states))) @ self.encoder.tokens.weight.T + self.bias


@dataclass
class History:
    """What was seen while training: the loss of every step, the number of tokens read, right answers at some steps."""

    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    tokens: int = 0
    shares: dict[str, list[float]] = field(default_factory=dict)


@torch.no_grad()
def ask(model: nn.Module, questions: tuple[language.Probe, ...]) -> dict[str, float]:
    """Give the model's share of right answers to every question."""
    was_training = model.training
    model.eval()
    shares = {probe.name: language.share_right(probe, model(probe.ids, probe.padding)) for probe in questions}
    model.train(was_training)
    return shares


def rate_at(step: int, steps: int, rate: float, warmup: int = 100) -> float:
    """Rise to `rate` during the warm-up, then fall to 0 in a straight line."""
    return rate * min(1.0, (step + 1) / warmup) * (1 - step / steps)


def pretrain(
    encoder: nn.Module,
    mask_tokens: MaskTokens,
    mlm_loss: Loss,
    steps: int = 1_200,
    seed: int = 0,
    batch: int = 64,
    rate: float = 3e-3,
    warmup: int = 100,
    p: float = 0.25,
    watch: Callable[[History], None] | None = None,
    every: int = 40,
) -> tuple[MaskedWordModel, History]:
    """Train a masked-word model around the encoder on 20,000 texts; `watch` is shown the history every few steps."""
    torch.manual_seed(seed)
    set_fresh_weights(encoder, seed)
    model, generator = MaskedWordModel(encoder), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98))
    corpus, history, questions = _corpus(seed), History(), language.probes()
    with one_thread():
        for step in tqdm(range(steps), desc="guessing words", unit="step"):
            ids = _draw(corpus, batch, generator)  # (B, T)
            special = language.is_special(ids)
            inputs, labels = mask_tokens(ids, special, language.MASK, len(language.VOCABULARY), p, generator)
            loss = mlm_loss(model(inputs, (ids != language.PAD).unsqueeze(1)), labels)
            if step % every == 0:
                _note(history, step, ask(model, questions), watch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.param_groups[0]["lr"] = rate_at(step, steps, rate, warmup)
            optimizer.step()
            history.losses.append(loss.item())
            history.tokens += int((ids != language.PAD).sum())
    _note(history, steps, ask(model, questions), watch)
    return model.eval(), history


@cache
def _corpus(seed: int) -> Tensor:
    """Give the training texts as ids (N, T)."""
    ids, _padding = language.batch_of(language.draw_texts(TEXTS, seed))
    return ids


def _draw(corpus: Tensor, batch: int, generator: torch.Generator) -> Tensor:
    """Draw some texts, as wide as the longest of them: (B, T)."""
    ids = corpus[torch.randint(len(corpus), (batch,), generator=generator)]
    return ids[:, : int((ids != language.PAD).sum(1).max())]


def _note(history: History, step: int, shares: dict[str, float], watch: Callable | None) -> None:
    history.steps.append(step)
    for name, share in shares.items():
        history.shares.setdefault(name, []).append(share)
    if watch:
        watch(history)

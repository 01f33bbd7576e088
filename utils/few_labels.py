"""Indoors or outdoors? A classifier of the small language's texts that sees very few labels, with three different starts."""

import copy
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from tqdm.auto import tqdm

from utils import invented_language as language
from utils.linear_baselines import logistic_regression
from utils.masked_word_training import set_fresh_weights

TEST_SEED, TEST_TEXTS = 30_000, 1_000
STARTS = ("masked words first", "bag of words", "from scratch")
Labelled = tuple[Tensor, Tensor, Tensor]  # ids (B, T), padding (B, 1, T), classes (B,)


def labelled(n: int, seed: int) -> Labelled:
    """Draw n texts with their class: 1 where the topic is an outdoor one, else 0."""
    texts = language.draw_texts(n, seed)
    outdoors = torch.tensor([int(text.topic in language.OUTDOORS) for text in texts])
    return *language.batch_of(texts), outdoors


class TopicClassifier(nn.Module):
    """An encoder, and one linear layer on the mean of its states at real tokens."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.classifier = encoder, nn.Linear(encoder.d_model, 2)

    def forward(self, ids: Tensor, padding: Tensor) -> Tensor:
        """Map ids (B, T) and padding (B, 1, T) to scores (B, 2)."""
        real = padding.transpose(1, 2)  # (B, T, 1)
        return self.classifier((self.encoder(ids, padding) * real).sum(1) / real.sum(1))


def adapt(encoder: nn.Module, texts: Labelled, seed: int, epochs: int = 20) -> TopicClassifier:
    """Train a copy of the encoder with a new classifier on it: 16 texts a step, all weights free."""
    torch.manual_seed(seed)
    model = TopicClassifier(copy.deepcopy(encoder)).train()
    rates = ((model.encoder, 1e-3), (model.classifier, 3e-3))
    optimizer = torch.optim.AdamW([{"params": part.parameters(), "lr": rate} for part, rate in rates])
    steps = epochs * -(-len(texts[0]) // 16)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 2, 1 - step / steps))
    for rows in [rows for _epoch in range(epochs) for rows in torch.randperm(len(texts[0])).split(16)]:
        ids, padding, outdoors = (part[rows] for part in texts)
        loss = F.cross_entropy(model(ids, padding), outdoors)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


def which_words(ids: Tensor) -> Tensor:
    """Give a bag of words for each text: (B, V), 1 where it has the word; order and number are gone."""
    return F.one_hot(ids, len(language.VOCABULARY)).amax(1).float()


@torch.no_grad()
def share_right(guess: Callable[[Tensor, Tensor], Tensor], texts: Labelled) -> float:
    """Give the share of texts that `guess(ids, padding)` puts in their class."""
    ids, padding, outdoors = texts
    return (guess(ids, padding) == outdoors).double().mean().item()


def race(pretrained: nn.Module, fresh: nn.Module, n: int, seeds: Sequence[int] = (0, 1, 2)) -> dict[str, list[float]]:
    """Give the share of right answers on 1,000 new texts after n labels: start → one share per seed.

    `pretrained` and `fresh` are encoders of the same size, and stay as they are; `fresh` gets new weights for every seed.
    """
    test, shares = labelled(TEST_TEXTS, TEST_SEED), {start: [] for start in STARTS}
    for seed in tqdm(seeds, desc=f"{n} labels", unit="seed", leave=False):
        texts = labelled(n, 40_000 + seed)
        scratch = copy.deepcopy(fresh)
        set_fresh_weights(scratch, 100 + seed)
        for start, encoder in (("masked words first", pretrained), ("from scratch", scratch)):
            model = adapt(encoder, texts, seed)
            shares[start].append(share_right(lambda ids, padding, model=model: model(ids, padding).argmax(-1), test))
        bag = logistic_regression(which_words(texts[0]), texts[2], penalty=1e-3)
        shares["bag of words"].append(share_right(lambda ids, _padding, bag=bag: bag(which_words(ids)), test))
    return shares

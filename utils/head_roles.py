"""What each head of an encoder looks at: read its attention weights while it works, and average them over many texts.

The weights are read by hooks from modules that give (output, weights), as the course's `MultiHeadAttention` does.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from utils import invented_language as language
from utils import plots

NO_WEIGHTS = (
    "The attention of this encoder gives no weights of shape (B, H, T, T), so nothing can be read off its heads."
)


class NoWeights(LookupError):
    """The encoder works, but its attention keeps its weights to itself."""


@torch.no_grad()
def attention_weights(encoder: nn.Module, ids: Tensor, padding: Tensor | None = None) -> Tensor:
    """Run the encoder in eval mode and give the weights of every layer: (L, B, H, T, T), in the order in which they ran.

    Raises NoWeights where no module gives (output, weights).
    """
    found: list[Tensor] = []
    batch, length = ids.shape

    def keep(_module: nn.Module, _inputs: tuple, output: object) -> None:
        if not (isinstance(output, tuple) and len(output) == 2 and isinstance(output[1], Tensor)):
            return
        weights = output[1]
        is_new = not any(weights is other for other in found)  # a layer may hand on what its attention gave
        if is_new and weights.dim() == 4 and (weights.shape[0], *weights.shape[2:]) == (batch, length, length):
            found.append(weights)

    hooks = [module.register_forward_hook(keep) for module in encoder.modules()]
    was_training = encoder.training
    try:
        encoder.eval()(ids, padding)
    finally:
        encoder.train(was_training)
        for hook in hooks:
            hook.remove()
    if not found or len({weights.shape for weights in found}) > 1:
        raise NoWeights(NO_WEIGHTS)
    return torch.stack(found)


class Role(NamedTuple):
    """A relation in which a head may have a part: from a hidden word to the places where its answer stands."""

    name: str
    ids: Tensor  # (B, T), with [MASK] at one place of each text
    padding: Tensor  # (B, 1, T)
    queries: Tensor  # (B,): the hidden places
    keys: Tensor  # (B, T) bool: the places that tell

    @property
    def evenly(self) -> float:
        """The weight that the keys would get from a head that looks everywhere alike."""
        return (self.keys.sum(1) / self.padding.sum((1, 2))).mean().item()


def _role(name: str, texts: Sequence[language.Text], query: str, keys: Sequence[Sequence[int]]) -> Role:
    ids, padding = language.batch_of(texts)
    queries = torch.tensor([text.places[query] for text in texts])
    ids[torch.arange(len(texts)), queries] = language.MASK
    is_key = torch.zeros(ids.shape, dtype=torch.bool)
    for row, places in enumerate(keys):
        is_key[row, list(places)] = True
    return Role(name, ids, padding, queries, is_key)


def _noun(text: language.Text, role: str) -> list[int]:
    """Give the place of a noun, and of its ##s where it has one."""
    place = text.places[role]
    return [place, place + 1] if text.words[place + 1] == "##s" else [place]


def _topic_words(text: language.Text) -> list[int]:
    words = {word for lists in (language.NOUNS, language.ADJECTIVES) for group in lists.values() for word in group}
    return [place for place, word in enumerate(text.words) if word in words and place != text.places["object"]]


def roles(n: int = 500, seed: int = 20_000) -> list[Role]:
    """Make the four relations from texts with a noun between subject and verb that nobody trains on."""
    texts = [text for text in language.draw_texts(3 * n, seed) if text.clash is not None][:n]
    return [
        _role("hidden pronoun → the name", texts, "pronoun", [[text.places["name"]] for text in texts]),
        _role("hidden noun → other words of its topic", texts, "object", [_topic_words(text) for text in texts]),
        _role("hidden verb → the noun nearest to it", texts, "verb", [_noun(text, "between") for text in texts]),
        _role("hidden verb → its subject", texts, "verb", [_noun(text, "subject") for text in texts]),
    ]


def looked_at(encoder: nn.Module, role: Role) -> Tensor:
    """Give the weight that each head's look from the hidden word puts on the places that tell, on average: (L, H)."""
    weights = attention_weights(encoder, role.ids, role.padding)  # (L, B, H, T, T)
    from_hidden = weights[:, torch.arange(len(role.queries)), :, role.queries]  # (B, L, H, T)
    return (from_hidden * role.keys[:, None, None]).sum(-1).mean(0)


def role_table(encoder: nn.Module, chosen: Sequence[Role]) -> Tensor:
    """Put one row per relation, one column per head, layer after layer; the last column is what looking evenly gives."""
    rows = [[*looked_at(encoder, role).flatten().tolist(), role.evenly] for role in chosen]
    return torch.tensor(rows)


def draw_roles(encoder: nn.Module, chosen: Sequence[Role]) -> Figure | None:
    """Draw what each head looks at; where no weights can be read, say so and draw nothing."""
    try:
        table = role_table(encoder, chosen)
        n_layers, n_heads = looked_at(encoder, chosen[0]).shape
    except NoWeights as error:
        print(error)
        return None
    names = [f"layer {layer + 1}, head {head + 1}" for layer in range(n_layers) for head in range(n_heads)]
    figure, ax = plots.plt.subplots(figsize=(3.6 + 0.8 * len(names), 4.6))
    plots.heat_map(
        table, [role.name for role in chosen], [*names, "a head that looks\neverywhere alike"], label="mean attention weight", ax=ax, vmin=0, vmax=1
    )  # fmt: skip
    ax.axvline(len(names) - 0.5, color="white", linewidth=5)
    return figure

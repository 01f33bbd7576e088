"""Pictures of what happens to words that are chosen to be guessed: hidden, replaced, or left as they are."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from torch import Tensor

from utils import plots

UNASKED = -100
NAMES = ("not chosen", "hidden: [MASK]", "a random word", "left as it is")
COLOURS = ("#f2f2f2", plots.SKY, plots.ORANGE, plots.YELLOW)
PROMISED = (80.0, 10.0, 10.0)  # percent of the chosen words


def fates(inputs: Tensor, labels: Tensor, mask_id: int) -> Tensor:
    """Number the fate of every token (B, T): 0 not chosen, 1 hidden, 2 another word, 3 left as it is."""
    fate = torch.where(inputs == mask_id, 1, torch.where(inputs == labels, 3, 2))
    return fate.masked_fill(labels == UNASKED, 0)


def draw_texts(inputs: Tensor, labels: Tensor, mask_id: int, words: Sequence[str]) -> Axes:
    """Draw texts (B, T) as the model sees them, one per row, each word coloured by its fate."""
    rows, columns = inputs.shape
    _figure, ax = plt.subplots(figsize=(1.12 * columns, 0.46 * rows + 1.3))
    ax.imshow(fates(inputs, labels, mask_id), cmap=ListedColormap(COLOURS), vmin=0, vmax=3, aspect="auto")
    for row in range(rows):
        for column in range(columns):
            text = words[int(inputs[row, column])]
            ax.text(column, row, text, ha="center", va="center", fontsize=11, color=plots.BLACK)
    ax.set(xticks=[], yticks=range(rows), yticklabels=[f"draw {row + 1}" for row in range(rows)])
    ax.set_xticks([column + 0.5 for column in range(columns - 1)], minor=True)
    ax.set_yticks([row + 0.5 for row in range(rows - 1)], minor=True)
    ax.grid(which="minor", color="white", linewidth=3)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    handles = [
        Patch(facecolor=colour, edgecolor="#888888", label=name) for colour, name in zip(COLOURS, NAMES, strict=True)
    ]
    ax.legend(handles=handles, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def draw_shares(inputs: Tensor, labels: Tensor, mask_id: int) -> Axes:
    """Draw how the chosen tokens share out between the three fates, in percent, beside what is promised."""
    fate = fates(inputs, labels, mask_id)
    chosen = fate[fate > 0]
    shares = [100 * (chosen == number).double().mean().item() if chosen.numel() else 0.0 for number in (1, 2, 3)]
    _figure, ax = plt.subplots(figsize=(9, 3.0))
    places = range(3)
    ax.barh(places, shares, color=COLOURS[1:], edgecolor=plots.BLACK, height=0.62)
    for place, share, promised in zip(places, shares, PROMISED, strict=True):
        ax.plot([promised, promised], [place - 0.42, place + 0.42], color=plots.BLACK, linewidth=2.5, linestyle=":")
        ax.text(max(share, promised) + 1.5, place, f"{share:.1f} %", va="center")
    ax.set_yticks(places, NAMES[1:])
    ax.invert_yaxis()
    ax.set(xlim=(0, 100), xlabel="share of the chosen words (%); dotted: what the paper says")
    ax.set_title(f"{chosen.numel():,} chosen words, {100 * chosen.numel() / max(fate.numel(), 1):.1f} % of all")
    return ax

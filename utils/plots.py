"""Figures in one style: readable at the back of a room, safe for colour-blind eyes, axes named."""

from collections.abc import Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from torch import Tensor

# Okabe & Ito's palette: told apart by colour-blind eyes, and in grey.
BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW, BLACK = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#56b4e9",
    "#cc79a7",
    "#f0e442",
    "#222222",
)
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, BLACK)


def use_course_style() -> None:
    """Set matplotlib's defaults for the course."""
    plt.rcParams.update(
        {
            "figure.figsize": (8.0, 4.0),
            "figure.dpi": 100,
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "font.size": 13,
            "axes.titlesize": 14,
            "axes.labelsize": 13,
            "xtick.labelsize": 12,
            "ytick.labelsize": 12,
            "legend.fontsize": 12,
            "legend.frameon": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": plt.cycler(color=COLOURS),
            "lines.linewidth": 2.5,
            "image.cmap": "viridis",
        }
    )


def number(value: float, digits: int = 2) -> str:
    """Write a number with a true minus sign, and never −0.00."""
    text = f"{float(value):.{digits}f}"
    return text.replace("-", "−" if float(text) else "")


def heat_map(
    values: Tensor,
    rows: Sequence[str],
    columns: Sequence[str],
    title: str = "",
    ylabel: str = "",
    xlabel: str = "",
    label: str = "",
    entries: Sequence[Sequence[str]] | None = None,
    digits: int = 2,
    ax: Axes | None = None,
    **options: object,
) -> Axes:
    """Draw a matrix as a heat map with names on both axes; `entries` stand in the cells, by default the numbers.

    `label` names the colour bar, and without one there is none; `options` go to `imshow`.
    """
    if ax is None:
        _figure, ax = plt.subplots(figsize=(1.6 + 0.75 * len(columns), 1.4 + 0.55 * len(rows)))
    values = values.detach().cpu()
    image = ax.imshow(values, **{"aspect": "auto", **options})
    slanted = {"rotation": 45, "ha": "right"} if max(map(len, columns), default=0) > 3 else {}
    ax.set_xticks(range(len(columns)), columns, **slanted)
    ax.set_yticks(range(len(rows)), rows)
    ax.set(xlabel=xlabel, ylabel=ylabel, title=title)
    ax.spines[:].set_visible(False)
    for i in range(len(rows)):
        for j in range(len(columns)):
            text = number(values[i, j], digits) if entries is None else entries[i][j]
            red, green, blue, _alpha = image.to_rgba(float(values[i, j]))
            colour = "black" if 0.3 * red + 0.59 * green + 0.11 * blue > 0.5 else "white"
            ax.text(j, i, text, ha="center", va="center", color=colour, fontsize=11)
    if label:
        ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def weights_map(
    weights: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    title: str = "",
    ax: Axes | None = None,
    numbers: bool = True,
) -> Axes:
    """Draw attention weights (T_q, T_k) as a heat map with one row per query, words on both axes."""
    entries = None if numbers else [[""] * len(keys)] * len(queries)
    return heat_map(
        weights,
        queries,
        keys,
        title,
        ylabel="query: the word that looks",
        xlabel="key: the word that is looked at",
        label="attention weight",
        entries=entries,
        ax=ax,
        vmin=0,
        vmax=1,
    )


def diagram(
    boxes: dict[str, tuple[float, float]],
    paths: Sequence[Sequence[str]],
    here: Sequence[str] = (),
    title: str = "",
    size: tuple[float, float] = (0.84, 0.66),
) -> Axes:
    """Draw boxes, each at its (column, row), and arrows along each path of boxes; those in `here` are filled."""
    columns, rows = zip(*boxes.values(), strict=True)
    width, height = max(columns) - min(columns) + 1, max(rows) - min(rows) + 1
    _figure, ax = plt.subplots(figsize=(1.55 * width, 1.2 * height + 0.4))
    patches = {}
    for text, (column, row) in boxes.items():
        corner = (column - size[0] / 2, row - size[1] / 2)
        style = {"facecolor": YELLOW if text in here else "white", "edgecolor": BLACK, "linewidth": 1.6}
        patches[text] = FancyBboxPatch(corner, *size, boxstyle="round,pad=0,rounding_size=0.08", **style)
        ax.add_patch(patches[text])
        ax.text(column, row, text, ha="center", va="center", fontsize=12)
    for start, end in (step for path in paths for step in pairwise(path)):
        ends = {"patchA": patches[start], "patchB": patches[end], "shrinkA": 2, "shrinkB": 2}
        look = {"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.6, "mutation_scale": 16}
        ax.annotate("", xy=boxes[end], xytext=boxes[start], arrowprops={**look, **ends})
    ax.set(xlim=(min(columns) - 0.5, max(columns) + 0.5), ylim=(min(rows) - 0.5, max(rows) + 0.5), title=title)
    ax.axis("off")
    return ax


def vectors(arrows: dict[str, tuple[float, float]], ax: Axes | None = None, title: str = "") -> Axes:
    """Draw named vectors of the plane as arrows from the origin, on axes of equal scale."""
    if ax is None:
        _figure, ax = plt.subplots(figsize=(8.0, 4.4))
    reach = 1.25 * max(abs(number) for arrow in arrows.values() for number in arrow)
    for (text, (x, y)), colour in zip(arrows.items(), COLOURS, strict=False):
        look = {"arrowstyle": "-|>", "color": colour, "linewidth": 3, "mutation_scale": 22, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", xy=(x, y), xytext=(0, 0), arrowprops=look)
        ax.annotate(text, xy=(x, y), xytext=(8 if x >= 0 else -8, 8 if y >= 0 else -8), textcoords="offset points",
                    ha="left" if x >= 0 else "right", va="center", color=colour, fontsize=13)  # fmt: skip
    ax.axhline(0, color="#cccccc", linewidth=1, zorder=0)
    ax.axvline(0, color="#cccccc", linewidth=1, zorder=0)
    ax.set(xlim=(-1.7 * reach, 1.7 * reach), ylim=(-reach, reach), aspect="equal", title=title)
    ax.set(xlabel="first component", ylabel="second component")
    return ax


def show(alt: str) -> None:
    """Show the current figure, with a sentence that says what is in it to those who can't see it."""
    from IPython.display import display

    figure = plt.gcf()
    display(figure, metadata={"image/png": {"alt": alt}})
    plt.close(figure)


def new_figure(columns: int = 1, height: float = 4.0, **options: object) -> tuple[Figure, Axes]:
    """Make a figure with axes side by side, wide enough to read each."""
    return plt.subplots(1, columns, figsize=(4.6 * columns if columns > 1 else 8.0, height), **options)


use_course_style()

"""Accuracy against number of labels, as it was measured: the figure, and its numbers in words.

The numbers stand in `measured/labels_and_accuracy.json`; `benchmarks/labels_and_accuracy.py` makes that file.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from statistics import mean

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from utils import plots

FILE = Path(__file__).with_name("measured") / "labels_and_accuracy.json"
METHODS = {
    "pretrained": ("pretrained, fine-tuned", plots.BLUE, "o"),
    "frozen": ("pretrained, frozen", plots.GREEN, "s"),
    "random": ("same encoder, random start", plots.RED, "^"),
    "bag of words": ("bag of words", plots.BLACK, "D"),
}


@cache
def measured() -> dict:
    """Read the recipe and the runs."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def accuracies(method: str) -> dict[int, list[float]]:
    """Give the test accuracies of a method's runs, by number of labels."""
    found: dict[int, list[float]] = {}
    for run in measured()["runs"]:
        if run["method"] == method:
            found.setdefault(run["labels"], []).append(run["test"])
    return dict(sorted(found.items()))


def draw(own: Mapping[int, float] | None = None) -> Axes:
    """Draw every run as a point and the mean of each number of labels as a line; own runs are stars."""
    _figure, ax = plt.subplots(figsize=(11, 5.2))
    for method, (name, colour, marker) in METHODS.items():
        runs = accuracies(method)
        ax.plot(list(runs), [100 * mean(found) for found in runs.values()], color=colour, label=name)
        points = [(labels, 100 * accuracy) for labels, found in runs.items() for accuracy in found]
        ax.plot(*zip(*points, strict=True), marker, color=colour, alpha=0.55, markersize=7, linestyle="none")
    if own:
        look = {"color": plots.ORANGE, "markersize": 22, "markeredgecolor": plots.BLACK, "zorder": 5}
        percent = [100 * accuracy for accuracy in own.values()]
        ax.plot(list(own), percent, "*", linestyle="none", label="yours, just now", **look)
    ticks = sorted({labels for method in METHODS for labels in accuracies(method)})
    ax.axhline(50, color="#999999", linewidth=1.2, linestyle=":", label="guessing")
    ax.set_xscale("log")
    ax.set_xticks(ticks, [f"{labels:,}" for labels in ticks])
    ax.minorticks_off()
    ax.set(xlabel="labelled reviews for training", ylabel="test accuracy (%)", ylim=(48, None))
    ax.set_title("What a label is worth depends on what was learned before it")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def table() -> str:
    """Write the means, with lowest and highest run, as a table in Markdown."""
    ticks = sorted({labels for method in METHODS for labels in accuracies(method)})
    rows = ["| labels | " + " | ".join(f"{labels:,}" for labels in ticks) + " |", "| --- " * (len(ticks) + 1) + "|"]
    for method, (name, _colour, _marker) in METHODS.items():
        runs = accuracies(method)
        cells = [_cell(runs[labels]) if labels in runs else "not run" for labels in ticks]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _cell(found: list[float]) -> str:
    """Write one cell: the mean in percent, and the range where there are several runs."""
    if len(found) == 1:
        return f"**{100 * found[0]:.1f}** (one run)"
    return f"**{100 * mean(found):.1f}** ({100 * min(found):.1f} to {100 * max(found):.1f})"


def standard_error() -> float:
    """Give how far an accuracy of 70 % is off by chance of the test reviews alone, in percentage points."""
    return 100 * (0.7 * 0.3 / measured()["test_reviews"]) ** 0.5


def reading(labels: int = 512) -> str:
    """Say in a few sentences what the table shows; every number and every comparison is taken from the runs."""
    means = {method: {n: 100 * mean(found) for n, found in accuracies(method).items()} for method in METHODS}
    few, most = min(means["pretrained"]), max(means["bag of words"])
    here = {method: f"{means[method][labels]:.1f} %" for method in METHODS}
    bag = means["bag of words"][most]
    as_good = [n for n, accuracy in means["pretrained"].items() if accuracy >= bag]
    lines = [
        f"- With {labels:,} labels: {here['pretrained']} fine-tuned, {here['frozen']} frozen, {here['bag of words']} for the "
        f"bag of words, {here['random']} from a random start.",
        f"- A random start gets {means['random'][few]:.1f} % with {few:,} labels, and {means['random'][max(means['random'])]:.1f} % "
        f"with {max(means['random']):,}, the most that it was given.",
        f"- Fine-tuning is ahead of the frozen encoder by {means['pretrained'][few] - means['frozen'][few]:.1f} points with {few:,} "
        f"labels, and by {means['pretrained'][labels] - means['frozen'][labels]:.1f} with {labels:,}.",
        f"- The bag of words gets {bag:.1f} % out of {most:,} labels. "
        + (
            f"The fine-tuned encoder needed {min(as_good):,} for that, of the numbers tried."
            if as_good
            else "The fine-tuned encoder didn't get there with any number of labels tried."
        ),
    ]
    return "\n".join(lines)

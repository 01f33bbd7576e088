"""What `benchmarks/reversal.py` has measured: three translators that learn to reverse long random strings."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from utils import plots

MEASURED = Path(__file__).parent / "measured" / "reversal.json"
LOOK = {  # label, colour, marker
    "LSTM": ("LSTM, one state", plots.RED, "s"),
    "LSTM with attention": ("LSTM with attention", plots.ORANGE, "^"),
    "Transformer": ("Transformer", plots.BLUE, "o"),
}


@cache
def measured() -> dict[str, Any]:
    """Read settings and runs."""
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def settings() -> str:
    """Say in words what was run."""
    chosen = measured()["settings"]
    seeds = sorted({run["seed"] for runs in measured()["runs"].values() for run in runs})
    low, high = chosen["lengths"]
    return (
        f"{low} to {high} symbols of {chosen['symbols']} kinds, {chosen['steps']:,} updates of {chosen['batch']} strings, "
        f"width {chosen['d_model']}, seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    )


def summary() -> str:
    """Say in words what was run and what came of it, a line for each translator."""
    lines = [f"measured beforehand: {settings()}"]
    for name, runs in measured()["runs"].items():
        if runs:
            shares = ", ".join(f"{run['test']:.1%}" for run in runs)
            lines.append(f"{LOOK[name][0]:20} {runs[0]['parameters']:>8,} weights   all right: {shares} of 2,000")
    return "\n".join(lines)


def draw_courses(ax: Axes) -> None:
    """Draw exact match against updates, one line per run."""
    for name, runs in measured()["runs"].items():
        label, colour, marker = LOOK[name]
        for number, run in enumerate(runs):
            shares = [100 * share for share in run["exact"]]
            ax.plot(run["asked"], shares, marker=marker, color=colour, markersize=5, label="" if number else label)
    ax.set(xlabel="updates", ylabel="strings all right (%)", ylim=(-2, 103), title="While they learn")
    ax.legend()


def draw_lengths(ax: Axes) -> None:
    """Draw exact match against the length of the string after the last update, one line per run."""
    for name, runs in measured()["runs"].items():
        _label, colour, marker = LOOK[name]
        for run in runs:
            lengths = [int(length) for length in run["by_length"]]
            ax.plot(lengths, [100 * share for share in run["by_length"].values()], marker=marker, color=colour)
    ax.set(
        xlabel="symbols in the string", ylabel="strings all right (%)", ylim=(-2, 103), title="Afterwards, by length"
    )

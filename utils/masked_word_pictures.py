"""Pictures of learning by masked words: what is known when, few labels, and how much text there was."""

import json
from collections.abc import Sequence
from pathlib import Path

from IPython.display import display
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from utils import plots
from utils.masked_word_training import History

MEASURED = Path(__file__).parent / "measured" / "masked_words_on_reviews.json"
START_COLOURS = {"masked words first": plots.BLUE, "bag of words": plots.ORANGE, "from scratch": plots.RED}
# Devlin et al. 2018, section 3.1: 800 and 2,500 million words; appendix A.2: about 40 epochs.
BERT_WORDS, BERT_EPOCHS = 3.3e9, 40


class LiveProbes:
    """A figure that grows while a masked-word model trains: give it to `pretrain` as `watch`."""

    def __init__(self, steps: int) -> None:
        self.steps, self.handle = steps, None

    def __call__(self, history: History) -> None:
        """Draw what is known so far in place of what was drawn before."""
        figure = draw_history(history, self.steps)
        said = "; ".join(f"{name}: {shares[-1]:.0%}" for name, shares in history.shares.items())
        about = {"image/png": {"alt": f"Right answers against step. After {history.steps[-1]} steps, {said}."}}
        if self.handle is None:
            self.handle = display(figure, metadata=about, display_id=True)
        else:
            self.handle.update(figure, metadata=about)
        plots.plt.close(figure)


def draw_history(history: History, steps: int) -> Figure:
    """Draw the share of right answers to every question against the step."""
    figure, ax = plots.plt.subplots(figsize=(9.2, 4.8))
    colours = (plots.BLUE, plots.ORANGE, plots.GREEN, plots.PURPLE)
    for (name, shares), colour, style in zip(history.shares.items(), colours, ("-", "--", "-.", "-"), strict=True):
        ax.plot(history.steps, shares, style, color=colour, label=name, clip_on=False, zorder=3)
    for chance, text in ((0.5, "chance, of two"), (0.25, "chance, of four")):
        ax.axhline(chance, color="#bbbbbb", linewidth=1.2, linestyle=":", zorder=0)
        ax.text(steps, chance - 0.012, text, ha="right", va="top", fontsize=11, color="#595959")
    ax.set(xlim=(0, steps), ylim=(0, 1), xlabel="training step", ylabel="right answers (share)")
    ax.set_title("What the model knows, and since when", pad=12)
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1.4, handlelength=2.4)
    return figure


def dots(ax: Axes, shares: dict[str, Sequence[float]], chance: float = 0.5) -> None:
    """Draw one row per way to start, one dot per seed, and the mean in figures."""
    for row, (start, values) in enumerate(shares.items()):
        colour = START_COLOURS[start]
        mean = sum(values) / len(values)
        ax.plot([chance, mean], [row, row], color=colour, linewidth=6, alpha=0.3, solid_capstyle="butt")
        ax.plot(values, [row] * len(values), "o", color=colour, markersize=9, alpha=0.85, clip_on=False)
        ax.text(mean, row - 0.3, f"{mean:.0%}", color=colour, ha="center", fontsize=12)
    ax.axvline(chance, color="#999999", linewidth=1.2, linestyle=":")
    ax.set_yticks(range(len(shares)), list(shares))
    ax.set(ylim=(len(shares) - 0.5, -0.7), xlim=(chance - 0.05, 1.0), xlabel="right answers (share)")


def draw_few_labels(shares: dict[str, Sequence[float]], labels: int) -> Figure:
    """Draw what a few labels bring, by where the classifier starts from."""
    figure, ax = plots.plt.subplots(figsize=(8.0, 3.3))
    dots(ax, shares)
    ax.set_title(f"Indoors or outdoors? After {labels} labelled texts")
    return figure


def on_reviews() -> dict:
    """Read what was measured with the same effort on real reviews."""
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def draw_reviews(measured: dict) -> Figure:
    """Draw what a few passes through real text teach: words guessed, and what it is worth with 512 labels."""
    figure, (left, right) = plots.plt.subplots(1, 2, figsize=(11.0, 4.0), width_ratios=(1, 1))
    curve, counting = measured["curve"], measured["counting"]
    passes = [point["epochs"] for point in curve]
    left.plot(passes, [point["accuracy"] for point in curve], color=plots.BLUE, marker="o", label="masked-word model")
    left.axhline(counting["accuracy"], color=plots.ORANGE, linestyle="--", label=f"always “{counting['guess']}”")
    left.set(xlabel="passes through the training texts", ylabel="hidden words guessed (share)", ylim=(0, 0.25))
    left.set_title("New reviews: hidden words")
    left.legend(loc="upper left")
    dots(right, {start: values["512"] for start, values in measured["test_accuracy"].items()})
    right.set_title("Fresh or rotten? After 512 labels")
    return figure


def draw_scale(small_language: float, reviews: float) -> Figure:
    """Draw how many tokens each model has read, on a scale where every grid line is ten times the one before."""
    figure, ax = plots.plt.subplots(figsize=(9.2, 3.0))
    read = {"our small language": small_language, "our reviews": reviews, "BERT, 2018": BERT_WORDS * BERT_EPOCHS}
    for row, (tokens, colour) in enumerate(zip(read.values(), (plots.BLUE, plots.ORANGE, plots.RED), strict=True)):
        ax.barh(row, tokens, color=colour, height=0.62)
        ax.text(tokens * 1.25, row, _in_words(tokens), va="center", fontsize=12)
    ax.set_xscale("log")
    ax.set_yticks(range(len(read)), list(read))
    ax.set(ylim=(len(read) - 0.5, -0.5), xlim=(1e5, 5e12), xlabel="tokens read while pretraining (BERT: words)")
    ax.grid(axis="x", color="#dddddd")
    ax.set_axisbelow(True)
    return figure


def _in_words(count: float) -> str:
    return f"{count / 1e9:,.0f} billion" if count >= 1e9 else f"{count / 1e6:.1f} million"

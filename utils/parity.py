"""Compare an encoder that carries real weights with the published model, stage by stage, and say where they part.

What the published model gives was recorded with its reference implementation (`autograder/record_reference.py`). Stages
are found by the contract's names with forward hooks; one that is computed in another way is left out, and named.
"""

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from safetensors.torch import load_file
from torch import Tensor, nn

from utils import plots
from utils.card import STYLE, with_code
from utils.parity_hints import Clues, hint

REFERENCE = Path(__file__).parent / "measured" / "minilm_reference.safetensors"
SENTENCES = ("wonderful film", "the dog chased the ball", "the nurse called because she had lost her keys")
CLOSE = 1e-4  # on real tokens; a norm with the wrong eps differs by ten times as much
PARTS = ("attention", "norm_1", "feed_forward", "norm_2")
LINEAR = {"attention": "out_proj", "feed_forward": "linear_2"}  # what makes the output of a part, before the residual
FINAL = "output"
LOWEST, HIGHEST = 1e-8, 100.0  # of the figure


def stage_names(n_layers: int) -> list[str]:
    """List the stages in the order in which an encoder computes them."""
    return ["norm", *(f"layers.{layer}.{part}" for layer in range(n_layers) for part in PARTS)]


@dataclass(frozen=True)
class Stage:
    """How far one stage is from the recorded one: the largest difference at real tokens, for each sentence."""

    name: str
    by_sentence: tuple[float, ...] | None  # None where the stage couldn't be seen
    doubtful: bool = False  # seen from outside only: the module may add the residual, say

    @property
    def largest(self) -> float:
        """The largest difference; infinity where there is NaN."""
        assert self.by_sentence is not None
        return max(self.by_sentence)

    @property
    def agrees(self) -> bool | None:
        """Whether the stage agrees; None where it couldn't be seen."""
        return None if self.by_sentence is None else self.largest < CLOSE


class Parity:
    """What `parity_report` finds: all stages, the first that differs, and what that suggests."""

    def __init__(self, stages: list[Stage], clues: Clues) -> None:
        last_good = max((number for number, stage in enumerate(stages) if stage.agrees), default=-1)
        # What comes out right later was right before: such a module only does more than its name says.
        self.stages = [
            Stage(stage.name, None) if stage.doubtful and number < last_good and not stage.agrees else stage
            for number, stage in enumerate(stages)
        ]
        self.first = next((stage for stage in self.stages if stage.agrees is False), None)
        self.left_out = [stage.name for stage in self.stages if stage.agrees is None]
        before = self.stages[: self.stages.index(self.first)] if self.first else []
        seen_before = [stage.name for stage in before if stage.agrees]
        self.last_good = seen_before[-1] if seen_before else None
        unseen = tuple(stage.name for stage in before if stage.agrees is None)
        self.suggestion = hint(self.first.name, self.first.by_sentence, clues, unseen) if self.first else ""

    @property
    def equal(self) -> bool:
        """Whether everything that could be seen agrees."""
        return self.first is None

    @property
    def title(self) -> str:
        """The verdict in one line."""
        if self.first is None:
            return "Your encoder is the published one"
        return f"First difference: {_spoken(self.first.name)}"

    def sentences(self) -> list[str]:
        """Give the verdict in words."""
        if self.first is None:
            largest = max(stage.largest for stage in self.stages if stage.agrees)
            text = [f"At every real token, no stage differs by more than {largest:.0e}. The rest is rounding."]
        else:
            size = (
                f"up to {self.first.largest:.2g}"
                if self.first.largest < math.inf
                else "more than can be said (NaN, or another shape)"
            )
            after = f" Up to {_spoken(self.last_good)} everything agrees." if self.last_good else ""
            what = _spoken(self.first.name)
            text = [f"{what[0].upper()}{what[1:]} differs by {size}.{after}", self.suggestion]
        if self.left_out:
            names = ", ".join(f"`{name}`" for name in self.left_out)
            text.append(f"Left out, since your code computes it in another way: {names}.")
        return text

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw the largest difference of every stage on a logarithmic axis."""
        if ax is None:
            _figure, ax = plt.subplots(figsize=(12, 5.4))
        for number, stage in enumerate(self.stages):
            if stage.agrees is None:
                ax.text(number, 1.5 * LOWEST, "?", ha="center", va="bottom", color=plots.BLACK)
                continue
            look = {"color": plots.GREEN} if stage.agrees else {"color": plots.RED, "hatch": "//", "edgecolor": "white"}
            ax.bar(number, min(max(stage.largest, 2 * LOWEST), HIGHEST) - LOWEST, bottom=LOWEST, width=0.75, **look)
        ax.axhline(CLOSE, color=plots.BLACK, linewidth=1.5, linestyle="--")
        ax.annotate("allowed: 0.0001", (len(self.stages) - 0.4, 1.5 * CLOSE), ha="right", va="bottom", fontsize=12)
        ax.set(yscale="log", ylim=(LOWEST, HIGHEST), xlim=(-0.8, len(self.stages) - 0.2))
        ax.set(xlabel="stage, in the order of computation", ylabel="largest difference at real tokens")
        ax.set_xticks(range(len(self.stages)), [stage.name.rsplit(".", 1)[-1] for stage in self.stages], rotation=90)
        _name_layers(ax, [stage.name for stage in self.stages])
        ax.set_title(self.title.replace("`", ""), pad=28)
        return ax

    def show(self) -> None:
        """Show the verdict and the figure."""
        from IPython.display import display

        display(self)
        self.draw()
        plots.show(f"Largest difference from the published model at each stage. {' '.join(self.sentences())}")

    def _repr_html_(self) -> str:
        kind = "passed" if self.equal else "failed"
        body = "".join(f"<p>{with_code(sentence)}</p>" for sentence in self.sentences())
        title = html.escape(self.title.replace("`", ""))
        return (
            f'{STYLE}<section class="course-card course-{kind}"><header><span>{title}</span></header>{body}</section>'
        )

    def __repr__(self) -> str:
        return "\n".join([self.title, *self.sentences()])


def parity_report(encoder: nn.Module, recorded: Mapping[str, Tensor] | None = None) -> Parity:
    """Run an encoder on the recorded sentences and compare every stage with what the published model gave.

    recorded: "ids" (B, T), "padding" (B, 1, T), and the output (B, T, d_model) of each of `stage_names`; by default the
    published model's. The encoder is left in the mode that it was in.
    """
    recorded = load_file(REFERENCE) if recorded is None else recorded
    names = [name for name in recorded if name not in ("ids", "padding")]
    names = [name for name in stage_names(len(names)) if name in names]  # a file keeps no order
    seen, order, doubtful = _observe(encoder, names, recorded["ids"], recorded["padding"])
    real = recorded["padding"][:, 0]
    stages = [Stage(name, _differences(seen.get(name), recorded[name], real), name in doubtful) for name in names]
    whole = _differences(seen.get(FINAL), recorded[names[-1]], real)
    stages.append(Stage(FINAL, (math.inf,) * len(real) if whole is None else whole))
    padded = tuple(bool(row) for row in ~real.all(dim=1))
    return Parity(stages, Clues(padded=padded, order=tuple(order)))


def _observe(
    encoder: nn.Module, names: list[str], ids: Tensor, padding: Tensor
) -> tuple[dict[str, Tensor], list[str], set[str]]:
    """Give what each stage made first, the stages in the order in which they ran, and those seen from outside only."""
    modules = dict(encoder.named_modules())
    prefix = min((name[: -len("norm")] for name in modules if _is(name, "norm")), key=len, default="")
    seen: dict[str, Tensor] = {}
    order: list[str] = []
    handles = []

    def watch(module: str, stage: str) -> None:
        def keep(_module: nn.Module, _inputs: tuple, output: object) -> None:
            made = output[0] if isinstance(output, (tuple, list)) and output else output
            if isinstance(made, Tensor) and module not in seen:
                seen[module] = made.detach().clone()
                order.append(stage)

        if prefix + module in modules:
            handles.append(modules[prefix + module].register_forward_hook(keep))

    for name in names:
        watch(name, name)
        linear = LINEAR.get(name.rsplit(".", 1)[-1])
        if linear:
            watch(f"{name}.{linear}", name)
    training = encoder.training
    try:
        with torch.no_grad():
            result = encoder.eval()(ids, padding)
    finally:
        encoder.train(training)
        for handle in handles:
            handle.remove()
    # The last linear layer is what every style has in common; a module around it may add the residual, say.
    inner = {name: f"{name}.{LINEAR.get(name.rsplit('.', 1)[-1])}" for name in names}
    found = {name: seen.get(inner[name], seen.get(name)) for name in names}
    doubtful = {name for name in names if name.endswith(tuple(LINEAR)) and inner[name] not in seen}
    found[FINAL] = result[0] if isinstance(result, (tuple, list)) else result
    return found, list(dict.fromkeys(order)), doubtful


def _is(name: str, stage: str) -> bool:
    return name == stage or name.endswith(f".{stage}")


def _differences(found: Tensor | None, expected: Tensor, real: Tensor) -> tuple[float, ...] | None:
    """Give the largest difference at the real tokens of each sentence; None where the shapes don't fit."""
    if not isinstance(found, Tensor) or found.shape != expected.shape:
        return None
    gaps = (found.to(expected.dtype) - expected).abs().amax(dim=-1)  # (B, T)
    gaps = gaps.nan_to_num(nan=float("inf")).masked_fill(~real, 0.0)
    return tuple(gaps.amax(dim=1).tolist())


def _spoken(name: str | None) -> str:
    """Name a stage in a sentence."""
    if name == FINAL:
        return "the encoder's output"
    if name == "norm":
        return "the embeddings after `norm`"
    _layers, number, part = str(name).split(".")
    return f"`{part}` in layer {number}"


def _name_layers(ax: Axes, names: list[str]) -> None:
    """Write the layers' numbers above their stages, with lines between them."""
    layers: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        layers.setdefault(name.split(".")[1] if "." in name else name, []).append(place)
    for layer, places in layers.items():
        ax.axvline(places[0] - 0.5, color="#cccccc", linewidth=1, zorder=0)
        text = {"norm": "", FINAL: ""}.get(layer, f"layer {layer}")
        ax.annotate(
            text, (sum(places) / len(places), 1.02), xycoords=ax.get_xaxis_transform(), ha="center", fontsize=12
        )

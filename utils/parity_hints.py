"""What a first difference from the published model suggests, in words."""

from dataclasses import dataclass

SMALL = 0.02  # a wrong eps or another GELU stays below this, a forgotten part doesn't


@dataclass(frozen=True)
class Clues:
    """What else was noticed: which sentences have padding, and in what order the stages ran."""

    padded: tuple[bool, ...]
    order: tuple[str, ...]

    def runs_before(self, first: str, second: str) -> bool:
        """Say whether one stage ran before another."""
        return first in self.order and second in self.order and self.order.index(first) < self.order.index(second)

    def only_padded(self, by_sentence: tuple[float, ...]) -> bool:
        """Say whether sentences without padding agree."""
        return not any(gap >= 1e-4 for gap, padded in zip(by_sentence, self.padded, strict=True) if not padded)


def hint(stage: str, by_sentence: tuple[float, ...], clues: Clues, unseen: tuple[str, ...] = ()) -> str:
    """Say what a difference that shows first at this stage suggests; `unseen` are stages before it that left no trace."""
    largest = max(by_sentence)
    if "norm" in unseen and stage == "layers.0.attention" and not clues.only_padded(by_sentence):
        return f"The norm of the embeddings didn't run before it. Is it there, on the sum? {_embeddings(1.0)}"
    if stage == "output" and unseen:
        return f"These stages left no trace: {', '.join(f'`{name}`' for name in unseen)}. Do all layers run, the last one too?"
    if stage == "norm":
        return _embeddings(largest)
    if stage == "output":
        return "All layers agree, so something comes after the last one that doesn't belong there: a further norm, perhaps?"
    _layers, layer, part = stage.split(".")
    if part == "attention":
        return _attention(int(layer), by_sentence, clues)
    if part == "feed_forward":
        return _feed_forward(largest)
    before = "attention" if part == "norm_1" else "feed_forward"
    return _norm(part, before, largest)


def _embeddings(largest: float) -> str:
    if largest < SMALL:
        return "So small a difference, at the first norm already: which `eps` does it have? BERT's is 1e-12."
    return (
        "Three embeddings are added, and then normalised: tokens, positions, and segments (where none are given, "
        "the vector of segment 0). Is one of them missing, or the norm? Does something multiply by √d_model? BERT "
        "doesn't. Does the first token have position 0?"
    )


def _attention(layer: int, by_sentence: tuple[float, ...], clues: Clues) -> str:
    if clues.runs_before(f"layers.{layer}.norm_1", f"layers.{layer}.attention"):
        return "`norm_1` runs before `attention` in your layer. BERT is post-norm: first attention, then the sum, then the norm."
    if any(gap == float("inf") for gap in by_sentence):
        return "NaN: some position may look nowhere. Is the mask turned round? True in `padding` is a real token, and may be looked at."
    if layer == 0 and clues.only_padded(by_sentence):
        return (
            "Only sentences with padding are off, so it is the mask: is `padding` handed on to attention, does it hide "
            "keys (not queries), and is True a token that may be looked at?"
        )
    if layer > 0:
        return f"Layers before this one agree, so the code can do it. What is different in layer {layer}: its input, its mask, its weights?"
    return (
        "It is off in all sentences, padded or not. Is the mask turned round (True in `padding` may be looked at)? Else it is "
        "attention itself: its check in chapter 04 looks at scale, split and merge. Or are two of the four projections swapped?"
    )


def _feed_forward(largest: float) -> str:
    if largest < SMALL:
        return (
            "So small a difference is the wrong GELU: BERT's is the exact one, with the error function, and not the "
            "approximation with tanh."
        )
    return "Between `linear_1` and `linear_2` BERT has a GELU, where the first Transformer had ReLU. Nothing comes after `linear_2`."


def _norm(part: str, before: str, largest: float) -> str:
    if largest < SMALL:
        return f"So small a difference, at a norm: which `eps` does `{part}` have? BERT's is 1e-12."
    return (
        f"`{before}` agrees and `{part}` doesn't: post-norm is `{part}(x + {before}(x))`. Is the residual there, is it "
        "added before the norm, and is it the right x?"
    )

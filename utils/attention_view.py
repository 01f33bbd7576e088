"""Attention to explore by hand: point at a token, see where every head looks. Plain HTML and CSS, so no kernel is needed.

Each query is a radio button with its label. Choosing one (a click, a tap, arrow keys) shows its rows; pointing at one shows them
for as long as the pointer stays, in browsers that know `:has`. There is no script, so a saved or exported notebook works as well.
"""

import hashlib
import html
import itertools
from collections.abc import Sequence

from torch import Tensor

COLOURS = ("0,114,178", "230,159,0", "0,158,115", "213,94,0", "204,121,167", "86,180,233")
STRONGEST = 0.6  # how opaque the colour of weight 1 is: text stays readable on it, in light and in dark
NAME_WIDTH = 110  # pixels
_numbers = itertools.count()

STYLE = """<style>
.attention-view{font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:15px;line-height:1.35;
 color:var(--jp-ui-font-color1,#222);background:var(--jp-layout-color1,#fff);border:1px solid var(--jp-border-color2,#ccc);
 border-radius:6px;padding:12px 16px;margin:6px 0;width:fit-content;max-width:100%;box-sizing:border-box;overflow-x:auto;
 position:relative;text-align:left}
.attention-view .title{font-weight:600}
.attention-view .line{display:grid;align-items:center;gap:4px;margin:5px 0;width:max-content}
.attention-view .name{color:var(--jp-ui-font-color2,#595959);font-size:13px;padding-right:6px}
.attention-view .token{border-radius:4px;padding:3px 2px;text-align:center;white-space:pre;margin:0;border:1px solid transparent}
.attention-view label.token{cursor:pointer;border-color:var(--jp-border-color1,#999);display:block}
.attention-view label.token:hover{border-color:#0072b2;box-shadow:0 0 0 1px #0072b2}
.attention-view .key{border-color:var(--jp-border-color2,#ddd)}
.attention-view .share{display:block;font-size:12px;color:var(--jp-ui-font-color1,#222)}
.attention-view .bar{display:block;height:4px;border-radius:2px;margin:2px 3px 0}
.attention-view input{position:absolute;opacity:0;width:1px;height:1px;margin:0;pointer-events:none}
.attention-view .from{display:none}
</style>"""


class AttentionView:
    """What `attention_view` shows."""

    def __init__(
        self, weights: Tensor, tokens: Sequence[str], keys: Sequence[str], names: Sequence[str], title: str, start: int
    ) -> None:
        self.weights, self.tokens, self.keys, self.names = weights, list(tokens), list(keys), list(names)
        self.title, self.start = title, start

    def _repr_html_(self) -> str:
        """Draw the view: a row of queries to choose from, and for each of them one row per head."""
        name = self._new_name()
        inputs, labels, blocks, rules = [], [], [], []
        for i, token in enumerate(self.tokens):
            text, checked = html.escape(token), " checked" if i == self.start else ""
            inputs.append(f'<input type="radio" name="{name}" id="{name}-{i}" aria-label="{text}"{checked}>')
            labels.append(f'<label class="token" for="{name}-{i}">{text}</label>')
            rows = "".join(self._row(head, head_name, i) for head, head_name in enumerate(self.names))
            blocks.append(f'<div class="from f{i}" role="group" aria-label="where {text} looks">{rows}</div>')
            rules.append(self._rules(f"#{name}", f"#{name}-{i}", i))
        first = f'<span class="name">choose a token</span>{"".join(labels)}'
        return (
            f'{STYLE}<style>{"".join(rules)}</style><div class="attention-view" id="{name}">{"".join(inputs)}'
            f'<div class="title">{html.escape(self.title)}</div>'
            f'<div class="line queries" style="{self._columns(self.tokens)}">{first}</div>{"".join(blocks)}</div>'
        )

    def _new_name(self) -> str:
        """Make an id that no other view on the page has, also where several notebooks share one page."""
        words = "\0".join([self.title, *self.tokens, *self.keys, *self.names])
        digest = hashlib.sha256(words.encode() + self.weights.double().numpy().tobytes()).hexdigest()[:10]
        return f"attention-{digest}-{next(_numbers)}"

    @staticmethod
    def _rules(view: str, button: str, i: int) -> str:
        mark = "background:#0072b2;color:#fff;border-color:#0072b2"
        label = f'.queries label[for="{button[1:]}"]'
        return (
            f"{button}:checked~.f{i}{{display:block}}{button}:checked~{label}{{{mark}}}"
            f"{button}:focus-visible~{label}{{outline:2px solid #e69f00;outline-offset:2px}}"
            f"{view}:has(label:hover)>.f{i}{{display:none}}"
            f"{view}:has(label[for='{button[1:]}']:hover)>.f{i}{{display:block}}"
        )

    @staticmethod
    def _columns(words: Sequence[str]) -> str:
        widths = " ".join(f"{max(4.5, 1.05 * len(word) + 1.5):.1f}ch" for word in words)
        return f"grid-template-columns:{NAME_WIDTH}px {widths}"

    def _row(self, head: int, name: str, query: int) -> str:
        colour = COLOURS[head % len(COLOURS)]
        cells = []
        for j, key in enumerate(self.keys):
            weight = float(self.weights[head, query, j])
            share = f"{weight:.0%}" if weight == weight else "NaN"
            part = min(max(weight, 0.0), 1.0) if weight == weight else 0.0
            cells.append(
                f'<span class="token key" style="background:rgba({colour},{STRONGEST * part:.2f})" title="weight {weight:.3f}">'
                f'{html.escape(key)}<span class="share">{share}</span>'
                f'<span class="bar" style="background:rgb({colour});width:calc({part:.3f}*(100% - 6px))"></span></span>'
            )
        columns = self._columns(self.keys)
        return (
            f'<div class="line" style="{columns}"><span class="name">{html.escape(name)}</span>{"".join(cells)}</div>'
        )

    def __repr__(self) -> str:
        lines = [self.title]
        for i, token in enumerate(self.tokens):
            for head, name in enumerate(self.names):
                strongest = int(self.weights[head, i].argmax())
                lines.append(
                    f"{token} ({name}) looks most at {self.keys[strongest]} ({self.weights[head, i, strongest]:.0%})"
                )
        return "\n".join(lines)


def attention_view(
    weights: Tensor,
    tokens: Sequence[str],
    keys: Sequence[str] | None = None,
    title: str = "Where does each token look?",
    names: Sequence[str] | None = None,
    start: int = -1,
) -> AttentionView:
    """Show attention weights (T_q, T_k) or (H, T_q, T_k) so that one can choose a token and see where each head looks.

    `tokens` are the words of the queries, `keys` those of the keys (the same if left out), `names` the names of the heads.
    `start` is the query that is chosen at first, by default the last.
    """
    weights = weights.detach().cpu()
    if weights.dim() == 2:
        weights = weights.unsqueeze(0)
    keys = tokens if keys is None else keys
    if weights.dim() != 3 or weights.shape[-2:] != (len(tokens), len(keys)):
        raise ValueError(
            f"weights of shape {tuple(weights.shape)} don't fit {len(tokens)} queries and {len(keys)} keys"
        )
    if names is None:
        names = ["weights"] if weights.shape[0] == 1 else [f"head {head + 1}" for head in range(weights.shape[0])]
    if len(names) != weights.shape[0]:
        raise ValueError(f"{len(names)} names don't fit {weights.shape[0]} heads")
    return AttentionView(weights, tokens, keys, names, title, range(len(tokens))[start])

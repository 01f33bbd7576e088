"""Attention to explore by hand: point at a token, see where every head looks. Plain HTML and CSS, so no kernel is needed."""

import html
import itertools
from collections.abc import Sequence

from torch import Tensor

COLOURS = ("0,114,178", "230,159,0", "0,158,115", "213,94,0", "204,121,167", "86,180,233")
_numbers = itertools.count()

STYLE = """<style>
.attention-view{font-family:var(--jp-ui-font-family,system-ui,sans-serif);font-size:15px;color:var(--jp-ui-font-color1,#222);
 background:var(--jp-layout-color1,#fff);border:1px solid var(--jp-border-color2,#ccc);border-radius:6px;padding:12px 16px;
 max-width:900px;overflow-x:auto}
.attention-view .row{display:flex;align-items:center;gap:4px;margin:3px 0}
.attention-view .name{width:92px;flex:none;color:var(--jp-ui-font-color2,#666);font-size:13px}
.attention-view .token{padding:3px 7px;border-radius:4px;text-align:center;white-space:pre;min-width:1.2em}
.attention-view .query{cursor:pointer;border:1px solid var(--jp-border-color1,#999);border-radius:4px}
.attention-view .query:hover,.attention-view .query:focus{outline:2px solid #0072b2}
.attention-view .share{display:block;font-size:10.5px;color:var(--jp-ui-font-color2,#666)}
.attention-view .from{display:none}
</style>"""


class AttentionView:
    """What `attention_view` shows."""

    def __init__(self, weights: Tensor, tokens: Sequence[str], keys: Sequence[str], names: Sequence[str], title: str) -> None:
        self.weights, self.tokens, self.keys, self.names, self.title = weights, list(tokens), list(keys), list(names), title
        self.id = f"attention-{next(_numbers)}"

    def _repr_html_(self) -> str:
        """Draw the view: a row of queries to point at, and for each of them one row per head."""
        queries = "".join(
            f'<span class="token query q{i}" tabindex="0">{html.escape(token)}</span>' for i, token in enumerate(self.tokens)
        )
        blocks, rules = [], []
        last = len(self.tokens) - 1
        for i, token in enumerate(self.tokens):
            rows = "".join(self._row(head, name, i) for head, name in enumerate(self.names))
            blocks.append(f'<div class="from f{i}" aria-label="where {html.escape(token)} looks">{rows}</div>')
            chosen = f"#{self.id}:has(.q{i}:hover) .f{i},#{self.id}:not(:has(.query:hover)):has(.q{i}:focus) .f{i}"
            rules.append(f"{chosen}{{display:block}}")
        rules.append(f"#{self.id}:not(:has(.query:hover)):not(:has(.query:focus)) .f{last}{{display:block}}")
        return (
            f'{STYLE}<style>{"".join(rules)}</style><div class="attention-view" id="{self.id}"><b>{html.escape(self.title)}</b>'
            f'<div class="row" style="margin-top:8px"><span class="name">point at a token</span>{queries}</div>'
            f"{''.join(blocks)}</div>"
        )

    def _row(self, head: int, name: str, query: int) -> str:
        colour = COLOURS[head % len(COLOURS)]
        cells = []
        for j, key in enumerate(self.keys):
            weight = float(self.weights[head, query, j])
            cells.append(
                f'<span class="token" style="background:rgba({colour},{weight:.2f})" title="weight {weight:.3f}">'
                f'{html.escape(key)}<span class="share">{weight:.0%}</span></span>'
            )
        return f'<div class="row"><span class="name">{html.escape(name)}</span>{"".join(cells)}</div>'

    def __repr__(self) -> str:
        lines = [self.title]
        for i, token in enumerate(self.tokens):
            for head, name in enumerate(self.names):
                strongest = int(self.weights[head, i].argmax())
                lines.append(f"{token} ({name}) looks most at {self.keys[strongest]} ({self.weights[head, i, strongest]:.0%})")
        return "\n".join(lines)


def attention_view(
    weights: Tensor,
    tokens: Sequence[str],
    keys: Sequence[str] | None = None,
    title: str = "Where does each token look?",
    names: Sequence[str] | None = None,
) -> AttentionView:
    """Show attention weights (T_q, T_k) or (H, T_q, T_k) so that one can point at a token and see where each head looks.

    `tokens` are the words of the queries, `keys` those of the keys (the same if left out), `names` the names of the heads.
    """
    weights = weights.detach().cpu()
    if weights.dim() == 2:
        weights = weights.unsqueeze(0)
    keys = tokens if keys is None else keys
    if weights.shape[-2:] != (len(tokens), len(keys)):
        raise ValueError(f"weights of shape {tuple(weights.shape)} don't fit {len(tokens)} queries and {len(keys)} keys")
    if names is None:
        names = ["weights"] if weights.shape[0] == 1 else [f"head {head + 1}" for head in range(weights.shape[0])]
    return AttentionView(weights, tokens, keys, names, title)

# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---


# %% [markdown]
# # << chapter.number >> · << chapter.title >>
#
# *<< chapter.points >> points and << exercise("wordpiece").points >> extra · about an hour and a quarter · runs on a CPU; the
# published weights are fetched once (91 MB), all else works without internet; all cells together take less than four minutes*
#
# Translators learn from pairs of sentences, and pairs are rare. Plain text isn't: nobody has to write anything beside it.
# BERT makes its own questions out of plain text. It hides words and guesses them. Whoever can do that has learned a good
# deal about a language, and needs only a little more to be put to other work.
#
# **After this chapter you can**
# - hide words so that a model may look both ways and still has something to learn, and compute a loss on what was hidden;
# - build BERT's encoder out of your own pieces, and say what changed since 2017;
# - watch rules of a small language being learned, one after the other, by guessing alone;
# - put **real, published weights** into your own encoder, and show at every stage that it computes what the original does;
# - adapt it to a new task with a few hundred labels, gently, and measure honestly what pretraining was good for;
# - (extra) cut words into the pieces that BERT reads.
#
# **You need** multi-head attention and padding masks (chapters 02 and 04), and the layers of chapter 06.

# %%
import re

import matplotlib.pyplot as plt
import torch
from IPython.display import display
from safetensors.torch import load_file
from torch import Tensor, nn

from utils import attention_view, check, head_roles, mine, once_solved, plots, progress, word_fates
from utils.assets import asset
from utils.parity import parity_report
from utils.word_pieces import the_word_pieces

# %%
progress("07_bert_finetuning")

# %% [markdown]
# Two pieces come from earlier chapters: your own where they pass their checks there, PyTorch's if not.

# %%
MultiHeadAttention = mine("MultiHeadAttention")

# %%
LayerNorm = mine("LayerNorm")

# %% [markdown]
# ## Where this chapter sits
#
# Filled: this chapter. Only the upper row of the machine is left, the **encoder**. Look at what is new: in front, words are
# hidden; behind, there is first a head that guesses them, and later another one in its place.

# %%
encoder = ["text, some\nwords\nhidden", "words +\npositions +\nsegments", "N layers:\nattention (04),\nnetwork (06)"]
pretrain, adapt = "guess the\nhidden words\n(pretraining)", "one more layer\nfor a new task\n(fine-tuning)"
places = {box: (column, 0.5) for column, box in enumerate(encoder)} | {pretrain: (3.2, 1), adapt: (3.2, 0)}
paths = [[*encoder, pretrain], [encoder[2], adapt]]
here = [encoder[0], encoder[1], pretrain, adapt]
plots.diagram(places, paths, here=here, title="One encoder, first with one head, then with another", size=(0.9, 0.7))
plots.show("Boxes: hidden words, embeddings and layers, then two heads: one guesses words, one does a new task.")


# %% [markdown]
# ## Why hide words?
#
# The decoder of chapter 06 learns by guessing the *next* word, and may therefore only look to the left: if it saw the
# next word, there would be nothing to guess. But to understand a word in the middle, what comes after it is just as
# good. In "the **bank** was closed" and "the **bank** was muddy", everything that tells you which bank it is comes
# later.
#
# So let attention look both ways, as the encoder does, and hide the answer in the *input* instead: put `[MASK]` in
# place of a word, and ask for the word at that place.

# %% [markdown]
# << heading("mask_tokens") >>
#
# *About 12 minutes.* Choose each token with probability $p = 0.15$. For a chosen token a die decides:
#
# | share of the chosen | what the model sees | why |
# | --- | --- | --- |
# | 80 % | `[MASK]` | the question itself |
# | 10 % | a random word | a word that is there may be wrong: the model can't just believe what it sees |
# | 10 % | the word as it is | and it may be right: the state of *every* place has to be good, not only those of `[MASK]` |
#
# If all chosen tokens became `[MASK]`, the model would have to be good at places with `[MASK]` alone, and later, in real
# use, no text has any. The model isn't told which of the visible words were chosen.
#
# With the inputs come **labels**, of the same shape: the true id where a token was chosen, $-100$ everywhere else. ($-100$ is
# the number that PyTorch's losses leave out.) A label stands with *every* chosen token, also with those that stayed.
#
# Some tokens are never chosen: `[CLS]` in front, `[SEP]` behind, and padding. The caller says which, in `special`.
#
# A worked example by hand: three tokens are chosen, and each meets another fate.

# %%
words = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "the", "old", "dog", "chased", "a", "red", "ball", "over", "bridge"]
ids = torch.tensor([[1, 4, 5, 6, 7, 8, 9, 10, 2]])  # [CLS] the old dog chased a red ball [SEP]: (B, T) = (1, 9)
inputs = torch.tensor([[1, 4, 5, 3, 7, 8, 12, 10, 2]])  # "dog" is hidden, "red" became "bridge" …
labels = torch.tensor([[-100, -100, -100, 6, 7, -100, 9, -100, -100]])  # … and "chased" is asked about, but stays
for name, row in (("ids", ids), ("inputs", inputs)):
    print(f"{name:8}", "  ".join(f"{words[number]:>6}" for number in row[0].tolist()))
print(f"{'labels':8}", "  ".join(f"{number:>6}" for number in labels[0].tolist()))


# %% nbgrader={"grade": false, "grade_id": "mask_tokens", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mask_tokens(
    ids: Tensor,
    special: Tensor,
    mask_id: int,
    vocab_size: int,
    p: float = 0.15,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Choose tokens to be guessed, and hide most of them.

    ids: (B, T) int64, left as they are. special: (B, T) bool, True at tokens that are never chosen ([CLS], [SEP],
    padding). Every other token is chosen with probability p, on its own. Of those chosen, 80 % become mask_id, 10 % an
    id drawn from the whole vocabulary, 10 % stay. Returns (inputs, labels), both (B, T) int64: labels hold the true id
    where a token was chosen and -100 elsewhere. Every random number comes from the generator (None: torch's own).
    Source: Devlin et al. 2018, section 3.1, "Masked LM".
    """
    ### BEGIN SOLUTION
    chosen = torch.rand(ids.shape, generator=generator) < p  # (B, T)
    chosen = chosen.to(ids.device) & ~special
    fate = torch.rand(ids.shape, generator=generator).to(ids.device)  # (B, T), one for all three fates
    random_ids = torch.randint(vocab_size, ids.shape, generator=generator).to(ids.device)
    inputs = torch.where(chosen & (fate < 0.8), mask_id, ids)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), random_ids, inputs)
    return inputs, torch.where(chosen, ids, -100)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: three questions for each token</summary>
#
# Is it chosen? If so, which of the three fates? And if it becomes a random word, which one? Three independent draws,
# each a tensor of the shape of `ids`. You may draw fates for tokens that aren't chosen too; nobody looks at them.
# </details>
#
# <details><summary>Hint 2: 80, 10, 10</summary>
#
# One uniform number per token, with two thresholds, gives three fates that exclude each other. Three separate coins
# would not: the second would have to be tossed only where the first said no, and then 10 % of *all* is half of the rest.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# `torch.rand(ids.shape, generator=generator) < p` chooses; take special tokens out. Draw a second such tensor for the fate, and
# `torch.randint` for the words; every draw gets the generator. Then build new tensors with `torch.where`: inputs from `ids`
# with `mask_id` where chosen and fate below 0.8, the random id where it lies between 0.8 and 0.9; labels from `ids` and
# -100. `ids` itself isn't written to.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-mask_tokens", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(mask_tokens)

# %% [markdown]
# **What you should see.** One text, drawn ten times, with $p = 0.3$ so that there is more to see. Look at the colours: mostly
# blue, now and then an orange word that doesn't belong, or a yellow one that looks like nothing has happened. The gray
# ones, `[CLS]` and `[SEP]` among them, aren't asked about.

# %%
with once_solved(mask_tokens):
    text = ids.expand(10, -1)  # ten times the same
    special = (text == 1) | (text == 2)
    generator = torch.Generator().manual_seed(4)
    inputs, labels = mask_tokens(text, special, 3, len(words), p=0.3, generator=generator)
    word_fates.draw_texts(inputs, labels, 3, words)
    plots.show("Ten draws of one text: most chosen words are hidden, a few replaced by random words, a few left.")

# %% [markdown]
# And counted over many tokens, with a vocabulary of 30,000 and the usual $p$: do your shares meet the dotted lines?

# %%
with once_solved(mask_tokens):
    generator = torch.Generator().manual_seed(0)
    text = torch.randint(1000, 30_000, (1000, 200), generator=generator)
    nothing = torch.zeros_like(text, dtype=torch.bool)  # no special tokens here
    inputs, labels = mask_tokens(text, nothing, 103, 30_000, generator=generator)
    word_fates.draw_shares(inputs, labels, 103)
    plots.show("Shares of the chosen words: 80 % hidden, 10 % random, 10 % left as they are.")

# %% [markdown]
# **To think about.** Why not choose 50 % of the tokens, and learn three times as much from each text?
#
# <details><summary>Answer</summary>
#
# Because a hidden word is also missing *as a clue* for the others. With half of the words gone, most questions can't be
# answered by anybody. With 5 %, each question is easy, but a text asks few of them, and a pass over it costs the same. There
# is a best value in between, and it depends on model and text: 15 % is BERT's choice, and later work found that large models
# do as well or better with 40 % (Wettig et al. 2022). Our small language below uses 25 %.
# </details>

# %% [markdown]
# << heading("mlm_loss") >>
#
# *About 5 minutes.* A head on top of the encoder gives a score for every word of the vocabulary at every place: logits of
# shape `(B, T, V)`. The loss is the mean cross-entropy over the places $M$ that are asked about, and over no others:
#
# $$\mathcal{L} = -\frac{1}{|M|} \sum_{(b,t) \in M} \log \mathrm{softmax}(\text{logits}_{b,t})_{\text{label}_{b,t}}, \qquad M = \{(b, t) : \text{label}_{b,t} \ne -100\}$$
#
# In a small batch it can happen that nothing was chosen. A mean over nothing is $0/0$, and one NaN in a step spoils all
# weights for good. So the loss is then 0, but a 0 that hangs on the logits, so that `backward()` still works.
#
# A worked example by hand: one text of three tokens, four words, and two questions. The model is sure of the first answer
# and has no idea about the second.

# %%
probabilities = torch.tensor([[[0.97, 0.01, 0.01, 0.01], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]]])
example = torch.tensor([[0, -100, 2]])  # (B, T): the middle one isn't asked about
print("(B, T, V):", tuple(probabilities.shape), "   (B, T):", tuple(example.shape))
sure, unsure = probabilities[0, 0, 0], probabilities[0, 2, 2]
mean = -(sure * unsure).log() / 2
print(f"sure: {-sure.log():.3f}    no idea: {-unsure.log():.3f} = ln 4    mean of the two: {mean:.3f}")


# %% nbgrader={"grade": false, "grade_id": "mlm_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def mlm_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Give the mean cross-entropy over the tokens that are to be guessed, as a scalar.

    logits: (B, T, V). labels: (B, T) int64, -100 where nothing is to be guessed. Where that is everywhere, the loss is
    0 and still connected to the logits, so that backward() works. Source: Devlin et al. 2018, section 3.1.
    """
    ### BEGIN SOLUTION
    guessed = labels != -100  # (B, T)
    if not guessed.any():
        return logits.sum() * 0.0
    return nn.functional.cross_entropy(logits[guessed], labels[guessed])
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: pick, then average</summary>
#
# A boolean tensor of shape `(B, T)` says what is asked about. Used as an index, it picks rows of the logits, `(number of
# questions, V)`, and numbers of the labels.
# </details>
#
# <details><summary>Hint 2: a zero with a history</summary>
#
# `torch.tensor(0.0)` has no connection to anything. What could you compute *from the logits* that is always 0, and whose
# gradient is 0 too?
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Find the places where labels aren't -100. If there are none, return the sum of the logits times 0. Otherwise return the
# cross-entropy of the picked logits and labels; PyTorch's own is allowed here, and it takes logits, not probabilities.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-mlm_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(mlm_loss)

# %% [markdown]
# **What you should see.** Two models that have learned nothing: one gives all 1,000 words the same score, the other simply
# says whatever word it sees. Look at the right column: if *all* tokens counted, the one that repeats what it sees would
# look like a good model.

# %%
with once_solved(mask_tokens, mlm_loss):
    generator = torch.Generator().manual_seed(1)
    text = torch.randint(4, 1000, (64, 50), generator=generator)
    inputs, labels = mask_tokens(text, torch.zeros_like(text, dtype=torch.bool), 3, 1000, generator=generator)
    repeats = 12.0 * nn.functional.one_hot(inputs, 1000)  # (B, T, V): nearly certain of the word that is there
    print(f"{'':22}what is asked    all tokens")
    for name, logits in (("all words alike", torch.zeros(64, 50, 1000)), ("says what it sees", repeats)):
        print(f"{name:22}{mlm_loss(logits, labels):13.2f}{mlm_loss(logits, text):14.2f}")

# %% [markdown]
# **To think about.** The first row shows 6.91 twice. Which number is that, and what would a loss *above* it say about a model?
#
# <details><summary>Answer</summary>
#
# $\ln 1000$: each word gets $1/1000$. A model above that is worse than one that knows nothing: it is sure of wrong words,
# like the second one on what is asked. A good first look at any such training: does it start near $\ln V$, and does it go
# below soon?
# </details>

# %% [markdown]
# << heading("BertEncoder") >>
#
# *About 20 minutes.* You have built nearly all of it. Between 2017 and 2018 this changed:
#
# | | encoder of 2017 | BERT |
# | --- | --- | --- |
# | positions | sines and cosines, added | a table with a **learned** vector for each of 512 places |
# | segments | | a learned vector for "first sentence" and one for "second", added |
# | scale of the word vectors | times $\sqrt{d_{model}}$ | as they are |
# | a norm on the embeddings | no | **yes** |
# | activation in the network | ReLU | **GELU** |
# | `eps` of the norms | | $10^{-12}$ |
# | order in a layer | post-norm: $\mathrm{norm}(x + \mathrm{sublayer}(x))$ | the same |
#
# $$x^{(0)} = \mathrm{norm}\big(\text{tokens}[\text{ids}] + \text{positions}[0 \dots T-1] + \text{segments}[\text{seg}]\big), \qquad
# \mathrm{GELU}(x) = x \cdot \Phi(x) = \tfrac{x}{2}\Big(1 + \operatorname{erf}\tfrac{x}{\sqrt 2}\Big)$$
#
# $\Phi$ is the share of a standard normal distribution below $x$. Where no segments are given, all tokens belong to
# segment 0, **and its vector is added**: the published weights have never seen an input without it. Dropout acts on the
# embeddings after their norm and on each sublayer's output before it is added.
#
# A worked example by hand: the three vectors of one token, width 3, their sum, and the norm of it.

# %%
token, position, segment = [0.3, -0.1, 0.4], [0.2, 0.0, -0.2], [0.1, 0.1, 0.1]
summed = torch.tensor([0.6, 0.0, 0.3])  # mean 0.3, variance 0.06
normed = torch.tensor([0.3, -0.3, 0.0]) / 0.06**0.5
print("sum", [round(value, 1) for value in summed.tolist()], end="   ")
print("after the norm", [round(value, 3) for value in normed.tolist()])

# %% [markdown]
# Left: GELU beside ReLU. It is smooth, and small negative numbers get through a little. Right: many programs compute GELU by a
# formula with tanh that comes close. Look at the scale: the two differ by less than 0.0005, and you'll see that it is enough
# to tell them apart.

# %%
x = torch.linspace(-4, 4, 401)
_figure, (left, right) = plots.new_figure(2)
left.plot(x, x.relu(), color=plots.ORANGE, label="ReLU")
left.plot(x, x * torch.special.ndtr(x), color=plots.BLUE, label="GELU")  # ndtr is Φ
left.set(xlabel="x", ylabel="activation", title="The two activations")
left.legend()
with_tanh = x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
right.plot(x, 1000 * (with_tanh - x * torch.special.ndtr(x)), color=plots.RED)
right.set(xlabel="x", ylabel="difference (thousandths)", title="tanh formula minus GELU")
plots.show("Left: GELU and ReLU. Right: the tanh formula differs from GELU by less than half a thousandth.")

# %% [markdown]
# The names of sub-modules are fixed, since weights are loaded by name:
#
# | name | what it is |
# | --- | --- |
# | `tokens`, `positions`, `segments` | `nn.Embedding`, with `vocab_size`, `max_len` and `n_segments` rows |
# | `norm` | the norm on the embeddings |
# | `layers.0`, `layers.1`, … | the layers, in an `nn.ModuleList` |
# | `layers.0.attention` | multi-head attention, with `q_proj`, `k_proj`, `v_proj`, `out_proj`: yours has these names |
# | `layers.0.norm_1`, `layers.0.norm_2` | the norms after the two sums |
# | `layers.0.feed_forward` | the network, with `linear_1` and `linear_2` |
#
# The stub is cut into three classes, as most would do it. If you'd rather do it in another way, go ahead: only `BertEncoder`
# is checked.


# %% nbgrader={"grade": false, "grade_id": "BertEncoder", "locked": false, "schema_version": 3, "solution": true, "task": false}
class BertFeedForward(nn.Module):
    """The same small network at every position, with the parts `linear_1` and `linear_2`."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Map x (B, T, d_model) to (B, T, d_model)."""
        ### BEGIN SOLUTION
        return self.linear_2(nn.functional.gelu(self.linear_1(x)))
        ### END SOLUTION


class BertLayer(nn.Module):
    """One layer, with the parts `attention`, `norm_1`, `feed_forward` and `norm_2`."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        self.attention = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.norm_1 = LayerNorm(d_model, eps=1e-12)
        self.feed_forward = BertFeedForward(d_model, d_ff)
        self.norm_2 = LayerNorm(d_model, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map x (B, T, d_model) to (B, T, d_model); mask: (B, 1, T) bool, True where one may look."""
        ### BEGIN SOLUTION
        attended, _weights = self.attention(x, x, x, mask)
        x = self.norm_1(x + self.dropout(attended))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))
        ### END SOLUTION


class BertEncoder(nn.Module):
    """BERT's encoder; its parameters carry the names of the contract above.

    Source: Devlin et al. 2018, section 3 and appendix A.2.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        n_heads: int,
        n_layers: int,
        d_ff: int,
        max_len: int = 512,
        n_segments: int = 2,
        dropout: float = 0.1,
    ) -> None:
        """Make the embeddings `tokens`, `positions` and `segments`, their `norm`, and `layers`; keep `d_model`."""
        super().__init__()
        ### BEGIN SOLUTION
        self.d_model = d_model
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(max_len, d_model)
        self.segments = nn.Embedding(n_segments, d_model)
        self.norm = LayerNorm(d_model, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(BertLayer(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))
        ### END SOLUTION

    def forward(self, ids: Tensor, padding: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """Encode ids (B, T), T at most max_len (else ValueError), to (B, T, d_model).

        padding: (B, 1, T) bool, True at real tokens; None: all are real.
        segments: (B, T) int64, which sentence a token belongs to; None: all to segment 0.
        """
        ### BEGIN SOLUTION
        if ids.shape[1] > self.positions.num_embeddings:
            raise ValueError(f"{ids.shape[1]} tokens, but positions for {self.positions.num_embeddings} only")
        if segments is None:
            segments = torch.zeros_like(ids)
        places = torch.arange(ids.shape[1], device=ids.device)  # (T,)
        x = self.tokens(ids) + self.positions(places) + self.segments(segments)  # (B, T, d_model)
        x = self.dropout(self.norm(x))
        for layer in self.layers:
            x = layer(x, padding)
        return x
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: the mask comes for free</summary>
#
# `padding` is `(B, 1, T)`: for every sentence, for all queries alike, which keys may be looked at. Your multi-head attention
# takes it as it is. It has to reach *every* layer. And what does your attention return?
# </details>
#
# <details><summary>Hint 2: what is easily forgotten</summary>
#
# The default `eps` of `LayerNorm` isn't BERT's. Positions are looked up for `torch.arange(T)`, one row per place, and the
# batch follows by broadcasting. Segments of zeros, where none are given. PyTorch has a GELU: `nn.functional.gelu` is the
# exact one unless one asks for the other.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# *Network*: first layer, GELU, second layer. *Layer*: attend from x to x with the mask, take the output without the weights,
# drop, add x, `norm_1`; then the network, drop, add, `norm_2`. *Encoder*: refuse T above the number of positions;
# make segments if there are none; add three look-ups; norm; dropout; then every layer in turn, each with `padding`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-BertEncoder", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(BertEncoder)

# %% [markdown]
# **What you should see.** Where the parameters are, for the model whose weights you'll load below (MiniLM), and for BERT
# in its smaller published size. It is your class that is counted, built without memory (on PyTorch's device *meta*). Look
# at the first part: more than half of MiniLM is its table of 30,522 words. For BERT add 0.6 million of a *pooler* that we
# leave out, and you have the paper's 110 million.


# %%
def count_parts(encoder: nn.Module) -> dict[str, float]:
    """Count parameters by part, in millions."""
    parts = {"word table": "tokens", "positions, segments": "positions|segments", "attention": "attention"}
    parts |= {"feed-forward networks": "feed_forward", "norms": "norm"}
    sizes = {name: value.numel() / 1e6 for name, value in encoder.named_parameters()}
    return {part: sum(n for name, n in sizes.items() if re.search(names, name)) for part, names in parts.items()}


# %%
with once_solved(BertEncoder):
    with torch.device("meta"):
        models = {"MiniLM": BertEncoder(30_522, 384, 12, 6, 1536), "BERT base": BertEncoder(30_522, 768, 12, 12, 3072)}
    _figure, ax = plt.subplots(figsize=(10, 3.4))
    for row, model in enumerate(models.values()):
        left = 0.0
        for (part, size), colour in zip(count_parts(model).items(), plots.COLOURS, strict=False):
            ax.barh(row, size, left=left, color=colour, label=part if row == 0 else None)
            left += size
        ax.text(left + 1, row, f"{left:.1f}", va="center")
    ax.set(yticks=[0, 1], yticklabels=list(models), xlim=(0, 122), xlabel="parameters (millions)")
    ax.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.45, 1.0))
    plots.show("Stacked bars of parameters by part: MiniLM has 22.6 million, BERT base 108.9 million.")

# %% [markdown]
# **To think about.** Learned positions end at 512: for place 513 there is no vector, hence the ValueError. Sines and cosines
# (chapter 05) go on for ever. Why did BERT give that up?
#
# <details><summary>Answer</summary>
#
# It gave up less than it seems. A model that was trained on at most 512 tokens hasn't learned to use place 513, even if there
# is a vector for it: sinusoids too get worse beyond the trained length. A table, in return, can give any place whatever
# vector helps (the first, say, where `[CLS]` stands), and it costs 0.4 million parameters of BERT's 110. The 2017 paper tried both (table 3, row E)
# and found nearly the same quality. What *does* reach farther, made for that purpose, is relative: `rotary` in chapter 05.
# </details>


# %% [markdown]
# ## A language small enough to watch
#
# What does a model learn by guessing hidden words? On real text the answer takes days and many processors. So here is a
# language with a handful of rules, all of them known to us. A text is two sentences, in either order. The words are
# English so that we can read them; the model gets numbers, and is told no rule.

# %%
import functools

from utils import few_labels, head_roles, invented_language, masked_word_pictures, masked_word_training

for text in invented_language.draw_texts(5, seed=3):
    print(f"{text.topic:10}{invented_language.written(text)}")

# %% [markdown]
# | the rule | what gives it away |
# | --- | --- |
# | a verb agrees with the **first** noun of its sentence | the plural's ending, a token of its own, `##s`: next to the verb, or further away if a second noun comes between |
# | *she* or *he* fits the name | the name, three places to the left |
# | a text keeps to its topic: sea, garden, kitchen or music | all its other nouns and adjectives, in both sentences (one in twenty is drawn from all topics, to make it harder) |
#
# Because we know the rules, we can ask for each. A question hides one word of a text that nobody trains on, and looks
# which *group* of words gets the most probability: singular or plural verbs, *she* or *he*, the nouns of which topic.
# Here is one text of each kind, with the group that is right.

# %%
for probe in invented_language.probes():
    print(f"{probe.name} (chance {probe.chance:.0%})")
    print(f"    {invented_language.asked(probe, 7)}    →  {invented_language.answer(probe, 7)}\n")

# %% [markdown]
# **To think about, before you run on.** In which order will the four be learned? Write your guess down.
#
# <details><summary>Answer: open it when the curves below have ended</summary>
#
# *The noun next to the verb* comes first: one look at the token before decides, and the same look helps in every text.
#
# *Name and topic* come next, and suddenly. For the name there is nothing to see in a single word: that *Clara* and *Mei*
# belong together has to come out of the company they keep. It is the same with topics: 32 words have to sort themselves
# into four groups, and nobody says that there are groups. As long as few are sorted, looking at them helps little; once
# most are, it helps much, and the curve jumps.
#
# *Agreement across another noun* comes last. "Go by the noun nearest to the verb" is right in 65 % of all texts (in 30 % no
# noun comes between, in 35 % one of the same number). This question asks only about the other 35 %: there the two nouns
# pull in opposite directions, and the curve stays near chance until the model has found out which of them counts.
# </details>
#
# Your encoder, small: 2 layers, 4 heads, width 64. On top comes a head that compares each state with the
# embeddings of all words (the encoder's `tokens` once more, so a word has one vector for reading and for guessing). It
# trains with *your* `mask_tokens` and `mlm_loss`, on 20,000 texts, 64 at a time; 25 % of the words are hidden instead of
# BERT's 15 %, since texts are short. This takes about a minute on one core. The figure grows while it trains.


# %%
STEPS = 1_200


def small_encoder() -> nn.Module:
    """Build your encoder for the small language."""
    size = {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 256, "max_len": invented_language.MAX_LEN}
    return BertEncoder(len(invented_language.VOCABULARY), **size, dropout=0.0)


@functools.cache  # trained once, and then remembered
def pretrained() -> tuple[nn.Module, masked_word_training.History]:
    """Pretrain your encoder on the small language."""
    watch = masked_word_pictures.LiveProbes(STEPS)
    return masked_word_training.pretrain(small_encoder(), mask_tokens, mlm_loss, STEPS, watch=watch)


with once_solved(mask_tokens, mlm_loss, BertEncoder):
    pretrained()

# %% [markdown]
# *What you should see:* four curves that start at chance and end near the top, one after the other. Look at the purple
# one: it is still near chance when the blue one is far up. Nobody told the model about number, gender or topic. It guessed
# hidden words, and the rules were what helped.
#
# ### Where do the heads look?
#
# Each of the 8 heads spreads one unit of attention from the hidden word. How much of it lands where the answer stands,
# averaged over 500 texts in which a noun comes between subject and verb? The last column is what a head that looks everywhere alike
# would give.

# %%
with once_solved(mask_tokens, mlm_loss, BertEncoder):
    model, _history = pretrained()
    if head_roles.draw_roles(model.encoder, head_roles.roles()):
        plots.show(
            "Mean attention of eight heads from a hidden word to the name, topic words, nearest noun and subject."
        )

# %% [markdown]
# Look along the rows. One head of layer 2 carries the question of the hidden pronoun to the name, some collect words of the
# topic, and one likes the noun nearest to the verb. Which head does what differs from run to run: in three runs, the name's
# head put 0.54, 0.57 and 0.94 of its weight on the name.
#
# And the subject? **No head has it for a clean role**, although the verb agrees with it far more often than chance would
# have it. What a head looks at is a hint at what it does, and no proof: in layer 2 every token already carries what it
# has gathered in layer 1, so a number can reach the verb by way of other words, and this table doesn't show how.

# %% [markdown]
# ### Sixteen labels are enough
#
# Now a task that the model was never trained for: is a text about something **outdoors** (sea, garden) or **indoors**
# (kitchen, music)? Only 16 texts come with a label. Three ways to start: from the encoder that has guessed words; from
# the same encoder with fresh weights; and from a bag of words, which only knows which words occur. Each is trained three
# times, on other labels, and tested on 1,000 new texts.

# %%
with once_solved(mask_tokens, mlm_loss, BertEncoder):
    model, _history = pretrained()
    fresh = small_encoder()
    shares = few_labels.race(model.encoder, fresh, n=16)
    masked_word_pictures.draw_few_labels(shares, labels=16)
    said = "; ".join(f"{start} {sum(values) / len(values):.0%}" for start, values in shares.items())
    plots.show(f"Right answers after 16 labels, one dot per seed, on average: {said}.")

# %% [markdown]
# *What you should see:* the encoder that has guessed words far to the right of the same encoder with fresh weights, and a bag of
# words between them or level with the first. (In three runs, means of 99 %, 99 % and 89 % against 64 to 78 % for fresh
# weights; the bag of words had 91 % on average. So it depends on the dice of pretraining, too.)
#
# **To think about.** The model never saw a label while it guessed words. Where does it know the topics from, and why is
# the bag of words so much better than the encoder with fresh weights?
#
# <details><summary>Answer</summary>
#
# A hidden noun is guessed best by those who know which words keep company, so words of one topic end up with similar vectors.
# "Outdoors" is then only a matter of naming two of four groups that are there already, and 16 labels do for that. They also
# hold for words that none of the 16 texts contains, and there the bag of words has nothing to say.
#
# The bag of words has one weight per word and nothing else to learn. The encoder with fresh weights has about a hundred
# thousand, and 16 texts don't say what to do with them. A large model without pretraining isn't a strong learner from few
# labels, but a weak one.
# </details>
#
# ### The same on real text, honestly
#
# Does it work as quickly on real text? We tried, with more effort: the course's own solution, with 2 layers of width 128, on all
# reviews (and plots) of the training films that you'll meet below, four times through. It takes some minutes, so what came out was
# recorded beforehand. Left: hidden words guessed in new reviews. Right: after that, 512 labels for the question whether a
# review calls its film fresh or rotten.

# %%
measured = masked_word_pictures.on_reviews()
masked_word_pictures.draw_reviews(measured)
plots.show("Left: share of hidden words guessed in new reviews. Right: test accuracy after 512 labels, three starts.")

# %% [markdown]
# It does learn: it guesses three times as many hidden words as one who always says the commonest. But that is worth little yet
# when it comes to opinions: with 512 labels it gains a few points on fresh weights, and a bag of words, which has read
# nothing beforehand, still does better.
#
# Why not? Real words are many and rare, and what they say about each other takes more than a few sightings to learn. The
# published BERT read a corpus of 3.3 billion words about 40 times (Devlin et al. 2018, section 3.1 and appendix A.2),
# with 110 million weights, for four days. Look at the scale: every line is *ten times* the one before.

# %%
with once_solved(mask_tokens, mlm_loss, BertEncoder):
    _model, history = pretrained()
    read = measured["tokens"] * measured["curve"][-1]["epochs"]
    masked_word_pictures.draw_scale(history.tokens, read)
    plots.show(
        "Tokens read: about a million in our small language, under two million in our reviews, 132 billion in BERT."
    )

# %% [markdown]
# That is why one pretrains once, and everybody else adapts: the next part takes weights that somebody has trained at that
# scale, and puts them into *your* encoder.


# %% [markdown]
# ## Real weights
#
# The weights that we take are published as *all-MiniLM-L6-v2*: 6 layers, 12 heads, width 384. They have a history, and one should
# know it. First there was a model of BERT's size, pretrained by guessing hidden words of plain text. Then a smaller one was
# trained to imitate its attention (MiniLM, Wang et al. 2020), and every second layer of that was kept. In the end
# this model was trained on more than a billion *pairs of sentences* that belong together, a question and its answer say, so
# that their mean states come to lie close to each other. So these weights began with hidden words, but don't guess any
# more: the head that did it wasn't kept. What they have is what we need, good states.

# %% [markdown]
# << heading("rename_checkpoint") >>
#
# *About 10 minutes.* A **checkpoint** is a dict: name of a parameter → tensor. The tensors fit your encoder as they are, but
# the names are those of the program that wrote them.
#
# | published | yours |
# | --- | --- |
# | `embeddings.word_embeddings.weight` | `tokens.weight` |
# | `embeddings.position_embeddings.weight` | `positions.weight` |
# | `embeddings.token_type_embeddings.weight` | `segments.weight` |
# | `embeddings.LayerNorm.weight`, `.bias` | `norm.weight`, `.bias` |
# | `encoder.layer.0.attention.self.query.…`, `key`, `value` | `layers.0.attention.q_proj.…`, `k_proj`, `v_proj` |
# | `encoder.layer.0.attention.output.dense.…` | `layers.0.attention.out_proj.…` |
# | `encoder.layer.0.attention.output.LayerNorm.…` | `layers.0.norm_1.…` |
# | `encoder.layer.0.intermediate.dense.…` | `layers.0.feed_forward.linear_1.…` |
# | `encoder.layer.0.output.dense.…` | `layers.0.feed_forward.linear_2.…` |
# | `encoder.layer.0.output.LayerNorm.…` | `layers.0.norm_2.…` |
#
# Each `…` is `weight` or `bias`. Some files write `bert.` in front of every name. Some hold more than the encoder: `pooler.*`
# and `cls.*` belong to heads, and `embeddings.position_ids` is just 0 to 511. Those are left out.
#
# **Anything else has to be an error.** If a name that nobody knows is skipped silently, or one that is needed isn't there, some
# layer keeps its random weights, everything runs, and the results are a little worse. Many an evening has gone into
# finding that. So: a `KeyError` which lists *all* unknown and *all* missing names, so that one look is enough. How many layers there are,
# the names themselves tell: expect every layer up to the highest number found.
#
# A worked example by hand:

# %%
published = {"bert.embeddings.word_embeddings.weight": torch.zeros(11, 4), "cls.predictions.bias": torch.zeros(11)}
print("given:     ", {name: tuple(value.shape) for name, value in published.items()})
print("taken over:", {"tokens.weight": (11, 4)})
print("missing:    positions.weight, segments.weight, norm.weight, norm.bias → KeyError that lists these four")


# %% nbgrader={"grade": false, "grade_id": "rename_checkpoint", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rename_checkpoint(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give a published BERT's parameters under the names of BertEncoder; state stays as it is.

    A leading "bert." is dropped; "pooler.*", "cls.*" and "embeddings.position_ids" are left out. KeyError that lists
    every other unknown name and every missing one, up to the highest layer found.
    """
    ### BEGIN SOLUTION
    embeddings = {
        "embeddings.word_embeddings": "tokens",
        "embeddings.position_embeddings": "positions",
        "embeddings.token_type_embeddings": "segments",
    }
    names = {f"{theirs}.weight": f"{ours}.weight" for theirs, ours in embeddings.items()}
    for kind in ("weight", "bias"):
        names[f"embeddings.LayerNorm.{kind}"] = f"norm.{kind}"
    parts = {
        "attention.self.query": "attention.q_proj",
        "attention.self.key": "attention.k_proj",
        "attention.self.value": "attention.v_proj",
        "attention.output.dense": "attention.out_proj",
        "attention.output.LayerNorm": "norm_1",
        "intermediate.dense": "feed_forward.linear_1",
        "output.dense": "feed_forward.linear_2",
        "output.LayerNorm": "norm_2",
    }
    renamed, unknown, n_layers = {}, [], 0
    for name, value in state.items():
        short = name.removeprefix("bert.")
        if short.startswith(("pooler.", "cls.")) or short == "embeddings.position_ids":
            continue
        match = re.fullmatch(r"encoder\.layer\.(\d+)\.(.+)\.(weight|bias)", short)
        if short in names:
            renamed[names[short]] = value
        elif match and match[2] in parts:
            renamed[f"layers.{match[1]}.{parts[match[2]]}.{match[3]}"] = value
            n_layers = max(n_layers, int(match[1]) + 1)
        else:
            unknown.append(name)
    kinds = ("weight", "bias")
    expected = [*names.values()]
    expected += [f"layers.{i}.{part}.{kind}" for i in range(n_layers) for part in parts.values() for kind in kinds]
    missing = [name for name in expected if name not in renamed]
    if unknown or missing:
        raise KeyError(f"unknown: {unknown}; missing: {missing}")
    return renamed
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: a table, not a chain of replacements</summary>
#
# Write the right column of the table above beside the left one, as a dict. Replacing parts of names one after the other is
# tempting, but `output.dense` is also the end of `attention.output.dense`: look up whole names.
# </details>
#
# <details><summary>Hint 2: layers</summary>
#
# A layer's name has three parts: `encoder.layer.`, a number of one *or more* digits, and the rest. A regular expression takes
# them apart, and so does `split(".")`. Collect the numbers of names that you know; the highest, as a number, not as a text, tells
# how many layers are expected.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Go through the state. Drop a leading `bert.`; skip what is to be left out; look the name up; put the tensor into a *new* dict under its
# new name, or the name into a list of unknown ones. Then make the list of all names that an encoder with so many layers needs, and
# compare it with what you have. If either list has something in it, raise one KeyError with both.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-rename_checkpoint", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(rename_checkpoint)

# %% [markdown]
# **What you should see.** The published file, opened (the first time it is fetched: 91 MB), renamed, and loaded into *your*
# encoder: 22,565,376 numbers that somebody else's computers have learned.


# %%
def published_encoder() -> nn.Module:
    """Build your encoder, with the published weights, in eval mode."""
    encoder = BertEncoder(vocab_size=30_522, d_model=384, n_heads=12, n_layers=6, d_ff=1536)
    state = rename_checkpoint(load_file(asset("minilm_weights")))
    unexpected = encoder.load_state_dict(state, strict=False).unexpected_keys  # buffers of your own may be missing
    assert not unexpected, unexpected
    return encoder.eval()


with once_solved(BertEncoder, rename_checkpoint):
    loaded = published_encoder()
    print(f"{sum(value.numel() for value in loaded.parameters()):,} parameters")

# %% [markdown]
# **To think about.** `load_state_dict` compares names as well, and says what doesn't fit. Why write a check of one's own?
#
# <details><summary>Answer</summary>
#
# Because it compares *after* renaming, and knows only your names. If your function drops what it doesn't understand, `load_state_dict`
# can at best report "missing: layers.0.norm_1.weight", and you have to guess which published name should have become that. And with
# `strict=False`, as above and in many programs, it reports missing names only to those who look. The function that knows both worlds
# is the place to notice.
# </details>

# %% [markdown]
# ## Is it really the same model?
#
# That weights fit is no proof. ReLU in place of GELU has no parameters, a forgotten segment vector neither, and the encoder
# runs either way. So compare: the published model was run with its reference implementation, on three sentences of different
# lengths, padded together; what each stage gave was written down. Now your encoder runs on the same ids, and each stage is compared at
# real tokens.
#
# Each bar is one stage. Look at the dashed line: green bars below it are rounding in float32. If there is a red one, the *first*
# is where to look: all later ones only inherit it.

# %%
with once_solved(BertEncoder, rename_checkpoint):
    parity_report(published_encoder()).show()

# %% [markdown]
# Try it: break your encoder on purpose, run its cell and the two above again, and watch the first red bar. With the tanh formula
# for GELU it is `feed_forward` in layer 0; with `eps=1e-5`, the embeddings; without the mask, `attention` in layer 0, and there only in
# sentences with padding. Then undo it.
#
# **To think about.** With `eps=1e-5` the output is off by about 0.001 only. Who cares?
#
# <details><summary>Answer</summary>
#
# For most uses, nobody: fine-tuning wouldn't notice. But 0.001 isn't rounding, it is a *difference*, and without looking for its cause you
# can't know whether it is a harmless one. A mask that is handed on wrongly can look just as small on texts that are almost equally long. Whoever sees 0.00001
# everywhere needn't think about it any more.
# </details>

# %% [markdown]
# ## Where a real model looks
#
# Twelve heads in six layers: what became of them in training? Six of the 72, on one sentence. Choose a word and look along the rows.

# %%
CHOSEN = ((0, 2), (1, 8), (2, 4), (3, 5), (5, 4), (5, 8))  # (layer, head), both counted from 0


def view_of(encoder: nn.Module, text: str, start: str) -> object:
    """Show where six heads look in a text, at first from one word."""
    tokens = the_word_pieces().tokens(text)
    ids, padding = the_word_pieces()([text])
    weights = head_roles.attention_weights(encoder, ids, padding)[:, 0]  # (L, H, T, T)
    names = [f"layer {layer}, head {head}" for layer, head in CHOSEN]
    chosen = torch.stack([weights[layer, head] for layer, head in CHOSEN])
    return attention_view(chosen, tokens, title=text, names=names, start=tokens.index(start))


with once_solved(BertEncoder, rename_checkpoint):
    display(view_of(published_encoder(), "the nurse called because she had lost her keys", "she"))

# %% [markdown]
# Head 2 of layer 0 looks at the word before, and nowhere else; head 8 of layer 1 mostly at the word after. Head 4 of
# layer 2 goes from *she* and *her* to *nurse*. Head 5 of layer 3 rests on `[CLS]`, from wherever you start: a place to look at when there is nothing to look
# for. Now a sentence with two people in it. Who is *he*?

# %%
with once_solved(BertEncoder, rename_checkpoint):
    display(view_of(published_encoder(), "the boy told his sister that he was tired", "he"))

# %% [markdown]
# Head 4 of layer 2 goes to *boy* again. But head 8 of the last layer looks from *he* most of all at *sister*: related in meaning,
# and the wrong person. One example makes no rule, and a head that gets two pronouns right isn't a "pronoun head" yet.
#
# So count. For all 72 heads, the share of attention that goes to the word before, to the word after, and to `[CLS]`, averaged over four
# sentences. Look for the dark cells: a few heads have positions for a job, and they sit in the early layers. And nearly half of *all* attention
# goes to `[CLS]`.

# %%
TEXTS = ["the nurse called because she had lost her keys", "the dog chased the ball across the old bridge"]
TEXTS += ["the boy told his sister that he was tired", "an actress who hates the cold made a film about snow"]


def attention_shares(encoder: nn.Module, text: str) -> Tensor:
    """Measure the share of attention to the word before, the word after, and [CLS], for each head: (3, L, H)."""
    weights = head_roles.attention_weights(encoder, *the_word_pieces()([text]))[:, 0]  # (L, H, T, T)
    before, after = (weights.diagonal(offset, -2, -1).mean(-1) for offset in (-1, 1))
    return torch.stack([before, after, weights[..., 1:-1, 0].mean(-1)])


# %%
with once_solved(BertEncoder, rename_checkpoint):
    encoder = published_encoder()
    averages = torch.stack([attention_shares(encoder, text) for text in TEXTS]).mean(0)  # (3, L, H)
    figure, axes = plots.new_figure(3, height=3.6, sharey=True)
    for ax, share, name in zip(axes, averages, ("the word before", "the word after", "[CLS]"), strict=True):
        image = ax.imshow(share, cmap="cividis_r", vmin=0, vmax=1, aspect="auto")
        ax.set(title=f"to {name}: {share.mean():.0%}", xlabel="head", xticks=range(0, 12, 2), yticks=range(6))
    axes[0].set_ylabel("layer")
    figure.colorbar(image, ax=axes, label="share of attention")
    plots.show("Three maps, 6 layers by 12 heads: one looks at the word before, one at the word after, many at [CLS].")

# %% [markdown]
# Nobody built these roles in. Your encoder has twelve equal heads in each layer; the rest is training.


# %% [markdown]
# ## Adapting it: one more layer
#
# The encoder gives a state for every position. A review wants one answer: is the critic for the film or against it? So
# make *one* vector out of T, and put one linear layer on it.

# %%
import random
from collections.abc import Collection

import torch.nn.functional as F
from IPython.display import Markdown

from utils import labels_and_accuracy, training_traces
from utils.alignment import text_field
from utils.hosts_fine_tuning import CountingClassifier, TracedClassifier
from utils.reviews import Review, subset, the_split
from utils.training_progress import calls_shown
from utils.word_pieces import in_batches

# %% [markdown]
# << heading("SequenceClassifier") >>
#
# *About 8 minutes.* Two ways to make one vector $v$ out of the states $s_1, \dots, s_T$:
#
# | pooling | $v$ | why |
# | --- | --- | --- |
# | `"cls"` | $s_1$, the state of `[CLS]` | BERT's own way: this position has no word of its own, so it has room for the whole text |
# | `"mean"` | the mean of $s_t$ over the **real** tokens | every word has its say; the model that you loaded was trained with it |
#
# $$\mathrm{scores} = W\, \mathrm{dropout}(v) + b$$
#
# Dropout stands between the two, and works in train mode only. A score for each class is all: cross-entropy makes
# probabilities of them by itself.
#
# A worked example with numbers: one text, T = 4, of which three tokens are real, width 2. Look at the last state: it
# belongs to a padding position, and is anything but small. A mean over everything would be drawn to it.

# %%
states = torch.tensor([[[1.0, 4.0], [3.0, 0.0], [2.0, 2.0], [90.0, 90.0]]])  # (B, T, d_model)
padding = torch.tensor([[[True, True, True, False]]])  # (B, 1, T)
print("states", tuple(states.shape), "  padding", tuple(padding.shape), "  pooled (1, 2)")
print('"cls":                ', [1.0, 4.0])
print('"mean":               ', [(1 + 3 + 2) / 3, (4 + 0 + 2) / 3])
print("mean over everything: ", [(1 + 3 + 2 + 90) / 4, (4 + 0 + 2 + 90) / 4], "← not this")


# %% nbgrader={"grade": false, "grade_id": "SequenceClassifier", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SequenceClassifier(nn.Module):
    """Put one linear layer on an encoder: one vector for the whole text, dropout, then a score for each class.

    encoder: a module with the attribute `d_model`, called as `encoder(ids, padding)`: (B, T) and (B, 1, T) or None
    to (B, T, d_model). pooling: "cls" takes the first position's state, "mean" the mean over the states of real
    tokens; anything else is a ValueError. Parts: `encoder`, `dropout`, `classifier`.
    Source: Devlin et al. 2018, section 4.1 and figure 4.
    """

    def __init__(self, encoder: nn.Module, n_classes: int, dropout: float = 0.1, pooling: str = "cls") -> None:
        super().__init__()
        ### BEGIN SOLUTION
        if pooling not in ("cls", "mean"):
            raise ValueError(f"pooling is 'cls' or 'mean', not {pooling!r}")
        self.pooling = pooling
        self.encoder = encoder
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(encoder.d_model, n_classes)
        ### END SOLUTION

    def forward(self, ids: Tensor, padding: Tensor | None = None) -> Tensor:
        """Map ids (B, T), and padding (B, 1, T) where there is some, to scores (B, n_classes)."""
        ### BEGIN SOLUTION
        states = self.encoder(ids, padding)  # (B, T, d_model)
        if self.pooling == "cls":
            pooled = states[:, 0]  # (B, d_model)
        elif padding is None:
            pooled = states.mean(dim=1)
        else:
            real = padding.transpose(1, 2)  # (B, T, 1)
            pooled = (states * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
        return self.classifier(self.dropout(pooled))
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: what there is to build</summary>
#
# Two parts of your own: an `nn.Dropout` and an `nn.Linear`. The encoder is handed in ready-made; it knows its width.
# Refuse a pooling that you don't know right away, so that nobody finds out after an hour of training.
# </details>
#
# <details><summary>Hint 2: a mean over some positions</summary>
#
# Add up the states of real tokens only, and divide by *how many those are*, which differs from text to text.
# Multiplying by a mask of zeros and ones makes the others vanish; its shape has to fit `(B, T, d_model)`, and the mask
# comes as `(B, 1, T)`.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# In the constructor: check the pooling, keep it, keep the encoder, make dropout and classifier. In `forward`: call the
# encoder with ids and padding, in any case. For "cls" take position 0 of every text. For "mean" swap the last two
# dimensions of the mask, multiply, sum over time, divide by the sum of the mask over time; without padding it is the
# mean over all positions. Then dropout, then the classifier.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-SequenceClassifier", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(SequenceClassifier)

# %% [markdown]
# **What you should see.** What the last layer gets to work with, before any training: the last layer is taken out, so
# that the model gives $v$ itself, and each text is compared with each other by the cosine of the angle between their
# vectors. Look for blocks on the diagonal: the texts come in three pairs that mean much the same, and share hardly a
# word. With the mean, pairs stand out clearly. With `[CLS]` everything is more alike: the published model was trained
# on the mean.

# %%
PAIRS = ["a wonderful film", "i loved this movie", "the plot is a mess", "the story makes no sense"]
PAIRS += ["the dog sleeps", "a puppy takes a nap"]


def cosines(pooling: str) -> Tensor:
    """Compare texts by their pooled vectors: (N, N)."""
    model = SequenceClassifier(published_encoder(), n_classes=2, dropout=0.0, pooling=pooling)
    model.classifier = nn.Identity()
    vectors = F.normalize(model.eval()(*the_word_pieces()(PAIRS)).detach(), dim=-1)
    return vectors @ vectors.mT


with once_solved(SequenceClassifier, BertEncoder, rename_checkpoint):
    _figure, axes = plt.subplots(1, 2, figsize=(14.5, 5.2))
    for ax, pooling, names in zip(axes, ("mean", "cls"), (PAIRS, [""] * len(PAIRS)), strict=True):
        plots.heat_map(cosines(pooling), names, PAIRS, f'pooling="{pooling}"', ax=ax, vmin=0, vmax=1)
    plots.show("Two maps of cosines: with the mean three pairs of texts stand out, with cls all texts are alike.")

# %% [markdown]
# **To think about.** `[CLS]` is the same token in every text, and its embedding is the same too. How can its last state
# know anything about the text?
#
# <details><summary>Answer</summary>
#
# By attention. In every layer it looks at all other positions and takes something home; after six layers its state has
# little to do with the token. But *what* it takes home is a matter of training: nothing but a loss that reads this
# position makes it a summary. In BERT's pretraining one task did ("does the second sentence follow the first?"). In the
# model that you loaded, the loss read the mean, and `[CLS]` was left to itself. Fine-tuning can change that, since it
# changes the encoder as well.
# </details>

# %% [markdown]
# << heading("fine_tune") >>
#
# *About 15 minutes.* The encoder knows a lot; the new layer knows nothing, and starts at random. If both are trained as
# one trains from scratch, the first steps are the worst: a random layer sends back large gradients that mean nothing,
# and they overwrite what the encoder took so long to learn. The recipe is one of caution:
#
# | what | why |
# | --- | --- |
# | two rates: `encoder_lr` small, `head_lr` larger | the head has everything to learn, the encoder only something to adapt |
# | linear **warm-up** over the first tenth of the steps | first steps are small, as long as the head talks nonsense |
# | then linear decay to about 0 | the last steps settle what has been found |
# | gradients clipped to a total norm of 1.0 | no single batch can throw the model |
# | AdamW with weight decay, for matrices only | shrinking a norm's weight or a bias keeps nobody from overfitting |
# | few epochs | three to five |
#
# With $S$ steps in all, $w = \max(1, S/10)$ of them warm-up, both rates are multiplied with
#
# $$f(s) = \min\Big(\frac{s}{w},\; \frac{S - s}{S - w}\Big)$$
#
# where it is up to you whether the first step is $s = 0$ or $s = 1$: "no step at all" or "one step up".
#
# A worked example: 20 steps, of which two are warm-up. Look at the triangle: the whole training takes place under it,
# for both rates alike.

# %%
corners = ([0, 2, 20], [0, 1, 0])  # step, share of the full rate
print("first steps: 0 or 0.5, then 0.5 or 1;  in the middle, at step 11: 0.5;  at the end: 0 or about 0.05")
_figure, ax = plots.new_figure(height=3.2)
for rate, name, colour in ((1e-3, "head_lr = 0.001", plots.ORANGE), (2e-4, "encoder_lr = 0.0002", plots.BLUE)):
    ax.plot(corners[0], [rate * share for share in corners[1]], color=colour, label=name)
ax.set(xlabel="step", ylabel="learning rate", xticks=range(0, 21, 2), title="A tenth of the way up, the rest down")
ax.legend()
plots.show(
    "Two triangles over 20 steps: both rates rise until step 2, then fall to 0; the head's is five times as high."
)


# %% nbgrader={"grade": false, "grade_id": "fine_tune", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fine_tune(
    model: nn.Module, batches: list, epochs: int, encoder_lr: float, head_lr: float, weight_decay: float = 0.01
) -> list[float]:
    """Train a classifier gently, in train mode, and give the loss of every step as a float.

    batches: a list of (ids, padding, labels), gone through in order once an epoch, as `model(ids, padding)`.
    Loss: cross-entropy. Optimiser: AdamW, `model.encoder` at encoder_lr, the rest at head_lr; weight decay only for
    parameters with two dimensions or more; what doesn't require gradients stays as it is. Gradients are clipped to
    a total norm of 1.0. Both rates rise linearly over the first tenth of the steps (at least one), then fall
    linearly to about 0. Source: Devlin et al. 2018, appendix A.2 and A.3.
    """
    ### BEGIN SOLUTION
    in_encoder = set(model.encoder.parameters())
    groups = {}
    for parameter in model.parameters():
        rate = encoder_lr if parameter in in_encoder else head_lr
        decay = weight_decay if parameter.dim() >= 2 else 0.0
        groups.setdefault((rate, decay), []).append(parameter)
    optimizer = torch.optim.AdamW(
        [{"params": alike, "lr": rate, "weight_decay": decay} for (rate, decay), alike in groups.items()]
    )
    steps = epochs * len(batches)
    warmup = max(1, steps // 10)

    def share(step: int) -> float:
        return min((step + 1) / warmup, (steps - step) / (steps - warmup + 1))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, share)
    model.train()
    losses = []
    for _epoch in range(epochs):
        for ids, padding, labels in batches:
            loss = F.cross_entropy(model(ids, padding), labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
    return losses
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: groups</summary>
#
# AdamW takes a list of groups, each a dict with its own `params`, `lr` and `weight_decay`. Two questions decide which
# group a parameter is in: is it part of `model.encoder`? Has it two dimensions or more?
# </details>
#
# <details><summary>Hint 2: the rate, and the order within a step</summary>
#
# `LambdaLR` multiplies every group's rate by a function of the step, so both rates follow one curve. You could as well
# set `group["lr"]` by hand before each step. Within a step the order counts: clear old gradients, backward, clip, step,
# schedule. Clipping before backward clips nothing, clipping after the step is too late.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Make the groups and the optimiser. Count all steps: batches times epochs; a tenth of them, but at least one, is
# warm-up. Make the schedule. Put the model into train mode. For each epoch, for each batch: scores from ids and
# padding, cross-entropy with the labels, clear, backward, clip all parameters together, step, schedule, and note the
# loss as a float. Give back the list. Parameters that don't require gradients have none, so AdamW leaves them alone:
# nothing to do for them.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-fine_tune", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(fine_tune)

# %% [markdown]
# **What you should see.** Left: the rate of each step, not taken from your code, but read off a parameter whose
# gradient never changes: under AdamW it moves by exactly the rate. Look at the shape: two triangles, one five times as
# high. Right: the loss on a small problem (does a text have more words of one kind or of the other?), which falls.


# %%
def traced_rates(batches: int, epochs: int) -> dict[str, Tensor]:
    """Read off by how much encoder and head move in each step."""
    model = TracedClassifier(torch.zeros(1, 2), torch.ones(1))
    fine_tune(model, [training_traces.batch([0], [1], [3])] * batches, epochs, encoder_lr=2e-4, head_lr=1e-3)
    names = {"head": "classifier.bias", "encoder": "encoder.bias"}
    return {part: training_traces.first_entry_steps(model.trace(), name) for part, name in names.items()}


def counting_losses() -> list[float]:
    """Train on texts of nine words out of 24: does a text have more words from the first half?"""
    numbers = torch.Generator().manual_seed(0)
    ids = torch.randint(24, (40, 10, 9), generator=numbers)  # 40 batches of 10 texts
    batches = [(texts, torch.ones(10, 1, 9, dtype=torch.bool), ((texts < 12).sum(1) > 4).long()) for texts in ids]
    model = CountingClassifier(0.1 * torch.randn(24, 6, generator=numbers), 0.1 * torch.randn(2, 6, generator=numbers))
    return fine_tune(model, batches, 3, encoder_lr=0.05, head_lr=0.1)


# %%
with once_solved(fine_tune):
    _figure, (left, right) = plots.new_figure(2, height=3.6)
    for (part, rates), colour in zip(traced_rates(10, 3).items(), (plots.ORANGE, plots.BLUE), strict=True):
        left.plot(range(1, 31), 1000 * rates, ".-", color=colour, label=part)
    left.set(xlabel="step", ylabel="rate, in thousandths", title="The rate of each step")
    left.legend()
    right.plot(counting_losses(), color=plots.GREEN)
    right.set(xlabel="step", ylabel="loss (nats)", title="A small problem", ylim=(0, None))
    plots.show("Left: rates of head and encoder rise for three steps, then fall to 0. Right: the loss falls towards 0.")

# %% [markdown]
# **To think about.** Weight decay pulls every weight a little towards 0. What would it do to the weight of a layer
# norm, and to a bias?
#
# <details><summary>Answer</summary>
#
# A layer norm's weight starts at 1, and 1 is its natural place: pulled to 0, it would turn the layer's output down, for
# no good reason; the matrix behind it would have to grow to make up for it. A bias shifts, it doesn't multiply: a large
# one makes nothing steeper, so there is little to gain in holding it back. Decay is meant against large *products* of
# weights and inputs, and those come from matrices.
# </details>

# %% [markdown]
# ## Real reviews
#
# 12,749 snippets of film reviews, each by a critic who called the film *fresh* or *rotten*. They are short (27 word
# pieces on average), and harder than they look: irony, comparisons, half praise. Everybody who has read them agrees
# with the label in most cases, not in all.
#
# How they are split matters. Reviews of one film share names, plot and jokes. Had we dealt out *reviews* at random, the
# same film would be in training and in test, and a model could learn "whoever mentions this actor is against it", which
# is knowledge about the film, not about language. So *films* are dealt out: 397 for training, 40 to choose settings, 70
# for the test, and no film is on two sides. (How much a random split would flatter, we haven't measured.) Test and
# choice hold as many fresh reviews as rotten ones, so guessing gives 50 %.

# %%
with once_solved(SequenceClassifier, fine_tune):
    split = the_split()
    for name, side in (("train", split.train), ("choice", split.dev), ("test", split.test)):
        films, fresh = {review.film for review in side}, sum(review.fresh for review in side)
        print(f"{name:>6}: {len(side):6,} reviews of {len(films)} films, {fresh:,} fresh")
    assert not {review.film for review in split.train} & {review.film for review in split.test}
    for review in split.test[:6]:
        print(f"\n{'fresh ' if review.fresh else 'rotten'}  {review.text}")

# %% [markdown]
# ## 512 labels
#
# Now all of it together: the published weights in **your** encoder, **your** classifier on top, **your** training loop.
# 512 reviews, half of each kind; three epochs, 96 steps; mean pooling; the embeddings stay frozen (12 million numbers
# of which 512 reviews can teach few anything). Texts of about one length share a batch, so that little of it is
# padding. Change `LABELS` and run the cells again for another star in the figure below.
#
# This is one of the two longest cells of the chapter: about a minute on one core.

# %%
LABELS, SEED = 512, 0
own = {}  # labels → test accuracy


def my_classifier(seed: int) -> nn.Module:
    """Put a classifier on the published encoder; its embeddings are frozen."""
    torch.manual_seed(seed)
    model = SequenceClassifier(published_encoder(), n_classes=2, dropout=0.1, pooling="mean")
    for part in ("tokens", "positions", "segments", "norm"):
        getattr(model.encoder, part).requires_grad_(False)
    return model


def my_batches(labels: int, seed: int) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Draw labelled reviews of training films, in batches of 16."""
    return in_batches(subset(the_split().train, labels, seed), 16, the_word_pieces(), random.Random(seed))


# %%
with once_solved(BertEncoder, rename_checkpoint, SequenceClassifier, fine_tune):
    classifier, batches = my_classifier(SEED), my_batches(LABELS, SEED)
    with calls_shown(classifier, 3 * len(batches), "fine-tuning"):
        losses = fine_tune(classifier, batches, epochs=3, encoder_lr=2e-4, head_lr=1e-3)
    _figure, ax = plots.new_figure(height=3.4)
    ax.plot(losses, color=plots.SKY, linewidth=1.5)
    ax.plot([sum(losses[max(0, i - 15) : i + 1]) / len(losses[max(0, i - 15) : i + 1]) for i in range(len(losses))])
    ax.set(xlabel="step", ylabel="loss (nats)", title="Fine-tuning on 512 reviews, three times over", ylim=(0, None))
    plots.show("Training loss of 96 steps, and its running mean over 16 steps: it falls from about 0.7 to far below.")

# %% [markdown]
# The loss gets small: by the third time, the model knows these reviews. That says nothing about others. So ask it about
# 1,000 reviews of 70 films of which it hasn't read a word.


# %%
@torch.no_grad()
def accuracy(model: nn.Module, reviews: Collection[Review]) -> float:
    """Give the share of reviews that a classifier gets right, in eval mode."""
    model.eval()
    batches = in_batches(reviews, 64, the_word_pieces())
    with calls_shown(model, len(batches), "testing"):
        right = [model(ids, padding).argmax(-1) == labels for ids, padding, labels in batches]
    return torch.cat(right).float().mean().item()


with once_solved(BertEncoder, rename_checkpoint, SequenceClassifier, fine_tune):
    own[LABELS] = accuracy(classifier, the_split().test)
    print(f"{own[LABELS]:.1%} of 1,000 reviews of unseen films, after {LABELS} labels")

# %% [markdown]
# ## What pretraining is worth
#
# One number says little. Below, the same test, for four ways to get by with few labels, run before (with the course's
# own answers to these exercises; it takes hours):
#
# - **pretrained, fine-tuned**: what you have just done;
# - **pretrained, frozen**: the encoder stays as it was published, and a logistic regression reads the mean of its
#   states;
# - **same encoder, random start**: the same architecture and recipe, weights drawn as BERT's training starts,
#   everything trainable;
# - **bag of words**: no network; a logistic regression on which words occur. Order, and everything outside the labelled
#   reviews, is unknown to it.
#
# Each point is one run: other reviews, other dice. The strength of both regressions' penalty was chosen on the 40 films
# set aside for choices. Stars are yours. Look at how many labels a method needs to reach the height at which another
# one starts.

# %%
labels_and_accuracy.draw(own)
plots.show(
    "Test accuracy against labels for four methods; with few labels the pretrained ones are far above the others."
)

# %%
Markdown(labels_and_accuracy.table() + "\n\n" + labels_and_accuracy.reading())

# %% [markdown]
# Test accuracy in percent: the mean, and in brackets the lowest and the highest run. With 1,000 test reviews, chance
# alone moves a figure by about 1.4 points (one standard error), so look at large differences, and leave small ones
# alone. Out of all reviews the two regressions have no dice to roll: one run says everything.
#
# And a bag of words isn't stupid: with all labels it stands level with the frozen encoder and the random start, at a
# small part of the cost. Pretraining pays most where labels are few; fine-tuned, it is ahead with ten thousand, too.
#
# **What this doesn't show.** The published model was trained with masked words first, and after that on pairs of
# sentences, over a billion of them, that should lie close together or not. So what helps here is *both*, and the figure
# can't tell them apart. That masked words alone can do it, you saw on the invented language, and that a little of it
# doesn't, on real text. Nor is this the best that can be had: larger models do better on such reviews. And a recipe
# made for fine-tuning needn't be a random start's best: with other rates and more epochs it may gain.

# %% [markdown]
# ## Your own review
#
# Write one, and see what the model makes of it. Try praise and blame in one sentence, irony, "not bad", or a film's
# title and nothing else. Below the verdict: where the last layer's heads look, token by token. Choose a token, and look
# along the rows. Heads that rest on `[SEP]` or `[CLS]` have nothing to say about it; attention shows what is *read*,
# not what decides.


# %%
def verdict(text: str) -> None:
    """Print how a text is classified, and show where six heads of the last layer look."""
    ids, padding = the_word_pieces()([text])
    classifier.eval()
    with torch.no_grad():
        fresh = classifier(ids, padding).softmax(-1)[0, 1].item()
    print(f"{'fresh' if fresh > 0.5 else 'rotten'}, with probability {max(fresh, 1 - fresh):.0%}: {text}")
    weights = head_roles.attention_weights(classifier.encoder, ids, padding)[-1, 0].detach()  # (H, T, T)
    names = [f"layer 5, head {head}" for head in range(0, 12, 2)]
    display(
        attention_view(weights[::2], the_word_pieces().tokens(text), title="Where heads look", names=names, start=0)
    )


with once_solved(BertEncoder, rename_checkpoint, SequenceClassifier, fine_tune):
    verdict("the actors do their best, but nothing can save this tired story")

# %%
with once_solved(BertEncoder, rename_checkpoint, SequenceClassifier, fine_tune):
    classifier  # the field needs a trained one
    text_field(verdict, "not half as bad as i had feared", label="your review")

# %% [markdown]
# << heading("wordpiece") >>
#
# *About 12 minutes.* The encoder has a table of 30,522 embeddings, and English has more words than that, not to speak
# of names, typing errors and tomorrow's words. Whole words would leave most of them unknown; letters alone would make
# long sequences of little meaning. **Word pieces** are the compromise: frequent words are entries of their own, and
# everything else is put together from parts. A part that continues a word is another entry than one that begins it, and
# is marked: `##able`.
#
# Cutting is greedy. Take the longest piece that fits at the front; then the longest, with `##`, that fits what is left;
# and so on. If at some place nothing fits, the *whole* word becomes `[UNK]`. A choice is never taken back.
#
# A worked example with a vocabulary of six: `un`, `##able`, `##believ`, `believ`, `##a`, `##b`. Look at the second
# line: `believ` is there, but without `##` it can't continue a word.

# %%
example = [
    ("unbelievable", "longest front: un", "then ##believ", "then ##able", "→ ['un', '##believ', '##able']"),
    ("unbeliev", "longest front: un", "then ##believ (believ would not do)", "", "→ ['un', '##believ']"),
    ("unable", "longest front: un", "then ##able, not ##a", "", "→ ['un', '##able']"),
    ("unclear", "longest front: un", "nothing fits 'clear'", "", "→ ['[UNK]'], and not ['un', '[UNK]']"),
]
for line in example:
    print("  ".join(part for part in line if part))


# %% nbgrader={"grade": false, "grade_id": "wordpiece", "locked": false, "schema_version": 3, "solution": true, "task": false}
def wordpiece(word: str, vocab: Collection[str], unk: str = "[UNK]") -> list[str]:
    """Cut a word into pieces of the vocabulary: always the longest that fits, from left to right.

    Every piece but the first is looked up, and given, with "##" in front. Where nothing fits at some place, the whole
    word becomes [unk]; the empty word becomes []. vocab: a set or a dict. Source: Wu et al. 2016, section 4.1.
    """
    ### BEGIN SOLUTION
    pieces, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        ends = (end for end in range(len(word), start, -1) if mark + word[start:end] in vocab)
        end = next(ends, None)
        if end is None:
            return [unk]
        pieces.append(mark + word[start:end])
        start = end
    return pieces
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: two loops</summary>
#
# The outer one goes on as long as letters are left. The inner one tries ends: from the end of the word back to one
# letter behind the start.
# </details>
#
# <details><summary>Hint 2: what to look up</summary>
#
# The letters from start to end; and where start isn't 0, with `##` in front. What you look up is also what you give
# back.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Begin with no pieces and start = 0. While start is before the end of the word: for each end, from the last to start +
# 1, look the piece up, and stop at the first that is there. If there was none, give [unk] and forget the pieces.
# Otherwise add it, and start where it ended. An empty word never enters the loop.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-wordpiece", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(wordpiece)

# %% [markdown]
# **What you should see.** Your cuts with the real vocabulary, and below how often you and the `tokenizers` library
# agree on all the different words of the test reviews. It should be all of them.

# %%
with once_solved(wordpiece):
    vocab = the_word_pieces().tokenizer.get_vocab()
    for word in ("film", "unwatchable", "rottenness", "tarantinoesque", "electroencephalogram", "zzyzx"):
        print(f"{word:>20}  {' '.join(wordpiece(word, vocab))}")
    words = {word for review in the_split().test for word in re.findall(r"[a-z]+", review.text.lower())}
    agree = sum(wordpiece(word, vocab) == the_word_pieces().tokens(word)[1:-1] for word in words)
    print(f"\n{agree:,} of {len(words):,} words are cut as the library cuts them")

# %% [markdown]
# **To think about.** Greedy cutting can fail on a word that could be cut: with `abc`, `ab` and `##cd` in the
# vocabulary, `abcd` is unknown. Why isn't that a problem in practice?
#
# <details><summary>Answer</summary>
#
# Because published vocabularies hold every single letter of their alphabet, with and without `##`. After any choice the
# rest can be cut, letter by letter if need be, so only a sign that isn't in the vocabulary at all makes a word unknown.
# The cut may be a worse one than possible, but it is always the same one, and found in one pass; the model was trained
# on exactly these cuts, and consistency is worth more to it than elegance.
# </details>


# %% [markdown]
# ## What to take along
#
# | piece | what it is for | without it |
# | --- | --- | --- |
# | masked words | a question that plain text answers by itself, looking both ways | labels for everything, or one direction only |
# | 80 / 10 / 10 | the encoder can't rely on `[MASK]` | a model that works only where there is a `[MASK]` |
# | renamed weights, compared stage by stage | somebody else's learning in your modules, provably | "it runs", and a difference nobody sees |
# | one vector, one layer | a new task for a few hundred numbers | a new model for each task |
# | two rates, warm-up, clipping | adapts without forgetting | a random head that overwrites the encoder |
# | a split by film, several runs | a number that means something | a number that flatters |
#
# And the whole course in one breath. A hidden state forgets, and has to be computed word after word (01). A dot product
# and a softmax let any position look at any other at once (02, 03), with several questions at a time (04), once it is
# told where everything stands (05). Stacked, that is the Transformer (06). It can be trained on so much text that what
# it learns there is worth hundreds of labels elsewhere: that was this chapter. All of it, from the first recurrent step
# to the encoder that has just read your review, is code that you have written.

# %%
progress("07_bert_finetuning")

# %% [markdown]
# ## Further reading
#
# - Devlin et al. 2018, *BERT*, [arXiv:1810.04805](https://arxiv.org/abs/1810.04805): section 3 is the model and its two
#   pretraining tasks, section 4.1 and appendix A.3 fine-tuning on eleven tasks, appendix A.1 masking.
# - Reimers and Gurevych 2019, *Sentence-BERT*, [arXiv:1908.10084](https://arxiv.org/abs/1908.10084): pairs of
#   sentences, and why the mean; the way in which the model that you loaded was trained further.
# - Wang et al. 2020, *MiniLM*, [arXiv:2002.10957](https://arxiv.org/abs/2002.10957): how a large encoder's attention is
#   taught to a small one; the base of the model that you loaded.
# - Howard and Ruder 2018, *Universal Language Model Fine-tuning*, [arXiv:1801.06146](https://arxiv.org/abs/1801.06146):
#   careful rates for different depths, before BERT, with an LSTM.
# - Mosbach, Andriushchenko and Klakow 2020, *On the Stability of Fine-tuning BERT*,
#   [arXiv:2006.04884](https://arxiv.org/abs/2006.04884): why runs differ so much, and what helps.
# - Wu et al. 2016, *Google's Neural Machine Translation System*, [arXiv:1609.08144](https://arxiv.org/abs/1609.08144):
#   section 4.1 is about word pieces.

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
# *<< chapter.points >> points and << exercise("beam_search").points >> extra · about two hours · runs on a CPU, without
# internet; all cells together take less than four minutes*
#
# All parts are on the table: attention with heads and masks, and embeddings with positions. What is missing is a small
# network, a norm, and the order in which to plug things together. That order fits on one page, and the page has become
# one of the most copied drawings in the field.
#
# $$x \leftarrow \mathrm{LayerNorm}(x + \mathrm{Sublayer}(x))$$
#
# This one line, twice in each layer of the encoder and three times in each of the decoder, *is* the architecture.
#
# **After this chapter you can**
# - say what a layer norm does to a token, and write it with every detail in its place;
# - build an encoder layer and a decoder layer that agree with PyTorch's own, masks included;
# - assemble a Transformer, and prove with experiments that nothing leaks from the future and padding changes nothing;
# - train it: a loss that doubts a little, a learning rate that warms up;
# - let it write, one token after another, greedily and (extra) with several drafts.
#
# **You need** multi-head attention (chapter 04), the causal mask (chapter 03), and embeddings with positions (chapter 05).

# %%
import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

from utils import check, mine, once_solved, plots, progress

# %%
progress("06_transformer_stack")

# %% [markdown]
# Three pieces come from earlier chapters: yours where they pass their checks, PyTorch's where they don't. (PyTorch has no
# sinusoids, so its embedding learns a vector for each position, as BERT does.)

# %%
MultiHeadAttention = mine("MultiHeadAttention")
causal_mask = mine("causal_mask")
TransformerEmbedding = mine("TransformerEmbedding")

# %% [markdown]
# ## Where this chapter sits
#
# Filled: this chapter. Two kinds of boxes are new, the feed-forward networks and the next word. But the real work is
# everything *between* the boxes: residuals, norms, dropout, and the three masks.

# %%
encoder = ["words\n+ positions\n(05)", "multi-head\nself-\nattention (04)", "feed-forward\nnetwork\n(06)"]
decoder = [
    "words so far\n+ positions\n(05)",
    "masked\nmulti-head\nattention (04)",
    "multi-head\ncross-\nattention (04)",
]
encoder += ["BERT: one\nmore layer\n(07)"]
decoder += ["feed-forward\n(06)", "next word\n(06)"]
places = {box: (column, 1) for column, box in enumerate(encoder)}
places |= {box: (column, 0) for column, box in enumerate(decoder)}
paths = [encoder, decoder, (encoder[2], decoder[2])]
title = "Encoder (above), decoder (below): the last new boxes"
plots.diagram(places, paths, here=[encoder[2], decoder[3], decoder[4]], title=title)
plots.show("Encoder and decoder as two rows of boxes; filled are both feed-forward networks and the next word.")


# %% [markdown]
# << heading("LayerNorm") >>
#
# *About 10 minutes.* Every layer adds something to a token's vector, and numbers that are added up tend to grow, some
# features more than others. A norm brings them back to one size. It looks at *one token* and nothing else: not at its
# neighbours, not at the batch. Over that token's features it takes mean and variance, and makes them 0 and 1:
#
# $$\mathrm{LayerNorm}(x) = \gamma \odot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta, \qquad
# \mu = \frac{1}{d}\sum_i x_i, \qquad \sigma^2 = \frac{1}{d}\sum_i (x_i - \mu)^2$$
#
# $\gamma$ (`weight`) and $\beta$ (`bias`) are learned, one number per feature, so that a layer may choose another size
# where it needs one. $\epsilon$ keeps 0/0 away where all features are equal. Two details have many wrong versions in
# the wild: the sum is divided by $d$, not by $d - 1$; and $\epsilon$ stands *inside* the root, beside the variance.
#
# A worked example by hand, one token with four features:

# %%
token = [2.0, 4.0, 4.0, 6.0]
print("mean            ", 4.0)
print("minus the mean  ", [-2.0, 0.0, 0.0, 2.0])
print("variance        ", (4 + 0 + 0 + 4) / 4, "  and its root, about 1.414")
print("normalised      ", [-1.414, 0.0, 0.0, 1.414])
print("with weight 2 and bias 1 in the last feature:", [-1.414, 0.0, 0.0, 2 * 1.414 + 1])

# %% [markdown]
# *Not allowed here*: `nn.LayerNorm`, `F.layer_norm` and the other norms that PyTorch has.


# %% nbgrader={"grade": false, "grade_id": "LayerNorm", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LayerNorm(nn.Module):
    """Bring the features of every token to mean 0 and variance 1, then scale and shift them (Ba et al. 2016).

    Parameters: `weight` (d_model,), ones at first, and `bias` (d_model,), zeros at first.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        """Make the two parameters, and keep eps."""
        ### BEGIN SOLUTION
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Normalise x (..., d_model) over its last dimension; any number of dimensions in front, the same shape back."""
        ### BEGIN SOLUTION
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        variance = (x - mean).square().mean(dim=-1, keepdim=True)  # (..., 1), divided by d_model
        return self.weight * (x - mean) / torch.sqrt(variance + self.eps) + self.bias
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: which dimension</summary>
#
# Mean and variance are taken over the features of one token: the last dimension, whatever stands in front. What
# shape do they have for x of shape `(B, T, d_model)`, so that they can be subtracted from x?
# </details>
#
# <details><summary>Hint 2: traps in `var` and `std`</summary>
#
# By default both divide by n − 1: an estimate from a sample, which this isn't. There is an argument for that; or square
# the differences yourself and take their mean. And `std` gives a root that has already been taken: too late for ε.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# The constructor wraps ones and zeros of size d_model in `nn.Parameter` and keeps eps. `forward` takes the mean over the
# last dimension and keeps that dimension with size 1; the variance likewise, divided by d_model. Subtract, divide by the
# root of variance plus eps, multiply by the weight, add the bias.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-LayerNorm", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(LayerNorm)

# %% [markdown]
# **What you should see.** Four tokens with eight features, of very different sizes. Left as they come, right after your
# norm. Look at the last token: its pattern was drowned by a large common offset, and is now as clear as the others'.
# What the norm takes away is each token's offset and its size. What it keeps is the pattern.

# %%
with once_solved(LayerNorm):
    pattern = torch.randn(4, 8, generator=torch.Generator().manual_seed(2))
    x = pattern * torch.tensor([0.3, 1.0, 4.0, 0.5])[:, None] + torch.tensor([0.0, 1.0, -2.0, 6.0])[:, None]
    _figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), sharey=True)
    for ax, values, title in zip(axes, (x, LayerNorm(8)(x).detach()), ("before", "after the norm"), strict=True):
        for token, (row, marker) in enumerate(zip(values, "os^D", strict=True)):
            ax.plot(range(8), row, marker=marker, markersize=8, label=f"token {token}")
        ax.set(title=title, xlabel="feature")
        ax.axhline(0, color="#999999", linewidth=1, zorder=0)
    axes[0].set_ylabel("value (no unit)")
    axes[1].legend(loc="upper left", bbox_to_anchor=(1.0, 0.95))
    plots.show("Before: four lines of different height and spread. After: all four around 0 with the same spread.")

# %% [markdown]
# **To think about.** Batch norm, which is older, takes mean and variance of each feature over the *batch*. Why would that be
# a bad choice for sentences?
#
# <details><summary>Answer</summary>
#
# A token's numbers would then depend on which other sentences happen to be in the batch, and on how much padding they
# carry; with a batch of one at evaluation, other statistics have to stand in. In a decoder it is worse: statistics over
# positions would tell early positions something about later ones, a leak from the future. Layer norm looks at a single
# token, so it does the same in training and evaluation, for any batch and any length.
# </details>

# %% [markdown]
# << heading("FeedForward") >>
#
# *About 6 minutes.* Attention moves information between positions, but what it does with the values is linear: weighted
# sums. The thinking, if you like, comes after it: a small network with one hidden layer, applied to every position by
# itself, with the same weights everywhere.
#
# $$\mathrm{FFN}(x) = \max(0,\; x W_1 + b_1)\, W_2 + b_2$$
#
# It widens (the paper: 512 → 2048), sets everything below zero to zero, and narrows again. In train mode some hidden
# units are dropped. A worked example by hand, with `d_model = 2` and `d_ff = 3`:

# %%
x = [1.0, -2.0]
print("hidden unit 0: 1·1 + 1·(−2) + 0  = −1  → 0")
print("hidden unit 1: 0·1 − 1·(−2) + 1  =  3  → 3")
print("hidden unit 2: 2·1 + 0·(−2) + 0  =  2  → 2")
print("output 0:      1·0 + 1·3 − 1·2   =", 3 - 2)
print("output 1:      5·0 + 0·3 + 2·2   =", 2 * 2, "  (unit 0 is off, so its 5 doesn't count)")

# %% [markdown]
# | step | shape |
# | --- | --- |
# | `x` | `(..., d_model)` |
# | `linear_1`, ReLU, dropout | `(..., d_ff)` |
# | `linear_2` | `(..., d_model)` |


# %% nbgrader={"grade": false, "grade_id": "FeedForward", "locked": false, "schema_version": 3, "solution": true, "task": false}
class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, the same for every position (Vaswani et al. 2017, section 3.3)."""

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        """Make `linear_1` (d_model → d_ff) and `linear_2` (d_ff → d_model), both with bias, and the dropout between."""
        ### BEGIN SOLUTION
        super().__init__()
        self.linear_1 = nn.Linear(d_model, d_ff)
        self.linear_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        """Map x (..., d_model) to (..., d_model): linear_1, ReLU, dropout, linear_2."""
        ### BEGIN SOLUTION
        hidden = torch.relu(self.linear_1(x))  # (..., d_ff)
        return self.linear_2(self.dropout(hidden))  # (..., d_model)
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: what belongs in the constructor</summary>
#
# Two linear layers under the names of the contract, and dropout. `nn.Linear` knows its sizes in the order input, output.
# </details>
#
# <details><summary>Hint 2: every position by itself</summary>
#
# Nothing has to be done for that: a linear layer works on the last dimension, and leaves all in front of it alone.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# First layer, then ReLU, then dropout, then second layer. Nothing after it: residual and norm belong to the layer around.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-FeedForward", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(FeedForward)

# %% [markdown]
# **What you should see.** A network with `d_model = 1` is a function of one number, so it can be drawn. Look at the kinks:
# each hidden unit switches on or off at one place, and between the places everything is a straight line. With more
# units, more kinks, and any continuous curve comes into reach. (Random weights; the left one has 4 units, the right one 16.)

# %%
with once_solved(FeedForward):
    x = torch.linspace(-3, 3, 600)[:, None]  # 600 positions of width 1, all through the same network
    _figure, axes = plots.new_figure(2, 3.8)
    for ax, d_ff in zip(axes, (4, 16), strict=True):
        torch.manual_seed(5)
        network = FeedForward(1, d_ff)
        with torch.no_grad():
            y = network(x)[:, 0]
            kinks = (-network.linear_1.bias / network.linear_1.weight[:, 0]).clamp(-4, 4)
            heights = network(kinks[:, None])[:, 0]
        ax.plot(x[:, 0], y, color=plots.BLUE)
        ax.plot(kinks, heights, "o", color=plots.ORANGE, markersize=7, label="a unit switches")
        ax.set(title=f"{d_ff} hidden units", xlabel="x (the only feature)", ylabel="output", xlim=(-3, 3))
    axes[0].legend()
    plots.show("Two curves of straight pieces: four units give a few kinks, sixteen units more of them.")

# %% [markdown]
# **To think about.** How many parameters of an encoder layer are in attention, and how many in this network, when
# $d_{ff} = 4\, d_{model}$ as in the paper?
#
# <details><summary>Answer</summary>
#
# Attention has four square matrices: $4\, d_{model}^2$. The network has two of $d_{model} \times 4\, d_{model}$: $8\,
# d_{model}^2$. So two thirds of a layer are in the network, although the paper is named after the other third. (Biases and
# norms are small change.)
# </details>

# %% [markdown]
# ## Why the arrows around the boxes matter
#
# Now stack them: attention, network, attention, network, twelve times, with fresh random weights. What goes through, and what
# remains of it? Four ways of connecting, with $y$ for what a sublayer gives: $y$ alone; $x + y$; $\mathrm{norm}(y)$;
# and the paper's $\mathrm{norm}(x + y)$. Two things are measured: how large the numbers are, and how *alike* the tokens
# have become (mean cosine between two tokens of the sentence; 1 = all the same).


# %%
def through_layers(connect, depth=12, d_model=64):
    """Send a random sentence of 20 tokens through a stack; give size and likeness after each layer."""
    torch.manual_seed(0)
    x, sizes, likenesses = torch.randn(1, 20, d_model), [], []
    for _layer in range(depth):
        attention, network = MultiHeadAttention(d_model, 4), FeedForward(d_model, 4 * d_model)
        with torch.no_grad():
            x = connect(x, attention(x, x, x)[0])
            x = connect(x, network(x))
        directions = nn.functional.normalize(x[0], dim=-1)  # (20, d_model)
        cosines = directions @ directions.mT  # (20, 20), with ones on the diagonal
        sizes.append(x.square().mean().sqrt().item())
        likenesses.append((cosines.sum().item() - 20) / (20 * 19))
    return sizes, likenesses


# %% [markdown]
# Look at the right picture first. Without the residual, all tokens are the same vector after two layers: attention
# averages, and with nothing but averages there is soon only the average. A norm alone repairs the size, and can't repair
# that. The residual keeps each token itself. But it adds, and so sizes creep up; norm and residual together keep both.

# %%
with once_solved(LayerNorm, FeedForward):
    norm = LayerNorm(64)
    ways = {"y": lambda x, y: y, "norm(y)": lambda x, y: norm(y), "x + y": lambda x, y: x + y}
    ways["norm(x + y), the paper"] = lambda x, y: norm(x + y)
    _figure, (left, right) = plt.subplots(1, 2, figsize=(13, 4.2))
    for (name, connect), marker, style in zip(ways.items(), "osD^", ("-", "--", "-", "--"), strict=True):
        sizes, likenesses = through_layers(connect)
        left.plot(range(1, 13), sizes, marker=marker, linestyle=style, markersize=7)
        right.plot(range(1, 13), likenesses, marker=marker, linestyle=style, markersize=7, label=name)
    left.set(title="How large?", xlabel="layer", ylabel="root mean square (no unit)", ylim=(0, 2))
    right.set(title="How alike are the tokens?", xlabel="layer", ylabel="mean cosine", ylim=(-0.05, 1.08))
    right.legend(loc="upper left", bbox_to_anchor=(1.0, 0.9))
    plots.show(
        "Left: y alone shrinks, x + y grows, both norms stay at 1. Right: without residual all tokens are alike."
    )

# %% [markdown]
# << heading("EncoderLayer") >>
#
# *About 12 minutes.* So this is one layer of the encoder: two sublayers, and around each of them the same three steps.
#
# $$x \leftarrow \mathrm{norm}_1(x + \mathrm{dropout}(\mathrm{attention}(x, x, x))), \qquad
# x \leftarrow \mathrm{norm}_2(x + \mathrm{dropout}(\mathrm{FFN}(x)))$$
#
# This order is called *post-norm*: first add, then normalise. Much later code has *pre-norm*, $x +
# \mathrm{sublayer}(\mathrm{norm}(x))$. Both work, they aren't the same, and weights that were trained for one are useless for
# the other. This course follows the paper, and BERT does too.

# %%
path = ["x", "attention", "dropout,\nadd x", "norm_1", "feed-\nforward", "dropout,\nadd", "norm_2"]
places = {box: (column, 0) for column, box in enumerate(path)}
bypasses = ["residual:\nx as it is", "residual:\nfrom norm_1"]
places |= {bypasses[0]: (1, 1), bypasses[1]: (4, 1)}
paths = [path, ("x", bypasses[0], path[2]), ("norm_1", bypasses[1], path[5])]
plots.diagram(places, paths, here=path[1:], title="One encoder layer, from left to right", size=(0.8, 0.55))
plots.show("A row of boxes from x to norm_2; two bypasses lead around attention and around the feed-forward network.")

# %% [markdown]
# A worked example with two features, for the step around one sublayer. It shows why the place of the norm matters:

# %%
x, sublayer = [1.0, 3.0], [2.0, -2.0]
print("x + sublayer(x)                       ", [3.0, 1.0])
print("norm of it (mean 2, deviation 1)      ", [1.0, -1.0], "  ← post-norm, the paper")
print("norm of the sublayer's output alone   ", [1.0, -1.0])
print("x + that, with the residual outside   ", [2.0, 2.0], "   ← another result")

# %% [markdown]
# **Dropout** acts on what a sublayer gives, *before* x is added: the residual is never dropped. `d_ff` goes to the
# network, `n_heads` and the mask to attention. Your own pieces of this chapter and of chapter 04 are what it is made of.
#
# *Not allowed here*: `nn.TransformerEncoderLayer` and its relatives. (`nn.LayerNorm` is fine from here on.)


# %% nbgrader={"grade": false, "grade_id": "EncoderLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network; each with dropout, residual and norm (Vaswani et al. 2017, 3.1).

    Sub-modules: `attention`, `feed_forward`, `norm_1` (after attention) and `norm_2` (after the network).
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        """Make the parts; `dropout` acts on the output of each sublayer, before the residual is added."""
        ### BEGIN SOLUTION
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1, self.norm_2 = LayerNorm(d_model), LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map x (B, T, d_model) to (B, T, d_model).

        mask: bool, True = may attend, as `MultiHeadAttention` takes it: (T, T), (B, 1, T) or (B, T, T).
        """
        ### BEGIN SOLUTION
        attended, _weights = self.attention(x, x, x, mask)
        x = self.norm_1(x + self.dropout(attended))
        return self.norm_2(x + self.dropout(self.feed_forward(x)))
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: what the layer is made of</summary>
#
# Four sub-modules with the names of the docstring, and dropout. Each norm has its own weights, so there are two of them.
# </details>
#
# <details><summary>Hint 2: what attention gives back</summary>
#
# Two things, output and weights; only the first is added to x. All three of its inputs are x, since it is self-attention;
# the mask goes along as it is.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Ask attention, drop from its output, add x, normalise with norm_1: that is the new x. Ask the network with the new x,
# drop, add the new x, normalise with norm_2, return.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-EncoderLayer", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(EncoderLayer)

# %% [markdown]
# **What you should see.** Twelve of *your* layers with fresh weights, once as you wrote them and once rewired to pre-norm
# (same parts, other order), and one backward pass through each. Look at how large the gradient is that arrives at each
# network. In pre-norm it falls from layer to layer, since later layers add ever less to a growing stream. In post-norm
# it doesn't, and the last layers get about three times as much. Xiong et al. (2020) found this, and that it is why
# post-norm needs a learning rate that starts small: `noam_rate`, below.


# %%
def pre_norm(layer, x):
    """Run a layer's parts in the other order: norm, sublayer, add."""
    y = layer.norm_1(x)
    x = x + layer.attention(y, y, y)[0]
    return x + layer.feed_forward(layer.norm_2(x))


def gradients_of_layers(run, seed, depth=12):
    """Send one backward pass through a stack with fresh weights; give each network's gradient norm."""
    torch.manual_seed(seed)
    layers = nn.ModuleList(EncoderLayer(64, 4, 256, dropout=0.0) for _ in range(depth))
    for matrix in (p for p in layers.parameters() if p.dim() > 1):
        nn.init.xavier_uniform_(matrix)
    x, target, readout = torch.randn(8, 20, 64), torch.randint(50, (160,)), nn.Linear(64, 50)
    for layer in layers:
        x = run(layer, x)
    logits = readout(nn.functional.layer_norm(x, (64,)))  # pre-norm needs a last norm; post-norm has just had one
    nn.functional.cross_entropy(logits.flatten(0, 1), target).backward()
    return [layer.feed_forward.linear_2.weight.grad.norm().item() for layer in layers]


# %%
with once_solved(LayerNorm, FeedForward, EncoderLayer):
    runs = {"post-norm (yours)": lambda layer, x: layer(x), "pre-norm": pre_norm}
    _figure, ax = plt.subplots(figsize=(9, 4))
    for (name, run), colour, marker in zip(runs.items(), (plots.BLUE, plots.ORANGE), "os", strict=True):
        norms = torch.tensor([gradients_of_layers(run, seed) for seed in range(3)])  # (3, 12)
        ax.plot(range(1, 13), norms.T, color=colour, linewidth=1, alpha=0.5)
        ax.plot(range(1, 13), norms.mean(0), color=colour, marker=marker, markersize=8, label=name)
    ax.set(xlabel="layer, from the input to the output", ylabel="gradient norm (no unit)", ylim=(0, None))
    ax.set_title("Gradient of each network's linear_2: mean and three seeds")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 0.95))
    plots.show(
        "Gradient norm against layer: pre-norm falls steadily, post-norm stays on one level up to the last layer."
    )

# %% [markdown]
# **To think about.** An encoder layer has no idea of order, and none of its parts has. How do you know, without running it,
# that permuting the tokens of x permutes the output, and nothing else?
#
# <details><summary>Answer</summary>
#
# Go through the parts. Norms, network, residual and (per element) dropout treat each position by itself, so they don't
# notice where it stands. Self-attention sums over a set of keys (chapter 03). A chain of steps that each carry a
# permutation through carries it through as a whole. So all order has to come with x: from the positions that were
# added at the very beginning, and that the residuals carry on through every layer.
# </details>

# %% [markdown]
# << heading("DecoderLayer") >>
#
# *About 10 minutes.* The decoder's layer has one sublayer more, between the two that you know. There the decoder asks the
# encoder: *cross-attention*. Each of the three has residual, dropout and a norm of its own.
#
# | sublayer | queries from | keys and values from | mask | norm |
# | --- | --- | --- | --- | --- |
# | `self_attention` | x | x | `self_mask`: no future, no padding | `norm_1` |
# | `cross_attention` | x | memory, the encoder's output | `cross_mask`: no padding of the source | `norm_2` |
# | `feed_forward` | | | | `norm_3` |
#
# The two masks have different shapes, since target and source have different lengths. A worked example: a target of
# four words, a source of three words and two of padding. Rows ask, columns are asked:

# %%
self_mask = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]  # (T_tgt, T_tgt)
cross_mask = [[1, 1, 1, 0, 0]]  # (1, T_src): the same for every row
_figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), width_ratios=(4, 5))
target, source = ["BOS", "y1", "y2", "y3"], ["x1", "x2", "x3", "PAD", "PAD"]
look = {"vmin": 0, "vmax": 1, "cmap": "cividis"}
yes = [["yes" if open else "no" for open in row] for row in self_mask]
plots.heat_map(torch.tensor(self_mask), target, target, "self_mask", "may look", "at", entries=yes, ax=left, **look)
yes = [["yes" if open else "no" for open in cross_mask[0]]] * 4
values = torch.tensor(cross_mask).expand(4, 5)
plots.heat_map(values, target, source, "cross_mask", "may look", "at memory of", entries=yes, ax=right, **look)
plots.show(
    "Left: a lower triangle of yes. Right: every target word may look at three words of the source, not at padding."
)

# %% [markdown]
# *Not allowed here*: `nn.TransformerDecoderLayer` and its relatives.


# %% nbgrader={"grade": false, "grade_id": "DecoderLayer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward; each with dropout, residual and norm (Vaswani et al. 2017, 3.1).

    Sub-modules: `self_attention`, `cross_attention`, `feed_forward`, and `norm_1`, `norm_2`, `norm_3` in this order.
    """

    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.1) -> None:
        """Make the parts; `dropout` acts on the output of each sublayer, before the residual is added."""
        ### BEGIN SOLUTION
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.feed_forward = FeedForward(d_model, d_ff)
        self.norm_1, self.norm_2, self.norm_3 = (LayerNorm(d_model) for _ in range(3))
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(
        self, x: Tensor, memory: Tensor, self_mask: Tensor | None = None, cross_mask: Tensor | None = None
    ) -> Tensor:
        """Map x (B, T_tgt, d_model) and memory (B, T_src, d_model) to (B, T_tgt, d_model).

        self_mask: who in x may attend to whom in x, (T_tgt, T_tgt) or (B, 1 or T_tgt, T_tgt); cross_mask: to whom in
        memory, (T_tgt, T_src) or (B, 1 or T_tgt, T_src). Both bool, True = may attend.
        """
        ### BEGIN SOLUTION
        attended, _weights = self.self_attention(x, x, x, self_mask)
        x = self.norm_1(x + self.dropout(attended))
        attended, _weights = self.cross_attention(x, memory, memory, cross_mask)
        x = self.norm_2(x + self.dropout(attended))
        return self.norm_3(x + self.dropout(self.feed_forward(x)))
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: three times the same</summary>
#
# Write the encoder layer's step once more, with another attention in the middle. It needs six sub-modules and dropout.
# </details>
#
# <details><summary>Hint 2: who asks whom</summary>
#
# In cross-attention the decoder asks: the queries are x, what norm_1 gave. Keys *and* values are memory. Memory itself
# isn't changed by the layer.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Self-attention of x with self_mask; drop, add, norm_1. Cross-attention from x to memory with cross_mask; drop, add,
# norm_2. Network; drop, add, norm_3.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-DecoderLayer", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(DecoderLayer)

# %% [markdown]
# **What you should see.** Who influences whom, measured and not assumed: the size of the gradient of each output position
# with respect to each input position. Left, within the target, with a causal mask: a triangle. Right, from memory, with
# the last two positions as padding: two dark columns, and everything else open, for *every* target position.

# %%
with once_solved(LayerNorm, FeedForward, DecoderLayer):
    torch.manual_seed(0)
    layer = DecoderLayer(32, 4, 64).eval()
    x, memory = torch.randn(1, 6, 32, requires_grad=True), torch.randn(1, 5, 32, requires_grad=True)
    hidden = torch.tensor([[[True, True, True, False, False]]])
    output = layer(x, memory, causal_mask(6), hidden)[0]  # (6, 32)
    directions = torch.randn(6, 32)
    rows = [torch.autograd.grad(o @ d, (x, memory), retain_graph=True) for o, d in zip(output, directions, strict=True)]
    _figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), width_ratios=(6, 5))
    names, sources = [f"y{i}" for i in range(6)], ["x1", "x2", "x3", "PAD", "PAD"]
    for ax, part, columns in zip(axes, (0, 1), (names, sources), strict=True):
        sizes = torch.stack([row[part][0].norm(dim=-1) for row in rows])
        plots.heat_map(sizes, names, columns, ("from the target", "from memory")[part], "output at", "input", "", ax=ax)
    plots.show("Left: numbers in the lower triangle, zeros above. Right: numbers in three columns, zeros in two.")

# %% [markdown]
# **To think about.** Why does cross-attention need no causal mask?
#
# <details><summary>Answer</summary>
#
# The causal mask hides what isn't known yet when a word is written. The source is known as a whole before the first
# word is written, so nothing in it is future. A translator who may read only the first three words of a sentence before
# writing the third couldn't put a German verb where English wants it.
# </details>

# %% [markdown]
# << heading("Transformer") >>
#
# *About 20 minutes.* Now everything together. Two embeddings (the languages have different words), `n_layers` encoder
# layers, `n_layers` decoder layers, and a linear layer that turns each of the decoder's vectors into one number per
# word of the target language: the logits.
#
# | method | does | gives |
# | --- | --- | --- |
# | `encode(src)` | embed, then all encoder layers | memory `(B, T_src, d_model)` |
# | `decode(tgt, memory, src)` | embed, then all decoder layers, then logits | `(B, T_tgt, tgt_vocab)` |
# | `forward(src, tgt)` | one after the other | `(B, T_tgt, tgt_vocab)` |
#
# Why two methods? When it writes, the model encodes *once*, and decodes once for every word. `decode` needs `src` only to
# know where the padding is.
#
# The model is handed ids, and builds its own masks from them: `ids != pad_id` is True at real words. As a mask over keys, it
# needs a dimension for the queries, `(B, 1, T)`. Which mask goes where:
#
# | attention | mask | shape |
# | --- | --- | --- |
# | encoder | padding of the source | `(B, 1, T_src)` |
# | decoder, self | causal **and** padding of the target | `(B, T_tgt, T_tgt)` |
# | decoder, cross | padding of the source | `(B, 1, T_src)` |
#
# A worked example, with `pad_id = 0`: two targets, the second of which is shorter. "And" of a `(2, 1, 4)` and a `(4, 4)`
# broadcasts to one mask per sentence:

# %%
tgt = torch.tensor([[7, 3, 9, 4], [7, 5, 0, 0]])
may_be_seen = torch.tensor([[[1, 1, 1, 1]], [[1, 1, 0, 0]]])  # (B, 1, T)
triangle = torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]])  # (T, T)
both = may_be_seen * triangle  # (B, T, T)
for sentence in (0, 1):
    print(f"sentence {sentence}, ids {tgt[sentence].tolist()}:", *(row.tolist() for row in both[sentence]))

# %% [markdown]
# Names and first weights of the parts are up to you; the checks look at what the model *does*. Layers must not share
# weights, and no norm follows after the last layer (post-norm has just had one). *Not allowed*: `nn.Transformer` and
# its relatives.


# %% nbgrader={"grade": false, "grade_id": "Transformer", "locked": false, "schema_version": 3, "solution": true, "task": false}
class Transformer(nn.Module):
    """Encoder and decoder with embeddings in front and a linear layer to the target vocabulary behind (section 3.1).

    The names of its parts are up to you; `pad_id` is an attribute. T > max_len, of source or target: ValueError.
    """

    def __init__(self, src_vocab: int, tgt_vocab: int, d_model: int = 128, n_heads: int = 4, n_layers: int = 2,
                 d_ff: int = 512, dropout: float = 0.1, max_len: int = 128, pad_id: int = 0) -> None:  # fmt: skip
        """Make n_layers encoder layers and n_layers decoder layers, each with weights of its own."""
        ### BEGIN SOLUTION
        super().__init__()
        self.pad_id = pad_id
        self.src_embedding = TransformerEmbedding(src_vocab, d_model, max_len, dropout)
        self.tgt_embedding = TransformerEmbedding(tgt_vocab, d_model, max_len, dropout)
        sizes = (d_model, n_heads, d_ff, dropout)
        self.encoder = nn.ModuleList(EncoderLayer(*sizes) for _ in range(n_layers))
        self.decoder = nn.ModuleList(DecoderLayer(*sizes) for _ in range(n_layers))
        self.output = nn.Linear(d_model, tgt_vocab)
        ### END SOLUTION

    def encode(self, src: Tensor) -> Tensor:
        """Map source ids (B, T_src) to memory (B, T_src, d_model); padding is hidden as a key."""
        ### BEGIN SOLUTION
        x = self.src_embedding(src)  # (B, T_src, d_model)
        for layer in self.encoder:
            x = layer(x, self._padding(src))
        return x
        ### END SOLUTION

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Map target ids (B, T_tgt) and memory to logits (B, T_tgt, tgt_vocab).

        A position sees itself and earlier ones, no padding of tgt, and no memory where src is padding.
        """
        ### BEGIN SOLUTION
        self_mask = self._padding(tgt) & causal_mask(tgt.shape[1], device=tgt.device)  # (B, T_tgt, T_tgt)
        x = self.tgt_embedding(tgt)  # (B, T_tgt, d_model)
        for layer in self.decoder:
            x = layer(x, memory, self_mask, self._padding(src))
        return self.output(x)  # (B, T_tgt, tgt_vocab)
        ### END SOLUTION

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """Encode src (B, T_src), then decode tgt (B, T_tgt): logits (B, T_tgt, tgt_vocab)."""
        ### BEGIN SOLUTION
        return self.decode(tgt, self.encode(src), src)

    def _padding(self, ids: Tensor) -> Tensor:
        return (ids != self.pad_id).unsqueeze(1)  # (B, 1, T), True at real tokens
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: a list of layers</summary>
#
# Each layer has weights of its own, so each has to be *made*: a loop or a comprehension, since `[layer] * n` repeats one and
# the same. And PyTorch finds parameters only in modules that it knows: there is a list for modules.
# </details>
#
# <details><summary>Hint 2: the masks</summary>
#
# Write a small method that makes `(B, 1, T)` from ids. It serves three times. For the decoder's self-attention join it with
# `causal_mask`, so that *both* have to say yes; and make the triangle where tgt is (`device=tgt.device`).
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Constructor: pad_id, two `TransformerEmbedding`s, two lists of layers, a linear layer from d_model to tgt_vocab. encode:
# embed, then each layer with the padding of src. decode: embed tgt, then each layer with memory and both masks, then the
# linear layer. forward: decode with what encode gives. Your embedding raises the ValueError already.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-Transformer", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(Transformer)

# %% [markdown]
# **What you should see.** Again who influences whom, now in the whole untrained machine, and without looking inside:
# exchange one word of the input, and see where the output changes, and by how much. Look at the zeros. Left: there are
# none, every word of the source reaches every place of the memory, its own most of all (m5 and m6 belong to padding;
# nobody will look at them). Middle: everything above the
# diagonal is zero. Right: again none. The line below tells what happens when the source's padding is
# cut off: nothing but rounding.


# %%
def influence(run, ids):
    """Exchange the words of one sentence one at a time; give the change (outputs, words) of each output."""
    before, columns = run(ids)[0], []
    for place in range(int((ids != 0).sum())):  # padding has no word to exchange
        other = ids.clone()
        other[0, place] = other[0, place] % 9 + 1
        columns.append((run(other)[0] - before).norm(dim=-1))
    return torch.stack(columns, dim=1)


# %%
with once_solved(LayerNorm, FeedForward, EncoderLayer, DecoderLayer, Transformer), torch.no_grad():
    torch.manual_seed(0)
    model = Transformer(10, 10, d_model=64, n_heads=4, n_layers=2, d_ff=128).eval()
    src, tgt = torch.tensor([[5, 3, 8, 1, 0, 0]]), torch.tensor([[2, 7, 4, 6, 9]])
    runs = {"source → memory": (model.encode, src), "target → logits": (lambda ids: model(src, ids), tgt)}
    runs["source → logits"] = (lambda ids: model(ids, tgt), src)
    _figure, axes = plt.subplots(1, 3, figsize=(14, 4.4), width_ratios=(4, 5, 4))
    for ax, (name, (run, ids)), row, column in zip(axes, runs.items(), "myy", "xtx", strict=True):
        change = influence(run, ids)
        sizes = zip(row + column, change.shape, strict=True)
        rows, columns = ([f"{letter}{i}" for i in range(1, n + 1)] for letter, n in sizes)
        plots.heat_map(change, rows, columns, name, "output at", "word exchanged", ax=ax, vmin=0)
    plots.show("Three maps of influence: numbers everywhere; a lower triangle of numbers; numbers everywhere.")
    cut = (model(src, tgt) - model(src[:, :4], tgt)).abs().max().item()
    print(f"logits with and without the padding of the source differ by {cut:.0e} at most")

# %% [markdown]
# **To think about.** Leave out the *target's* padding mask, and nothing at real words changes, as long as padding stands
# at the end. Why? And why is it better to have it all the same?
#
# <details><summary>Answer</summary>
#
# Padding at the end comes *after* every real word, and the causal mask hides all that comes after. Only padding
# positions themselves look at padding, and the loss ignores what they say. The mask is needed as soon as padding
# stands anywhere else, at the beginning for instance, as some libraries put it so that all sentences end together. Code
# that is right by accident breaks when the accident ends.
# </details>


# %% [markdown]
# ## The recipe
#
# The machine stands. What is left is to teach it: a loss to be made small, a learning rate, and a way of getting an
# answer out, since the model itself only says what the *next* token might be. After that, it translates.

# %%
import functools
import math
import random

from utils import alignment, date_task, hosts_decoding, reversal_runs, reversal_task, translation
from utils.recurrent_translators import RecurrentTranslator
from utils.translation import BOS, EOS

# %% [markdown]
# << heading("label_smoothed_loss") >>
#
# *About 12 minutes.* Cross-entropy asks for probability 1 on the right token, and is never content: there is always
# something to gain by making its logit still larger. **Label smoothing** asks for less. It takes a share $\epsilon$
# off the right token $y$ and spreads it evenly over all $V$ tokens, the right one included:
#
# $$q_k = (1 - \epsilon)\,[k = y] + \frac{\epsilon}{V}, \qquad \text{loss} = -\sum_k q_k \log p_k
# = (1 - \epsilon)\,(-\log p_y) \;+\; \epsilon \cdot \frac{1}{V} \sum_k (-\log p_k)$$
#
# Now there is a best answer that can be reached, $p = q$, and the model is told off for being too sure. The paper
# uses $\epsilon = 0.1$ and reports that this makes the perplexity worse and the translations better.
#
# Sentences of a batch have different lengths, and the rest is padding. It isn't language, so it must not count,
# neither in the sum nor in the number that the sum is divided by. A worked example: four tokens, the right one is the
# first, and the model gives it 0.7.

# %%
p = [0.7, 0.1, 0.1, 0.1]
plain = -math.log(p[0])
even = -sum(math.log(chance) for chance in p) / 4
print(f"−log p of the right token {plain:.4f}, the mean of −log p over all four {even:.4f}")
print(f"smoothed by 0.1: 0.9 · {plain:.4f} + 0.1 · {even:.4f} = {0.9 * plain + 0.1 * even:.4f}")

# %% [markdown]
# Shapes: logits `(3, 5, 7)` (three sentences, five positions, seven tokens) and targets `(3, 5)` give one number,
# `()`. If the sentences have 5, 2 and 3 real tokens, it is a sum of ten losses divided by ten.
#
# *Not allowed here*: `F.cross_entropy` and `nn.CrossEntropyLoss`, which your check compares you with. `log_softmax`
# is fine.


# %% nbgrader={"grade": false, "grade_id": "label_smoothed_loss", "locked": false, "schema_version": 3, "solution": true, "task": false}
def label_smoothed_loss(logits: Tensor, target: Tensor, smoothing: float = 0.1, pad_id: int = 0) -> Tensor:
    """Compute the cross-entropy with smoothed targets, as a mean over all tokens that aren't padding.

    logits: (B, T, V), before any softmax; target: (B, T), ids. Each target gets probability 1 - smoothing + smoothing / V,
    each other token smoothing / V. Returns a scalar; where there is nothing but padding it is 0, still connected to the
    logits, so that `backward()` gives gradients of 0. Source: Vaswani et al. 2017, section 5.4.
    """
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(-1)  # (B, T, V)
    of_target = log_p.gather(-1, target.unsqueeze(-1)).squeeze(-1)  # (B, T)
    losses = -(1 - smoothing) * of_target - smoothing * log_p.mean(-1)  # (B, T)
    real = target != pad_id
    return losses.masked_fill(~real, 0.0).sum() / real.sum().clamp(min=1)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: three steps</summary>
#
# First a loss for every position, padding or not: a tensor `(B, T)`. Then silence the padding. Then one number.
# </details>
#
# <details><summary>Hint 2: the two halves of the formula</summary>
#
# You need `log_p` for all tokens. The right half of the formula is a mean over its last dimension. For the left half,
# pick one entry per position: `gather` takes an index of the same number of dimensions, so the target needs one more.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# `log_softmax` over the last dimension; pick the target's entry; mix both halves, with a minus sign. Make a mask of real
# tokens from `target` and `pad_id`, set the other losses to 0, and add up. Divide by the number of real tokens, but
# never by less than 1: then a batch of nothing but padding gives 0 by itself, without a special case.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-label_smoothed_loss", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(label_smoothed_loss)

# %% [markdown]
# **What you should see.** The loss of one token out of 14, against the probability that the model gives to the right
# one; the others share the rest. Look for the lowest points: without smoothing, there is none, and the line falls up
# to the end. With smoothing, the loss turns upwards again for a model that is too sure.

# %%
with once_solved(label_smoothed_loss):
    chances = torch.linspace(0.3, 0.9995, 400)
    logits = torch.cat([chances.log()[:, None], ((1 - chances) / 13).log()[:, None].expand(-1, 13)], dim=1)  # (400, 14)
    target, _figure = torch.zeros(1, 1, dtype=torch.long), plt.figure()
    for smoothing, colour in ((0.0, plots.BLACK), (0.1, plots.BLUE), (0.3, plots.RED)):
        losses = torch.stack([label_smoothed_loss(line[None, None], target, smoothing, pad_id=9) for line in logits])
        plt.plot(chances, losses, color=colour, label=f"smoothing {smoothing}")
        if smoothing:
            plt.plot(chances[losses.argmin()], losses.min(), "o", markersize=9, color=colour)
    plt.xlabel("probability of the right token")
    plt.ylabel("loss (nats)")
    plt.title("Too sure costs, once targets are smoothed")
    plt.legend()
    plots.show("Loss against the right token's probability: falling to 0, or with smoothing to a lowest point.")

# %% [markdown]
# **To think about.** With smoothing 0.1 and 14 tokens, the best model of all has a loss of about 0.55 nats, and not
# 0. Where does that number come from, and what does it mean for reading a training curve?
#
# <details><summary>Answer</summary>
#
# The loss is the cross-entropy between $q$ and $p$; it is smallest at $p = q$, and there it is the *entropy* of $q$:
# $-0.907 \log 0.907 - 13 \cdot 0.00714 \log 0.00714 \approx 0.547$. So a curve that flattens out well above 0 may belong
# to a model that makes no mistakes. Smoothed losses can't be compared with unsmoothed ones, nor with ones of another
# vocabulary. That is why we'll count right translations beside the loss.
# </details>

# %% [markdown]
# << heading("noam_rate") >>
#
# *About 4 minutes.* At first, gradients of a fresh Transformer point here and there, and Adam's running averages rest
# on a few steps. So the paper starts with small steps and makes them larger, in a straight line over the first
# `warmup` updates, and smaller again after that, as one over the root of the step:
#
# $$\text{rate} = d_{model}^{-0.5} \cdot \min\left(step^{-0.5},\; step \cdot warmup^{-1.5}\right)$$
#
# (The schedule is called after Noam Shazeer, one of the authors.) A worked example with the paper's own numbers,
# $d_{model} = 512$ and 4,000 steps of warm-up: at step 4,000 both pieces are the same, $4000^{-0.5} = 0.0158$, and
# the rate is at its peak, $0.0442 \cdot 0.0158 = 0.0007$. A quarter of the way up it is a quarter of that; at step
# 16,000, half of it.


# %% nbgrader={"grade": false, "grade_id": "noam_rate", "locked": false, "schema_version": 3, "solution": true, "task": false}
def noam_rate(step: int, d_model: int, warmup: int) -> float:
    """Give the learning rate of one update: rising in a straight line for `warmup` steps, then falling as 1 / √step.

    step: the number of the update, from 1 on; for step 0 the rate is 0.0. Returns a float.
    Source: Vaswani et al. 2017, section 5.3, equation 3.
    """
    ### BEGIN SOLUTION
    if step == 0:
        return 0.0
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: which piece is smaller?</summary>
#
# During the warm-up the rising piece is the smaller one, after it the falling one. No `if` is needed for that.
# </details>
#
# <details><summary>Hint 2: step 0</summary>
#
# What is `0 ** -0.5` in Python? Schedulers like to ask for step 0, so answer before you compute.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Return 0.0 for step 0. Otherwise the formula, word for word: a power, times the smaller of two powers.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-noam_rate", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(noam_rate)

# %% [markdown]
# **What you should see.** Three rates against the step. Look at the peaks: a longer warm-up makes a later *and lower*
# peak, and a wider model a lower one at the same place. Far to the right, the warm-up is forgotten.

# %%
with once_solved(noam_rate):
    _figure, steps = plt.figure(), range(0, 20_001, 50)
    for (d_model, warmup), colour in zip(((512, 4000), (512, 8000), (1024, 4000)), plots.COLOURS, strict=False):
        rates = [1000 * noam_rate(step, d_model, warmup) for step in steps]
        plt.plot(steps, rates, color=colour, label=f"d_model {d_model:,}, warm-up {warmup:,}")
    plt.xlabel("step")
    plt.ylabel("learning rate (thousandths)")
    plt.title("Up in a line, down with the root")
    plt.legend()
    plots.show("Learning rate against step for three settings: rising lines up to a peak, then slowly falling curves.")

# %% [markdown]
# **To think about.** Why $warmup^{-1.5}$, of all exponents?
#
# <details><summary>Answer</summary>
#
# So that the two pieces meet at $step = warmup$: there the rising one is $warmup \cdot warmup^{-1.5} = warmup^{-0.5}$, which is the
# falling one. With any other exponent, the smaller piece would change elsewhere, and `warmup` wouldn't be the length of the warm-up.
# </details>

# %% [markdown]
# << heading("greedy_decode") >>
#
# *About 12 minutes.* In training, the decoder sees the right answer so far, all positions at once. In use, there is
# no answer yet. So we let it write: start with BOS, ask what comes next, append the most likely token, ask again with
# the longer prefix, up to EOS.
#
# $$y_t = \arg\max_k \; p(k \mid y_1, \dots, y_{t-1}, x)$$
#
# Sentences of a batch end at different times. Those that have ended wait for the others, and get padding meanwhile. A
# worked example with letters, three sources, `_` for padding and `.` for EOS:
#
# | step | the prefixes | chosen | ended |
# | --- | --- | --- | --- |
# | 1 | `<`, `<`, `<` | `c`, `i`, `.` | no, no, **yes** |
# | 2 | `<c`, `<i`, `<.` | `a`, `.`, `_` | no, **yes**, yes |
# | 3 | `<ca`, `<i.`, `<._` | `.`, `_`, `_` | **yes**, yes, yes |
#
# The result is `ca.`, `i._`, `.__`, without the BOS, and the model isn't asked a fourth time. `max_len` is a brake
# for a model that never ends: no answer is longer, EOS included. Shapes: `src` of shape `(3, T_src)` gives `(3, 3)`
# here.
#
# And two courtesies. Writing is no training: switch to eval mode, so that no dropout disturbs, and compute no
# gradients. And leave the model as you found it: whoever decodes in the middle of training wants to go on in train
# mode.


# %% nbgrader={"grade": false, "grade_id": "greedy_decode", "locked": false, "schema_version": 3, "solution": true, "task": false}
def greedy_decode(model: nn.Module, src: Tensor, bos_id: int, eos_id: int, max_len: int) -> Tensor:
    """Write an answer to each source, one token after another, always the most likely next one.

    model: as Transformer (`encode`, `decode` or `forward`, and `pad_id`); src: (B, T_src) ids. Returns (B, T) int64 ids,
    T at most max_len: without BOS, with EOS, and after it `model.pad_id`, as wide as the longest answer. Stops when every
    row has ended. Runs in eval mode and without gradients, and leaves `model.training` as it was.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    with torch.no_grad():
        memory = model.encode(src)
        ids = torch.full((src.shape[0], 1), bos_id, device=src.device)  # (B, 1)
        ended = torch.zeros(src.shape[0], dtype=torch.bool, device=src.device)
        while ids.shape[1] <= max_len and not ended.all():
            logits = model.decode(ids, memory, src)[:, -1]  # (B, V): after the last token so far
            chosen = logits.argmax(-1).masked_fill(ended, model.pad_id)  # (B,)
            ids = torch.cat([ids, chosen.unsqueeze(1)], dim=1)
            ended |= chosen == eos_id
    model.train(was_training)
    return ids[:, 1:]
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: what to remember from step to step</summary>
#
# The ids so far, `(B, t)`, which begin with BOS and grow by a column at each step; and one flag for each row: has it
# ended? The memory of the encoder never changes, so it is enough to compute it once.
# </details>
#
# <details><summary>Hint 2: which logits?</summary>
#
# `decode` gives logits for *every* position of the prefix. Those at position $t$ say what comes after token $t$. You
# know all that already, except for one.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Note `model.training`; `model.eval()`; `with torch.no_grad():`. Encode. Loop at most `max_len` times: decode, take the last position's logits,
# argmax; put `model.pad_id` where a row has ended before; append the column; *then* mark the rows that have just chosen EOS; leave the loop
# when all are marked. Set the mode again: `model.train(...)` takes a flag. Cut off the BOS.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-greedy_decode", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(greedy_decode)

# %% [markdown]
# **What you should see.** A "translator" that only looks things up: which letter comes next stands in a table, which
# is written so that it answers each source with a word. Look at the right edge: every word ends with EOS, and after
# it there is nothing but padding.

# %%
letters, words = "_<.abcdefghijklmnopqrstuvwxyz", ["attention.", "is.", "all.", "you.", "need."]
table = torch.zeros(len(words), 10, len(letters), len(letters))
for source, word in enumerate(words):
    for step, letter in enumerate(word):
        table[source, step, :, letters.index(letter)] = 5.0
lookup = hosts_decoding.ScriptedTranslator(table)
with once_solved(greedy_decode):
    ids = greedy_decode(lookup, torch.arange(5)[:, None], bos_id=1, eos_id=2, max_len=12)
    colours = (ids > 2).float() + 0.5 * (ids == 2)  # letters, EOS, padding
    names = {0: "pad", 2: "EOS"}
    entries = [[names.get(token, letters[token]) for token in row] for row in ids.tolist()]
    rows, columns = [f"source {row}" for row in range(5)], [str(place + 1) for place in range(ids.shape[1])]
    plots.heat_map(colours, rows, columns, "Greedy answers", xlabel="token", entries=entries, vmin=-0.3, vmax=1.3)
    plots.show("Five rows of letters: attention, is, all, you, need, each with EOS at its end and padding after it.")

# %% [markdown]
# **To think about.** In training, the decoder always sees a *right* prefix. What happens in use when it has chosen a
# wrong token?
#
# <details><summary>Answer</summary>
#
# It goes on from there as if that were right, and it may never have seen such a prefix: nobody taught it what to do
# after a mistake, so one error easily brings more. This gap between training and use is called *exposure bias*. A
# greedy decoder also can't take anything back. The next exercise keeps several drafts, so that a token that looked best
# at first can turn out not to be.
# </details>

# %% [markdown]
# << heading("beam_search") >>
#
# *About 20 minutes, if you like.* The most likely first token needn't begin the most likely answer. **Beam search**
# keeps the `beam_size` best drafts instead of one. At each step it continues all of them with every token, and of all
# these continuations it keeps the best, by the log-probability of *everything* so far. Drafts that end are put aside.
#
# $$\log p(y_1, \dots, y_t \mid x) = \sum_{s \le t} \log p(y_s \mid y_{<s}, x), \qquad \text{score}(y) = \frac{\log p(y \mid x)}{\text{length}^{\,\alpha}}$$
#
# Every further token makes $\log p$ smaller, so comparing finished drafts by it would favour short ones. The score
# forgives length, by $\alpha$ = `length_penalty` (the paper uses 0.6, following Wu et al. 2016, whose formula has an
# offset more; here it is the plain power). Length counts EOS and not BOS.
#
# A worked example with a beam of two. After BOS, *a* has 0.6 and *b* 0.4. After *a*, nothing is clear: the best token
# has 0.3. After *b* everything is: *c* has 0.9. Then all drafts end.

# %%
for draft, chances in {"a a .": (0.6, 0.3, 1.0), "b c .": (0.4, 0.9, 1.0)}.items():
    log_p = sum(math.log(chance) for chance in chances)
    score = log_p / 3**0.6
    print(f"{draft}  p = {math.prod(chances):.2f}  log p = {log_p:.3f}  score = {log_p:.3f} / 3 ** 0.6 = {score:.3f}")

# %% [markdown]
# Greedy decoding takes *a* and can't get back. A beam of two still has *b* in hand when it turns out to be better.
#
# Shapes: as for `greedy_decode`. Inside, one source with four drafts is a batch of four, and so are its memory and
# its source.


# %% nbgrader={"grade": false, "grade_id": "beam_search", "locked": false, "schema_version": 3, "solution": true, "task": false}
def beam_search(
    model: nn.Module,
    src: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    beam_size: int = 4,
    length_penalty: float = 0.6,
) -> Tensor:
    """Write an answer to each source, keeping the `beam_size` most likely drafts at every step.

    Takes and returns what greedy_decode does, in the same modes. The answer is the draft with the best score, log p /
    length ** length_penalty, the length without BOS and with EOS. Drafts that haven't ended count only where none has. May
    stop once beam_size drafts have ended. beam_size=1 gives what greedy_decode gives.
    Source: Vaswani et al. 2017, section 6.1.
    """
    ### BEGIN SOLUTION
    was_training = model.training
    model.eval()
    answers = []
    with torch.no_grad():
        for source in src.split(1):  # (1, T_src)
            memory = model.encode(source)
            drafts, ended = [(0.0, [])], []  # log p, and the tokens without BOS
            while drafts and len(ended) < beam_size and len(drafts[0][1]) < max_len:
                ids = torch.tensor([[bos_id, *tokens] for _, tokens in drafts], device=src.device)  # (n, t)
                copies = [tensor.repeat_interleave(len(drafts), dim=0) for tensor in (memory, source)]
                log_p = model.decode(ids, *copies)[:, -1].log_softmax(-1)  # (n, V)
                totals = log_p + log_p.new_tensor([[total] for total, _ in drafts])
                best, places = totals.flatten().topk(min(beam_size, totals.numel()))
                rows, tokens = (places // totals.shape[1]).tolist(), (places % totals.shape[1]).tolist()
                longer = [[*drafts[row][1], token] for row, token in zip(rows, tokens, strict=True)]
                pairs = list(zip(best.tolist(), longer, strict=True))
                ended += [(p / len(draft) ** length_penalty, draft) for p, draft in pairs if draft[-1] == eos_id]
                drafts = [(p, draft) for p, draft in pairs if draft[-1] != eos_id]
            answers.append(torch.tensor(max(ended or drafts)[1], device=src.device))
    model.train(was_training)
    return nn.utils.rnn.pad_sequence(answers, batch_first=True, padding_value=model.pad_id)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: keep it simple</summary>
#
# One source at a time, in a Python loop, with drafts as a list of pairs: log p so far, and the tokens so far. Start with *one* draft:
# with four copies of it, all would stay the same for ever.
# </details>
#
# <details><summary>Hint 2: one step</summary>
#
# Stack the drafts into a batch, repeat memory and source to fit, decode, `log_softmax` of the last position: a table of
# drafts and tokens, `(n, V)`. Add to each row what its draft has so far. Now the best entries of the *whole* table are wanted: flatten it, `topk`, and get
# row and token back out of the place by division and remainder.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# While there are drafts, fewer than `beam_size` have ended, and they aren't `max_len` long: make the table, take its
# `beam_size` best entries (or all, where there are fewer), write the longer drafts. Those that end with EOS go to a list of
# their own, with their score; the others are the drafts of the next step. At the end take the best score of those that have
# ended; if none has, the best draft. Pad the answers to one width with `model.pad_id`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-beam_search", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(beam_search)

# %% [markdown]
# **What you should see.** Sixty random tables, by which every answer has six tokens. How likely is the answer that is
# found, against the size of the beam? The first point is greedy decoding. Look at the first two points: the second
# draft gains most of what there is to gain, and each further one less.

# %%
with once_solved(beam_search):
    table = torch.randn(60, 6, 12, 12, generator=torch.Generator().manual_seed(5))
    table[..., :3] -= 20.0  # no padding, no BOS, and EOS only at the end
    table[:, 5, :, 2] += 60.0
    lookup, sources, sizes = hosts_decoding.ScriptedTranslator(table), torch.arange(60)[:, None], (1, 2, 3, 4, 6, 8)
    log_p, means = table.log_softmax(-1), []
    for size in sizes:
        ids = beam_search(lookup, sources, 1, 2, max_len=6, beam_size=size)  # (60, 6)
        before = torch.cat([torch.ones(60, 1, dtype=torch.long), ids[:, :-1]], dim=1)
        means.append(log_p[sources, torch.arange(6), before, ids].sum(1).mean())
    _figure, ax = plt.subplots()
    ax.plot(sizes, means, "o-", color=plots.BLUE)
    ax.set(xlabel="beam_size", ylabel="mean log p (nats)", title="A wider beam finds likelier answers")
    plots.show("Mean log-probability of the answer against beam size: a steep rise from 1 to 2, then ever flatter.")

# %% [markdown]
# **To think about.** Large beams find likelier answers. In translation it has been seen that very large beams make
# *worse* ones. How can that be?
#
# <details><summary>Answer</summary>
#
# Then the likeliest answer isn't the best one: the model is wrong about what it has learned, and a narrow beam had kept that from
# showing. Stahlberg and Byrne (2019) searched exactly and found that for more than half of their sentences the
# translator's likeliest answer was the *empty* one. Length penalties and small beams hide this weakness.
# </details>


# %% [markdown]
# ## It translates
#
# Time to see the whole machine at work, every part of it yours. The languages are small enough to be learned while
# you wait: dates as people write them, into dates as ISO 8601 wants them. There are fourteen ways of writing, from
# `12/10/1952` (day first) to `9th day of October, nineteen fifty-two`, over 47,482 days. **2,000 days are held out**:
# the model never sees any of them, in any format, and will be tested on nothing else.

# %%
texts, answers = date_task.held_out_texts()
for text, answer in zip(texts[:6], answers[:6], strict=True):
    print(f"{text:42} → {answer}")
print(f"\nas tokens: {date_task.tokens_of(texts[0])}")
print(f"{len(date_task.source_words())} words on the left, {len(date_task.TARGET_WORDS)} signs on the right")

# %% [markdown]
# A model of the paper's shape, and about a 250th of the size of its base model: width 64, 4 heads, 2 + 2 layers.
# Training pairs are drawn afresh for every update, so nothing can be learned by heart, and dropout is left off. The
# rate is yours, times 0.35.
#
# Matrices start by Glorot and Bengio's rule, embeddings with deviation $d_{model}^{-0.5}$. (PyTorch's own start for
# embeddings, 1, is eight times that, and words would drown the positions.)

# %%
STEPS = 2_400  # updates of 32 dates each
decode_dates = functools.partial(greedy_decode, bos_id=BOS, eos_id=EOS, max_len=date_task.LONGEST)
watched, vocabularies = date_task.held_out(250), (len(date_task.source_words()), len(date_task.TARGET_WORDS))
curves = translation.LiveCourse(
    STEPS,
    "Learning to read dates",
    "Loss falling to its least possible value, and the share of right dates rising, against the number of updates.",
    floor=translation.least_loss(0.1, vocabularies[1]),
)


def date_rate(step: int) -> float:
    """Give the learning rate of the Transformer: Noam's, and a straight line down in the second half."""
    return 0.35 * noam_rate(step, 64, 100) * min(1, 2 * (1 - step / STEPS) + 0.02)


# %% [markdown]
# **What you should see.** The loss falls quickly at first, and then creeps towards the dotted line, the least that
# smoothed targets allow. The share of dates that are right *from the first sign to the last* (of 250 held-out ones)
# waits a while, and then shoots up.


# %%
@functools.cache
def trained() -> nn.Module:
    """Train your Transformer on dates; asked again, give the same one."""
    translator = Transformer(*vocabularies, d_model=64, n_heads=4, n_layers=2, d_ff=256, dropout=0.0)
    translation.initialise(translator, seed=0)
    options = (STEPS, watched, decode_dates, 100, curves, "Transformer")
    translation.train(translator, label_smoothed_loss, date_rate, date_task.batches(32, seed=0), *options)
    return translator


with once_solved(Transformer, label_smoothed_loss, noam_rate, greedy_decode):
    trained()

# %% [markdown]
# Now the test: all 2,000 held-out days.

# %%
with once_solved(Transformer, label_smoothed_loss, noam_rate, greedy_decode), translation.one_thread():
    right = translation.right_ones(trained(), date_task.held_out(), decode_dates)
    print(f"{right.double().mean():.2%} of {len(right):,} dates that it has never seen are right, whole")
    for number in (~right).nonzero()[:5, 0].tolist():
        written = decode_dates(trained(), date_task.held_out().src[number : number + 1])[0].tolist()
        print(f"wrong: {texts[number]:42} → {date_task.target_text(written)}, not {answers[number]}")

# %% [markdown]
# ## Is it the attention?
#
# A fair question: could the machinery of chapter 01 do this too? Two translators out of PyTorch's LSTM, of the same
# width, with your loss and your decoding. Both read the date in both directions. One has attention: its decoder looks
# at all states of the encoder, at each step. The other has *one state*: what the encoder ends with is all that the
# decoder gets.

# %%
LSTM_STEPS = 800


def lstm_rate(step: int, steps: int = LSTM_STEPS) -> float:
    """Give the learning rate of an LSTM: a short warm-up to 0.003, then a straight line down to a tenth of that."""
    return 3e-3 * min(1, step / 50) * (1 - 0.9 * step / steps)


with once_solved(label_smoothed_loss, greedy_decode):
    for attention, name in ((True, "LSTM with attention"), (False, "LSTM, one state")):
        torch.manual_seed(0)
        model, batches = RecurrentTranslator(*vocabularies, 64, attention), date_task.batches(32, seed=0)
        options = (LSTM_STEPS, watched, decode_dates, 100, curves, name)
        translation.train(model, label_smoothed_loss, lstm_rate, batches, *options)
        share = translation.exact_match(model, date_task.held_out(), decode_dates)
        print(f"{name}: {share:.2%} of 2,000 dates right, after {LSTM_STEPS} updates")

# %% [markdown]
# The figure above has got two more lines. **Dates don't show why one needs a Transformer**: with attention the LSTM
# learns faster than your machine, and each of its updates is cheaper as well. Without attention it is slower, but not
# stuck: given 4,857 updates of 64 dates it read all 2,000 held-out dates rightly (measured once, beforehand).
#
# That isn't a flaw of your machine. Dates are short, so one state has room for them, and reading in order is a good
# idea that an LSTM has from the start, while a Transformer must find out about order from what is added to its words.
# What the paper gained by leaving recurrence out was *time*, on hardware that computes all positions at once, for
# long sentences and large data. Nothing of that fits on two cores.

# %% [markdown]
# ## Cross-attention is an alignment
#
# But look at *how* it translates. When the decoder is about to write a sign, cross-attention says which words of the
# source it looks at. Nobody told the model which word gives which sign; it had to find out. Rows are the signs that
# are written, columns the words that are read: the mean over the heads of the last layer.


# %%
def draw_alignment(text: str) -> None:
    """Translate a date, and draw where each sign of the answer comes from."""
    src = torch.tensor([date_task.source_ids(text)])
    written = decode_dates(trained(), src)  # (1, T_tgt)
    prefix = torch.cat([torch.tensor([[BOS]]), written[:, :-1]], dim=1)
    weights = alignment.cross_attention(trained(), src, prefix)  # (H, T_tgt, T_src)
    signs = [date_task.TARGET_WORDS[token] for token in written[0].tolist()]
    labels = {"xlabel": "word that is read", "ylabel": "sign that is written next", "label": "attention weight"}
    title = f"{text} → {date_task.target_text(written[0].tolist())}"
    plots.heat_map(weights.mean(0), signs, date_task.tokens_of(text), title, digits=1, vmin=0, vmax=1, **labels)
    plots.show("Weights of cross-attention, signs of the ISO date by words of the written date.")


with once_solved(Transformer, label_smoothed_loss, noam_rate, greedy_decode):
    draw_alignment("the twenty-first of April 1967")

# %% [markdown]
# Look for columns that light up in the rows where you would look yourself: the year's digits are copied sign by sign,
# the month is looked at for the sixth and seventh sign, the day for the last two. It needn't be as tidy as a
# dictionary: by the time of the last layer, a word's vector holds something of its neighbours as well, and heads
# share the work.
#
# Try dates of your own, also such as don't exist. Words that no format has are refused.

# %%
with once_solved(Transformer, label_smoothed_loss, noam_rate, greedy_decode):
    draw_alignment("Feb 29 2023")
    alignment.text_field(draw_alignment, "December the 3rd, 1999")

# %% [markdown]
# ## Where one state isn't enough
#
# A task that is easier to explain, and harder for one state: **reverse a string of random symbols**. There is no
# grammar that would let anything be guessed; every symbol has to be carried over. First live, with short strings of 8
# to 12 symbols, 400 updates for each of both LSTMs.

# %%
SHORT = (8, 12)
strings = reversal_task.draw(250, SHORT, random.Random(1))
print(f"{reversal_task.written(strings.src[0].tolist())}   →   {reversal_task.written(strings.tgt[0].tolist())}")
alt = "Loss and share of right reversals for two LSTMs: with attention most are right at the end, without hardly any."
reversal_curves = translation.LiveCourse(400, "Reversing 8 to 12 symbols", alt)
with once_solved(label_smoothed_loss, greedy_decode):
    for attention, name in ((True, "LSTM with attention"), (False, "LSTM, one state")):
        torch.manual_seed(0)
        model = RecurrentTranslator(*[reversal_task.VOCABULARY] * 2, 64, attention)
        decode = functools.partial(greedy_decode, bos_id=BOS, eos_id=EOS, max_len=SHORT[1] + 1)
        rate, batches = functools.partial(lstm_rate, steps=400), reversal_task.batches(64, SHORT, seed=0)
        options = (400, strings, decode, 50, reversal_curves, name)
        translation.train(model, label_smoothed_loss, rate, batches, *options)

# %% [markdown]
# Longer strings take longer than you would want to wait, so the next figure was measured beforehand, by
# `benchmarks/reversal.py` of the course's repository: the same two, and the Transformer with the settings that you
# have just used for dates.

# %%
print(reversal_runs.summary())
_figure, (left, right) = plots.new_figure(2, 4.4)
reversal_runs.draw_courses(left)
reversal_runs.draw_lengths(right)
plots.show("Exact match of three translators on long reversals, against updates and against length of the string.")

# %% [markdown]
# Look at the lower line on the right: the longer the string, the less of it gets through one state. With attention,
# length matters far less. So it is *attention* that makes the difference here, with or without recurrence. Of the two that
# have it, the LSTM is ahead once more: after 1,500 updates it has learned the task in all three runs, while the
# Transformer is still on its way in two of them, and each of its updates costs about three times as much.
#
# **To think about.** The LSTM without attention gets two vectors of 64 numbers, hidden and cell state. A string of 20 symbols out of 20 holds $20
# \log_2 20 \approx 86$ bits, and 128 float32 numbers have room for thousands. So why does it fail?
#
# <details><summary>Answer</summary>
#
# Room isn't the trouble; *learning to use it* is. Each symbol must be written into the state in such a way that it survives
# all later ones, and the decoder must be able to read them out in reverse, one after the other. The gradient for that goes through
# the whole chain, from the end of the answer back to the beginning of the string. (And it doesn't fail for ever: with far more updates it gets
# better, as the short strings show.) Attention makes every state readable as it is, one step away.
# </details>

# %% [markdown]
# ## What to take along
#
# | piece | what it is for | without it |
# | --- | --- | --- |
# | residual and LayerNorm | a clear path for gradients through every layer | deep stacks hardly train |
# | feed-forward network | computes on what attention has fetched | layers only mix |
# | causal mask in the decoder | all positions are trained at once | the answer is copied from the input |
# | cross-attention | the source stays readable, word by word | one state has to hold everything |
# | label smoothing | a best answer that can be reached | logits grow without end |
# | warm-up | small steps while gradients are rough | early steps that are hard to undo |
# | greedy decoding, beam search | an answer out of a model of next tokens | probabilities, and no sentence |
#
# With this machine, 6 + 6 layers wide 512 (1,024 in its large form), the paper's authors translated from English into
# German better than anybody before them, at a fraction of the training cost (its table 2). The next chapter keeps
# only the left half of the machine, and lets it read.

# %%
progress("06_transformer_stack")

# %% [markdown]
# ## Further reading
#
# - Vaswani et al. 2017, *Attention Is All You Need*, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762): section 3.1 is
#   the stack, 3.3 the feed-forward network, 5.3 and 5.4 the recipe, 6.1 beam search.
# - Sutskever, Vinyals and Le 2014, *Sequence to Sequence Learning with Neural Networks*,
#   [arXiv:1409.3215](https://arxiv.org/abs/1409.3215): translation through one state, and why they *reversed* the source.
# - Bahdanau, Cho and Bengio 2014, *Neural Machine Translation by Jointly Learning to Align and Translate*,
#   [arXiv:1409.0473](https://arxiv.org/abs/1409.0473): attention for LSTM-like translators, and the first alignments of this kind.
# - Szegedy et al. 2015, *Rethinking the Inception Architecture*, [arXiv:1512.00567](https://arxiv.org/abs/1512.00567):
#   section 7 introduces label smoothing.
# - Xiong et al. 2020, *On Layer Normalization in the Transformer Architecture*,
#   [arXiv:2002.04745](https://arxiv.org/abs/2002.04745): why post-norm needs a warm-up, and what changes if the norm comes first.
# - Stahlberg and Byrne 2019, *On NMT Search Errors and Model Errors: Cat Got Your Tongue?*,
#   [arXiv:1908.10090](https://arxiv.org/abs/1908.10090): what the likeliest answers really are.

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
# *<< chapter.points >> points and << exercise("KVCache").points >> extra · about an hour · runs on a CPU, without
# internet, all cells together in less than a minute*
#
# One softmax makes one choice. Its weights add up to 1, so whoever needs two things at once has to share, and gets
# *the average* of both. The paper's remedy is almost too simple: cut the width into parts, let each part attend for
# itself, and lay the results side by side.
#
# $$\mathrm{MultiHead}(Q, K, V) = \mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O, \qquad
# \mathrm{head}_i = \mathrm{Attention}(Q W_i^Q,\; K W_i^K,\; V W_i^V)$$
#
# **After this chapter you can**
# - cut a tensor into heads and put it together again, without mixing up words and heads;
# - build multi-head attention that agrees with PyTorch's own, with masks of two, three and four dimensions;
# - say why several heads have as many weights as one, and show a task that one head can't do and two can;
# - take a trained layer apart: its output is a sum over heads, and you can switch a single one off;
# - (extra) generate one token at a time without computing anything twice.
#
# **You need** scaled dot-product attention and masks (chapter 02), and where queries, keys and values come from
# (chapter 03).

# %%
import copy
import functools
import time

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

from utils import attention_view, check, mine, once_solved, plots, progress, tile_task

# %%
progress("04_multi_head")

# %% [markdown]
# One piece comes from an earlier chapter: your own attention if it passes its check there, PyTorch's if not.

# %%
scaled_dot_product_attention = mine("scaled_dot_product_attention")

# %% [markdown]
# ## Where this chapter sits
#
# Filled: this chapter. Look at the three boxes: every attention in the machine is multi-head attention, and they differ
# only in what is handed to them. From here on it is one building block among others.

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
title = "Encoder (above), decoder (below): every attention has several heads"
plots.diagram(places, paths, here=[encoder[1], decoder[1], decoder[2]], title=title)
plots.show("Encoder and decoder as two rows of boxes; the three attention boxes are filled: this chapter builds them.")

# %% [markdown]
# ## One softmax has to share
#
# The sentence of chapter 02 again, with queries, keys and values written by hand. *Chased* wants to know two things:
# who did it (an animal), and what it was done to (a thing). Look at both tables. With one head, *chased* divides itself
# between *dog* and *ball*, and takes home half of each: from the average nobody can tell who chased whom. With two
# heads it asks two questions, one each, and gets two clear answers.

# %%
words = ["the", "hungry", "dog", "chased", "its", "red", "ball"]
animal, thing = torch.eye(2)
keys = torch.stack([0 * animal, 0 * animal, animal, 0 * animal, 0 * animal, 0 * animal, thing])  # (T, 2)
wishes = {"one head": animal + thing, "two heads: who?": 2 * animal, "two heads: what?": 2 * thing}
rows = [scaled_dot_product_attention(4 * wish[None], keys, keys)[1] for wish in wishes.values()]  # each (1, T)
labels = {"xlabel": "key: the word that is looked at", "label": "attention weight", "vmin": 0, "vmax": 1}
plots.heat_map(torch.cat(rows), list(wishes), words, 'Where "chased" looks', **labels)
plots.show("Weights of chased: with one head dog and ball share; with two heads one looks at dog, the other at ball.")

# %% [markdown]
# So each position gets several queries, several keys and several values: one of each per **head**. They come from where
# the first ones came from, a linear layer. And they cost nothing extra, since the heads *share out* the width that was
# there before:
#
# | name | meaning | in the paper |
# | --- | --- | --- |
# | `d_model` | width of a word's vector | 512 |
# | `n_heads`, or `H` | number of heads | 8 |
# | `d_k` = `d_model / n_heads` | width of a query, key and value in one head | 64 |
#
# The picture is your work list, left to right. Three of its boxes are linear layers, and the one in the middle is done.

# %%
row = ["project\nq, k, v\nexercise 3", "split\ninto heads\nexercise 1", "attention in\nevery head\n(chapter 02)"]
row += ["merge\nthe heads\nexercise 2", "mix with\n$W^O$\nexercise 3"]
places = {box: (column, 0) for column, box in enumerate(row, start=1)}
places |= {"query, key,\nvalue (B, T,\nd_model)": (0, 0), "output\n(B, T,\nd_model)": (6, 0)}
path = ["query, key,\nvalue (B, T,\nd_model)", *row, "output\n(B, T,\nd_model)"]
plots.diagram(places, [path], here=[row[0], row[1], row[3], row[4]], title="Project, split, attend, merge, mix")
plots.show("Five boxes in a row: project, split into heads, attend in every head, merge the heads, mix.")

# %% [markdown]
# << heading("split_heads") >>
#
# *About 6 minutes.* A projection gives each word one vector of width `d_model`. Head $h$ gets its features $h \cdot d_k$
# to $(h+1) \cdot d_k - 1$: neighbours, all of the same word.
#
# $$\text{heads}[b, h, t, c] = x[b, t, h \cdot d_k + c]$$
#
# The head comes in front of the time, so that the last two dimensions are a matrix of words and features, as attention
# likes it, and everything in front is carried along.
#
# A worked example by hand: one sentence of two words, width 6, three heads of width 2. Each number tells where it comes
# from: the word in front of the point, the feature after it.

# %%
x = torch.tensor([[[0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]]])
by_hand = torch.tensor([[[[0.0, 0.1], [1.0, 1.1]], [[0.2, 0.3], [1.2, 1.3]], [[0.4, 0.5], [1.4, 1.5]]]])
print("before", tuple(x.shape), "   after", tuple(by_hand.shape))
for head in range(3):
    print(f"head {head}:", [[round(value, 1) for value in word] for word in by_hand[0, head].tolist()])

# %% [markdown]
# Every head holds *both* words, and of each word a third of its features. In general `(B, T, d_model)` becomes `(B, H,
# T, d_k)`: `(2, 5, 12)` with three heads is `(2, 3, 5, 4)`.


# %% nbgrader={"grade": false, "grade_id": "split_heads", "locked": false, "schema_version": 3, "solution": true, "task": false}
def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Share the width out between heads: head h gets the h-th block of neighbouring features of every word.

    x: (B, T, d_model), contiguous in memory or not. Returns (B, n_heads, T, d_model / n_heads).
    ValueError where d_model isn't divisible by n_heads. Source: Vaswani et al. 2017, section 3.2.2.
    """
    ### BEGIN SOLUTION
    if x.shape[-1] % n_heads:
        raise ValueError(f"a width of {x.shape[-1]} can't be shared out between {n_heads} heads")
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)  # (B, H, T, d_k)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: two steps</summary>
#
# First only cut: the last dimension becomes two, and nothing moves. Which of the two is the head, so that a head's
# features are neighbours? Then bring the dimensions into the order that is asked for.
# </details>
#
# <details><summary>Hint 2: reshaping isn't swapping</summary>
#
# `reshape`, `view` and `unflatten` keep all numbers in their reading order and only set the brackets anew. They can't
# bring the head in front of the time. A reshape straight to `(B, H, T, d_k)` has the right shape, and the wrong words
# in each head. Swapping two dimensions is another operation.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Refuse a width that leaves a rest. Cut the last dimension into `(n_heads, d_k)`: the shape is then `(B, T, H, d_k)`.
# Swap dimensions 1 and 2. For the cut, choose an operation that doesn't insist on contiguous memory: not `view`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-split_heads", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(split_heads)

# %% [markdown]
# **What you should see.** Left: four words, twelve features, coloured by the head that a feature belongs to. Right: the
# three heads one above the other. Look at the numbers: each head has a row for every word, and four features that were
# neighbours before.

# %%
with once_solved(split_heads):
    x = torch.arange(4)[:, None] + torch.arange(12) / 100  # word 2, feature 7 is 2.07
    heads = split_heads(x[None], 3)[0]  # (3, 4, 4)
    owner = torch.arange(12).div(4, rounding_mode="floor").expand(4, 12)
    owners = split_heads(owner[None], 3)[0]
    _figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.2), width_ratios=(2.6, 1))
    features = [str(feature) for feature in range(12)]
    look = {"cmap": "viridis", "vmin": 0, "vmax": 2.4}
    entries = [[plots.number(value) for value in line] for line in x]
    plots.heat_map(owner, list("0123"), features, "x: (T, d_model)", "word", "feature", "", entries, ax=left, **look)
    entries = [[plots.number(value) for value in line] for line in heads.flatten(0, 1)]
    names = [f"head {head}, word {word}" for head in range(3) for word in range(4)]
    title = "heads: (H, T, d_k)"
    plots.heat_map(owners.flatten(0, 1), names, list("0123"), title, "", "feature", "", entries, ax=right, **look)
    plots.show("Left: a matrix of 4 words and 12 features in three coloured blocks. Right: the blocks as three heads.")

# %% [markdown]
# **To think about.** Somebody writes `x.reshape(B, H, T, d_k)` and is done: the shape is right. Take the worked example
# above. What is in head 0 now?
#
# <details><summary>Answer</summary>
#
# Reading order is kept, so head 0 gets the first four numbers, cut into two rows: `[[0.0, 0.1], [0.2, 0.3]]`. Both rows
# are *word 0*: its first features pose as word 0, and its next ones as word 1. Word 1 is found in the last head only.
# With a mask, "word 1 is hidden" would hide half of word 0. The bad thing is that a model with this mistake still
# trains: each linear layer makes the best of what it gets. The loss goes down, and only a check sees it.
# </details>

# %% [markdown]
# << heading("merge_heads") >>
#
# *About 5 minutes.* The way back: every head has made an output for every word, and a word's outputs are laid side by
# side, head 0 first. That is $\mathrm{Concat}$ in the formula.
#
# $$y[b, t, h \cdot d_k + c] = \text{heads}[b, h, t, c]$$
#
# A worked example: two heads, three words, width 2 per head. Again the numbers say where they come from: the head in
# front of the point, then the word, then the feature.

# %%
heads = torch.tensor([[[[0.00, 0.01], [0.10, 0.11], [0.20, 0.21]], [[1.00, 1.01], [1.10, 1.11], [1.20, 1.21]]]])
merged = torch.tensor([[[0.00, 0.01, 1.00, 1.01], [0.10, 0.11, 1.10, 1.11], [0.20, 0.21, 1.20, 1.21]]])
print("before", tuple(heads.shape), "   after", tuple(merged.shape))
for word in range(3):
    print(f"word {word}:", [round(value, 2) for value in merged[0, word].tolist()])


# %% nbgrader={"grade": false, "grade_id": "merge_heads", "locked": false, "schema_version": 3, "solution": true, "task": false}
def merge_heads(x: Tensor) -> Tensor:
    """Lay the heads of every word side by side: the inverse of split_heads.

    x: (B, H, T, d_k), contiguous in memory or not. Returns (B, T, H * d_k), all of head 0 first.
    Source: Vaswani et al. 2017, section 3.2.2, "Concat".
    """
    ### BEGIN SOLUTION
    return x.transpose(1, 2).flatten(2)  # (B, T, H, d_k), then (B, T, H·d_k)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: undo the steps in reverse</summary>
#
# Splitting was: cut, then swap. To put on socks and shoes and take them off again, in which order do you go?
# </details>
#
# <details><summary>Hint 2: what has to be neighbours</summary>
#
# Joining two dimensions into one works on neighbours. In `(B, H, T, d_k)` the head isn't next to the features; joining
# right away would lay *words* side by side.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Swap dimensions 1 and 2, so that the shape is `(B, T, H, d_k)`. Join the last two. After a swap the memory isn't
# contiguous any more: `view` refuses, `reshape` and `flatten` copy where they have to.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-merge_heads", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(merge_heads)

# %% [markdown]
# **What you should see.** There and back, for every number of heads that divides 12: nothing is lost, and nothing has
# moved.

# %%
with once_solved(split_heads, merge_heads):
    x = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(0))
    for n_heads in (1, 2, 3, 4, 6, 12):
        heads = split_heads(x, n_heads)
        print(f"{tuple(x.shape)} → {tuple(heads.shape)!s:14} → the same again: {torch.equal(merge_heads(heads), x)}")

# %% [markdown]
# **To think about.** `x.reshape(B, T, H * d_k)`, without the swap, undoes the wrong split of the question above exactly.
# Why does that make the mistake so hard to find?
#
# <details><summary>Answer</summary>
#
# Because "merging undoes splitting" holds for the wrong pair as well as for the right one. A round trip says that two
# functions fit each other, not that either is right. Two wrongs that cancel pass every test that looks only at the
# ends. That is why your check compares the heads themselves.
# </details>

# %% [markdown]
# << heading("MultiHeadAttention") >>
#
# *About 18 minutes.* Now the block. It is a module with four linear layers, and it takes `query`, `key` and `value`
# separately: in self-attention all three are the same sentence, in cross-attention (chapter 06) the queries come from
# one sentence and keys and values from another, so that $T_q$ and $T_k$ differ.
#
# | step | shape |
# | --- | --- |
# | `query`; `key` and `value` | `(B, T_q, d_model)`; `(B, T_k, d_model)` |
# | `q_proj`, `k_proj`, `v_proj`, then split | `(B, H, T_q, d_k)`; `(B, H, T_k, d_k)` twice |
# | attention in every head: weights | `(B, H, T_q, T_k)` |
# | weights · v | `(B, H, T_q, d_k)` |
# | merge, then `out_proj` | `(B, T_q, d_model)` |
#
# The formula has $h$ small matrices $W_i^Q$, and the module one large `q_proj`: the small ones stand in it one below the
# other, so a single product does the work of all. Without `out_proj` the heads would stay side by side for ever; it
# lets what one head has found reach every feature.
#
# **Masks.** True = may attend, as always, and the shape says whom it is for:
#
# | mask | holds for | what to do |
# | --- | --- | --- |
# | `(T_q, T_k)` | every sentence, every head | nothing, it broadcasts |
# | `(B, 1, T_k)` or `(B, T_q, T_k)` | each sentence its own, every head | the heads need a dimension |
# | `(B, H, T_q, T_k)`, or with a 1 anywhere | as it says | nothing |
#
# The middle row is a trap. Shapes are lined up from the right, so `(B, T_q, T_k)` would lay its `B` against the `H` of
# the scores. Where `B` and `H` differ there is an error. Where they happen to be equal, sentence 0's mask silently
# becomes head 0's. A worked example with two sentences and two heads, on scores of which none is special:

# %%
scores = torch.zeros(2, 2, 1, 3)  # (B, H, T_q, T_k)
mask = torch.tensor([[[True, True, False]], [[True, True, True]]])  # (B, 1, T_k): sentence 0 has two words
broadcast = mask.expand(2, 2, 1, 3)
for sentence in (0, 1):
    for head in (0, 1):
        print(f"sentence {sentence}, head {head} may see", broadcast[sentence, head, 0].int().tolist())

# %% [markdown]
# That is the trap at work: sentence 0 should see two words with both heads, and sentence 1 three.
#
# **Dropout** acts on the weights, in train mode only: some looks are forgotten at random, and the others are made
# louder by $1/(1-p)$. `nn.Dropout` knows the mode by itself.
#
# **A query that may attend to nothing** brings home zeros from every head, and then meets `out_proj`, whose bias shows.
# Nothing to do, if attention gives zeros there.
#
# *Not allowed here*: `F.scaled_dot_product_attention`, `nn.MultiheadAttention` and what is under them. What `mine(…)`
# gave you above is fine.


# %% nbgrader={"grade": false, "grade_id": "MultiHeadAttention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class MultiHeadAttention(nn.Module):
    """Attend with n_heads heads, each in its own d_model / n_heads of the width (Vaswani et al. 2017, section 3.2.2)."""

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        """Make `q_proj`, `k_proj`, `v_proj`, `out_proj`, each `nn.Linear(d_model, d_model, bias=bias)`, and `n_heads`.

        ValueError where d_model isn't divisible by n_heads. `dropout` is the share of attention weights dropped.
        """
        ### BEGIN SOLUTION
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model = {d_model} can't be shared out between {n_heads} heads")
        self.n_heads = n_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model, bias) for _ in range(4))
        self.dropout = nn.Dropout(dropout)
        ### END SOLUTION

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Give output (B, T_q, d_model) and weights (B, H, T_q, T_k).

        query: (B, T_q, d_model), key and value: (B, T_k, d_model). mask: bool, True = may attend; (T_q, T_k) for all,
        (B, 1 or T_q, T_k) for each sentence with every head, or four dimensions as they are.
        """
        ### BEGIN SOLUTION
        pairs = ((self.q_proj, query), (self.k_proj, key), (self.v_proj, value))
        q, k, v = (split_heads(project(x), self.n_heads) for project, x in pairs)  # (B, H, T, d_k)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)  # (B, 1, T_q, T_k): one per sentence, for every head
        _output, weights = scaled_dot_product_attention(q, k, v, mask)  # (B, H, T_q, T_k)
        heads = self.dropout(weights) @ v  # (B, H, T_q, d_k)
        return self.out_proj(merge_heads(heads)), weights  # (B, T_q, d_model)
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: the constructor</summary>
#
# A module begins with `super().__init__()`; only after it can layers be attached. Then five things have to be kept: the
# number of heads, and four layers under the names that are given, since the check loads weights by these names.
# Dropout is best kept as a module too. When is the sentence about `ValueError` checked: when the module is built, or
# when it is called?
# </details>
#
# <details><summary>Hint 2: forward, in the order of the table</summary>
#
# Each line of the table of shapes is a line of code. Project first and split after: each head needs its own part of the
# projection. Attention itself doesn't care about dimensions in front, so all heads are done in one call. Its first
# result has had no dropout on the weights, so you need the second.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Project query, key and value, each with its own layer, and split each into heads. A mask of three dimensions gets a
# dimension for the heads, in second place; others stay as they are. Take the weights from
# `scaled_dot_product_attention`, drop some of them, multiply by the values of the heads. Merge the heads, apply
# `out_proj`. Return the output, and the weights of all heads.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-MultiHeadAttention", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(MultiHeadAttention)

# %% [markdown]
# **What you should see.** The bill, for the paper's width and a sentence of 20 words. Look down the columns: the number
# of weights to learn is the same for one head and for 64, and so is the number of multiplications in all scores
# together ($H \cdot T^2 \cdot d_k = T^2 \cdot d_{model}$). What does grow is the number of attention weights, one matrix
# per head.

# %%
with once_solved(split_heads, merge_heads, MultiHeadAttention):
    x = torch.randn(1, 20, 512, generator=torch.Generator().manual_seed(1))
    print("heads   parameters   multiplications for scores   attention weights")
    for n_heads in (1, 8, 64):
        attention = MultiHeadAttention(512, n_heads)
        parameters = sum(parameter.numel() for parameter in attention.parameters())
        weights = attention(x, x, x)[1]
        products = weights.numel() * 512 // n_heads
        print(f"{n_heads:5}   {parameters:10,}   {products:26,}   {weights.numel():17,}")

# %% [markdown]
# **To think about.** If heads cost no parameters, why not take 512 heads of width 1?
#
# <details><summary>Answer</summary>
#
# A head's scores are products of queries and keys of width $d_k$, so its matrix of scores has at most rank $d_k$. With
# width 1, a score is a single number times a single number: one scale from "wants little" to "wants much", and no way
# to say *this key and no other* among many. Narrow heads ask crude questions. In the paper's table 3, rows (A), one
# head of width 512 did 0.9 BLEU worse than the best number of heads, and with too many heads quality fell again.
# </details>

# %% [markdown]
# ## A task with two relations
#
# Does a second head really help? Time for a task in which two relations matter, and in which we know the right answer.
# Twelve tiles lie in a ring. Each shows a letter and a digit, and every letter lies there exactly twice. For every tile
# there are two questions:
#
# - which digit is on its **left neighbour**? (A matter of *place*; the ring is closed, so the first tile's left
#   neighbour is the last.)
# - which digit is on its **twin**, the other tile with the same letter? (A matter of *content*.)

# %%
rings = tile_task.draw_rings(1, torch.Generator().manual_seed(4))
tiles = tile_task.names_of(rings)
print("ring          ", "  ".join(tiles))
for name, digits in zip(tile_task.RELATIONS, rings.targets[:, 0].tolist(), strict=True):
    print(f"{name:15}", "   ".join(str(digit) for digit in digits))

# %% [markdown]
# The model is as small as can be, so that nothing but attention can do the work: a tile's vector is the sum of a letter's, a
# digit's and a place's (all learned; chapter 05 is about places); one layer of *your* attention; and a linear readout
# of its output for each question. There is no path around attention and no network after it.
#
# Three models of the same width, 48, and the same number of parameters: one head of width 48, two of width 24, four of
# width 12. Training takes some seconds each; the bars show how far it is.


# %%
@functools.cache  # each model is trained once, and then remembered
def trained(n_heads: int) -> tile_task.TileReader:
    """Train a reader of tiles of width 48 with your attention in it."""
    return tile_task.train(lambda: MultiHeadAttention(48, n_heads), d_model=48, steps=400)


with once_solved(split_heads, merge_heads, MultiHeadAttention):
    for n_heads in (1, 2, 4):
        trained(n_heads)

# %% [markdown]
# Look at the first pair of bars. One head answers *one* of the questions, and fails at the other. Two heads answer both.

# %%
with once_solved(split_heads, merge_heads, MultiHeadAttention):
    fresh = tile_task.draw_rings(500, torch.Generator().manual_seed(99))
    shares = torch.stack([tile_task.accuracy(trained(n_heads), fresh) for n_heads in (1, 2, 4)])  # (3, 2)
    _figure, ax = plt.subplots(figsize=(10, 4))
    for number, (name, colour) in enumerate(zip(tile_task.RELATIONS, (plots.BLUE, plots.ORANGE), strict=True)):
        at = torch.arange(3) + 0.36 * (number - 0.5)
        bars = ax.bar(at, 100 * shares[:, number], width=0.34, color=colour, label=f"digit of the {name}")
        ax.bar_label(bars, fmt="%.0f %%", fontsize=12)
    ax.axhline(10, color=plots.BLACK, linewidth=1.5, linestyle=":", label="guessing: 10 %")
    ax.set_xticks(range(3), ["1 head of 48", "2 heads of 24", "4 heads of 12"])
    ax.set(ylabel="right answers (%)", ylim=(0, 112), title="500 new rings: one question per head")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 0.95))
    plots.show(
        "Right answers: one head gets one question right and the other rarely; two and four heads get both right."
    )

# %% [markdown]
# It isn't an accident of this run: with five seeds, one head gave between 99.6 and 100 % on one question and 19 or 20 %
# on the other (chance decided which: the neighbour won twice, the twin three times), and two heads gave 100 % on both,
# five times out of five.
#
# And nearly that is what you get for *giving the same answer twice*: for 1 tile in 11 the twin **is** the left neighbour,
# and for 1 in 10 of the others the two digits agree by luck, together $\frac{1}{11} + \frac{10}{11} \cdot \frac{1}{10} \approx
# 18\,\%$. Now look *why*, at the weights:

# %%
with once_solved(split_heads, merge_heads, MultiHeadAttention):
    _logits, one = trained(1)(rings)  # (1, 1, 12, 12)
    _logits, two = trained(2)(rings)  # (1, 2, 12, 12)
    names = ["the only head", "two heads: head 0", "two heads: head 1"]
    _figure, axes = plt.subplots(1, 3, figsize=(14, 5), sharey=True)
    for ax, weights, name in zip(axes, [one[0, 0], *two[0]], names, strict=True):
        blank = [[""] * 12] * 12
        plots.heat_map(weights, tiles, tiles, name, entries=blank, ax=ax, vmin=0, vmax=1, aspect="equal")
        ax.set_xlabel("key: the tile that is looked at")
    axes[0].set_ylabel("query: the tile that looks")
    axes[2].figure.colorbar(axes[2].images[0], ax=axes, label="attention weight", shrink=0.8)
    plots.show(
        "The only head has two half-bright keys per row; of two heads one shows a diagonal, one finds the twins."
    )

# %% [markdown]
# The only head looks at *both* tiles, with about half of its weight each. But what comes home is one vector, $0.5\,
# v_{neighbour} + 0.5\, v_{twin}$, in which both digits stand, and nothing says which is whose. A linear readout can only
# weigh what is there, so the louder digit wins both questions. Of the two heads, one draws the diagonal of neighbours,
# whatever the letters; the other finds the twin, wherever it lies. Nobody told them to divide the work. It is what
# makes the loss small, and random first weights decided who does what.
#
# (A layer *behind* attention that isn't linear could learn to pull apart a louder and a softer digit. So "one head can't"
# is a statement about this model. That a mixture is a bad messenger is true in general.)
#
# The same numbers over all 500 rings: how much of its weight does each head put on the neighbour, and on the twin?

# %%
with once_solved(split_heads, merge_heads, MultiHeadAttention):
    looks = [tile_task.looked_at(trained(n_heads), fresh) for n_heads in (1, 2, 4)]  # each (H, 2)
    names = [f"{len(look)} head{'s' if len(look) > 1 else ''}: head {h}" for look in looks for h in range(len(look))]
    options = {"label": "mean attention weight", "vmin": 0, "vmax": 1}
    _figure, ax = plt.subplots(figsize=(7, 4.6))
    plots.heat_map(torch.cat(looks), names, tile_task.RELATIONS, "Who looks where?", ax=ax, **options)
    ax.set_xticks(range(2), tile_task.RELATIONS, rotation=0, ha="center")
    plots.show("Mean weights: the only head halves itself; of two heads one takes the neighbour, the other the twin.")

# %% [markdown]
# A head that looks only at one relation still puts about 0.09 on the other: for 1 tile in 11 both are the same.
# With four heads the work is shared out less tidily: there may be two heads for one relation, or one that looks at a bit
# of everything and isn't needed. That is how heads look in large models too: some have a clear role, many haven't.
#
# Explore it yourself: point at a tile, and see where the two heads look.

# %%
view = None
with once_solved(split_heads, merge_heads, MultiHeadAttention):
    view = attention_view(trained(2)(rings)[1][0], tiles, title="Twelve tiles, two heads", names=["head 0", "head 1"])
view

# %% [markdown]
# << heading("copy_from_torch") >>
#
# *About 8 minutes.* PyTorch has this block too, `nn.MultiheadAttention`. If yours is right, then with the same weights
# both have to give the same output, to the last digit that float32 carries. But its weights are kept in another way:
# the three matrices for queries, keys and values stand one below the other in a single `in_proj_weight`.
#
# | PyTorch's | shape | yours |
# | --- | --- | --- |
# | `in_proj_weight` | `(3 · d_model, d_model)` | `q_proj.weight`, then `k_proj.weight`, then `v_proj.weight` |
# | `in_proj_bias`, or `None` | `(3 · d_model,)` | the three biases, in the same order |
# | `out_proj.weight`, `out_proj.bias` | `(d_model, d_model)`, `(d_model,)` | the same |
#
# Copying between differently named and packed weights is daily work: in chapter 07 you do it with a real pretrained
# model. A worked example for what is meant by *values, not storage*:

# %%
theirs, view_of_it, copy_of_it = torch.zeros(2), None, nn.Parameter(torch.ones(2))
view_of_it = nn.Parameter(theirs)  # the same memory under another name
with torch.no_grad():  # a change of weights that no gradient should know about
    copy_of_it.copy_(theirs)
theirs += 5  # the other model goes on training
print("shares storage:", view_of_it.tolist(), "   has the values of then:", copy_of_it.tolist())
print("still learns:", copy_of_it.requires_grad)


# %% nbgrader={"grade": false, "grade_id": "copy_from_torch", "locked": false, "schema_version": 3, "solution": true, "task": false}
def copy_from_torch(mine: nn.Module, theirs: nn.MultiheadAttention) -> None:
    """Copy all weights of PyTorch's multi-head attention into ours, so that both give the same output.

    mine: a MultiHeadAttention of the same width, number of heads, and with biases or without, as theirs. Its
    parameters get theirs' values, not their storage, and can still be trained; theirs isn't changed.
    """
    ### BEGIN SOLUTION
    ours = (mine.q_proj, mine.k_proj, mine.v_proj)
    with torch.no_grad():
        for layer, weight in zip(ours, theirs.in_proj_weight.chunk(3), strict=True):
            layer.weight.copy_(weight)
        if theirs.in_proj_bias is not None:
            for layer, bias in zip(ours, theirs.in_proj_bias.chunk(3), strict=True):
                layer.bias.copy_(bias)
    mine.out_proj.load_state_dict(theirs.out_proj.state_dict())
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: what has to be cut</summary>
#
# Only the packed weight and the packed bias, each into three equal parts, along the first dimension. `out_proj` is an
# ordinary linear layer on both sides.
# </details>
#
# <details><summary>Hint 2: writing into a parameter</summary>
#
# PyTorch doesn't let you write into a parameter that learns, unless you say that no gradient should know. And
# `layer.weight = other.weight` copies nothing: afterwards both models hold one and the same parameter.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Without gradients: cut `in_proj_weight` into three, and copy each part in place into the weight of `q_proj`, `k_proj`
# and `v_proj`, in this order. If there is an `in_proj_bias`, do the same with it. Then copy weight and, where there is
# one, bias of `out_proj`; two linear layers of the same shape can also pass on their state dict.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-copy_from_torch", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(copy_from_torch)

# %% [markdown]
# **What you should see.** The largest difference between your output and PyTorch's, and between your weights and
# PyTorch's, with and without biases: 0, or rounding of about $10^{-7}$. (PyTorch's mask has the opposite meaning, True =
# hidden; hence the `~`.)

# %%
with once_solved(split_heads, merge_heads, MultiHeadAttention, copy_from_torch):
    generator = torch.Generator().manual_seed(5)
    query, memory = torch.randn(2, 7, 64, generator=generator), torch.randn(2, 11, 64, generator=generator)
    mask = torch.rand(7, 11, generator=generator) < 0.7
    for bias in (True, False):
        theirs = nn.MultiheadAttention(64, 4, bias=bias, batch_first=True).eval()
        ours = MultiHeadAttention(64, 4, bias=bias).eval()
        copy_from_torch(ours, theirs)
        expected = theirs(query, memory, memory, attn_mask=~mask, average_attn_weights=False)
        gaps = [(a - b).abs().max().item() for a, b in zip(ours(query, memory, memory, mask), expected, strict=True)]
        print(f"bias={bias!s:5}   largest difference: output {gaps[0]:.0e}, weights {gaps[1]:.0e}")

# %% [markdown]
# **To think about.** You swap two heads: their blocks of rows in `q_proj`, `k_proj` and `v_proj`, and their blocks of
# columns in `out_proj`. What changes in the output? What does that say about comparing two trained models weight by
# weight?
#
# <details><summary>Answer</summary>
#
# Nothing changes: the heads are added up in the end (you'll see it in a moment), and a sum doesn't care about the order
# of its terms. So each trained layer has $h!$ twins with the same output and different weights. Two models may have
# learned the same thing and still differ in every number; compare what they *do*, not what they hold.
# </details>

# %% [markdown]
# ## The output is a sum over heads
#
# $\mathrm{Concat}(\dots)\, W^O$ hides something simple. Cut $W^O$ into one block per head, just as the concatenation
# consists of one block per head, and multiply block by block:
#
# $$\mathrm{Concat}(\mathrm{head}_1, \dots, \mathrm{head}_h)\, W^O = \sum_{i=1}^{h} \mathrm{head}_i\, W_i^O \qquad (+\ \text{bias})$$
#
# No head knows of the others. Each writes its contribution, and they are added. (Mind that PyTorch's linear layers keep
# $W^O$ turned around: `out_proj.weight` has the shape `(out, in)`.)

# %% [markdown]
# << heading("without_head") >>
#
# *About 6 minutes.* A sum makes it easy to ask what a single head is good for: leave out its term, change nothing else,
# and see what is lost.
#
# $$\text{output without head } i = \sum_{j \ne i} \mathrm{head}_j\, W_j^O + \text{bias}$$
#
# The layer itself has to survive the experiment, so work on a copy. A worked example on paper, for $d_{model} = 4$ and
# two heads: which numbers of the concatenation come from head 1, and by what are they multiplied?

# %%
# The concatenation is (1, 2, 30, 40): head 0 has brought (1, 2), and head 1 (30, 40).
weight = torch.tensor([[1.0, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]])  # out_proj.weight: (out, in)
for name, given in {"both heads ": (1, 2, 30, 40), "only head 0": (1, 2, 0, 0), "only head 1": (0, 0, 30, 40)}.items():
    print(name, (weight @ torch.tensor(given, dtype=torch.float32)).tolist())


# %% nbgrader={"grade": false, "grade_id": "without_head", "locked": false, "schema_version": 3, "solution": true, "task": false}
def without_head(mha: nn.Module, head: int) -> nn.Module:
    """Give a copy of a multi-head attention in which one head adds nothing to the output.

    mha: any module with MultiHeadAttention's parameters and `n_heads` (rely on nothing else: the check hands in one
    of its own); it stays as it is. head: 0 to n_heads - 1. The copy is called like mha, shares no weights with it, and
    keeps out_proj's bias; the weights that it returns for that head may be anything.
    """
    ### BEGIN SOLUTION
    silenced = copy.deepcopy(mha)
    with torch.no_grad():
        blocks = silenced.out_proj.weight.chunk(silenced.n_heads, dim=1)  # H views of (d_model, d_k)
        blocks[head].zero_()
    return silenced
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: where can a head be silenced?</summary>
#
# Anywhere on its way into the sum: its values can be made 0, or its block of $W^O$. Zero *queries* don't do it: what
# are the weights if all scores are 0?
# </details>
#
# <details><summary>Hint 2: rows or columns?</summary>
#
# `out_proj.weight` has the shape `(out, in)`, and what comes in is the concatenation. Which dimension belongs to the
# heads? Try it on the worked example. (If you take the values instead: a bias is part of them.)
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Make a deep copy. With `n_heads` and the width of `out_proj`, find $d_k$ and so the columns of this head, from $h \cdot
# d_k$ up to $(h+1) \cdot d_k$. Set them to 0 in the copy's `out_proj.weight`, without gradients. Leave the bias alone.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-without_head", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(without_head)

# %% [markdown]
# **What you should see.** First the sum. What a head contributes is what is missing without it: the layer's output minus
# the output of your copy. Add up all contributions and the bias, and the output is there again, exactly (up to
# rounding):


# %%
def contribution(attention: nn.Module, head: int, x: Tensor) -> Tensor:
    """Give what one head adds to the output of self-attention: (B, T, d_model)."""
    return attention(x, x, x)[0] - without_head(attention, head)(x, x, x)[0]


with once_solved(split_heads, merge_heads, MultiHeadAttention, without_head):
    for n_heads in (1, 2, 4):
        attention, x = trained(n_heads).attention, trained(n_heads).tiles(rings)  # x: (1, 12, 48)
        total = sum(contribution(attention, head, x) for head in range(n_heads)) + attention.out_proj.bias
        gap = (total - attention(x, x, x)[0]).abs().max()
        print(f"{n_heads} heads: sum of the contributions + bias differs from the output by at most {gap:.0e}")

# %% [markdown]
# And so one can ask of each contribution what it says to each readout: how much does this head, for one tile, vote for
# each digit? Look for the bright cell in each row. One head votes when the neighbour is asked for and has little to say
# about the twin, the other the other way round. Add up the two rows of a question: the brightest digit is the answer.

# %%
with once_solved(split_heads, merge_heads, MultiHeadAttention, without_head), torch.no_grad():
    reader, tile, names, votes = trained(2), 5, [], []
    for question, name in enumerate(tile_task.RELATIONS):
        for head in (0, 1):
            added = contribution(reader.attention, head, reader.tiles(rings))[0, tile]  # (48,)
            vote = reader.readouts[question].weight @ added  # (10,)
            votes.append(vote - vote.mean())  # what all digits get alike decides nothing
            names.append(f"{name}? head {head}")
    answers = [
        f"{name} {tiles[source]}" for name, source in zip(tile_task.RELATIONS, rings.sources[:, 0, tile], strict=True)
    ]
    labels = {"xlabel": "digit", "label": "contribution to the logit", "digits": 0}
    _figure, ax = plt.subplots(figsize=(10, 3.8))
    title = f"Tile {tiles[tile]}: {answers[0]}, {answers[1]}"
    plots.heat_map(torch.stack(votes), names, [str(digit) for digit in range(10)], title, ax=ax, **labels)
    plots.show("Contributions of two heads to the logits of both questions: each head votes for one of the answers.")

# %% [markdown]
# Now switch heads off. Each model with each of its heads silenced in turn. With two heads, losing one costs one question
# altogether and leaves the other as it was. With four, look for heads that can be spared: where two do the same work,
# or one does none, the loss is small.

# %%
with once_solved(split_heads, merge_heads, MultiHeadAttention, without_head):
    names, rows = [], []
    for n_heads in (2, 4):
        for removed in [None, *range(n_heads)]:
            silenced = copy.deepcopy(trained(n_heads))
            if removed is not None:
                silenced.attention = without_head(trained(n_heads).attention, removed)
            names.append(f"{n_heads} heads, {'all of them' if removed is None else f'without head {removed}'}")
            rows.append(100 * tile_task.accuracy(silenced, fresh))
    options = {"label": "right answers (%)", "digits": 0, "vmin": 0, "vmax": 100}
    _figure, ax = plt.subplots(figsize=(8, 5))
    plots.heat_map(torch.stack(rows), names, tile_task.RELATIONS, "What a head is good for", ax=ax, **options)
    ax.set_xticks(range(2), tile_task.RELATIONS, rotation=0, ha="center")
    plots.show("Right answers with single heads switched off: with two heads, each one's loss costs one question.")

# %% [markdown]
# **To think about.** In a model with four heads, the loss of head 0 costs next to nothing, and so does the loss of head 3.
# May you remove both?
#
# <details><summary>Answer</summary>
#
# Not on this evidence. If the two do the same work, each can stand in for the other, and the question fails only when
# both are gone. Removing one head at a time measures what is *not replaced* by the rest, and says nothing about what
# the rest would do without two. (Here you can try: `without_head(without_head(mha, 0), 3)`.) The same care is due when
# somebody concludes from such an experiment that most heads of a large model are useless.
# </details>

# %% [markdown]
# << heading("KVCache") >>
#
# *About 12 minutes, if you like.* A decoder writes one token at a time. Each new token looks at all earlier ones, and a
# simple loop therefore runs the whole sentence through attention again for every token: $1 + 2 + \dots + T$ positions
# are projected, most of them for the tenth time.
#
# But under a causal mask, the past doesn't change. Key and value of position 3 are the same whether there are 4 tokens
# or 400. So keep them: for each new token compute *one* query, *one* key and *one* value, put key and value to those
# that are remembered, and attend.
#
# $$\text{output}_t = \mathrm{MultiHead}\big(x_t,\; x_{1 \dots t},\; x_{1 \dots t}\big), \qquad K_{1 \dots t} = [K_{1 \dots t-1};\; k_t], \quad V_{1 \dots t} = [V_{1 \dots t-1};\; v_t]$$
#
# A worked example of the claim, with one causal head and no cache: the last row of attention over a whole sentence is
# what its last query alone would have got.

# %%
q, k, v = (torch.randn(1, 5, 4, generator=torch.Generator().manual_seed(number)) for number in (1, 2, 3))
triangle = torch.ones(5, 5).tril().bool()
whole, _weights = scaled_dot_product_attention(q, k, v, triangle)  # (1, 5, 4): five queries
alone, _weights = scaled_dot_product_attention(q[:, -1:], k, v)  # (1, 1, 4): one query, no mask needed
print("the last position, both ways:", torch.allclose(whole[:, -1:], alone))

# %% [markdown]
# Shapes: `step` gets the next token of every sentence, `(B, 1, d_model)`, and gives its output, `(B, 1, d_model)`. At the
# seventh step the remembered keys have the shape `(B, H, 7, d_k)`.
#
# *Not allowed here* either: PyTorch's own attention.


# %% nbgrader={"grade": false, "grade_id": "KVCache", "locked": false, "schema_version": 3, "solution": true, "task": false}
class KVCache:
    """Attend token by token with remembered keys and values, as causal self-attention over the whole sentence would."""

    def __init__(self, mha: nn.Module) -> None:
        """Start with an empty memory. mha: any module with MultiHeadAttention's parameters and `n_heads`, unchanged."""
        ### BEGIN SOLUTION
        self.mha = mha
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        ### END SOLUTION

    def step(self, x: Tensor) -> Tensor:
        """Take the next token (B, 1, d_model) of each sentence; give its output (B, 1, d_model)."""
        ### BEGIN SOLUTION
        layers = (self.mha.q_proj, self.mha.k_proj, self.mha.v_proj)
        q, k, v = (split_heads(project(x), self.mha.n_heads) for project in layers)  # (B, H, 1, d_k)
        if self.keys is not None:
            k = torch.cat([self.keys, k], dim=2)  # (B, H, t, d_k)
            v = torch.cat([self.values, v], dim=2)
        self.keys, self.values = k, v
        output, _weights = scaled_dot_product_attention(q, k, v)  # (B, H, 1, d_k)
        return self.mha.out_proj(merge_heads(output))  # (B, 1, d_model)
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: what is remembered, and where</summary>
#
# Two tensors, keys and values, after projection and split. They belong to *this* cache: two caches for two
# conversations must not see each other's memory, so keep them on `self`.
# </details>
#
# <details><summary>Hint 2: along which dimension does the memory grow?</summary>
#
# Each step adds one position. In `(B, H, T, d_k)`, which dimension is that? And does the new token look at itself? It
# does under a causal mask with its diagonal, so append first and attend after. Whoever is in the memory lies in the
# past; so what would a mask have to hide?
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Project the token with the three layers of `mha` and split each into heads. If there is a memory, join old and new
# keys along the time, and old and new values; keep the result. Attend with the one query over all keys, without a mask.
# Merge the heads, apply `out_proj`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-KVCache", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(KVCache)

# %% [markdown]
# **What you should see.** The processor time (of one thread) for one more token against the number of tokens so far, on
# your machine. Look at the slopes: without a cache each token costs more than the one before, and with a cache the cost
# grows far more slowly. It does grow, since the new query still meets every key; but that is one row of scores in place
# of a whole matrix. What one pays is memory: $2 \cdot T \cdot d_{model}$ numbers for each sentence and each layer.


# %%
@torch.no_grad()
def time_per_token(attention: nn.Module, cache: "KVCache", x: Tensor) -> Tensor:
    """Measure milliseconds of processor time for each next token (T, 2): all over again, and with the cache."""
    length = x.shape[1]
    triangle = torch.ones(length, length).tril().bool()
    seconds = torch.zeros(length, 2)
    for t in range(length):
        past, started = x[:, : t + 1], time.thread_time()
        again = attention(past, past, past, triangle[: t + 1, : t + 1])[0][:, -1:]
        between = time.thread_time()
        step = cache.step(x[:, t : t + 1])
        seconds[t] = torch.tensor([between - started, time.thread_time() - between])
    print("the last output, both ways:", torch.allclose(again, step, atol=1e-5))
    return 1000 * seconds


# %%
with once_solved(split_heads, merge_heads, MultiHeadAttention, KVCache):
    attention = MultiHeadAttention(64, 4).eval()
    x = torch.randn(1, 256, 64, generator=torch.Generator().manual_seed(6))
    with tile_task.one_thread():
        milliseconds = time_per_token(attention, KVCache(attention), x)  # (256, 2)
    middle = milliseconds.unflatten(0, (16, 16)).median(1).values  # (16, 2): medians of 16 tokens each
    places = torch.arange(16) * 16 + 8
    _figure, ax = plt.subplots()
    ax.plot(places, middle[:, 0], "o-", color=plots.RED, label="all over again")
    ax.plot(places, middle[:, 1], "o-", color=plots.BLUE, label="with KVCache")
    ax.set(xlabel="tokens so far", ylabel="processor time (ms)", ylim=(0, None))
    ax.set_title("The next token: what is remembered needn't be computed")
    ax.legend()
    plots.show("Time for the next token against tokens so far: rising steeply without a cache, slowly with one.")

# %% [markdown]
# **To think about.** Could one keep a cache in the *encoder*, where every word may look at every other, and a word is
# added at the end?
#
# <details><summary>Answer</summary>
#
# In a single layer, keys and values of the old words stay the same, but their *outputs* don't: they may look at the
# new word too, so all of their queries have to be asked again. And one layer up, changed outputs mean changed keys and
# values, and nothing remembered is right any more. The cache works because the causal mask keeps the past from seeing
# the future, in every layer.
# </details>

# %% [markdown]
# ## What to take along
#
# | piece | what it is for | without it |
# | --- | --- | --- |
# | split into heads | several choices per word, at no extra weights | one average of everything that is needed |
# | swap of time and heads | every head sees all words, and a part of each | words and heads get mixed up, and training hides it |
# | `out_proj` | mixes what the heads have found | each head is stuck in its own features |
# | a dimension for the heads in the mask | a mask per sentence | where B = H, a mask per head, silently |
# | the sum over heads | a head can be looked at, and switched off | a layer is one black box |
#
# What attention still can't do: tell the *order* of words. In the ring of tiles, places were part of each vector, and
# we didn't ask how. That is the next chapter.

# %%
progress("04_multi_head")

# %% [markdown]
# ## Further reading
#
# - Vaswani et al. 2017, *Attention Is All You Need*, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762): section
#   3.2.2 is this chapter, table 3, rows (A), varies the number of heads.
# - Voita et al. 2019, *Analyzing Multi-Head Self-Attention*, [arXiv:1905.09418](https://arxiv.org/abs/1905.09418):
#   which heads of a translator have a role (place, syntax, rare words), and how many can be removed.
# - Michel, Levy and Neubig 2019, *Are Sixteen Heads Really Better than One?*,
#   [arXiv:1905.10650](https://arxiv.org/abs/1905.10650): your `without_head`, on large models.
# - Clark et al. 2019, *What Does BERT Look At?*, [arXiv:1906.04341](https://arxiv.org/abs/1906.04341): heads that find
#   a verb's object or what a pronoun refers to; you'll look for them yourself in chapter 07.
# - Shazeer 2019, *Fast Transformer Decoding*, [arXiv:1911.02150](https://arxiv.org/abs/1911.02150): the cache grows
#   large, so let all heads share one set of keys and values.

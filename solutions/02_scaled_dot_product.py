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
# *<< chapter.points >> points · about an hour · runs on a CPU, without internet, all cells together in less than 30 seconds*
#
# At the centre of every Transformer stands one line:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# In this chapter you build that line from nothing but sums, products and exponentials. You will also see what each
# symbol in it is *for*: take one away, and watch what breaks.
#
# **After this chapter you can**
#
# - read attention as a soft look-up: *compare, normalise, average*;
# - write a softmax that no score makes overflow, and say how fast its outputs move when its inputs do;
# - show, with a measurement, why the scores are divided by $\sqrt{d_k}$ and by nothing else;
# - hide keys with a mask, also where nothing is left to look at;
# - hand over a function that agrees with PyTorch's own.
#
# **You need** PyTorch tensors, broadcasting and matrix products; the derivative of a fraction; mean and variance.
# Chapter 01 tells why one would want attention, but no code from it is used here.

# %%
import math

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from utils import check, once_solved, plots, progress

# %%
progress("02_scaled_dot_product")

# %% [markdown]
# ## Where this line sits
#
# The map of the finished machine, which took the place of the recurrent networks of chapter 01. Look at the filled
# boxes: all three do the same thing inside, and it is the line above. They differ only in where queries, keys and
# values come from, and in what the mask allows.

# %%
encoder = ["words\n+ positions\n(05)", "self-attention\n(03, 04)", "feed-forward\nnetwork\n(06)"]
decoder = ["words so far\n+ positions\n(05)", "masked self-\nattention\n(03, 04)", "cross-\nattention\n(06)"]
encoder += ["BERT: one\nmore layer\n(07)"]
decoder += ["feed-forward\n(06)", "next word\n(06)"]
places = {box: (column, 1) for column, box in enumerate(encoder)}
places |= {box: (column, 0) for column, box in enumerate(decoder)}
paths = [encoder, decoder, (encoder[2], decoder[2])]
title = "Encoder (above), decoder (below), and the chapters that build them"
plots.diagram(places, paths, here=[encoder[1], decoder[1], decoder[2]], title=title)
plots.show(
    "Encoder and decoder as two rows of boxes; the three attention boxes are filled: this chapter is inside them."
)

# %% [markdown]
# ## A look-up that answers softly
#
# A Python dictionary compares your query with its keys. One key fits, and you get its value; or none does, and you get
# an error. All or nothing: there is no slope on the way from one answer to another, so nothing can be learned by
# gradient descent.
#
# Attention is the dictionary that answers softly. *Every* key answers, each as loudly as it fits, and what comes back
# is the average of all values, weighted by the fit. Now a small change of a query changes the answer a little, and
# gradients can shape queries, keys and values alike.
#
# | name | shape | what it says |
# | --- | --- | --- |
# | `q`, queries | `(..., T_q, d_k)` | what each position is looking for |
# | `k`, keys | `(..., T_k, d_k)` | what each position can be found by |
# | `v`, values | `(..., T_k, d_v)` | what each position hands over when it is found |
#
# Queries and keys are compared, so they share the width `d_k`. Keys and values come in pairs, so they share the number
# `T_k`. Everything in front (`...`: a batch, later heads too) is carried along: each element of the batch is a look-up
# of its own.
#
# The picture is the formula, left to right, and your work list. Exercise 5 is the whole row.

# %%
row = ["compare\n$q \\cdot k$\nexercise 1", "divide\nby $\\sqrt{d_k}$\nexercise 5", "mask\nexercise 4"]
row += ["softmax\nexercises 2, 3", "average of $v$\nby weight\nexercise 5"]
places = {box: (column, 0) for column, box in enumerate(row, start=1)}
places |= {"queries q": (0, 0.45), "keys k": (0, -0.45), "values v": (5, -0.95), "output": (6, 0)}
paths = [("queries q", *row, "output"), ("keys k", row[0]), ("values v", row[4])]
plots.diagram(places, paths, here=row, title="Compare, normalise, average")
plots.show("Queries and keys are compared, divided, masked, normalised by softmax; the weights average the values.")

# %% [markdown]
# ## The sentence of this chapter
#
# To see whether attention does something sensible, we need inputs of which we know what should come out. So here are
# seven words with queries, keys and values **written by hand**: each of the four components has a meaning. In chapter
# 03 such vectors are learned, and their directions are not labelled any more.
#
# Read it like this: *hungry* looks for an animal, *red* for a thing, *its* for an owner, which is an animal; *chased*
# wants to know both who and what; a noun looks for the action it takes part in; and *the* would take any noun, but
# without much zeal.

# %%
words = ["the", "hungry", "dog", "chased", "its", "red", "ball"]
animal, thing, action, quality = torch.eye(4)
nothing = torch.zeros(4)

q = 4 * torch.stack([(animal + thing) / 2, animal, action, animal + thing, animal, thing, action])  # (T_q, d_k)
k = 2 * torch.stack([nothing, quality, animal, action, nothing, quality, thing])  # (T_k, d_k)
v = torch.stack([nothing, nothing, animal, action, nothing, nothing, thing])[:, :3]  # (T_k, d_v)
print("q", tuple(q.shape), "  k", tuple(k.shape), "  v", tuple(v.shape))

# %% [markdown]
# << heading("attention_scores") >>
#
# *About 5 minutes.* How well does a key fit a query? Multiply the two component by component and add up: the **dot
# product**. It is large where both point the same way, 0 where they are perpendicular, negative where they point apart.
#
# $$\text{score}_{ij} = q_i \cdot k_j = \sum_{c=1}^{d_k} q_{ic}\, k_{jc}$$
#
# No score waits for another one. This is what a recurrent network couldn't offer: all $T_q \cdot T_k$ comparisons can
# be made at the same time.
#
# A worked example, one pair at a time, with one query and three keys of width $d_k = 2$:

# %%
query, keys = (2.0, 1.0), {"key 1": (1.0, 1.5), "key 2": (-1.0, 2.0), "key 3": (-1.5, -0.5)}
arrows = {"query": query}
for name, key in keys.items():
    products = [a * b for a, b in zip(query, key, strict=True)]
    print(f"query · {name} = ({products[0]}) + ({products[1]}) = {sum(products)}")
    arrows[f"{name}: score {plots.number(sum(products), 1)}"] = key
plots.vectors(arrows, title="The same direction scores high")
plots.show("A query and three keys as arrows: one points much the same way, one is perpendicular, one points away.")

# %% [markdown]
# Look at the angles between the query and each key: acute, right, obtuse; the scores are 3.5, 0 and −3.5.
#
# Now for all pairs at once, in every element of the batch: `q` of shape `(2, 3, 6)` and `k` of shape `(2, 5, 6)` give
# scores of shape `(2, 3, 5)`, one row per query, one column per key.


# %% nbgrader={"grade": false, "grade_id": "attention_scores", "locked": false, "schema_version": 3, "solution": true, "task": false}
def attention_scores(q: Tensor, k: Tensor) -> Tensor:
    """Compare every query with every key by their dot product, not scaled yet.

    q: (..., T_q, d_k), k: (..., T_k, d_k), with the same leading dimensions. Returns (..., T_q, T_k).
    Source: Vaswani et al. 2017, section 3.2.1, the product inside equation 1.
    """
    ### BEGIN SOLUTION
    return q @ k.mT  # (..., T_q, T_k)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: which dimension disappears?</summary>
#
# The sum runs over the components, so `d_k` is gone in the result. `T_q` and `T_k` both stay. Which operation on two
# matrices sums over one dimension and keeps two?
# </details>
#
# <details><summary>Hint 2: what a matrix product sums over</summary>
#
# It sums over the last dimension of its left factor and the last but one of its right factor. In `q` the components are
# where they should be. Where are they in `k`?
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Turn the last two dimensions of `k` around, and only those: leading dimensions have to stay in front. Then multiply
# the matrices; PyTorch does so for each element of the batch by itself.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-attention_scores", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(attention_scores)

# %% [markdown]
# **What you should see.** One row per word of the sentence. Follow the row *its*: a single 8, in the column *dog*. In
# the row *chased* there are two, and *the* gives both nouns a mild 4.

# %%
with once_solved(attention_scores):
    labels = {"ylabel": "query: the word that looks", "xlabel": "key: the word that is looked at"}
    plots.heat_map(attention_scores(q, k), words, words, "Raw scores", label="score (no unit)", digits=0, **labels)
    plots.show("Heat map of raw scores: hungry and its fit dog, red fits ball, chased fits both, the nouns fit chased.")

# %% [markdown]
# **To think about.** Somebody doubles the length of one key and leaves its direction alone. What happens to the scores
# in its column? Is that a flaw?
#
# <details><summary>Answer</summary>
#
# Every score in that column doubles: where it was positive, the key is heard more, and where it was negative, less. So
# a vector's direction says *what*, and its length says *how loudly*. That is useful, since a network can learn that
# some words matter more than others. It is also a risk, since nothing keeps lengths from growing. A measure that only
# looks at the angle (cosine similarity) removes both, the use and the risk.
# </details>

# %% [markdown]
# ## Wide vectors make large scores
#
# Scores of 8 in the picture were our choice. What sizes come about by themselves? Let the components of `q` and `k` be
# independent random numbers of mean 0 and variance 1, the simplest picture of a network that hasn't learned anything
# yet. Each product $q_c k_c$ then has mean 0 and variance $1 \cdot 1 = 1$. The dot product adds $d_k$ independent ones,
# and variances add up:
#
# $$\mathrm{Var}(q \cdot k) = d_k, \qquad \text{so a typical score has the size } \sqrt{d_k}.$$
#
# Don't believe it, measure it. The cell draws 1,000 queries for each width, every one with 16 keys of its own.

# %%
widths = [2**n for n in range(11)]
width_axis = "width $d_k$ (number of components)"
# name, colour, and the power of d_k by which scores are divided
versions = ((r"$q \cdot k$", plots.RED, 0.0), (r"$q \cdot k / \sqrt{d_k}$", plots.BLUE, 0.5))


def random_scores(d_k: int) -> Tensor:
    """Compare 1,000 random queries with 16 random keys each: scores of shape (1000, 16)."""
    generator = torch.Generator().manual_seed(d_k)
    q = torch.randn(1000, 1, d_k, generator=generator)
    k = torch.randn(1000, 16, d_k, generator=generator)
    return attention_scores(q, k)[:, 0].double()  # (1000, 16)


# %% [markdown]
# Look at how the red points lie on the line, over three powers of ten. The blue ones are the same scores after division
# by $\sqrt{d_k}$: dividing by a number divides the variance by its square, $d_k / \sqrt{d_k}^{\,2} = 1$, so they stay
# at 1 whatever the width. Dividing by $d_k$ itself would overshoot: a variance of $1/d_k$, and wide vectors for which
# all keys look alike.

# %%
with once_solved(attention_scores):
    _figure, ax = plt.subplots()
    ax.loglog(widths, widths, color=plots.BLACK, linewidth=1.5, label="theory: variance = $d_k$")
    for name, colour, exponent in versions:
        variances = [(random_scores(d_k) / d_k**exponent).var() for d_k in widths]
        ax.loglog(widths, variances, "o", color=colour, label=f"measured: {name}")
    ax.set(xlabel=width_axis, ylabel="variance of the scores")
    ax.legend()
    plots.show(
        "Variance of scores against width: measured points lie on the line d_k; divided scores stay at variance 1."
    )

# %% [markdown]
# Growing scores would be harmless if what comes next didn't care about their size. Softmax does care, as you'll see.
#
# (Independent, mean 0, variance 1: that is a picture of the start. Later a network may make its scores as large as it
# needs; the divisor only gives it a start from which it can learn.)

# %% [markdown]
# << heading("softmax") >>
#
# *About 15 minutes.* Scores can be any numbers. Weights of an average must not be negative, and have to add up to 1.
# **Softmax** gets there in two steps: the exponential makes everything positive, and division by the sum makes it a
# distribution.
#
# $$p_i = \frac{e^{x_i}}{\sum_j e^{x_j}}$$
#
# The largest score gets the largest weight, yet all the others keep a share: a maximum, made soft. A worked example,
# with four scores:

# %%
scores = [2.0, 1.0, 0.0, -1.0]
powers = [math.exp(score) for score in scores]
print("exponentials", [round(power, 3) for power in powers], "  sum", round(sum(powers), 3))
print("shares      ", [round(power / sum(powers), 3) for power in powers])
large = torch.tensor([88.0, 89.0]).exp()
print(f"in float32, e^88 is {large[0]:.1e} and e^89 is {large[1]}; and inf / inf is {large[1] / large[1]}")

# %% [markdown]
# Each step down by 1 divides the share by $e \approx 2.718$: only *differences* of scores count. The last line shows
# the trap: float32 ends at about $3.4 \cdot 10^{38}$, and a score of 89 is enough to leave it. The way out is the same
# fact: subtract one and the same number $m$ from all scores, and nothing changes, because $e^{-m}$ cancels. With the
# largest score as $m$ no exponent is above 0, so nothing can overflow:
#
# $$p_i = \frac{e^{x_i - m}}{\sum_j e^{x_j - m}}, \qquad m = \max_j x_j$$
#
# Your softmax has two more promises to keep, which masks will need in exercise 5:
#
# - a score of $-\infty$ gets the weight 0, exactly;
# - where *all* scores are $-\infty$, all weights are 0. There is nothing to choose from, and NaN would spread through
#   the whole network.
#
# *Not allowed here*: PyTorch's own softmax and log-softmax, in any of their forms. `exp`, `sum`, `amax`, `logsumexp`
# and the like are fine.


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Turn scores into weights from 0 to 1 that add up to 1 along `dim`.

    x: any shape. Returns the same shape and dtype. Large scores don't overflow; an entry of −inf gets 0; a slice that is
    all −inf gives all 0, and gradients without NaN. x is not changed in place.
    """
    ### BEGIN SOLUTION
    largest = x.detach().amax(dim, keepdim=True)  # a constant shift changes nothing, so it needs no gradient
    largest = largest.masked_fill(largest == -math.inf, 0)  # −inf − (−inf) would be NaN
    powers = (x - largest).exp()
    total = powers.sum(dim, keepdim=True)
    return powers / total.masked_fill(total == 0, 1)  # 0 / 1 where nothing is left
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: keep the dimension</summary>
#
# Start with the second formula, and forget about $-\infty$ for now. Largest score and sum are taken along `dim`, one
# per slice; they are then combined with all of `x`. What has to stay in place so that the shapes fit for every `dim`?
# </details>
#
# <details><summary>Hint 2: where does the NaN come from?</summary>
#
# A single $-\infty$ works by itself, since $e^{-\infty} = 0$. In a slice of nothing but $-\infty$ there are two places
# that go wrong, one after the other: look at what is subtracted from what, and then at what is divided by what.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Take the largest score along `dim`, keeping the dimension. Where it is $-\infty$, use 0 instead. Subtract it, take the
# exponential, add up along `dim`, again keeping the dimension. Where the sum is 0, use 1 instead. Divide. Make new
# tensors all the way; mending the NaN only at the end gives right weights too, but look at the gradients then.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-softmax", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(softmax)

# %% [markdown]
# **What you should see.** Left: the same five scores, multiplied by a growing factor. Look at the order, which never
# changes, and at the top curve, which swallows all the others: softmax *saturates*. Right: the same thing, by itself,
# as vectors get wider: the largest of 16 weights, for a typical query (the median of 1,000). Even sharing would be
# 1/16.

# %%
with once_solved(attention_scores, softmax):
    _figure, (left, right) = plots.new_figure(2)
    factors = torch.linspace(0, 6, 61)
    left.plot(factors, softmax(factors[:, None] * torch.tensor([2.0, 1.0, 0.0, -1.0, -2.0])))
    left.legend(["2", "1", "0", "−1", "−2"], title="score")
    left.set(xlabel="factor on all scores", ylabel="weight", title="Larger scores, harder choice")
    for name, colour, exponent in versions:
        top = [softmax(random_scores(d_k) / d_k**exponent).amax(-1).median() for d_k in widths]
        right.semilogx(widths, top, "o-", color=colour, label=name)
    right.axhline(1 / 16, color=plots.BLACK, linewidth=1.5, linestyle=":", label="even: 1/16")
    right.set(xlabel=width_axis, ylabel="largest of 16 weights", ylim=(0, 1.05), title="The wider, the harder")
    right.legend(title="softmax of")
    plots.show(
        "Left: weights against a factor, one curve goes to 1. Right: largest weight rises to 1 unless divided by √d_k."
    )

# %% [markdown]
# At $d_k = 64$, the width in the paper, the typical query gives 0.93 of its attention to one key, before anything has
# been learned. Random vectors have made up their mind. After division by $\sqrt{d_k}$ it gives 0.22, and hardly more at
# any width.
#
# **To think about.** What do the weights become when all scores are multiplied by a factor that goes to 0? To infinity?
# Then what is $1/\sqrt{d_k}$, seen this way?
#
# <details><summary>Answer</summary>
#
# Towards 0 all scores become equal, and so do the weights: $1/n$ each, a plain average. Towards infinity the largest
# score takes everything: a hard look-up (scores that tie for the first place share it). In between the factor sets how
# hard the choice is; its inverse is called *temperature*. So $\sqrt{d_k}$ is a temperature, chosen so that the choice
# starts out equally soft at every width.
# </details>

# %% [markdown]
# << heading("softmax_jacobian") >>
#
# *About 12 minutes.* A saturated softmax has a strong opinion. Why is that bad? Because of what goes *back* through it.
# Training changes scores in the direction that the gradient shows, so ask: when one score $x_j$ is raised a little, how
# much does each weight $p_i$ move? The derivative of the fraction gives two cases in one formula:
#
# $$\frac{\partial p_i}{\partial x_j} = p_i\,(\delta_{ij} - p_j), \qquad \delta_{ij} = \begin{cases} 1 & i = j \\ 0 & i \ne j \end{cases}$$
#
# All of them together are a matrix, the **Jacobian**: row $i$ is a weight, column $j$ a score. Notice that no $x$ is
# left on the right: to know how fast the weights move, it is enough to know where they are.
#
# A worked example without the formula: nudge one score by a millionth and watch all three weights (PyTorch's softmax
# will do here).

# %%
x = torch.tensor([2.0, 1.0, 0.0], dtype=torch.float64)
nudge = torch.tensor([1e-6, 0.0, 0.0], dtype=torch.float64)
before, after = torch.softmax(x, -1), torch.softmax(x + nudge, -1)
print("weights           ", before.numpy().round(4))
print("moved, per nudge  ", ((after - before) / 1e-6).numpy().round(4))
print("formula           ", [round(0.6652 * (1 - 0.6652), 4), round(0.2447 * (0 - 0.6652), 4)], "and the third?")

# %% [markdown]
# That was the first *column* of the Jacobian. The raised score wins, the others lose, and together they lose exactly
# what it wins.
#
# Shapes: `p` of shape `(2, 3, 4)` holds six distributions over four keys, and gives six matrices: `(2, 3, 4, 4)`.


# %% nbgrader={"grade": false, "grade_id": "softmax_jacobian", "locked": false, "schema_version": 3, "solution": true, "task": false}
def softmax_jacobian(p: Tensor) -> Tensor:
    """Give the derivatives of softmax at the point where its outputs are p.

    p: (..., n), each slice along the last dimension a distribution. Returns (..., n, n): entry (i, j) is ∂p_i/∂x_j.
    """
    ### BEGIN SOLUTION
    outer = p.unsqueeze(-1) * p.unsqueeze(-2)  # (..., n, n)
    return torch.diag_embed(p) - outer
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: multiply out</summary>
#
# $p_i(\delta_{ij} - p_j) = p_i \delta_{ij} - p_i p_j$ is the difference of two matrices. What does each look like for
# three weights? Write them down.
# </details>
#
# <details><summary>Hint 2: the two matrices</summary>
#
# The first has the weights on its diagonal and 0 elsewhere. The second holds every product of two weights, a column
# times a row. Both are needed once per distribution, so leading dimensions have to stay in front.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# For the products, make one copy of `p` that is a column, `(..., n, 1)`, and one that is a row, `(..., 1, n)`, and let
# broadcasting multiply them. For the diagonal, look for the function in PyTorch that embeds a vector as a diagonal
# (plain `torch.diag` doesn't take batches), or multiply by an identity matrix of the right dtype. Subtract.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-softmax_jacobian", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(softmax_jacobian)

# %% [markdown]
# **What you should see.** Two Jacobians on the same scale of colours. Left, soft weights: a positive diagonal (a score
# helps its own weight), negative everywhere else (at the others' cost), and every row adds up to 0. Right, saturated
# weights: the same pattern, but almost nothing is left of it. Pull at any score: hardly a weight moves.

# %%
with once_solved(softmax_jacobian):
    _figure, axes = plots.new_figure(2, height=3.8)
    names = ["0", "1", "2", "3"]
    labels = {"ylabel": "weight $i$", "xlabel": "score $j$"}
    options = {"digits": 3, "vmin": -0.25, "vmax": 0.25, "cmap": "PuOr"}
    for ax, p in zip(axes, ([0.4, 0.3, 0.2, 0.1], [0.97, 0.01, 0.01, 0.01]), strict=True):
        options["label"] = r"$\partial p_i / \partial x_j$" if ax is axes[1] else ""
        plots.heat_map(softmax_jacobian(torch.tensor(p)), names, names, f"p = {p}", ax=ax, **labels, **options)
    plots.show("Jacobians of softmax: clearly coloured for soft weights, almost blank for saturated ones.")

# %% [markdown]
# **To think about.** Where is the slope of a single weight with respect to its own score, $p(1-p)$, at its largest, and
# what is it there? And how does it look for $p = 0.999$?
#
# <details><summary>Answer</summary>
#
# At $p = 1/2$, where it is $1/4$. At 0.999 it is about 0.001, and the same at 0.001: a key that is ignored is as hard
# to move as one that gets everything. A quarter is the best that a gradient can hope for here; it is up to us to start
# in a region where it isn't a thousandth.
# </details>

# %% [markdown]
# ## Why the divisor
#
# Now put the three pieces together: scores grow like $\sqrt{d_k}$, large scores saturate softmax, and a saturated
# softmax lets hardly any gradient through. The size of the Jacobian (the root of the sum of its squared entries) says
# how much of a gradient can pass.
#
# Look at the two lines as the width grows, on a logarithmic axis: each is the typical query (the median of 1,000), and
# the band around it holds the middle half of all queries. (The blue band is there too; it is as narrow as its line.)

# %%
with once_solved(attention_scores, softmax, softmax_jacobian):
    _figure, ax = plt.subplots()
    quarters = torch.tensor([0.25, 0.5, 0.75], dtype=torch.float64)
    for name, colour, exponent in versions:
        jacobians = [softmax_jacobian(softmax(random_scores(d_k) / d_k**exponent)) for d_k in widths]
        sizes = torch.stack([torch.linalg.matrix_norm(jacobian).quantile(quarters) for jacobian in jacobians])
        ax.loglog(widths, sizes[:, 1], "o-", color=colour, label=name)
        ax.fill_between(widths, sizes[:, 0], sizes[:, 2], color=colour, alpha=0.2)
    ax.set(xlabel=width_axis, ylabel="size of softmax's Jacobian", ylim=(1e-10, 2))
    ax.legend(title="softmax of", loc="lower left")
    plots.show(
        "Size of the Jacobian against width: flat near 0.3 when divided, falls below one ten-thousandth when not."
    )

# %% [markdown]
# Divided by $\sqrt{d_k}$, it stays at 0.3. Without the divisor, it is 0.11 at $d_k = 64$, and 0.000014 at $d_k = 1024$:
# twenty thousand times less. Up to $d_k = 16$ the divisor gains nothing, and that is worth knowing too: it is a matter
# of wide vectors.
#
# It is the same concern as with recurrent and very deep networks: on its way back a gradient meets a factor that is
# nearly 0, and what lies behind it can't learn. There many factors, each a little too small, do it together; here a
# single one is enough. The cure is of the same kind as well: keep signals at the size at which slopes are alive.
#
# Is the divisor cheating, since by the chain rule it divides the gradient too?
#
# <details><summary>Answer, for those who asked themselves</summary>
#
# It does: with respect to $q \cdot k$ a further factor $1/\sqrt{d_k}$ appears. But the next step back, from scores to a
# query, multiplies by keys, whose length is about $\sqrt{d_k}$, and the two cancel. Measured on these same queries, the
# derivative of the weights with respect to the *query* has the size 0.30 for the median query at $d_k = 64$ and 0.31 at
# $d_k = 1024$. Without the divisor it is 0.88 at 64, still large thanks to the long keys, but 0.0004 at 1024.
#
# A fine point for the sceptic: the *mean* over queries doesn't vanish without the divisor; it is 1.4 and 1.6 at these
# two widths. A few queries that happen to sit on the edge between two keys get nearly all of the gradient, and most get
# next to nothing.
# </details>

# %% [markdown]
# << heading("padding_mask") >>
#
# *About 8 minutes.* Sentences in a batch differ in length, and a tensor has one width. So short ones are filled up with
# padding, which means nothing and must not be looked at. A **mask** says so. The whole course has one convention:
#
# > A mask is a `torch.bool` tensor. **True = may attend**, False = hidden. Its shape broadcasts to `(..., T_q, T_k)`.
#
# From the lengths of the sentences, position $j$ of sentence $b$ may be attended to exactly if $j < \text{lengths}_b$,
# counted from 0.
#
# A worked example with a mask written by hand, for two sentences of lengths 3 and 1. Every query of a sentence sees the
# same keys, so one row per sentence is enough, and broadcasting copies it for each query:

# %%
by_hand = torch.tensor([[[True, True, True]], [[True, False, False]]])
print("shape", tuple(by_hand.shape), "   lengths from the mask:", by_hand.sum(-1).flatten().tolist())
print("for two queries each", tuple(by_hand.expand(2, 2, 3).shape))
print(by_hand.expand(2, 2, 3).int())


# %% nbgrader={"grade": false, "grade_id": "padding_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def padding_mask(lengths: Tensor, max_len: int) -> Tensor:
    """Mark the real tokens of each sequence: True = may attend, False = padding.

    lengths: (B,), whole numbers from 0 to max_len. Returns bool of shape (B, 1, max_len), on the device of lengths.
    """
    ### BEGIN SOLUTION
    positions = torch.arange(max_len, device=lengths.device)
    return positions < lengths[:, None, None]  # (B, 1, max_len)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: compare, don't fill</summary>
#
# You could loop over sentences and fill rows. But the rule above is a comparison of two numbers, and PyTorch compares
# whole tensors. Which two tensors?
# </details>
#
# <details><summary>Hint 2: two tensors</summary>
#
# One holds the positions 0, 1, …, `max_len − 1`, the other the lengths. Give them shapes that broadcast: positions run
# along the last dimension, sentences along the first.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Make the positions with a range of `max_len` numbers. Give the lengths two more dimensions of size 1 at the end.
# "Position is smaller than length" is then a boolean tensor of the shape that is asked for; no conversion is needed.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-padding_mask", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(padding_mask)

# %% [markdown]
# **What you should see.** Three sentences in one batch. Look at where the colour changes: every word is bright, every
# `–` (padding) is dark.

# %%
with once_solved(padding_mask):
    batch = ["the hungry dog chased its ball", "dogs sleep", "red is a colour"]
    sentences = [sentence.split() for sentence in batch]
    mask = padding_mask(torch.tensor([len(sentence) for sentence in sentences]), 6)  # (B, 1, 6)
    padded = [sentence + ["–"] * (6 - len(sentence)) for sentence in sentences]
    _figure, ax = plt.subplots(figsize=(8, 3))
    labels = {"title": "Bright: may attend", "ylabel": "sentence", "xlabel": "position"}
    plots.heat_map(mask[:, 0], list("012"), list("012345"), entries=padded, ax=ax, vmin=0, vmax=1, **labels)
    plots.show("Mask of three sentences, of six, two and four words: words are marked True, padding False.")

# %% [markdown]
# **To think about.** Why the 1 in the middle? What would a mask of shape `(B, T_k)` do with scores of shape
# `(B, T_q, T_k)`?
#
# <details><summary>Answer</summary>
#
# Shapes are lined up from the right, so the mask's `B` would meet the scores' `T_q`. If the two differ (and neither is
# 1), there is an error, and you are lucky. If they happen to be equal, nothing complains: query 0 of *every* sentence
# gets the mask of sentence 0, query 1 that of sentence 1, and so on. Such a bug trains without a murmur. The 1 says
# aloud that the mask is the same for every query.
# </details>

# %% [markdown]
# << heading("scaled_dot_product_attention") >>
#
# *About 12 minutes.* Everything is there; now the line itself.
#
# $$\text{weights} = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} \;\text{ with } -\infty \text{ where the mask is False}\right), \qquad \text{output} = \text{weights} \cdot V$$
#
# The order matters. Dividing comes before softmax, because afterwards it would only shrink all weights alike, and they
# would add up to $1/\sqrt{d_k}$. Masking comes before softmax too, so that the remaining keys share everything among
# them.
#
# A worked example, with one query, two keys, $d_k = 4$ and values of width $d_v = 2$. The keys have scored 2 and 0, and
# each hands over its value by its weight:

# %%
raw, values = [2.0, 0.0], [(10.0, 0.0), (0.0, 20.0)]
powers = [math.exp(score / math.sqrt(4)) for score in raw]
shares = [power / sum(powers) for power in powers]
mixed = [sum(share * value[c] for share, value in zip(shares, values, strict=True)) for c in (0, 1)]
print("weights", [round(share, 3) for share in shares], "  output", [round(number, 2) for number in mixed])

# %% [markdown]
# In tensors: `q` of shape `(2, 3, 8)`, `k` of `(2, 5, 8)` and `v` of `(2, 5, 6)` give weights `(2, 3, 5)` and an output
# `(2, 3, 6)`: one row per query, as wide as the values.
#
# *Not allowed here*: `F.scaled_dot_product_attention`, `nn.MultiheadAttention` and what is under them. Use your own
# pieces, or `torch.softmax` if you like (it gives NaN where everything is masked, so there you would have to take care
# of that).


# %% nbgrader={"grade": false, "grade_id": "scaled_dot_product_attention", "locked": false, "schema_version": 3, "solution": true, "task": false}
def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Average the values, weighted by how well each key fits each query.

    q: (..., T_q, d_k), k: (..., T_k, d_k), v: (..., T_k, d_v); mask: bool, broadcastable to (..., T_q, T_k), True = may
    attend; None = everything may be. Returns output (..., T_q, d_v) and weights (..., T_q, T_k). A query that may attend
    to nothing gets weights 0 and output 0, and gradients without NaN.
    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    """
    ### BEGIN SOLUTION
    scores = attention_scores(q, k) / math.sqrt(q.shape[-1])  # (..., T_q, T_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ v, weights  # (..., T_q, d_v)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: four steps</summary>
#
# Compare, divide, mask, normalise: that gives the weights. Which product turns weights `(T_q, T_k)` and values
# `(T_k, d_v)` into `(T_q, d_v)`? And which number is $d_k$? Read it off `q`.
# </details>
#
# <details><summary>Hint 2: how to hide a key</summary>
#
# A hidden key needs the score that softmax turns into exactly 0. There is a method that fills a tensor where a
# condition is True; mind that the mask is True where you want to *keep* the score. The version of that method without
# an underscore at the end leaves its tensor alone.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Raw scores from exercise 1, divided by the square root of the last dimension of `q`. If there is a mask, fill with
# $-\infty$ where it is not True; broadcasting does the rest. Your softmax along the last dimension, the keys; it knows
# what to do with a row of nothing but $-\infty$. Multiply by the values. Return both: output first, then weights.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-scaled_dot_product_attention", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(scaled_dot_product_attention)

# %% [markdown]
# **What you should see.** The sentence again, now as weights. Read it row by row: *its* puts 0.90 on *dog*, *red* puts
# 0.90 on *ball*, *chased* shares itself between both, and *the*, with its mild scores, between both nouns and a little
# of everything. Every row adds up to 1, up to rounding.

# %%
with once_solved(attention_scores, softmax, scaled_dot_product_attention):
    output, weights = scaled_dot_product_attention(q, k, v)
    plots.weights_map(weights, words, words, "Who looks at whom")
    plots.show(
        "Heat map of attention weights: hungry and its look at dog, red at ball, chased at both, the nouns at chased."
    )

# %% [markdown]
# And this is what each word takes home: a row of the output is the average of the values, by the weights of that row.
# Look at *its*: its own value was zero in all three components, and now it carries *animal*, fetched from *dog* two
# words away, in one step.

# %%
with once_solved(attention_scores, softmax, scaled_dot_product_attention):
    output, weights = scaled_dot_product_attention(q, k, v)
    _figure, (before, after) = plots.new_figure(2, height=4.6)
    names = ["animal", "thing", "action"]
    plots.heat_map(v, words, names, "Values: before", "word", "component", ax=before, vmin=0, vmax=1)
    options = {"label": "size of the component", "vmin": 0, "vmax": 1}
    plots.heat_map(output, words, names, "Output: after", "", "component", ax=after, **options)
    plots.show("Values and outputs of the seven words: its has no animal component before attention, and 0.90 after.")

# %% [markdown]
# ### The masks in action
#
# Random vectors, and the mask of exercise 4 for sentences of lengths 5, 2 and 0. Look at the columns of padding: their
# weights are 0, and the others share everything. On the right nothing may be looked at, and what comes out is zeros,
# not NaN; nor is there a NaN in any gradient.

# %%
with once_solved(attention_scores, softmax, padding_mask, scaled_dot_product_attention):
    generator = torch.Generator().manual_seed(2)
    tensors = [torch.randn(3, size, 6, generator=generator, requires_grad=True) for size in (4, 5, 5)]
    output, weights = scaled_dot_product_attention(*tensors, padding_mask(torch.tensor([5, 2, 0]), 5))
    output.square().sum().backward()
    print("NaN in a gradient:", any(bool(tensor.grad.isnan().any()) for tensor in tensors))
    _figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True)
    for ax, length, matrix in zip(axes, (5, 2, 0), weights, strict=True):
        plots.heat_map(matrix, list("0123"), list("01234"), f"length {length}", ax=ax, vmin=0, vmax=1)
        ax.set_xlabel("key (position)")
    axes[0].set_ylabel("query (position)")
    plots.show("Weights under three masks: five keys share, two keys share, and with none left all weights are 0.")

# %% [markdown]
# ### The same as PyTorch's
#
# Every Transformer that is written in PyTorch can call `F.scaled_dot_product_attention`. It has faster machinery inside
# and the same convention for masks, and it computes the line that you have just built:

# %%
with once_solved(attention_scores, softmax, padding_mask, scaled_dot_product_attention):
    from torch.nn import functional as F

    generator = torch.Generator().manual_seed(3)
    batch = [torch.randn(2, size, 64, generator=generator) for size in (7, 11, 11)]
    mask = padding_mask(torch.tensor([11, 4]), 11)
    mine, theirs = scaled_dot_product_attention(*batch, mask)[0], F.scaled_dot_product_attention(*batch, mask)
    print("equal to PyTorch's, up to rounding:", torch.allclose(mine, theirs, atol=1e-5))

# %% [markdown]
# **To think about.** Shuffle the keys and the values, both in the same way. What happens to the weights? What happens
# to the output? And what does that mean for a sentence?
#
# <details><summary>Answer</summary>
#
# Each weight moves along with its key, and the output stays exactly as it was (up to rounding), for a sum doesn't care
# in which order its terms come. So attention sees a *set* of keys and values. To it, "dog bites man" and "man bites
# dog" hold the same words, and nothing tells them apart until positions are put into the vectors. Chapter 03 measures
# this, and chapter 05 mends it.
# </details>

# %% [markdown]
# ## What to take along
#
# | piece | what it is for | without it |
# | --- | --- | --- |
# | $Q K^\top$ | compares every query with every key, all at once | no choice to make |
# | $\sqrt{d_k}$ | keeps the variance of scores at 1, whatever the width | softmax saturates in wide models, and its gradient dies |
# | mask | hides keys; True = may attend | padding counts as words |
# | softmax | makes weights that add up to 1 | no average, and scores of any size in the output |
# | $V$ | what is handed over | only *where* to look, not *what* is there |
#
# Two threads lead on. Where do `q`, `k` and `v` come from? In chapter 03 from the sentence itself, by three learned
# matrices, and a second mask keeps words from looking ahead. And one softmax makes one choice per query: a word that
# needs two things at once, as *chased* does, has to share. In chapter 04 it gets several heads.

# %%
progress("02_scaled_dot_product")

# %% [markdown]
# ## Further reading
#
# - Vaswani et al. 2017, *Attention Is All You Need*, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762): section
#   3.2.1 is this chapter, and footnote 4 the argument about the variance.
# - Bahdanau, Cho and Bengio 2014, *Neural Machine Translation by Jointly Learning to Align and Translate*,
#   [arXiv:1409.0473](https://arxiv.org/abs/1409.0473): attention before the Transformer, inside a recurrent translator,
#   with a small network in place of the dot product.
# - Dao et al. 2022, *FlashAttention*, [arXiv:2205.14135](https://arxiv.org/abs/2205.14135): the same result, to
#   rounding, without ever storing the `(T_q, T_k)` matrix; the largest score and the sum of your softmax are kept up to
#   date block by block.

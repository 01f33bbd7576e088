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
# *<< chapter.points >> points · about 55 minutes · runs on a CPU, without internet, all cells together in less than 30 seconds*
#
# In chapter 02 queries, keys and values were written by hand. Now they are *learned*, and all three come from one and the
# same sequence: a sentence asks itself. With that, a word can fetch what it needs from any other word in a single step,
# and the vector of *bank* in one sentence stops being the vector of *bank* in another.
#
# **After this chapter you can**
#
# - build a self-attention layer whose three matrices are learned;
# - show that one and the same word gets different vectors in different contexts, and see which words did it;
# - keep a model from looking into the future, and say what happens when it can;
# - join two masks;
# - measure what self-attention knows about word order: nothing.
#
# **You need** chapter 02, or its idea: *compare, normalise, average*. And `nn.Module` with `nn.Linear`: layers are made
# in `__init__` and used in `forward`.

# %%
from functools import cache

import matplotlib.pyplot as plt
import torch
from IPython.display import display
from torch import Tensor, nn

from utils import attention_view, check, mine, once_solved, plots, progress, random_digits, word_senses

torch.set_num_threads(1)  # the models are tiny: a second thread would only be in the way

# %%
progress("03_self_attention")

# %% [markdown]
# The engine is your own function from chapter 02, if its notebook lies beside this one's folder and passes its check.
# Otherwise PyTorch's stands in, behind the same signature: `scaled_dot_product_attention(q, k, v, mask)` gives
# `(output, weights)`.

# %%
scaled_dot_product_attention = mine("scaled_dot_product_attention")

# %% [markdown]
# ## Where this stands
#
# Chapter 02 built the box in the middle of this picture. What is new stands in front of it: one sequence `x` goes through
# three linear layers, and comes out in three roles.

# %%
row = {"x\n(B, T, d_model)": (0, 0), "attention\nchapter 02": (2.8, 0), "output\n(B, T, d_v)": (4.2, 0)}
roles = {"query\n(B, T, d_k)": (1.4, 1), "key\n(B, T, d_k)": (1.4, 0), "value\n(B, T, d_v)": (1.4, -1)}
source, engine, result = row
paths = [(source, role, engine) for role in roles] + [(engine, result)]
plots.diagram(row | roles, paths, here=list(roles), title="One sequence in three roles", size=(0.96, 0.62))
plots.show("x goes into three boxes, query, key and value; all three lead into attention, which gives the output.")

# %% [markdown]
# << heading("SelfAttention") >>
#
# *About 15 minutes.* A word plays three parts at once. As a **query** it looks for something, as a **key** it can be
# found, as a **value** it has something to hand over. These needn't be the same: *bank* looks for water or for money, but
# isn't itself either. So each part gets a matrix of its own, and gradient descent finds out what belongs in it:
#
# $$Q = X W_Q^\top, \quad K = X W_K^\top, \quad V = X W_V^\top, \qquad
# \mathrm{SelfAttention}(X) = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$
#
# | | shape | made by |
# | --- | --- | --- |
# | `x` | `(B, T, d_model)` | one vector per word |
# | queries, keys | `(B, T, d_k)` | `query` and `key`, linear layers without bias |
# | values | `(B, T, d_v)` | `value`, a linear layer without bias |
# | weights | `(B, T, T)` | every position looks at every position |
# | output | `(B, T, d_v)` | one new vector per word |
#
# The matrices stand transposed, since that is how `nn.Linear` keeps them: `weight` is `(out, in)`. What such a layer does
# to a sequence, in a worked example with two positions; the same three rows of numbers meet each position by itself:

# %%
layer = nn.Linear(4, 3, bias=False)
layer.load_state_dict({"weight": torch.tensor([[1.0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 2]])})
pair_of_words = torch.tensor([[[5.0, 1, 1, 0], [0, 3, 4, 1]]])  # (B, T, d_model)
print("in ", tuple(pair_of_words.shape), pair_of_words.tolist())
print("out", tuple(layer(pair_of_words).shape), layer(pair_of_words).tolist())
print("parameters:", {name: tuple(value.shape) for name, value in layer.named_parameters()})

# %% [markdown]
# With $d_{model} = 4$, $d_k = 3$ and $d_v = 2$, an `x` of `(1, 2, 4)` gives queries and keys `(1, 2, 3)`, values
# `(1, 2, 2)`, weights `(1, 2, 2)` and an output `(1, 2, 2)`.
#
# Widths that are left out are $d_{model}$, *each on its own*: `SelfAttention(8, d_k=4)` has values of width 8.
#
# *Not allowed here*: `F.scaled_dot_product_attention`, `nn.MultiheadAttention` and what is under them. The function that
# `mine` has handed you is fine, whoever wrote it.


# %% nbgrader={"grade": false, "grade_id": "SelfAttention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class SelfAttention(nn.Module):
    """Attend from a sequence to itself, with one head.

    Sub-modules `query`, `key` (d_model → d_k) and `value` (d_model → d_v): `nn.Linear` without bias.
    Each of d_k and d_v is d_model where it is None.
    Source: Vaswani et al. 2017, section 3.2.1, with projections as in 3.2.2.
    """

    def __init__(self, d_model: int, d_k: int | None = None, d_v: int | None = None) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        d_k = d_model if d_k is None else d_k
        d_v = d_model if d_v is None else d_v
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        ### END SOLUTION

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Give the output (B, T, d_v) and the weights (B, T, T).

        x: (B, T, d_model); mask: bool, broadcastable to (B, T, T), True = may attend; None = everything may be.
        A position that may attend to nothing gets weights 0 and output 0.
        """
        ### BEGIN SOLUTION
        return scaled_dot_product_attention(self.query(x), self.key(x), self.value(x), mask)
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: two methods, two moments</summary>
#
# `__init__` runs once: what is made there is kept, and learns. `forward` runs for every batch: what is made there is gone
# afterwards. Where do the three layers belong?
# </details>
#
# <details><summary>Hint 2: None is not a width</summary>
#
# Before you make the layers, replace `d_k` by `d_model` if it is None. Then the same for `d_v`, without looking at
# `d_k`. The layers' first argument is the width that goes in, their second the one that comes out, and a bias is added
# unless you say otherwise.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# In `__init__`: two replacements, then three layers as attributes named `query`, `key` and `value`. In `forward`: send
# `x` through each of the three, and hand the results, in this order and with the mask, to the function from chapter 02.
# It scales, masks and normalises, and it returns just the pair that is asked for.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-SelfAttention", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(SelfAttention)

# %% [markdown]
# ### Three words that mean two things
#
# Untrained, the three matrices are random, and so is where each word looks. To see more we need a task in which looking
# helps. Here is a small one, made for this purpose. Three words have two senses each: *bank*, *bat* and *mouse*. Every
# sentence holds two of them, in either sense, and the question is what each means. So it isn't enough to notice that some
# word in the sentence has to do with water: it has to be a word that matters to *bank*, while *bat* asks for another.
#
# The model is as small as can be: an embedding (one learned vector per word), **your** `SelfAttention`, and a linear
# readout of the sense. There is nothing else, so whatever it finds out about the context has come through your layer.

# %%
train_set, test_set = word_senses.split()
print(len(train_set.ids), "sentences to learn from,", len(test_set.ids), "for the test;", end=" ")
print(len(word_senses.VOCABULARY) - 1, "words")
for sense, clauses in word_senses.CLAUSES.items():
    print(f"{sense:22}", clauses[0])


# %%
@cache
def trained(layer: type[nn.Module]) -> nn.Module:
    """Train a model around this kind of layer, once: d_model 48, d_k 16, d_v 12."""
    return word_senses.train(layer, widths=(48, 16, 12), steps=400)


with once_solved(SelfAttention):
    print(f"right on the test sentences: {word_senses.accuracy(trained(SelfAttention), test_set):.1%}")

# %% [markdown]
# (Be clear about what this is. The sentences are joined from 31 clauses, two at a time, and the test sentences are pairs
# that weren't seen; the clauses in them were. That's enough to *watch* attention, and proves nothing about English. During
# training each of the other words is hidden at random, three times in ten, by a mask: so that the model can't lean on a
# single clue. And it is told the right sense; chapter 07 learns from plain text.)
#
# **What you should see.** A sentence whose wording is in none of the clauses. Look at two rows. The row *bat* is bright at
# *cave* (0.92); the row *bank* at *stream*, *ducks* and *swam*, which share nearly all of it. *One* sentence, *one* set of
# keys, but each of the two asks its own question. (Nobody asked anything of the other words, so what their rows show is
# a by-product and needn't make sense.)

# %%
sentence = "the bat slept in the cave while ducks swam to the bank of the stream"
words = sentence.split()
with once_solved(SelfAttention):
    logits, _output, weights = trained(SelfAttention)(word_senses.ids_of(sentence))
    for position in (1, 11):
        print(words[position], "→", word_senses.SENSES[logits[0, position].argmax()])
    _figure, ax = plt.subplots(figsize=(10, 6.6))
    plots.weights_map(weights[0], words, words, "A sentence looks at itself", ax=ax, numbers=False)
    plots.show(
        "Weights of a sentence of 15 words: the row bat is bright at cave, the row bank at stream, ducks and swam."
    )

# %% [markdown]
# ### Explore it by hand
#
# Choose a word, or just point at one, and see where it looks. Try *bat* first, then *bank*. (This works in a saved or
# exported notebook too.)

# %%
with once_solved(SelfAttention):
    _logits, _output, weights = trained(SelfAttention)(word_senses.ids_of(sentence))
    display(attention_view(weights[0], words, title="Where does each word look?", start=11))

# %% [markdown]
# ### The same word in two contexts
#
# Six sentences, each with *bank*: three by a river, three about money. Left, how alike the six *embeddings* of *bank* are,
# measured by the cosine of the angle between them (1 = the same direction, −1 = opposite): they are one and the same
# vector, so all 1. Right, the six *outputs* of your layer at that very position.

# %%
river = ["we fished from the other bank", "the boat drifted to the grassy bank", "reeds grew along the muddy bank"]
money = ["the bank lent me money", "he opened an account at the other bank", "the interest at the bank"]
with once_solved(SelfAttention):
    ids = word_senses.ids_of(*river, *money)
    here = ids == word_senses.NUMBER_OF["bank"]
    reader = trained(SelfAttention)
    _logits, output, _weights = reader(ids, (ids != 0).unsqueeze(1))
    _figure, axes = plots.new_figure(2, height=4.6)
    names = ["river 1", "river 2", "river 3", "money 1", "money 2", "money 3"]
    pairs = (("Embeddings: before", reader.words(ids)[here]), ("Outputs: after", output[here]))
    for ax, (title, vectors) in zip(axes, pairs, strict=True):
        cosines = torch.cosine_similarity(vectors[:, None], vectors[None], dim=-1)
        label = "cosine (no unit)" if ax is axes[1] else ""
        plots.heat_map(cosines, names, names, title, ax=ax, vmin=-1, vmax=1, cmap="PuOr", label=label)
    plots.show(
        "Cosines between six vectors of bank. Embeddings: all 1. Outputs: high within river and money, low across."
    )

# %% [markdown]
# Look at the two blocks on the right: within a sense the cosine is 0.96 or more, across senses it is about 0. The layer
# has turned one vector into two kinds, by mixing in what the context had to say. Note *other bank*, which occurs in both
# senses: what decided there wasn't the nearest word.
#
# This is what a table of fixed word vectors can't do, and the reason why vectors that come out of attention are called
# *contextual*.
#
# **To think about.** Suppose query and key were one and the same layer, $W_Q = W_K$. What would be true of all scores? And
# what would a word's score for itself be like, compared with the others?
#
# <details><summary>Answer</summary>
#
# The score of *i* for *j* would be $q_i \cdot q_j$, so the matrix of scores would be symmetric: *cave* would want *bat*
# exactly as much as *bat* wants *cave*. (The weights needn't be symmetric, since softmax normalises each row by itself.)
# And a word's score for itself would be $|q_i|^2$, never negative, and larger than that of any other key unless that key
# is longer. So each word would mostly see itself. The row *bat* above, which hardly looks at *bat*, would be hard to get.
# Looking *for* something and being found *as* something are different; two matrices keep them apart.
# </details>

# %% [markdown]
# << heading("causal_mask") >>
#
# *About 5 minutes.* Reading is one thing, writing another. A model that writes produces word after word, and when it
# chooses one, the later ones don't exist yet. It should learn under the same condition: position *i* may attend to
# positions 0 to *i*, itself included, and to nothing that comes later. As a mask, in the convention of the course:
#
# > True = may attend. Rows are queries, columns are keys.
#
# $$\text{mask}_{ij} = (j \le i)$$
#
# What each position of a sentence may see, in a worked example without tensors:

# %%
short = ["the", "cat", "chased", "the", "mouse"]
for i, word in enumerate(short):
    print(f"{i}  {word:7} sees  {' '.join(short[: i + 1])}")

# %% [markdown]
# Five rows, five columns, and every row has one True more than the row above. No mask depends on the words; the length
# `T` is enough.
#
# A mask has to lie where the scores lie, on the CPU or on a GPU. That is what `device` is for; None means PyTorch's
# default. Hand it to whatever function makes the tensor: moving it afterwards costs a copy.


# %% nbgrader={"grade": false, "grade_id": "causal_mask", "locked": false, "schema_version": 3, "solution": true, "task": false}
def causal_mask(T: int, device: torch.device | str | None = None) -> Tensor:
    """Mark what each position may attend to when it must not look ahead: itself and everything before it.

    Returns bool of shape (T, T) on `device`: entry (i, j) is True exactly if j ≤ i.
    Source: Vaswani et al. 2017, section 3.2.3, third point.
    """
    ### BEGIN SOLUTION
    return torch.ones(T, T, dtype=torch.bool, device=device).tril()
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: a shape with a name</summary>
#
# Draw the mask for T = 4 on paper, True as a filled square. What is the shape called in linear algebra? PyTorch has a
# function that keeps just this part of a matrix.
# </details>
#
# <details><summary>Hint 2: or compare</summary>
#
# As with the padding mask, a comparison of two ranges does it as well: positions of queries as a column, positions of keys
# as a row. Which of the two has to be the smaller one, and may they be equal?
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Make a (T, T) tensor of True, with the dtype bool and on the device, in one call. Keep its lower triangle together with
# the diagonal, which is what PyTorch's function does if you give it nothing else. No conversion is needed.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-causal_mask", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(causal_mask)

# %% [markdown]
# **What you should see.** A staircase: bright on and below the diagonal. Read it row by row, it is the list above. The
# first word sees one key, the last one sees all.

# %%
with once_solved(causal_mask):
    mask = causal_mask(5)
    marks = [["may attend" if entry else "hidden" for entry in row] for row in mask.tolist()]
    _figure, ax = plt.subplots(figsize=(8, 3.8))
    labels = {"ylabel": "query: the word that looks", "xlabel": "key: the word that is looked at"}
    plots.heat_map(mask, short, short, "Bright: may attend", entries=marks, ax=ax, vmin=0, vmax=1, **labels)
    plots.show("Causal mask of five words: the lower triangle with the diagonal is open, the rest is hidden.")

# %% [markdown]
# **To think about.** A text of T words gives a model that may not look ahead T − 1 tasks at once: guess word 1 from word 0,
# word 2 from words 0 and 1, and so on. How many forward passes does this layer need for all of them? How many would it
# need without the mask, if it still has to be honest?
#
# <details><summary>Answer</summary>
#
# One. Every row of the triangle is a training example with a prefix of its own, and they don't disturb each other. Without
# the mask one would have to cut the text after every word and run the layer on each prefix by itself: T − 1 passes. So the
# mask isn't only about honesty; it is what lets a decoder train on all positions of a text at the same time. A recurrent
# network is honest by nature, but needs T steps one after another.
# </details>

# %% [markdown]
# << heading("CausalSelfAttention") >>
#
# *About 10 minutes.* Now put the mask where it belongs. The layer has the same parameters as `SelfAttention`, and differs
# only in what it may see. And since sentences in a batch differ in length, there is a second mask to respect:
# `padding`, of shape `(B, 1, T)`, True at real tokens. A key is visible only where **both** say so:
#
# $$\text{visible}_{bij} = (j \le i) \;\text{and}\; \text{padding}_{bj}$$
#
# A worked example, by hand: four positions, the last of which is padding. What do the queries at positions 1 and 2 see,
# and what would they see if the two masks were joined the wrong way?

# %%
padding_row = [True, True, True, False]
for query in (1, 2):
    causal_row = [key <= query for key in range(4)]
    both = [a and b for a, b in zip(causal_row, padding_row, strict=True)]
    either = [a or b for a, b in zip(causal_row, padding_row, strict=True)]
    print(f"query {query}: causal {causal_row}, padding {padding_row}")
    print(f"         and: {both}   or: {either}")

# %% [markdown]
# With *or*, query 1 sees key 2: a word of the future, let in because it is a real word. Such a model trains very well.
# You'll see how well.
#
# Some batches are padded *in front*. Then the first position is padding and sees nothing but itself, which is hidden:
# nothing is left to attend to. As in chapter 02, the answer is zeros, and never NaN.
#
# You may derive the class from `SelfAttention`, as the stub does, or write all of it yourself. It has to work for
# sequences of any length, also one that is longer than all before.


# %% nbgrader={"grade": false, "grade_id": "CausalSelfAttention", "locked": false, "schema_version": 3, "solution": true, "task": false}
class CausalSelfAttention(SelfAttention):
    """Attend from a sequence to itself, never looking ahead. Parameters and widths are those of SelfAttention.

    Source: Vaswani et al. 2017, section 3.2.3, third point.
    """

    def forward(self, x: Tensor, padding: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Give the output (B, T, d_v) and the weights (B, T, T).

        x: (B, T, d_model); padding: bool (B, 1, T), True = a real token; None = all are.
        A position that may attend to nothing gets weights 0 and output 0.
        """
        ### BEGIN SOLUTION
        mask = causal_mask(x.shape[1], device=x.device)
        if padding is not None:
            mask = mask & padding  # (B, T, T)
        return super().forward(x, mask)
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: which T?</summary>
#
# The mask has to fit this `x`, so its size is read off `x` in every forward pass. Which of the three dimensions of `x`
# counts positions? And where does `x` lie?
# </details>
#
# <details><summary>Hint 2: joining</summary>
#
# `(T, T)` and `(B, 1, T)` broadcast to `(B, T, T)` by themselves. Python's word `and` doesn't work on tensors; there is an
# operator for booleans that goes entry by entry. Where `padding` is None, there is nothing to join.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Make the causal mask for the length and device of `x`. If there is padding, join the two, into a new tensor. Then let the
# parent class do the rest with that mask: `super().forward` takes `x` and a mask, and returns the pair.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-CausalSelfAttention", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(CausalSelfAttention)

# %% [markdown]
# **What you should see.** The same random weights in both layers, without and with the causal mask. Look at the upper
# triangle, which is empty on the right, and at the first row: *the* has only itself, so it gets all of the weight. Every
# row still adds up to 1: what is hidden is taken out *before* softmax, and the rest shares everything.


# %%
def two_layers() -> tuple[nn.Module, nn.Module, Tensor]:
    """Make a layer that sees everything, one that sees the past, with equal weights, and vectors for five words."""
    torch.manual_seed(3)
    sees_all, sees_past = SelfAttention(16), CausalSelfAttention(16)
    sees_past.load_state_dict(sees_all.state_dict())
    return sees_all, sees_past, 2 * torch.randn(1, 5, 16)


# %%
with once_solved(SelfAttention, causal_mask, CausalSelfAttention):
    *layers, x = two_layers()
    _figure, axes = plots.new_figure(2, height=4.4)
    for ax, layer, title in zip(axes, layers, ["SelfAttention", "CausalSelfAttention"], strict=True):
        plots.heat_map(layer(x)[1][0], short, short, title, "query", "key", ax=ax, vmin=0, vmax=1)
    plots.show("Weights of five words: without a mask all are filled, with the causal mask only the lower triangle.")

# %% [markdown]
# ### Does it leak?
#
# A test that works for any model: change the last word, and see which outputs move. Nothing before the last position can
# know of the change, unless something leaks.

# %%
with once_solved(SelfAttention, causal_mask, CausalSelfAttention):
    *layers, x = two_layers()
    changed = torch.cat([x[:, :-1], 2 * torch.randn(1, 1, 16)], dim=1)
    _figure, ax = plots.new_figure(height=3.8)
    for shift, layer, name, colour in zip(
        (-0.2, 0.2), layers, ("all", "the past"), (plots.ORANGE, plots.BLUE), strict=True
    ):
        moved = (layer(changed)[0] - layer(x)[0]).abs().amax(dim=(0, 2)).detach()
        bars = ax.bar(torch.arange(5) + shift, moved, 0.38, color=colour, label=f"sees {name}")
        ax.bar_label(bars, fmt=plots.number, fontsize=11)
    ax.set_xticks(range(5), [f"{i}: {word}" for i, word in enumerate(short)])
    ax.set(xlabel="position", ylabel="largest change of the output", title="The last word is replaced")
    ax.legend(loc="upper center")
    plots.show("Changes of the outputs when the last word changes: everywhere without a mask, only at the end with it.")

# %% [markdown]
# Look at positions 0 to 3: orange moves everywhere, blue not at all.
#
# ### What a leak does
#
# Here is a task that nobody can solve: guess the next digit of a sequence of *random* digits. The best possible is one
# right in ten, and a mean loss of $\ln 10 \approx 2.303$. Two models learn it, equal but for the attention inside: yours
# with the mask, and yours without. (Each also gets one learned vector per position, so that it can tell *next* from the
# rest. Chapter 05 is about that.)

# %%
with once_solved(SelfAttention, causal_mask, CausalSelfAttention):
    runs = {"sees all": (SelfAttention, plots.ORANGE), "sees the past": (CausalSelfAttention, plots.BLUE)}
    _figure, ax = plots.new_figure(height=3.8)
    for name, (kind, colour) in runs.items():
        model, losses = random_digits.train(kind, d_model=32, steps=150)
        ax.plot(range(1, 151), losses, color=colour, label=name)
        training, use = random_digits.accuracies(model)
        print(f"{name:14} right when the whole sequence is there: {training:5.1%}   when only the past is: {use:5.1%}")
    ax.axhline(2.303, color=plots.BLACK, linewidth=1.5, linestyle=":", label="best that is possible: ln 10")
    ax.set(xlabel="training step", ylabel="mean loss (nats)", title="Guessing digits that were drawn at random")
    ax.legend(loc="center right")
    plots.show(
        "Loss against training step: without a mask it falls to 0, below what is possible; with it, it stays at 2.3."
    )

# %% [markdown]
# Look at the orange curve: it falls *below the best that is possible*, to nothing. Every answer is right, because each
# position simply copies the digit after it. In use, when that digit isn't there yet, one in ten is right: it has learned
# nothing. The blue curve stays where it has to be.
#
# Keep this in mind whenever a loss is too good to be true. A leak doesn't crash, doesn't look wrong in the loss, and shows
# only where a model has to write by itself.
#
# **To think about.** Somebody leaves the scores alone and sets the *weights* above the diagonal to 0, after softmax. The
# future gets no weight. Does it still leak?
#
# <details><summary>Answer</summary>
#
# Yes. The sum in softmax's denominator still runs over all keys, so what is left of a row adds up to less than 1, and by
# how much less depends on the future. An early position can read from the size of its own weights how well later words fit
# its query. It is a narrow channel, but it is one. If the rows are divided by their sums afterwards, the
# leak is gone; in exact arithmetic that is the same as masking before softmax.
# </details>

# %% [markdown]
# << heading("permutation_gap") >>
#
# *About 8 minutes.* One thing is missing from all the formulas above: the number *i* of a position. Scores compare vectors
# with vectors, the average is a sum, and a sum doesn't care about the order of its terms. So what does self-attention do
# when the words come in another order?
#
# A claim that can be measured: **permuting the input permutes the output, and changes nothing else.** Let $P$ permute
# positions. A module $f$ for which $f(PX) = P f(X)$ holds for all $X$ and $P$ is called *permutation-equivariant*. The
# **gap** for one $X$ and one $P$ is how far it is from that:
#
# $$\text{gap} = \max \big|\, f(PX) - P f(X) \,\big|$$
#
# the largest absolute difference between any two numbers of the two tensors. What a permutation is here, in a worked
# example: `perm` lists which old position comes to each new one.

# %%
perm = torch.tensor([2, 0, 1])
letters = torch.tensor([[[10.0], [20.0], [30.0]]])  # (B, T, d) = (1, 3, 1)
print("x             ", letters.flatten().tolist())
print("x[:, perm]    ", letters[:, perm].flatten().tolist(), "  new position 0 holds what was at", perm[0].item())
running = letters.cumsum(1)  # a "module" that adds up from the left: it cares about order
print("f(x)          ", running.flatten().tolist())
print("f(x[:, perm]) ", letters[:, perm].cumsum(1).flatten().tolist())

# %% [markdown]
# For this running sum, the two sides are `[30, 40, 60]` and `[60, 10, 30]`, so the gap is 30.
#
# Some modules return a tensor, some a pair `(output, weights)`, as yours do; of a pair, the output is meant. Whoever
# measures leaves things as they were: the module keeps its mode (train or eval), its weights and its gradients.


# %% nbgrader={"grade": false, "grade_id": "permutation_gap", "locked": false, "schema_version": 3, "solution": true, "task": false}
def permutation_gap(module: nn.Module, x: Tensor, perm: Tensor) -> float:
    """Measure how far a module is from treating all positions alike.

    module: maps (B, T, d) to (B, T, d_out), or to a tuple with that output first; x: (B, T, d); perm: (T,), a permutation
    of 0 … T − 1. Returns the largest absolute difference between the output for the permuted input and the permuted output.
    """
    ### BEGIN SOLUTION

    def output_of(z: Tensor) -> Tensor:
        result = module(z)
        return result if isinstance(result, Tensor) else result[0]

    with torch.no_grad():
        return (output_of(x[:, perm]) - output_of(x)[:, perm]).abs().max().item()
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: two runs</summary>
#
# The module runs twice: on `x` as it is, and on `x` with its positions permuted. Then one of the two outputs has to be
# permuted as well, so that the same word stands at the same place in both. Which one?
# </details>
#
# <details><summary>Hint 2: which dimension, which kind of result?</summary>
#
# Positions are dimension 1, and indexing with a tensor of numbers picks them in that order. Whether a result is a tensor
# or a tuple can be asked with `isinstance`. Mind that `[0]` works on a tensor too, but means something else there.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# A small inner function that runs the module and gives the output alone saves you from writing it twice. Without gradients:
# the output for the permuted input, minus the output for `x`, permuted in the same way; absolute value; maximum; and a
# plain Python number of it.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-permutation_gap", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(permutation_gap)

# %% [markdown]
# **What you should see.** The gap of six modules, for the same random sequence of 9 vectors and the same permutation, on a
# logarithmic axis (an exact 0 stands at $10^{-9}$). Look at the two groups. On the left, at the level of float32's
# rounding or exactly 0, what treats all positions alike: a linear layer, a feed-forward network, your `SelfAttention`. On
# the right, what knows about order: a recurrent network, your `CausalSelfAttention`, and self-attention again, after a
# different vector has been added at every position.


# %%
class WithPositions(nn.Module):
    """Self-attention on x plus one random vector per position: a first taste of chapter 05."""

    def __init__(self, attention: nn.Module, T: int, d_model: int) -> None:
        super().__init__()
        self.attention, self.places = attention, nn.Parameter(torch.randn(T, d_model))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.attention(x + self.places)


# %%
with once_solved(SelfAttention, causal_mask, CausalSelfAttention, permutation_gap):
    torch.manual_seed(4)
    x, perm = torch.randn(2, 9, 32), torch.randperm(9)
    modules = {"linear layer": nn.Linear(32, 32)}
    modules["feed-forward"] = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
    modules["SelfAttention"] = SelfAttention(32)
    modules["recurrent network"] = nn.RNN(32, 32, batch_first=True)
    modules["CausalSelfAttention"] = CausalSelfAttention(32)
    modules["SelfAttention + positions"] = WithPositions(SelfAttention(32), 9, 32)
    gaps = [permutation_gap(module, x, perm) for module in modules.values()]
    print({name: float(f"{gap:.1e}") for name, gap in zip(modules, gaps, strict=True)})
    _figure, ax = plots.new_figure(height=3.6)
    colours = [plots.BLUE] * 3 + [plots.ORANGE] * 3
    ax.scatter([max(gap, 1e-9) for gap in gaps], list(modules), s=90, color=colours)
    ax.set(xscale="log", xlim=(3e-10, 10), xlabel="gap (largest absolute difference)")
    ax.invert_yaxis()
    plots.show("Gaps on a logarithmic axis: three modules below one millionth, three others above one tenth.")

# %% [markdown]
# ### Who chased whom?
#
# What that means for a sentence. Two sentences say opposite things; each word has a random vector, and the layer random
# weights, since the claim holds for all weights. Look for the row *mouse* in both pictures, then for *cat* and *chased*.

# %%
with once_solved(SelfAttention):
    torch.manual_seed(24)
    vector_of, layer = (
        {word: 2 * torch.randn(24) for word in ("the", "cat", "chased", "mouse")},
        SelfAttention(24, d_v=8),
    )
    _figure, axes = plots.new_figure(2, height=3.6)
    outputs = []
    for ax, text in zip(axes, ("the cat chased the mouse", "the mouse chased the cat"), strict=True):
        outputs.append(layer(torch.stack([vector_of[word] for word in text.split()])[None])[0][0].detach())  # (5, 8)
        options = {"vmin": -3, "vmax": 3, "cmap": "PuOr", "digits": 1, "xlabel": "component of the output"}
        options["label"] = "size (no unit)" if ax is axes[1] else ""
        plots.heat_map(outputs[-1], text.split(), list("01234567"), text, ax=ax, **options)
    plots.show("Outputs for two sentences with cat and mouse exchanged: each word has the same row in both pictures.")
    same = torch.allclose(outputs[0], outputs[1][[0, 4, 2, 3, 1]], atol=1e-5)
    print("the rows of the second, put in the order of the first, are those of the first:", same)

# %% [markdown]
# The same five rows, in another order. Whoever was chased, the vectors are the same: to this layer a sentence is a *set* of
# words. (More exactly, a set in which a word may occur more than once.)
#
# For the senses of *bank* and *mouse* that was enough. For what a sentence says it isn't, and chapter 05 mends it.
#
# **To think about.** `CausalSelfAttention` has no more parameters than `SelfAttention`, and no vector tells it a position.
# Why does it notice a permutation? Does the *last* position notice when only the words before it are shuffled?
#
# <details><summary>Answer</summary>
#
# The mask knows: row *i* lets through *i + 1* keys, and which these are depends on the order. The position comes in through
# what is hidden. The last position sees all keys, and to it they are a set again: shuffle those before it, and its output
# stays the same. That holds for one layer. With a second one on top, the vectors that the last position averages have
# already been changed by the order below. So a stack of causal layers can tell order to some degree without any positional
# encoding, and such models have been trained.
# </details>

# %% [markdown]
# ## What to take along
#
# | piece | what it is for | without it |
# | --- | --- | --- |
# | three matrices from one `x` | looking for, being found, handing over | symmetric scores, and keys that are values |
# | every position looks at every position | a word's vector takes in its context, in one step | *bank* is *bank* everywhere |
# | causal mask | each position learns from its past alone | a perfect loss, and nothing learned |
# | padding **and** causal | both have to hold | words of the future, or padding, shine through |
# | the gap | tells what a module knows about order | surprises |
#
# One softmax gives one distribution per word, so a word that needs two things has to share its attention between them. In
# chapter 04 it gets several heads. And the order that self-attention doesn't see is put into `x` in chapter 05.

# %%
progress("03_self_attention")

# %% [markdown]
# ## Further reading
#
# - Vaswani et al. 2017, *Attention Is All You Need*, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762): section 3.2.3
#   says where the model uses attention and where it hides the future; section 4 says why *self*-attention.
# - Lin et al. 2017, *A Structured Self-Attentive Sentence Embedding*, [arXiv:1703.03130](https://arxiv.org/abs/1703.03130):
#   self-attention on top of a recurrent network, a few months before it stood alone.
# - Haviv et al. 2022, *Transformer Language Models without Positional Encodings Still Learn Positional Information*,
#   [arXiv:2203.16634](https://arxiv.org/abs/2203.16634): the last question above, measured.
# - Lee et al. 2019, *Set Transformer*, [arXiv:1810.00825](https://arxiv.org/abs/1810.00825): where a set is just what one wants.

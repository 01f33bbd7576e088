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
# *<< chapter.points >> points and << exercise("rotary").points >> extra · about an hour · runs on a CPU, without
# internet, all cells together in less than 30 seconds*
#
# To attention, "dog bites man" and "man bites dog" are the same three words. A recurrent network read them one after
# the other and got their order for free. We gave that up for speed, and now we have to put the order back: not into the
# machine, but into its input. To the vector of each word a vector is added that says *where* the word stands.
#
# $$x_p = \sqrt{d_{model}} \cdot \mathrm{embedding}(\text{word}_p) + PE_p$$
#
# This chapter is about $PE_p$: a row of sines and cosines, chosen so that "three words further on" is always the same
# turn.
#
# **After this chapter you can**
# - show that attention without positions can't tell two orders apart, however long it is trained;
# - build the sinusoids of the paper, for any width, and exact at position 10,000;
# - say why each sine has a cosine beside it, and prove that a shift is a matrix;
# - build the input layer of a Transformer, with an encoding that moves along but isn't learned;
# - (extra) turn queries and keys by their positions, as most of today's language models do.
#
# **You need** sine and cosine of a sum, matrix products, `nn.Module`; multi-head attention from chapter 04.

# %%
import math

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

from utils import check, mine, once_solved, order_task, plots, progress

# %%
progress("05_positional_encoding")

# %% [markdown]
# One piece comes from an earlier chapter: your own multi-head attention if it passes its check there, PyTorch's if not.

# %%
MultiHeadAttention = mine("MultiHeadAttention")

# %% [markdown]
# ## Where this chapter sits
#
# Filled: this chapter. Look at where it happens: once in the encoder and once in the decoder, at the very bottom, before
# any attention. Everything above lives on what is put in here.

# %%
encoder = ["words\n+ positions\n(05)", "multi-head\nself-attention\n(04)", "feed-forward\nnetwork\n(06)"]
decoder = [
    "words so far\n+ positions\n(05)",
    "masked multi-\nhead attention\n(04)",
    "multi-head\ncross-attention\n(04)",
]
encoder += ["BERT: one\nmore layer\n(07)"]
decoder += ["feed-forward\n(06)", "next word\n(06)"]
places = {box: (column, 1) for column, box in enumerate(encoder)}
places |= {box: (column, 0) for column, box in enumerate(decoder)}
paths = [encoder, decoder, (encoder[2], decoder[2])]
title = "Encoder (above), decoder (below): positions are added to the words, once"
plots.diagram(places, paths, here=[encoder[0], decoder[0]], title=title)
plots.show("Encoder and decoder as two rows of boxes; the first box of each is filled: words plus positions.")

# %% [markdown]
# ## A set has no first element
#
# A small question of order, which will be with us to the end. Animals stand in a queue. Exactly one cat and one dog are
# among them. **Who stands further in front?** Here are two queues:

# %%
queues, answers = order_task.draw_queues(2, torch.Generator().manual_seed(5))
for queue, answer in zip(queues, answers, strict=True):
    print(order_task.written(queue), "→", order_task.ANIMALS[answer])

# %% [markdown]
# Now take the first queue, and let cat and dog change places. Every question about order has the opposite answer. What
# does a network see of it that looks at the animals with attention, and then takes the mean over the queue? Look at the
# two rows of numbers it gives, and at how much they differ.

# %%
torch.manual_seed(0)
untrained = order_task.QueueReader(nn.Embedding(len(order_task.ANIMALS), 64), MultiHeadAttention(64, 4), 64)
changed = queues[0].clone()
changed[queues[0] == order_task.CAT], changed[queues[0] == order_task.DOG] = order_task.DOG, order_task.CAT
before, after = untrained(torch.stack([queues[0], changed])).detach()
print("before", before.numpy().round(4), "  after", after.numpy().round(4))
print(f"largest difference: {(before - after).abs().max():.0e}")

# %% [markdown]
# Nothing but rounding, and that isn't because the network is untrained. Permuting its input permutes the output of
# attention (chapter 03 proved it), and a mean doesn't care about permutations. *No* choice of weights can tell the two
# queues apart; training can only try to guess, and we'll see it do so.
#
# (A causal mask would change that: the third word sees three words, and the tenth sees ten, so a decoder gets a hint of
# where it is without any encoding. The encoder, which sees everything, gets none.)

# %% [markdown]
# ## What should a position look like?
#
# We want one vector per position, to be added to the word. A few ideas, and what is wrong with them:
#
# | idea | what is wrong |
# | --- | --- |
# | the number itself, 0, 1, 2, … in one component | at position 500 it drowns the word |
# | the number divided by the length | one step means something else in every sentence |
# | a 1 at the place of the position, 0 elsewhere | as wide as the longest sentence; 7 is as far from 8 as from 300 |
# | the digits of a binary number | small and bounded, but it jumps: from 7 to 8 four digits change at once |
#
# The last one is nearly it. Look at the columns: the last digit flips at every step, the one before at every second
# step, then every fourth. Each column is a square wave, half as fast as its neighbour.

# %%
numbers = torch.arange(16)
digits = (numbers[:, None] // torch.tensor([8, 4, 2, 1])) % 2
_figure, ax = plt.subplots(figsize=(5.5, 5.2))
options = {"vmin": 0, "vmax": 1, "digits": 0, "ax": ax}
columns = ["eights", "fours", "twos", "ones"]
labels = {"ylabel": "position", "xlabel": "digit", "title": "Counting in binary"}
plots.heat_map(digits.float(), [str(number) for number in range(16)], columns, **labels, **options)
plots.show("The numbers 0 to 15 in binary, one row each: the right column alternates fastest, the left one slowest.")

# %% [markdown]
# Now replace the square waves by smooth ones, so that near positions have near vectors and a gradient can say "a little
# further to the left". Then give each sine a cosine as companion, for a reason that exercise 2 reveals.

# %% [markdown]
# << heading("sinusoidal_encoding") >>
#
# *About 12 minutes.* Columns come in pairs. Both columns of pair $i$ share one **rate** $\omega_i$, the angle by which
# they advance per position. The first pair has the rate 1, and every further one is slower than the one before by the
# same factor:
#
# $$PE_{p,\,2i} = \sin(\omega_i\, p), \qquad PE_{p,\,2i+1} = \cos(\omega_i\, p), \qquad \omega_i = \text{base}^{-2i/d_{model}}$$
#
# With base 10,000 the wavelengths, $2\pi/\omega_i$ positions, run from 6.28 to nearly 62,832.
#
# A worked example: position 3 with `d_model = 4`, which makes two pairs. One number after the other:

# %%
rate_0, rate_1 = 1.0, 1 / math.sqrt(10_000)
print(f"rates {rate_0} and {rate_1}; angles at position 3: {3 * rate_0} and {3 * rate_1}")
row = [math.sin(3.0), math.cos(3.0), math.sin(0.03), math.cos(0.03)]
print("row 3:", [round(number, 4) for number in row], "   shape of rows 0 to 3: (4, 4)")

# %% [markdown]
# Two things to take care of:
#
# - **Odd widths.** With `d_model = 5` there are three sines and two cosines: the last sine has no companion. The
#   exponent is still $2i/5$.
# - **Precision.** The result is float32, but don't compute the *angles* in it. An angle near 9,999 has a spacing of
#   0.001 in float32, so rounding alone moves the wave by up to 0.0005. Compute positions, rates and angles in float64
#   and convert at the end.


# %% nbgrader={"grade": false, "grade_id": "sinusoidal_encoding", "locked": false, "schema_version": 3, "solution": true, "task": false}
def sinusoidal_encoding(T: int, d_model: int, base: float = 10_000.0) -> Tensor:
    """Give the encodings of positions 0 to T − 1, one row each: sines in even columns, cosines in odd ones.

    Returns float32 of shape (T, d_model); d_model may be odd. Exact to 0.0001 up to T = 10,000 at least, for which the
    angles have to be computed in float64.
    Source: Vaswani et al. 2017, section 3.5.
    """
    ### BEGIN SOLUTION
    columns = torch.arange(d_model)
    rates = base ** (-(columns - columns % 2).double() / d_model)  # the columns of a pair share one rate
    angles = torch.arange(T, dtype=torch.float64).unsqueeze(1) * rates  # (T, d_model)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos()).float()
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: a table of angles first</summary>
#
# Every entry is a sine or cosine of *position times rate*. Positions belong to the rows, rates to the columns. Which
# shapes let broadcasting multiply each position by each rate?
# </details>
#
# <details><summary>Hint 2: which number goes into the exponent?</summary>
#
# For the column numbers 0, 1, 2, 3, 4, 5 the exponents are 0, 0, 2, 2, 4, 4, each divided by `d_model` and with a minus.
# Be careful with the 2: if your range already counts 0, 2, 4, …, it is in there.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Make a column of positions and a row of rates, both float64. Multiply. Either compute one rate per *column* and choose
# sine or cosine by whether the column is even; or compute one rate per *pair* and write sines into every second column
# from 0, cosines into every second from 1, leaving out the last cosine where there is no column for it. Convert to
# float32 at the end.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-sinusoidal_encoding", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(sinusoidal_encoding)

# %% [markdown]
# **What you should see.** The encoding as an image: one row per position, one column per component. On the left the
# waves are fast, as in the ones of the binary counter. Look at how far to the right anything still changes: over 100
# positions, the right third of the columns hardly moves. Those are kept for longer texts.

# %%
with once_solved(sinusoidal_encoding):
    _figure, ax = plt.subplots(figsize=(9, 5))
    image = ax.imshow(sinusoidal_encoding(100, 64), aspect="auto", cmap="PuOr", vmin=-1, vmax=1)
    ax.figure.colorbar(image, ax=ax, label="value of the encoding")
    ax.set(xlabel="component (column)", ylabel="position", title="100 positions, d_model = 64")
    plots.show(
        "The encoding as an image: fast vertical waves in the left columns, ever slower to the right, stripes at the end."
    )

# %% [markdown]
# Is it any good as a measure of closeness? Compare positions by their dot product, as attention would. With $\cos a
# \cos b + \sin a \sin b = \cos(a - b)$, each pair adds one cosine:
#
# $$PE_p \cdot PE_q = \sum_i \cos\big(\omega_i\,(p - q)\big)$$
#
# Only the distance is left. Look at the right picture: three curves from three different positions lie on top of each
# other. Each position is most like itself, and near ones are more alike than far ones (with ripples).

# %%
with once_solved(sinusoidal_encoding):
    PE = sinusoidal_encoding(200, 64)
    similarity = PE @ PE.T  # (200, 200)
    _figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4))
    image = left.imshow(similarity)
    left.figure.colorbar(image, ax=left, label="dot product")
    left.set(xlabel="position q", ylabel="position p", title="$PE_p \\cdot PE_q$")
    distances = torch.arange(-60, 61)
    for p, style in ((70, "-"), (100, "--"), (130, ":")):
        right.plot(distances, similarity[p, p + distances], style, label=f"p = {p}")
    right.set(xlabel="distance q − p (positions)", ylabel="dot product", title="Only the distance counts")
    right.legend()
    plots.show("Left: dot products of all pairs of positions, bright diagonal. Right: three curves that coincide.")

# %% [markdown]
# And look at the symmetry: three to the left is exactly as similar as three to the right. The plain dot product knows
# *how far*, and not *which way*. But attention doesn't compare the vectors themselves, it compares $W^Q x$ and $W^K x$;
# what matrices can do with these vectors is the subject of exercise 2.
#
# **To think about.** Suppose that only the sines were there, one rate per column. What would be lost?
#
# <details><summary>Answer</summary>
#
# A sine alone doesn't say whether it is rising or falling: $\sin 1 = \sin(\pi - 1)$, so a column has the same value at
# two phases, and only the cosine beside it tells them apart. The dot product would lose its beauty too: $\sin a \sin b
# = \frac{1}{2}(\cos(a - b) - \cos(a + b))$, so it would depend on where the two are, not only on how far apart. And a
# shift wouldn't be a matrix any more, which is next.
# </details>

# %% [markdown]
# << heading("shift_matrix") >>
#
# *About 12 minutes.* Why sines *and* cosines? The paper gives the reason in half a sentence: for every fixed offset $k$,
# $PE_{p+k}$ is a linear function of $PE_p$. In other words there is a matrix $M_k$ with
#
# $$PE_{p+k} = M_k\, PE_p \qquad \text{for every } p.$$
#
# The *same* matrix at position 2 and at position 2,000. So a head that wants to look three words back can learn to do so
# once, and it works everywhere. Look at one pair, with $a = \omega p$ and $b = \omega k$:
#
# $$\sin(a + b) = \sin a \cos b + \cos a \sin b, \qquad \cos(a + b) = \cos a \cos b - \sin a \sin b$$
#
# Sine and cosine of $p$ are mixed, with factors that know nothing of $p$. A worked example with numbers: rate 1,
# position 2, three further:

# %%
p, k = 2.0, 3.0
print("sine   of 5, mixed:", round(math.sin(p) * math.cos(k) + math.cos(p) * math.sin(k), 6))
print("sine   of 5       :", round(math.sin(p + k), 6))
print("cosine of 5, mixed:", round(math.cos(p) * math.cos(k) - math.sin(p) * math.sin(k), 6))
print("cosine of 5       :", round(math.cos(p + k), 6))

# %% [markdown]
# Two columns in, two columns out: that is a 2 × 2 block of four numbers, and it is a *rotation*. Each pair of columns
# has its own rate, hence its own block. The whole matrix, of shape `(d_model, d_model)`, has these blocks along its
# diagonal and zeros elsewhere:
#
# $$M_k = \begin{pmatrix} B(\omega_0 k) & & \\ & B(\omega_1 k) & \\ & & \ddots \end{pmatrix}$$
#
# What is $B$? Read it off the two formulas; mind which of the two columns comes first in the encoding.


# %% nbgrader={"grade": false, "grade_id": "shift_matrix", "locked": false, "schema_version": 3, "solution": true, "task": false}
def shift_matrix(offset: int, d_model: int, base: float = 10_000.0) -> Tensor:
    """Give the matrix M with PE[p + offset] = M @ PE[p] for every position p.

    offset: any whole number, negative ones and 0 too. Returns (d_model, d_model), of any floating dtype.
    An odd d_model raises ValueError.
    Source: Vaswani et al. 2017, section 3.5, the last but one paragraph.
    """
    ### BEGIN SOLUTION
    if d_model % 2:
        raise ValueError(f"d_model={d_model} is odd: the last sine has no cosine to be mixed with")
    blocks = []
    for column in range(0, d_model, 2):
        angle = offset * base ** (-column / d_model)
        sine, cosine = math.sin(angle), math.cos(angle)
        blocks.append(torch.tensor([[cosine, sine], [-sine, cosine]]))
    return torch.block_diag(*blocks)  # (d_model, d_model)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: from formula to block</summary>
#
# A row of a matrix says how one number of the result is mixed from the numbers of the input. The result's first number
# is the sine of $a + b$, its second the cosine; the input is $(\sin a, \cos a)$. Which two factors stand in the first
# row?
# </details>
#
# <details><summary>Hint 2: test yourself</summary>
#
# For offset 0 the block has to be the identity. Back and forth by the same offset should cancel: the block of $-b$ times
# the block of $b$. If all your signs are plus, it doesn't.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Refuse odd widths. For each even column, compute the angle: offset times the rate of exercise 1. Make its 2 × 2 block,
# and write it into a matrix of zeros at rows and columns $2i$ and $2i + 1$; or collect the blocks in a list, and look
# in PyTorch for a function that sets blocks along a diagonal.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-shift_matrix", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(shift_matrix)

# %% [markdown]
# **What you should see.** Draw each pair of columns as a hand on a dial, the cosine to the right and the sine upwards:
# a position is a set of clocks, the fast one like a second hand, the slow ones like minutes and hours. The blue hands
# show position 4, the dashed ones $M_3$ times that. Look at the angles: every clock has moved on by three of its own
# ticks, to exactly where position 7 is (dots).

# %%
with once_solved(sinusoidal_encoding, shift_matrix):
    rows = sinusoidal_encoding(8, 6, base=100.0)
    shifted = shift_matrix(3, 6, base=100.0).float() @ rows[4]
    _figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.9))
    circle = torch.linspace(0, 2 * math.pi, 100)
    for i, ax in enumerate(axes):
        ax.plot(circle.cos(), circle.sin(), color="#bbbbbb", linewidth=1)
        for vector, style, colour, name in (
            (rows[4], "-", plots.BLUE, "$PE_4$"),
            (shifted, "--", plots.RED, "$M_3\\,PE_4$"),
        ):
            ax.plot([0, vector[2 * i + 1]], [0, vector[2 * i]], style, color=colour, label=name)
        ax.plot(rows[7, 2 * i + 1], rows[7, 2 * i], "o", color=plots.BLACK, markersize=9, label="$PE_7$")
        ax.set(aspect="equal", xlabel=f"cosine (column {2 * i + 1})", ylabel=f"sine (column {2 * i})")
        ax.set(title=f"pair {i}: {100 ** (-2 * i / 6):.2f} radians a step")
    axes[2].legend(loc="lower left")
    plots.show("Three dials: the shift matrix turns each hand from position 4 to position 7, fast, slower, slowest.")

# %% [markdown]
# The matrix itself. Look at the blocks: the first pair, which is fast, has turned by 172 degrees, and the last one,
# which is slow, has hardly left the identity.

# %%
with once_solved(shift_matrix):
    names = [f"{'cos' if column % 2 else 'sin'} {column // 2}" for column in range(8)]
    _figure, ax = plt.subplots(figsize=(8.2, 5.6))
    options = {"vmin": -1, "vmax": 1, "cmap": "PuOr", "label": "entry of $M_3$", "ax": ax}
    labels = {"title": "Three positions further", "ylabel": "column after", "xlabel": "column before"}
    plots.heat_map(shift_matrix(3, 8).float(), names, names, **labels, **options)
    plots.show("The matrix of a shift by 3: four 2 by 2 blocks along the diagonal, zeros elsewhere.")

# %% [markdown]
# What it is good for. Let queries be the encodings, shifted back by three, and keys the encodings themselves. Nothing
# is learned here; the two matrices of a head could be set like this. Look at the bright line: every position looks at
# the one three before it, everywhere in the sequence, and *before* is not *after* any more. (The first three rows have
# nothing three places before them, and make do with what is nearest to it.)

# %%
with once_solved(sinusoidal_encoding, shift_matrix):
    keys = sinusoidal_encoding(24, 64)
    queries = keys @ shift_matrix(-3, 64).float().T  # row p: the encoding of position p − 3
    weights = torch.softmax(queries @ keys.T, dim=-1)  # (24, 24)
    _figure, ax = plt.subplots(figsize=(6.4, 5))
    image = ax.imshow(weights, vmin=0, vmax=1)
    ax.figure.colorbar(image, ax=ax, label="attention weight")
    ax.set(xlabel="key (position)", ylabel="query (position)", title="A head that looks three back")
    plots.show("Attention weights of 24 positions: a bright line three places to the left of the diagonal.")

# %% [markdown]
# **To think about.** For an odd width there is no such matrix. Why not? Would it help to allow entries outside the
# blocks?
#
# <details><summary>Answer</summary>
#
# The last column is a lone sine, $\sin(\omega p)$. Shifted, it is $\sin(\omega p)\cos(\omega k) + \cos(\omega
# p)\sin(\omega k)$, so a $\cos(\omega p)$ is needed, and no column has it. Entries outside the blocks bring in the other
# columns, but those are waves of other rates, and waves of different rates are linearly independent: no sum of them
# equals $\cos(\omega p)$ at every $p$. Only where $\sin(\omega k) = 0$ nothing is missing, as for $k = 0$. For a finite
# number of positions and enough columns one could fit a matrix, but it would fail at the next position.
# </details>

# %% [markdown]
# << heading("TransformerEmbedding") >>
#
# *About 12 minutes.* Now the input layer itself. For token ids of shape `(B, T)`:
#
# $$x = \mathrm{dropout}\big(\sqrt{d_{model}} \cdot \mathrm{embedding}(\text{ids}) + PE\big)$$
#
# **Why the factor?** The paper multiplies by $\sqrt{d_{model}}$ and gives no reason. It makes sense together with how
# such tables start: their numbers usually have a standard deviation of $1/\sqrt{d_{model}}$ (the same table often serves
# as the last layer too, and there it must be small). The waves have components of size 0.7. At $d_{model} = 512$ the
# words would whisper at 0.04; multiplied by $\sqrt{512}$ they are of size 1, and both can be heard.
#
# A worked example by hand, at position 0, whose encoding is $(0, 1, 0, 1)$, with `d_model = 4` and so the factor 2:

# %%
word, position = [0.5, -0.25, 0.0, 0.75], [0.0, 1.0, 0.0, 1.0]
print("sum:", [2 * w + p for w, p in zip(word, position, strict=True)], "   ids (2, 7) → vectors (2, 7, 4)")

# %% [markdown]
# **Where does the encoding live?** It is computed once, for `max_len` positions, and kept in the module. There are three
# ways of keeping a tensor, and only one is right:
#
# | kept as | trained | moves with `.to(device)` |
# | --- | --- | --- |
# | `nn.Parameter` | yes, it would be changed | yes |
# | plain attribute | no | no: on a GPU the sum raises an error |
# | **buffer**, `register_buffer` | no | yes |
#
# (With `persistent=False` it isn't saved with the weights either; it can be computed again. Both are fine here.)


# %% nbgrader={"grade": false, "grade_id": "TransformerEmbedding", "locked": false, "schema_version": 3, "solution": true, "task": false}
class TransformerEmbedding(nn.Module):
    """Turn token ids into vectors that know their position. `tokens` is an nn.Embedding, and the only parameter."""

    def __init__(self, vocab_size: int, d_model: int, max_len: int, dropout: float = 0.1) -> None:
        """Make the table of tokens and the encoding for positions 0 to max_len − 1, which isn't learned."""
        ### BEGIN SOLUTION
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("positions", sinusoidal_encoding(max_len, d_model), persistent=False)
        ### END SOLUTION

    def forward(self, ids: Tensor) -> Tensor:
        """Give tokens · √d_model + PE, then dropout on the sum (in train mode): (B, T) → (B, T, d_model).

        T > max_len raises ValueError.
        Source: Vaswani et al. 2017, sections 3.4, 3.5 and 5.4 (dropout).
        """
        ### BEGIN SOLUTION
        length, (max_len, d_model) = ids.shape[1], self.positions.shape
        if length > max_len:
            raise ValueError(f"{length} tokens are more than max_len={max_len}")
        x = self.tokens(ids) * math.sqrt(d_model)  # (B, T, d_model)
        return self.dropout(x + self.positions[:length])
        ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: the shapes of the sum</summary>
#
# The table gives `(B, T, d_model)`, and the encoding is `(max_len, d_model)`. Which rows of it are needed for T tokens?
# Once they are cut out, does broadcasting add them to every sequence of the batch by itself?
# </details>
#
# <details><summary>Hint 2: three things to keep</summary>
#
# `self.tokens` must have this name. The dropout can be a module of PyTorch, which knows by itself about train and eval
# mode. The encoding is registered as a buffer under a name of your choice; afterwards it is there as `self.<name>`.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# In `__init__`, call `super().__init__()` first; make table, dropout and buffer. In `forward`, compare T with the number
# of rows of the encoding, and raise ValueError where T is larger (not where it is equal). Look up the tokens, multiply
# by the root of the width, add the first T rows, apply dropout to the sum.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-TransformerEmbedding", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(TransformerEmbedding)

# %% [markdown]
# **What you should see.** A sentence in which two words occur twice, compared with itself (cosine of the angle between
# two vectors; the table is random). Left, words alone: *the* and *dog* are exactly the same at both places. Right, with
# positions: the same word is still the most similar one, but no two places are equal any more. And as all neighbours
# share slow waves, everything has become a little more alike.

# %%
with once_solved(sinusoidal_encoding, TransformerEmbedding):
    words = ["the", "old", "dog", "saw", "the", "other", "dog"]
    torch.manual_seed(1)
    embedding = TransformerEmbedding(len(set(words)), 64, max_len=16).eval()
    nn.init.normal_(embedding.tokens.weight, std=64**-0.5)
    ids = torch.tensor([[sorted(set(words)).index(word) for word in words]])  # (1, 7)
    _figure, axes = plt.subplots(1, 2, figsize=(11, 4.8))
    for ax, x, title in zip(
        axes, (embedding.tokens(ids), embedding(ids)), ("Words alone", "Words + positions"), strict=True
    ):
        x = nn.functional.normalize(x[0].detach(), dim=-1)  # (7, 64)
        plots.heat_map(x @ x.T, words, words, title, "word", "word", ax=ax, digits=1, vmin=-1, vmax=1)
    plots.show("Similarities of seven words: without positions repeated words are equal, with positions nearly so.")

# %% [markdown]
# **To think about.** Position and word are *added*, and so share the same 64 components. Why isn't that a muddle? Would
# it be better to put the two side by side?
#
# <details><summary>Answer</summary>
#
# In many dimensions two directions that have nothing to do with each other are nearly perpendicular, so a matrix can
# pick out one and ignore the other; and the table of words is *learned*, with the waves already there, so it can settle
# where they don't disturb (the slow columns, which are nearly constant in a short text, are the natural place). Side by
# side would keep them apart for certain. In fact it is a special case: let the words have zeros in some columns, and the
# waves zeros in the others. Adding leaves it to training how much room each needs.
# </details>

# %% [markdown]
# ## Who stands in front?
#
# Back to the queue. Two readers, the same in everything: one layer of attention with four heads, the mean over the
# queue, a linear readout. One gets your embedding, the other one the same words without positions. Each sees 300 batches
# of 64 fresh queues.
#
# (`nn.Embedding` starts with numbers of standard deviation 1. For your embedding, which multiplies by
# $\sqrt{d_{model}}$, we let them start smaller by that factor, as described above. With the large start the words
# drown the waves, and the very same network learns far more slowly: with three seeds it had got to 57 %, 73 % and 77
# % after 300 updates. Try it.)


# %%
def words_and_positions() -> nn.Module:
    """Make your embedding for the queues, with a table that starts small."""
    embedding = TransformerEmbedding(len(order_task.ANIMALS), 64, max_len=64, dropout=0.0)
    nn.init.normal_(embedding.tokens.weight, std=64**-0.5)
    return embedding


def words_alone() -> nn.Module:
    """Make an embedding of the same size without positions."""
    return nn.Embedding(len(order_task.ANIMALS), 64)


# %%
with once_solved(sinusoidal_encoding, TransformerEmbedding):
    runs = {}
    for name, build in (("words + positions", words_and_positions), ("words alone", words_alone)):
        runs[name] = order_task.train(build, lambda: MultiHeadAttention(64, 4), 64)
        print(f"{name}: {runs[name].shares[-1]:.1%} of 1,000 fresh queues")

# %% [markdown]
# Look at the two curves. With positions the reader is right nearly always after about a hundred updates. Without, it
# stays where it started, at the level of a coin: half of all queues have the cat in front, and it has no way of knowing
# which.

# %%
with once_solved(sinusoidal_encoding, TransformerEmbedding):
    _figure, ax = plt.subplots()
    for (name, run), colour in zip(runs.items(), (plots.BLUE, plots.RED), strict=True):
        ax.plot(run.steps, [100 * share for share in run.shares], "o-", color=colour, label=name)
    ax.axhline(50, color=plots.BLACK, linewidth=1.5, linestyle=":", label="guessing")
    ax.set(xlabel="updates (64 queues each)", ylabel="right answers (%)", ylim=(40, 102))
    ax.set_title("Order lost, order regained")
    ax.legend(loc="center right")
    plots.show("Right answers against updates: near 100 percent with positions, 50 percent throughout without.")

# %% [markdown]
# Is that luck? We ran both with ten seeds. With positions: between 99.7 % and 100.0 % in the end, eight times the
# full 100.0 %. Without: between 47.8 % and 52.4 %, and with 1,000 questions a coin lies between 47 % and 53 % in
# nineteen of twenty cases.
#
# ### Positions for any length?
#
# Sinusoids can be computed for every position, and so one reads now and then that such a model can handle longer texts
# than it was trained on. Let us ask. Training queues had 16 animals. Look at what happens to the left and to the right
# of that.

# %%
with once_solved(sinusoidal_encoding, TransformerEmbedding):
    lengths = [4, 8, 12, 16, 20, 24, 32, 48, 64]
    generator = torch.Generator().manual_seed(7)
    queues = [order_task.draw_queues(1000, generator, length) for length in lengths]
    shares = [100 * order_task.accuracy(runs["words + positions"].reader, *queue) for queue in queues]
    _figure, ax = plt.subplots()
    ax.plot(lengths, shares, "o-", label="trained on queues of 16")
    ax.axvline(16, color=plots.BLACK, linewidth=1.5, linestyle=":", label="length in training")
    ax.set(xlabel="length of the queue (animals)", ylabel="right answers (%)", ylim=(0, 105))
    ax.set_title("Inside the range it was trained on, and beyond")
    ax.legend(loc="lower left")
    plots.show(
        "Right answers against length: high up to 16, the length in training, then falling to guessing or below."
    )

# %% [markdown]
# An encoding for position 40 exists, but nobody has ever taught the network what it means. What it has learned is right
# for positions 0 to 15, and beyond them it does *something*. The paper's authors wrote that sinusoids *may* help with
# longer sequences, and they said no more than that. This is one of the reasons for which people went on to encodings of
# relative positions; the next exercise is the most common of them.

# %% [markdown]
# << heading("rotary") >>
#
# *About 12 minutes, if you like.* Adding puts the position into the word, and leaves it to training to get relative
# positions out again. **Rotary embedding** takes the rotation of exercise 2 and applies it where words are compared:
# each query and each key is *turned* by its position.
#
# Take the features in pairs. The pair number $i$ of a vector at position $p$ is turned by the angle $\omega_i\,p$,
# counterclockwise, with the rates of the sinusoids:
#
# $$\begin{pmatrix} a' \\ b' \end{pmatrix} = \begin{pmatrix} \cos \omega_i p & -\sin \omega_i p \\ \sin \omega_i p & \cos \omega_i p \end{pmatrix} \begin{pmatrix} a \\ b \end{pmatrix}, \qquad \omega_i = \text{base}^{-2i/d_k}$$
#
# Turning both vectors by the same angle changes nothing about their dot product. So when a query at $m$ meets a key at
# $n$, only the difference $m - n$ is left. Lengths aren't changed, and position 0 isn't turned at all. A worked example
# with one pair, as angles: query and key point in the same direction, at 0.

# %%
for m, n in ((3.0, 1.0), (10.0, 8.0), (1.0, 3.0)):
    query, key = (math.cos(m), math.sin(m)), (math.cos(n), math.sin(n))
    print(f"query turned by {m}, key by {n}: dot product {query[0] * key[0] + query[1] * key[1]:.4f}")
print(f"cos 2 = {math.cos(2):.4f}")

# %% [markdown]
# Which features form a pair is a convention, and both are in use: neighbours, $(0, 1), (2, 3), \dots$, as in the paper
# on rotary embedding, or one from each half, $(0, d_k/2), (1, d_k/2 + 1), \dots$, as in many published models. Take
# either; but put each number back where it came from.
#
# Shapes: queries of shape `(2, 4, 7, 6)` (batch, heads, positions, width) and `positions` of shape `(7,)` give
# `(2, 4, 7, 6)`.


# %% nbgrader={"grade": false, "grade_id": "rotary", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rotary(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Turn each pair of features by position times rate, counterclockwise; pairs are neighbours, or one from each half.

    x: (..., T, d_k) with even d_k; positions: (T,), whole numbers from 0 on, in any order. Returns the same shape and
    dtype. Lengths are kept, position 0 leaves x as it is, and x is not changed in place.
    Source: Su et al. 2021 (arXiv:2104.09864), section 3.2.2.
    """
    ### BEGIN SOLUTION
    d_k = x.shape[-1]
    rates = base ** (-torch.arange(0, d_k, 2, dtype=torch.float64, device=x.device) / d_k)  # (d_k / 2,)
    angles = positions.to(x.device).unsqueeze(-1) * rates  # (T, d_k / 2)
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    turned = torch.stack([a * cosine - b * sine, a * sine + b * cosine], dim=-1)  # (..., T, d_k / 2, 2)
    return turned.flatten(-2)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: all pairs at once</summary>
#
# Cut x into two tensors of half the width: the first numbers of all pairs, and the second ones. Then the 2 × 2 formula
# is two lines, for all pairs and positions together.
# </details>
#
# <details><summary>Hint 2: shapes of the angles</summary>
#
# Angles are a table like that of exercise 1, with the given positions as rows and one column per pair: `(T, d_k / 2)`.
# It broadcasts against `(..., T, d_k / 2)` by itself. Compute it in float64, and give cosine and sine the dtype of x
# before they meet x.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Rates, angles, cosine and sine. Take every second feature from 0, and every second from 1 (or the two halves). Mix
# them by the formula into two *new* tensors, from the old numbers both times. Put them together: stacked along a new
# last dimension that is then flattened (for halves, joined along the last).
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-rotary", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(rotary)

# %% [markdown]
# **What you should see.** One query vector and one key vector, the same everywhere; only the positions differ. Left,
# encodings *added* to both: there is a ridge along the diagonal, and blotches that tell where the two stand. Right, both *turned*: look along the diagonals,
# the score is constant there. It depends on $m - n$ and on nothing else.

# %%
with once_solved(sinusoidal_encoding, rotary):
    generator = torch.Generator().manual_seed(3)
    query, key = torch.randn(2, 1, 64, generator=generator)
    positions, PE = torch.arange(40), sinusoidal_encoding(40, 64)
    added = (query + PE) @ (key + PE).T  # (40, 40)
    turned = rotary(query.expand(40, 64), positions) @ rotary(key.expand(40, 64), positions).T  # (40, 40)
    _figure, axes = plt.subplots(1, 2, figsize=(11, 4.6))
    for ax, scores, title in zip(axes, (added, turned), ("Encodings added", "Vectors turned"), strict=True):
        image = ax.imshow(scores)
        ax.figure.colorbar(image, ax=ax, label="score")
        ax.set(xlabel="position n of the key", ylabel="position m of the query", title=title)
    plots.show(
        "Scores for all pairs of positions: a ridge with blotches when added, constant along diagonals when turned."
    )

# %% [markdown]
# **To think about.** Queries and keys are turned, values aren't. What would happen if they were?
#
# <details><summary>Answer</summary>
#
# Queries and keys meet in a dot product, and there the two rotations combine to a relative one. Values are added up and
# handed on. If a value were turned by its own position $n$, what arrives would say "this word, as seen from position
# 0", and the sum would mix vectors turned by different angles; absolute positions would be back. One could turn the
# output back by the query's position $m$, which leaves $n - m$ again, but the usual design needs no positions in the
# values: *where* decides who is looked at, and *what* is handed over stays the same everywhere.
# </details>

# %% [markdown]
# ## What to take along
#
# | piece | what it is for | without it |
# | --- | --- | --- |
# | positions in the input | tell orders apart | a sentence is a set of words |
# | many rates | near and far at the same time | either steps blur, or long texts repeat |
# | sine *and* cosine | a shift is one matrix, everywhere | "three back" means something else at each place |
# | angles in float64 | exact far from the start | an error of 0.0005 at position 10,000 |
# | $\sqrt{d_{model}}$ | words as loud as positions | a table that starts small is drowned |
# | a buffer | moves along and isn't learned | an error on the GPU, or an encoding that drifts |
#
# Sinusoids aren't the only way. The paper tried learned positions too, a table with one row per place, and found
# "nearly identical results" (table 3, row E); BERT, in chapter 07, has such a table. What all of them share is what you
# have seen: attention has to be *told*. Now the parts are complete: chapter 06 puts them together.

# %%
progress("05_positional_encoding")

# %% [markdown]
# ## Further reading
#
# - Vaswani et al. 2017, *Attention Is All You Need*, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762): section 3.5
#   is this chapter; section 3.4 has the factor $\sqrt{d_{model}}$, and row (E) of table 3 compares with learned positions.
# - Shaw, Uszkoreit and Vaswani 2018, *Self-Attention with Relative Position Representations*,
#   [arXiv:1803.02155](https://arxiv.org/abs/1803.02155): distances enter the scores, learned.
# - Su et al. 2021, *RoFormer*, [arXiv:2104.09864](https://arxiv.org/abs/2104.09864): rotary embedding.
# - Press, Smith and Lewis 2021, *Train Short, Test Long*, [arXiv:2108.12409](https://arxiv.org/abs/2108.12409): what
#   happens beyond the length in training, and a penalty on distance that copes better.
# - Haviv et al. 2022, *Transformer Language Models without Positional Encodings Still Learn Positional Information*,
#   [arXiv:2203.16634](https://arxiv.org/abs/2203.16634): what the causal mask gives away.

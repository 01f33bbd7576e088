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
# *<< chapter.points >> points · about an hour · runs on a CPU, without internet, all cells together in less than a minute*
#
# You know the story up to here: a recurrent network reads a sequence word by word and keeps what it has read in one
# vector, its hidden state. The LSTM gave that vector a companion, the cell state, and for years this was how machines
# read. This chapter picks the story up there. You build both once more, each in a few lines, and then you ask
# them two questions: *how far back do you remember?* and *what do you cost?* The answers are the reasons for everything
# that follows in this course.
#
# **After this chapter you can**
#
# - write a recurrent network and an LSTM cell from matrix products, and get what PyTorch gets;
# - say what the forget gate does for memory, with a number;
# - measure how a gradient fades with distance, and explain the rate at which it does;
# - work out Table 1 of *Attention Is All You Need*, and check it against a clock;
# - tell what attention removes, and what it doesn't.
#
# **You need** PyTorch tensors and autograd, matrix products, the chain rule. That you have met an LSTM before helps;
# that you remember its formulas isn't expected.

# %%
import math
from collections.abc import Callable
from typing import NamedTuple

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from utils import check, once_solved, plots, progress, recall_task, recurrent_runs

torch.set_num_threads(1)  # steps are small and wait for each other: more threads would only be in each other's way

# %%
progress("01_rnn_limits")

# %% [markdown]
# ## Where this chapter stands
#
# The road of this course, left to right. Look at the filled boxes: they are what you take apart here, and each arrow
# that leaves them is a repair of what you'll find wanting.

# %%
road = ["RNN:\none state\n(01)", "LSTM:\na second path\n(01)", "attention:\nno path at all\n(02, 03)"]
road += ["heads and\npositions\n(04, 05)", "Transformer\n(06)", "BERT\n(07)"]
places = {box: (column, 0) for column, box in enumerate(road)}
plots.diagram(places, [road], here=road[:2], title="From recurrence to pretraining")
plots.show("Six boxes in a row, from RNN and LSTM, which are filled, over attention and the Transformer to BERT.")

# %% [markdown]
# << heading("rnn_forward") >>
#
# *About 12 minutes.* A recurrent network has one rule, and applies it at every step: mix what comes in with what you
# remember, and squash.
#
# $$h_t = \tanh\!\left(W_{ih}\, x_t + W_{hh}\, h_{t-1} + b\right)$$
#
# The same three weights serve all steps, so a sequence may be of any length. All that the network knows about the past
# has to fit into the $d_h$ numbers of $h_{t-1}$.

# %%
states, inputs = ["$h_0$", "$h_1$", "$h_2$", "$h_3$", "$h_4$"], ["$x_1$", "$x_2$", "$x_3$", "$x_4$"]
places = {box: (column, 0) for column, box in enumerate(states)}
places |= {box: (column, -1) for column, box in enumerate(inputs, start=1)}
paths = [states, *zip(inputs, states[1:], strict=True)]
plots.diagram(places, paths, here=states, title="One step after another", size=(0.5, 0.5))
plots.show("A chain of states from h0 to h4; each gets an arrow from the state before it and one from its own input.")

# %% [markdown]
# Look at the way from $x_1$ to $h_4$: there is only one, and it goes through every state in between.
#
# A worked example with everything one number wide, $W_{ih} = 1$, $W_{hh} = 0.5$, $b = 0$. A single spike comes in, then
# nothing:

# %%
h_1 = math.tanh(1.0 * 1.0 + 0.5 * 0.0)  # the state before the first step is 0
h_2 = math.tanh(1.0 * 0.0 + 0.5 * h_1)
h_3 = math.tanh(1.0 * 0.0 + 0.5 * h_2)
print("states", [round(h, 3) for h in (h_1, h_2, h_3)])

# %% [markdown]
# In tensors, for a batch: `x` of shape `(2, 7, 3)` is two sequences of seven steps, each three numbers wide. With
# `weight_ih` of shape `(5, 3)` and `weight_hh` of shape `(5, 5)` the states have the shape `(2, 7, 5)`. PyTorch stores
# weights as `(out, in)`, so that $W x$ for a whole batch is `x @ weight.T`.
#
# *Not allowed here*: `nn.RNN` and its relatives, nor the functions under them.


# %% nbgrader={"grade": false, "grade_id": "rnn_forward", "locked": false, "schema_version": 3, "solution": true, "task": false}
def rnn_forward(
    x: Tensor, weight_ih: Tensor, weight_hh: Tensor, bias: Tensor, h0: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Run a tanh RNN along a batch of sequences.

    x: (B, T, d_in), weight_ih: (d_h, d_in), weight_hh: (d_h, d_h), bias: (d_h,), h0: (B, d_h), or None for zeros.
    Returns all states, (B, T, d_h), and the last one, (B, d_h), in the dtype and on the device of x.
    """
    ### BEGIN SOLUTION
    state = x.new_zeros(x.shape[0], weight_hh.shape[0]) if h0 is None else h0
    states = []
    for x_t in x.unbind(dim=1):  # (B, d_in)
        state = torch.tanh(x_t @ weight_ih.T + state @ weight_hh.T + bias)  # (B, d_h)
        states.append(state)
    return torch.stack(states, dim=1), state  # (B, T, d_h)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: which dimension is time?</summary>
#
# Data is batch first: `x[:, t]` is step `t` of *all* sequences, `(B, d_in)`. Write one step for that slice, and check
# that the shapes of all three terms fit.
# </details>
#
# <details><summary>Hint 2: what goes from step to step</summary>
#
# One variable carries the state. It starts as `h0`, or as zeros with the dtype and device of `x` (tensors have a method
# that makes new zeros like themselves). Every step replaces it by a *new* tensor; writing into the old one would change
# the caller's `h0`, and confuse autograd.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Zeros where `h0` is None. For every step: input times transposed input weights, plus state times transposed recurrent
# weights, plus bias; tanh of all of it. Collect the states in a list, and after the loop stack them along dimension 1.
# Return the stack and the state after the last step.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-rnn_forward", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(rnn_forward)

# %% [markdown]
# **What you should see.** The spike again, and then thirty steps of silence, for four recurrent weights $w$. Look at
# how soon each curve has forgotten.

# %%
with once_solved(rnn_forward):
    spike = torch.zeros(1, 31, 1)
    spike[:, 0] = 1.0
    _figure, ax = plt.subplots()
    for w in (0.5, 0.9, 1.0, 1.2):
        states, _last = rnn_forward(spike, torch.ones(1, 1), torch.tensor([[w]]), torch.zeros(1))
        ax.plot(states[0, :, 0], label=f"w = {w}")
    ax.set(xlabel="steps since the spike", ylabel="state $h$", ylim=(-0.03, 1), title="One spike, then silence")
    ax.legend(loc="upper right", ncols=4)
    plots.show(
        "State against steps: for w = 0.5 it is gone after five steps, for 0.9 after thirty, for 1.2 it stays at 0.66."
    )

# %% [markdown]
# Below 1 the memory dies at least as fast as $w^t$. At exactly 1 it fades slowly, because of the tanh. Above 1 it stays,
# at a price: any positive spike, large or small, ends at the same height, here the 0.66 that solves $h = \tanh(1.2\,h)$.
# The state still knows *that* something was there, but no longer *what*.
#
# And this is what PyTorch gets, whose RNN has two biases that are added up (one of them is set to 0 here):

# %%
with once_solved(rnn_forward):
    theirs = torch.nn.RNN(3, 5, batch_first=True)
    torch.nn.init.zeros_(theirs.bias_hh_l0)
    x = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        states, last = rnn_forward(x, theirs.weight_ih_l0, theirs.weight_hh_l0, theirs.bias_ih_l0)
        print("equal to nn.RNN, up to rounding:", torch.allclose(states, theirs(x)[0], atol=1e-6))

# %% [markdown]
# **To think about.** You have as many processors as you like. Which part of the work can be done for all steps at once,
# and which can't?
#
# <details><summary>Answer</summary>
#
# All the $W_{ih}\, x_t + b$ can: they need inputs only, so one large matrix product does for the whole sequence. The
# $W_{hh}\, h_{t-1}$ can't, for each of them waits for the tanh of the step before. However many processors there are,
# $T$ steps follow one another. (If the step were linear there would be a way around, by combining steps in pairs; some
# newer recurrent networks give up the tanh between steps for just that.)
# </details>

# %% [markdown]
# << heading("lstm_cell") >>
#
# *About 12 minutes.* The RNN rewrites its whole memory at every step. The LSTM's idea is to leave it alone unless there
# is a reason: next to $h$ runs a **cell state** $c$, and three gates, numbers from 0 to 1, say how much is kept, written
# and shown. All four parts look at the same input and the same $h$:
#
# $$\begin{aligned}
# i &= \sigma(W^{i}_{ih} x + W^{i}_{hh} h + b^{i}) && \text{how much to write}\\
# f &= \sigma(W^{f}_{ih} x + W^{f}_{hh} h + b^{f}) && \text{how much to keep}\\
# g &= \tanh(W^{g}_{ih} x + W^{g}_{hh} h + b^{g}) && \text{what to write}\\
# o &= \sigma(W^{o}_{ih} x + W^{o}_{hh} h + b^{o}) && \text{how much to show}
# \end{aligned}$$
#
# $$c' = f \odot c + i \odot g, \qquad h' = o \odot \tanh(c')$$
#
# ($\odot$ multiplies component by component.) Look at the upper row of the picture: from $c$ to $c'$ there is no matrix
# and no tanh, only a factor and a sum. This is the second path for memory.

# %%
row = ["c", "times f\n(keep)", "plus i · g\n(write)", "c′"]
places = {box: (column, 0) for column, box in enumerate(row)}
places |= {"x and h": (0, -1), "gates\ni, f, g, o": (1, -1), "o · tanh(c′)\n(show)": (3, -1), "h′": (4, -1)}
gates, shown = "gates\ni, f, g, o", "o · tanh(c′)\n(show)"
paths = [row, ("x and h", gates, row[1]), (gates, row[2]), (gates, shown), ("c′", shown, "h′")]
plots.diagram(places, paths, here=row, title="The cell state passes through a factor and a sum")
plots.show("Above, the cell state goes through times f and plus i times g; below, gates made from x and h steer it.")

# %% [markdown]
# A worked example, one number wide. All gates get 0 from their weights, so only biases count: $b^f = 3$, the others 0,
# and nothing is written ($g = 0$). The cell state was 2:

# %%
sigmoid = torch.nn.functional.sigmoid
i, f, o = (sigmoid(torch.tensor(bias)).item() for bias in (0.0, 3.0, 0.0))
g, c = math.tanh(0.0), 2.0
kept = f * c + i * g
print(f"i {i:.3f}   f {f:.3f}   o {o:.3f}   c' = {kept:.3f}   h' = {o * math.tanh(kept):.3f}")

# %% [markdown]
# In tensors the four weights are stacked on top of each other: `weight_ih` is `(4·d_h, d_in)`, and its first `d_h` rows
# belong to $i$, the next to $f$, then $g$, then $o$. This is PyTorch's order; other libraries have others. With `x` of
# shape `(2, 3)` and `d_h = 5`, one product gives `(2, 20)`, which is then cut into four pieces of `(2, 5)`.
#
# *Not allowed here*: `nn.LSTM`, `nn.LSTMCell` and the functions under them.


# %% nbgrader={"grade": false, "grade_id": "lstm_cell", "locked": false, "schema_version": 3, "solution": true, "task": false}
def lstm_cell(
    x: Tensor, state: tuple[Tensor, Tensor], weight_ih: Tensor, weight_hh: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor]:
    """Make one step of an LSTM.

    x: (B, d_in), state: (h, c), each (B, d_h); weight_ih: (4·d_h, d_in), weight_hh: (4·d_h, d_h), bias: (4·d_h,), their
    rows in PyTorch's order: input gate, forget gate, candidate, output gate. Returns the new (h, c).
    Source: Hochreiter and Schmidhuber 1997, with the forget gate of Gers, Schmidhuber and Cummins 2000.
    """
    ### BEGIN SOLUTION
    h, c = state
    stacked = x @ weight_ih.T + h @ weight_hh.T + bias  # (B, 4·d_h)
    i, f, g, o = stacked.chunk(4, dim=-1)  # (B, d_h) each
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return h, c
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: one product for four gates</summary>
#
# Inside the squashing, all four lines are the same formula with other rows of the same weights. What is the shape of
# `x @ weight_ih.T`? Where in it is the forget gate?
# </details>
#
# <details><summary>Hint 2: cut, then squash</summary>
#
# Tensors have a method that cuts them into equal chunks along a dimension. Three of the four chunks go through the
# sigmoid, one goes through tanh: the one that says *what* is written, since it may be negative.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Take `h` and `c` out of `state`. Add up the product with the input, the product with `h`, and the bias. Cut the last
# dimension into four, in the order i, f, g, o. New cell state: keep gate times *old* cell state plus write gate times
# candidate. New hidden state: show gate times tanh of the *new* cell state. Return `h` first.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-lstm_cell", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(lstm_cell)

# %% [markdown]
# **What you should see.** The spike once more, now written into a cell state, for three biases of the forget gate (all
# other biases and all recurrent weights are 0). Look at how well the points, your cell, sit on the lines, which are
# $\sigma(b)^t$: with $b = 0$ the cell state is halved at every step, with $b = 3$ it keeps 95 %.

# %%
with once_solved(lstm_cell):
    spike = torch.zeros(1, 31, 1, dtype=torch.float64)
    spike[:, 0] = 1.0
    steps = torch.arange(31)
    to_candidate = torch.tensor([[0.0], [0.0], [1.0], [0.0]]).double()  # rows i, f, g, o
    _figure, ax = plt.subplots()
    for b, colour in zip((0.0, 1.0, 3.0), plots.COLOURS, strict=False):
        weights = (to_candidate, 0 * to_candidate, torch.tensor([0.0, b, 0.0, 0.0]).double())
        _hidden, cells = recurrent_runs.run_lstm(lstm_cell, spike, weights)
        ax.plot(steps, (1 / (1 + math.exp(-b))) ** steps, color=colour, linewidth=1.5)
        ax.plot(steps, cells[0, :, 0] / cells[0, 0, 0], "o", color=colour, markersize=5, label=f"b = {b:.0f}")
    labels = {"xlabel": "steps since the spike", "ylabel": "cell state, relative to the first"}
    ax.set(title="The forget gate sets how long memory lasts", ylim=(-0.03, 1.03), **labels)
    ax.legend(title="forget-gate bias")
    plots.show("Cell state against steps: gone after five steps for bias 0, after fifteen for 1; 0.23 after 30 for 3.")

# %% [markdown]
# **To think about.** Put yourself in the place of the gradient that travels from $c'$ back to $c$, and take the gates
# as given. What does it meet? How long a memory can a forget gate with bias $b$ hold before it has lost half?
#
# <details><summary>Answer</summary>
#
# $\partial c' / \partial c = f$, component by component: no matrix, no slope of a tanh. After $t$ steps the factor is
# $f^t$, and it is one half when $t = \ln 2 / (-\ln f)$: 1 step for $b = 0$, 2.2 steps for $b = 1$, 14 steps for $b = 3$.
# So the LSTM makes forgetting slow, and lets the network learn how slow, component by component. It doesn't abolish it:
# a sigmoid never reaches 1.
#
# (In a real LSTM the gates depend on $h$, and so on $c$: those are further paths for the gradient, next to this one.)
# </details>

# %% [markdown]
# << heading("gradient_by_distance") >>
#
# *About 10 minutes.* Can a network *learn* that the last word depends on the first? Only if the gradient at the last
# step says so at the first input. On its way back it passes every state in between, and the chain rule gives each of
# them a factor:
#
# $$\frac{\partial h_T}{\partial x_t} = \left(\prod_{s=T}^{t+1} D_s W_{hh}\right) D_t\, W_{ih}, \qquad D_s = \mathrm{diag}\!\left(1 - h_s^2\right)$$
#
# The product has $T - t$ factors. If none of them stretches any vector by more than $\gamma < 1$, what comes out is at
# most $\gamma^{\,T-t}$ of what went in: it vanishes exponentially with distance. If they stretch, it may explode.
#
# A worked example, one number wide: nudge the first of four inputs by a millionth, watch the last state, and compare
# with the product.


# %%
def tiny_rnn(inputs: list[float], w: float = 0.5) -> list[float]:
    """Give the states of an RNN that is one number wide."""
    history = [0.0]
    for value in inputs:
        history.append(math.tanh(value + w * history[-1]))
    return history[1:]


before, after = tiny_rnn([0.8, -0.3, 0.5, 0.1]), tiny_rnn([0.8 + 1e-6, -0.3, 0.5, 0.1])
slopes = [1 - h**2 for h in before]
print("moved, per nudge", round((after[-1] - before[-1]) / 1e-6, 4))
print("product         ", round(math.prod(0.5 * slope for slope in slopes[1:]) * slopes[0], 4))

# %% [markdown]
# Nudging one input at a time would take long. Autograd finds all these derivatives in a single pass back, and yours is
# the function that asks it. To get one number per distance:
#
# - add up the components of the **last** state, for the whole batch: one number to send back;
# - its gradient with respect to `x` has the shape of `x`: one vector of width `d_in` for each step of each sequence;
# - take each vector's length (Euclidean norm), and average the lengths over the batch. What remains is `(T,)`.
#
# `run` is any function from `(B, T, d_in)` to states `(B, T, d_h)`: your RNN, an LSTM, something else. Whoever calls you
# wants `x` back as it was: not asking for gradients, and carrying none.


# %% nbgrader={"grade": false, "grade_id": "gradient_by_distance", "locked": false, "schema_version": 3, "solution": true, "task": false}
def gradient_by_distance(run: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Measure how much of the last state's gradient arrives at each input.

    run maps x (B, T, d_in) to states (B, T, d_h), each sequence by itself. Returns (T,), in the order of t: the norm of
    the gradient of run(x)[:, -1].sum() with respect to each x[:, t], averaged over the batch. x ends up without
    requires_grad and without .grad, as it came.
    """
    ### BEGIN SOLUTION
    x = x.detach().clone().requires_grad_()
    (gradient,) = torch.autograd.grad(run(x)[:, -1].sum(), x)  # (B, T, d_in)
    return gradient.norm(dim=-1).mean(dim=0)  # (T,)
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: work on a copy</summary>
#
# Autograd records what happens to tensors that ask for gradients. If `x` itself is made to ask, it keeps asking after
# you have returned. A copy that is cut off from all history can ask in its place.
# </details>
#
# <details><summary>Hint 2: two ways to get a gradient</summary>
#
# `backward()` leaves gradients lying around: in `.grad` of your copy, and also in every parameter inside `run`.
# `torch.autograd.grad(outputs, inputs)` hands you just the one you ask for, in a tuple.
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# Detach and clone `x`, and switch its `requires_grad` on. Run; take the states at the last step; add everything up. Ask
# for the gradient of that sum with respect to the copy: `(B, T, d_in)`. Norm over the last dimension, then mean over the
# first. Mind the order: a norm of means is something else, since gradients of two sequences may cancel.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-gradient_by_distance", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(gradient_by_distance)

# %% [markdown]
# **What you should see.** Gradients of your RNN and your LSTM over a distance of 100 steps, at the start of training:
# random weights as PyTorch draws them, biases 0, except for the forget gate's. Look at the logarithmic axis: a straight
# line down is a constant factor at every step.

# %%
with once_solved(rnn_forward, lstm_cell, gradient_by_distance):
    x = torch.randn(32, 101, 32, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    weights = recurrent_runs.fresh_weights(32, 64)
    curves = {"RNN": gradient_by_distance(lambda x: rnn_forward(x, *weights)[0], x).flip(0)}
    for b in (0, 1, 3):
        gated = recurrent_runs.fresh_weights(32, 64, gates=4, forget_bias=b)
        norms = gradient_by_distance(lambda x, w=gated: recurrent_runs.run_lstm(lstm_cell, x, w)[0], x)
        curves[f"LSTM, forget bias {b}"] = norms.flip(0)
    _figure, ax = plt.subplots(figsize=(8, 4.6))
    for (name, curve), style in zip(curves.items(), ("-", "--", "-.", ":"), strict=True):
        ax.semilogy(curve, style, label=name)
    ax.set(
        xlabel="distance from the last step (steps)", ylabel="gradient norm", ylim=(1e-18, 1e2), title="What arrives"
    )
    ax.legend(loc="lower left")
    plots.show(
        "Gradient norm against distance, logarithmic: the RNN falls fastest, LSTMs slower, with bias 3 not at all."
    )

# %% [markdown]
# From distance 10 to distance 20, the RNN's gradient shrinks to less than a thousandth: a factor of 0.48 at each step.
# Where does that number come from? PyTorch draws the entries of $W_{hh}$ evenly from $\pm 1/\sqrt{d_h}$, which gives them the
# variance $1/(3 d_h)$. A vector multiplied by such a matrix keeps, in the mean square, a third of its squared length: a
# factor of $1/\sqrt 3 \approx 0.58$. The slopes of the tanh, all below 1, take the rest.
#
# The LSTM with forget bias 0 loses more slowly, a factor of 0.61 between the same distances, and with bias 1 it is 0.82.
# With bias 3 the gradient arrives. It even rises at the far end: next to the straight road through $c$ there are detours
# through $h$, and here all of them together stretch a little at each step.
#
# **To think about.** Why not make the RNN's recurrent matrix larger, so that all factors become 1?
#
# <details><summary>Answer</summary>
#
# One can try, and it helps at the start: with this matrix multiplied by 2.5, 9 to 18 % of the gradient at the
# last step reach distance 100 (measured for three seeds). But "1" has to hold for a product of a hundred matrices. Those
# contain the slopes $1 - h_s^2$, which depend on the input, and the weights move with every update. Slightly below 1 it
# vanishes, $0.95^{100} \approx 0.006$; slightly above it explodes, $1.05^{100} \approx 130$. Clipping gradients tames the
# second. Against the first the LSTM was invented, and a large forget bias at the start is part of the remedy.
# </details>

# %% [markdown]
# ## Is a gradient that dies a word that is forgotten?
#
# So far we have looked at derivatives. Now a task: the first symbol of a sequence has to be named at its end, after a
# gap of other symbols that mean nothing. Eight symbols can stand first, so guessing is right in one case of eight.

# %%
sequences, targets = recall_task.draw(3, gap=5, generator=torch.Generator().manual_seed(0))
for sequence, target in zip(sequences, targets, strict=True):
    print(recall_task.written(sequence), "  answer:", recall_task.written(target[None]))

# %% [markdown]
# Four networks try: PyTorch's RNN and LSTM as they come, an LSTM that starts with forget bias 3, and **attention**, of
# which you only need to know here that the last position looks at all others directly and takes what it needs (chapter
# 02 builds it). All get the same number of symbols, the same readout, the same optimiser, and at most 200 updates.
# This takes about ten seconds.

# %%
gaps = [5, 20, 50]
shares = recall_task.race(gaps, steps=200)
for network, runs in shares.items():
    print(f"{network:20}", "  ".join(f"gap {gap}: {run.mean():.3f}" for gap, run in zip(gaps, runs, strict=True)))

# %% [markdown]
# Look at gap 5, where everybody is right, and then at gap 20.

# %%
_figure, ax = plt.subplots(figsize=(8, 4.4))
look = {"RNN": "o-", "LSTM": "s--", "LSTM, forget bias 3": "^-.", "attention": "D:"}
for shift, (network, runs) in enumerate(shares.items()):  # a little apart, so that no line hides another
    places = torch.arange(len(gaps)) + 0.05 * (shift - 1.5)
    ax.plot(places, 100 * runs.mean(1), look[network], markersize=9, label=network)
ax.axhline(100 * recall_task.CHANCE, color=plots.BLACK, linewidth=1.5, linestyle=":")
ax.text(0.02, 100 * recall_task.CHANCE + 3, "guessing", fontsize=12)
ax.set_xticks(range(len(gaps)), gaps)
ax.set(xlabel="gap (symbols between the first one and the question)", ylabel="right answers (%)", ylim=(0, 105))
ax.legend(loc="center right", bbox_to_anchor=(1, 0.55))
plots.show("Right answers against gap: all networks near 100 % at 5; from 20 on RNN and LSTM guess, the others don't.")

# %% [markdown]
# The RNN and the LSTM haven't found anything to remember: the gradient that could have told them was too small. What
# the plot does *not* say is that an LSTM can't do this. The third network is an LSTM too, with the same gates and the same
# number of weights; all that is different is the forget gate's bias at the start of training. So the trouble lies in *learning* over
# a distance, and the cell state makes it milder if the forget gate starts open. (This was one run each. With three seeds
# and up to 600 updates the picture is the same: the first two still guess at 20 and at 50, the others are right.)
#
# Attention needs no such care. From the question to the first symbol it is one step, at any gap, so the gradient meets
# one factor and not fifty.

# %% [markdown]
# << heading("layer_cost") >>
#
# *About 12 minutes.* Long paths are one price of recurrence; waiting is the other. The paper that introduced the
# Transformer compares three kinds of layers that turn $n$ vectors of width $d$ into $n$ new ones, in three columns
# (section 4, Table 1):
#
# | layer | operations | steps in sequence | longest path |
# | --- | --- | --- | --- |
# | self-attention | $n^2 \cdot d$ | $1$ | $1$ |
# | recurrent | $n \cdot d^2$ | $n$ | $n$ |
# | convolution, kernel of width $k$ | $k \cdot n \cdot d^2$ | $1$ | $\lceil \log_k n \rceil$ |
#
# - **Operations** counts multiplications: every pair of positions compared over $d$ components; a $d \times d$ matrix at
#   each step; such a matrix for each of the $k$ positions under the kernel. Constant factors are left out, as in $O(\cdot)$.
# - **Steps in sequence** is what can't be done side by side, however many processors there are.
# - **Longest path** is how many layers or steps lie between the two positions that are farthest apart. The fewer, the
#   fewer factors in the gradient's product.
#
# A worked example: count by loops for $n = 5$, $d = 3$, $k = 2$, and see how far a stack of dilated convolutions with
# $k = 3$ reaches (each layer leaves gaps $k$ times as wide as the layer before).

# %%
n, d, k = 5, 3, 2
pairs = sum(1 for _query in range(n) for _key in range(n) for _component in range(d))
steps = sum(1 for _step in range(n) for _row in range(d) for _column in range(d))
windows = sum(1 for _place in range(n) for _tap in range(k) for _row in range(d) for _column in range(d))
print("multiplications: self-attention", pairs, "  recurrent", steps, "  convolution", windows)
print("positions within reach, k = 3:", {f"layer {layers}": 3**layers for layers in range(1, 5)})

# %% [markdown]
# So for $n = 27$ three layers are enough, and for $n = 28$ it takes four. One trap is in that column: computers round
# logarithms. `math.log(125, 5)` is 3.0000000000000004, and its ceiling is 4. Count in whole numbers instead.


# %% nbgrader={"grade": false, "grade_id": "layer_cost", "locked": false, "schema_version": 3, "solution": true, "task": false}
class LayerCost(NamedTuple):
    """What a layer costs, in whole numbers. This is given; leave it above your function."""

    operations: int
    sequential: int
    path: int


def layer_cost(kind: str, n: int, d: int, k: int = 3) -> LayerCost:
    """Count what one layer costs for n positions of width d, as in Table 1 of the paper, without constant factors.

    kind: "self_attention", "recurrent" or "convolution" (dilated, with kernel width k of at least 2; the path is through
    as many layers as it takes: ⌈log_k n⌉). All three fields are int, exact for any n. ValueError for another kind.
    Source: Vaswani et al. 2017, section 4, Table 1.
    """
    ### BEGIN SOLUTION
    if kind == "self_attention":
        return LayerCost(n * n * d, 1, 1)
    if kind == "recurrent":
        return LayerCost(n * d * d, n, n)
    if kind == "convolution":
        layers, reach = 0, 1
        while reach < n:
            layers, reach = layers + 1, reach * k
        return LayerCost(k * n * d * d, 1, layers)
    raise ValueError(f"unknown kind of layer: {kind!r}")
    ### END SOLUTION


# %% [markdown]
# <details><summary>Hint 1: the table is the answer</summary>
#
# Two of the three kinds are one line each; read them off. Mind which factor is squared: for attention it is the number
# of positions, for recurrence the width.
# </details>
#
# <details><summary>Hint 2: a logarithm without rounding</summary>
#
# $\lceil \log_k n \rceil$ is the smallest number of layers whose reach is at least $n$. With one layer the reach is $k$.
# What is it with one more?
# </details>
#
# <details><summary>Hint 3: outline</summary>
#
# One branch for each kind, and an error with a helpful sentence at the end. For the path of the convolution start with
# no layer and a reach of 1; as long as the reach is smaller than `n`, add a layer and multiply the reach by `k`. Whole
# numbers only: `//` and `*`, no `/` and no `math.log`.
# </details>

# %% nbgrader={"grade": true, "grade_id": "check-layer_cost", "locked": true, "schema_version": 3, "solution": false, "task": false}
check(layer_cost)

# %% [markdown]
# **What you should see.** Table 1 with numbers, for a sentence of 70 words at the paper's width $d = 512$, and both
# columns that grow, as curves. Look where the lines cross on the left: at $n = d$. On the right, look at the one that
# stays at the bottom.

# %%
with once_solved(layer_cost):
    kinds = {"self_attention": "-", "recurrent": "--", "convolution": "-."}
    for kind in kinds:
        cost = layer_cost(kind, n=70, d=512)
        print(f"{kind:15}", f"operations {cost[0]:>11,}   in sequence {cost[1]:>3}   path {cost[2]:>3}")
    lengths = [2**power for power in range(3, 15)]
    _figure, axes = plots.new_figure(2)
    for kind, style in kinds.items():
        costs = [layer_cost(kind, n, 512) for n in lengths]
        axes[0].loglog(lengths, [cost[0] for cost in costs], style, label=kind.replace("_", "-"))
        axes[1].loglog(lengths, [cost[2] for cost in costs], style)
    axes[0].set(xlabel="length $n$ (positions)", ylabel="operations", title="Work, $d$ = 512, $k$ = 3")
    axes[1].set(xlabel="length $n$ (positions)", ylabel="longest path (steps or layers)", title="Distance")
    axes[0].legend()
    plots.show(
        "Operations: attention grows steeper and crosses recurrence at 512. Path: 1, n, and slowly growing steps."
    )

# %% [markdown]
# For a sentence of 70 words, self-attention does a seventh of the work of a recurrent layer, $n/d = 70/512$; for a book it
# would do many times more.
#
# **To think about.** For the convolution, the table says one step in sequence, yet a path of several layers. How can
# both be true?
#
# <details><summary>Answer</summary>
#
# The steps are those *inside one* layer: all its outputs can be computed side by side. But one layer sees only $k$
# positions. For the two ends to meet there has to be a stack of $\lceil \log_k n \rceil$ layers, and a stack is computed
# layer by layer. So a convolution that connects everything waits as well, only far less: 4 layers for $n = 70$, $k = 3$.
# A Transformer stacks layers too, for other reasons: every single one connects everything.
# </details>

# %% [markdown]
# ## From the table to the clock
#
# Now measure it. One forward pass for a batch of 8 at width $d = 64$, on one core of this machine: your RNN, whose steps
# are a loop in Python; PyTorch's RNN, the same loop in compiled code; and PyTorch's attention.

# %%
with once_solved(rnn_forward, layer_cost):
    lengths = [64, 128, 256, 512, 1024, 2048]
    weights = [weight.float() for weight in recurrent_runs.fresh_weights(64, 64)]
    layers = {
        "your RNN": lambda x: rnn_forward(x, *weights)[0],
        "nn.RNN": recurrent_runs.built_in_rnn(64),
        "attention": recurrent_runs.self_attention,
    }
    times = recurrent_runs.milliseconds(layers, lengths, batch=8, d=64)
    for name, taken in times.items():
        print(f"{name:10}", "  ".join(f"T={n}: {time:.2f} ms" for n, time in zip(lengths, taken, strict=True)))

# %% [markdown]
# Left: the time. Look at the slopes: the thin lines are your `layer_cost`, scaled to go through the middle of each
# curve, $T$ for recurrence and $T^2$ for attention. Right: how much of that work is done per second. Look at who works
# fastest on short sequences.

# %%
with once_solved(rnn_forward, layer_cost):
    _figure, (left, right) = plots.new_figure(2, height=4.4)
    for (name, taken), style, colour in zip(times.items(), ("o-", "s-", "D-"), plots.COLOURS, strict=False):
        kind = "self_attention" if name == "attention" else "recurrent"
        work = [8 * layer_cost(kind, n, 64)[0] for n in lengths]
        left.loglog(lengths, taken, style, color=colour, label=name)
        left.loglog(lengths, [taken[3] * w / work[3] for w in work], color=colour, linewidth=1)
        right.semilogx(lengths, [w / time / 1e6 for w, time in zip(work, taken, strict=True)], style, color=colour)
    left.set(xlabel="length $T$ (positions)", ylabel="time (ms)", title="One forward pass")
    right.set(xlabel="length $T$ (positions)", ylabel="operations (billion per s)", ylim=(0, None), title="Work rate")
    left.legend()
    plots.show(
        "Time: linear for both RNNs, quadratic for attention, which overtakes them. Work rate: attention highest."
    )

# %% [markdown]
# What is honestly true on this machine? Attention is fastest for short sequences and slowest for the longest: a single
# core gains nothing from steps that *could* run side by side, and pays for $T^2$. What shows even here is the work rate:
# a few large matrix products keep a processor busier than many small ones that wait for each other. (Rates are for the
# operations that `layer_cost` counts; each layer does about twice that, an RNN with two matrices, attention with two
# products.)
#
# So the case for attention is not that it computes less. It is a path of length 1 and nothing to wait for: *latency that
# doesn't grow with length, if you have the hardware*. Graphics processors, with thousands of lanes, are that hardware,
# and there are none in this notebook, so we don't measure it here.

# %% [markdown]
# ## What to take along
#
# | | RNN | LSTM | attention |
# | --- | --- | --- | --- |
# | how the first word reaches the last | through every state | through every cell state, kept by the forget gate | directly |
# | factors on the gradient's way | $n$, each a matrix and a slope | $n$, each a number near $f$, and detours | 1 |
# | steps that wait for each other | $n$ | $n$ | 1 |
# | operations | $n \cdot d^2$ | $4 \cdot n \cdot d^2$ | $n^2 \cdot d$ |
# | memory of the past | $d_h$ numbers | $2 d_h$ numbers | everything, as it was |
#
# The last row is the quiet one: a state of fixed size has to *choose* what to keep before it knows the question. Attention
# keeps everything and looks when asked; that is what its $n^2$ pays for. How does one look up softly, in a way that
# can be learned? That is a single line, and chapter 02.

# %%
progress("01_rnn_limits")

# %% [markdown]
# ## Further reading
#
# - Vaswani et al. 2017, *Attention Is All You Need*, [arXiv:1706.03762](https://arxiv.org/abs/1706.03762): section 4 and
#   Table 1 are the second half of this chapter.
# - Hochreiter and Schmidhuber 1997, *Long Short-Term Memory*, Neural Computation 9(8); and Gers, Schmidhuber and Cummins
#   2000, *Learning to Forget*, Neural Computation 12(10), who added the forget gate.
# - Pascanu, Mikolov and Bengio 2013, *On the difficulty of training recurrent neural networks*,
#   [arXiv:1211.5063](https://arxiv.org/abs/1211.5063): the product of factors, and clipping.
# - Józefowicz, Zaremba and Sutskever 2015, *An Empirical Exploration of Recurrent Network Architectures*, ICML: thousands
#   of variants, and a large forget bias among the few things that mattered.

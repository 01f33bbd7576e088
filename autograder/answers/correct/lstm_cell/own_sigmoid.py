import torch

def gate(z):
    return 1 / (1 + torch.exp(-z))

def squash(z):
    return 2 * gate(2 * z) - 1

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    """A learner's own squashing functions."""
    h, c = state
    i, f, g, o = torch.split(x.matmul(weight_ih.t()) + h.matmul(weight_hh.t()) + bias, h.shape[-1], dim=-1)
    c_next = gate(f) * c + gate(i) * squash(g)
    return gate(o) * squash(c_next), c_next

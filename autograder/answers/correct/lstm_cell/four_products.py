import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    parts = zip(weight_ih.chunk(4), weight_hh.chunk(4), bias.chunk(4))
    i, f, g, o = (torch.einsum("bi,hi->bh", x, a) + torch.einsum("bj,hj->bh", h, r) + b for a, r, b in parts)
    c = torch.addcmul(torch.sigmoid(f) * c, torch.sigmoid(i), torch.tanh(g))
    return torch.sigmoid(o) * torch.tanh(c), c

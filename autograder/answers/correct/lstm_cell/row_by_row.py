import torch

def one(x, h, c, weight_ih, weight_hh, bias):
    i, f, g, o = (weight_ih @ x + weight_hh @ h + bias).reshape(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    pairs = [one(a, h, c, weight_ih, weight_hh, bias) for a, h, c in zip(x, *state)]
    return torch.stack([h for h, _ in pairs]), torch.stack([c for _, c in pairs])

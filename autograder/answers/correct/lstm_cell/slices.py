import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    n = h.shape[1]
    z = torch.nn.functional.linear(x, weight_ih, bias) + torch.nn.functional.linear(h, weight_hh)
    write, keep, show = torch.sigmoid(z[:, :n]), torch.sigmoid(z[:, n : 2 * n]), torch.sigmoid(z[:, 3 * n :])
    c = keep * c + write * torch.tanh(z[:, 2 * n : 3 * n])
    return show * torch.tanh(c), c

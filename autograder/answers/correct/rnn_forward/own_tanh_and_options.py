import warnings
import torch

def squash(z):
    return 2 * torch.sigmoid(2 * z) - 1

class Cell(torch.nn.Module):
    def forward(self, x_t, h, weight_ih, weight_hh, bias):
        return squash(x_t.matmul(weight_ih.t()) + h.matmul(weight_hh.t()) + bias)

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None, reverse=False, verbose=False):
    if verbose:
        warnings.warn(f"{x.shape[1]} steps")
    h = torch.zeros(x.size(0), weight_hh.size(1)).to(x) if h0 is None else h0.clone()
    cell, states = Cell(), []
    for x_t in torch.unbind(x.flip(1) if reverse else x, 1):
        h = cell(x_t, h, weight_ih, weight_hh, bias)
        states += [h]
    return torch.stack(states, 1), h

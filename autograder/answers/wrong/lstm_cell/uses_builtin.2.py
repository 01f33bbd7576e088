# mistake: PyTorch's own LSTM cell does the work
# hint: write the gates yourself: they are what this exercise is about
import torch
from torch import nn

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    cell = nn.LSTMCell(x.shape[1], weight_hh.shape[1]).to(x)
    names = {"weight_ih": weight_ih, "weight_hh": weight_hh, "bias_ih": bias, "bias_hh": torch.zeros_like(bias)}
    return torch.func.functional_call(cell, names, (x, tuple(state)))

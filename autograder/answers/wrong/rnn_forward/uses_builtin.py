# mistake: PyTorch's own RNN does the work
# hint: write the recurrence yourself: it is what this exercise is about
import torch
from torch import nn

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    rnn = nn.RNN(x.shape[-1], weight_hh.shape[0], batch_first=True).to(x)
    names = {"weight_ih_l0": weight_ih, "weight_hh_l0": weight_hh, "bias_ih_l0": bias, "bias_hh_l0": torch.zeros_like(bias)}
    states, last = torch.func.functional_call(rnn, names, (x, None if h0 is None else h0[None]))
    return states, last[0]

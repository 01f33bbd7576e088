# mistake: PyTorch's own RNN does the work
# hint: write the recurrence yourself: it is what this exercise is about
import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    h = x.new_zeros(x.shape[0], weight_hh.shape[0]) if h0 is None else h0
    states = []
    for t in range(x.shape[1]):
        h = torch.rnn_tanh_cell(x[:, t], h, weight_ih, weight_hh, bias, torch.zeros_like(bias))
        states.append(h)
    return torch.stack(states, 1), h

# mistake: tanh is applied to the recurrent term only
# hint: add all three terms first, then squash their sum
import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    h = x.new_zeros(x.shape[0], weight_hh.shape[0]) if h0 is None else h0
    states = []
    for t in range(x.shape[1]):
        h = x[:, t] @ weight_ih.T + bias + torch.tanh(h @ weight_hh.T)
        states.append(h)
    return torch.stack(states, dim=1), h

# mistake: every step starts from the initial state again
# hint: what a step gives is what the next one starts from
import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    start = x.new_zeros(x.shape[0], weight_hh.shape[0]) if h0 is None else h0
    states = []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ weight_ih.T + start @ weight_hh.T + bias)
        states.append(h)
    return torch.stack(states, dim=1), h

# mistake: the initial state that was passed in is ignored
# hint: start from `h0` where it is given, and from zeros only where it is None
import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    h = x.new_zeros(x.shape[0], weight_hh.shape[0])
    states = []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ weight_ih.T + h @ weight_hh.T + bias)
        states.append(h)
    return torch.stack(states, dim=1), h

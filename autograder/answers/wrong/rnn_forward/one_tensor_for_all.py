# mistake: one and the same tensor is stored at every step, so all states are the last one
# hint: store a new tensor at each step, not the same one written over
import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    h = x.new_zeros(x.shape[0], weight_hh.shape[0]) if h0 is None else h0.clone()
    states = []
    for t in range(x.shape[1]):
        h.copy_(torch.tanh(x[:, t] @ weight_ih.T + h @ weight_hh.T + bias))
        states.append(h)
    return torch.stack(states, dim=1), h

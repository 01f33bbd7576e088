# mistake: tanh is applied to what is returned, not inside the recurrence
# hint: the state that goes on to the next step is the squashed one
import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    h = x.new_zeros(x.shape[0], weight_hh.shape[0]) if h0 is None else h0
    states = []
    for t in range(x.shape[1]):
        h = x[:, t] @ weight_ih.T + h @ weight_hh.T + bias
        states.append(h)
    states = [s.tanh() for s in states]
    h = h.tanh()
    return torch.stack(states, dim=1), h

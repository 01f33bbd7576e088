# mistake: the state goes through a sigmoid instead of tanh
# hint: this RNN squashes with tanh, to numbers from −1 to 1
import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    h = x.new_zeros(x.shape[0], weight_hh.shape[0]) if h0 is None else h0
    states = []
    for t in range(x.shape[1]):
        h = torch.sigmoid(x[:, t] @ weight_ih.T + h @ weight_hh.T + bias)
        states.append(h)
    return torch.stack(states, dim=1), h

# mistake: the computation is done in float32
# hint: keep the dtype of the inputs: no `.float()`, and no float32 tensor to write states into
import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    h = x.new_zeros(x.shape[0], weight_hh.shape[0]) if h0 is None else h0
    states = torch.zeros(x.shape[0], x.shape[1], weight_hh.shape[0])
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ weight_ih.T + h @ weight_hh.T + bias)
        states[:, t] = h
    return states, h

# mistake: the computation is done in float32
# hint: keep the dtype of the inputs: no `.float()`, and no float32 tensor to write states into
import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    x, weight_ih, weight_hh, bias = x.float(), weight_ih.float(), weight_hh.float(), bias.float()
    h = x.new_zeros(x.shape[0], weight_hh.shape[0]) if h0 is None else h0.float()
    states = []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ weight_ih.T + h @ weight_hh.T + bias)
        states.append(h)
    return torch.stack(states, dim=1), h

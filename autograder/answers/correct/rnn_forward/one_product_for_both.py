import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    weight = torch.cat([weight_ih, weight_hh], dim=1)
    h = torch.zeros(len(x), len(bias), dtype=x.dtype, device=x.device) if h0 is None else h0
    states = []
    for x_t in x.transpose(0, 1):
        h = torch.tanh(torch.cat([x_t, h], dim=-1) @ weight.T + bias)
        states.append(h)
    return torch.stack(states).transpose(0, 1), h

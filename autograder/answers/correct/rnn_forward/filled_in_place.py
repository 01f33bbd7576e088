import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    B, T, _ = x.shape
    states = x.new_empty(B, T, weight_hh.shape[0])
    for t in range(T):
        before = states[:, t - 1].clone() if t else h0
        drive = torch.nn.functional.linear(x[:, t], weight_ih, bias)
        if before is not None:
            drive = drive + torch.nn.functional.linear(before, weight_hh)
        states[:, t] = torch.tanh(drive)
    return states, states[:, -1]

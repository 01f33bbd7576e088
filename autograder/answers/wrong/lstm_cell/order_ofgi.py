# mistake: the gates are cut in the order o, f, g, i
# hint: PyTorch stacks the gates as i, f, g, o
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    gates = x @ weight_ih.T + h @ weight_hh.T + bias
    o, f, g, i = gates.chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c_new = f * c + i * g
    h_new = o * c_new.tanh()
    return h_new, c_new

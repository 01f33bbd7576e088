# mistake: the old cell state is written into
# hint: make new tensors: no `mul_`, `add_` or `*=` on what was given
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    gates = x @ weight_ih.T + h @ weight_hh.T + bias
    i, f, g, o = gates.chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c *= f
    c += i * g
    c_new = c
    h_new = o * c_new.tanh()
    return h_new, c_new

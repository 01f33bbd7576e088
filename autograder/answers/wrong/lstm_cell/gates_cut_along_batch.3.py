# mistake: the batch is cut into four instead of the width
# hint: cut along the last dimension: `gates.chunk(4, dim=-1)`
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    gates = x @ weight_ih.T + h @ weight_hh.T + bias
    i, f, g, o = gates.reshape(4, x.shape[0], -1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c_new = f * c + i * g
    h_new = o * c_new.tanh()
    return h_new, c_new

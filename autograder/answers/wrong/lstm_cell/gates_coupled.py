# mistake: the input gate is replaced by one minus the forget gate
# hint: i is a gate of its own; a coupled one belongs to other variants
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    gates = x @ weight_ih.T + h @ weight_hh.T + bias
    i, f, g, o = gates.chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c_new = f * c + (1 - f) * g
    h_new = o * c_new.tanh()
    return h_new, c_new

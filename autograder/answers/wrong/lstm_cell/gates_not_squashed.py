# mistake: the gates aren't squashed
# hint: i, f and o go through a sigmoid
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    gates = x @ weight_ih.T + h @ weight_hh.T + bias
    i, f, g, o = gates.chunk(4, dim=-1)
    g = g.tanh()
    c_new = f * c + i * g
    h_new = o * c_new.tanh()
    return h_new, c_new

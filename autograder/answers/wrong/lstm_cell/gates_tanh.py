# mistake: the gates go through tanh
# hint: gates are shares from 0 to 1: sigmoid; only the candidate g gets a tanh
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    gates = x @ weight_ih.T + h @ weight_hh.T + bias
    i, f, g, o = gates.chunk(4, dim=-1)
    i, f, g, o = i.tanh(), f.tanh(), g.tanh(), o.tanh()
    c_new = f * c + i * g
    h_new = o * c_new.tanh()
    return h_new, c_new

# mistake: the input gate decides both what is kept and what is written
# hint: the forget gate f keeps, the input gate i writes: two gates
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    gates = x @ weight_ih.T + h @ weight_hh.T + bias
    i, f, g, o = gates.chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c_new = (1 - i) * c + i * g
    h_new = o * c_new.tanh()
    return h_new, c_new

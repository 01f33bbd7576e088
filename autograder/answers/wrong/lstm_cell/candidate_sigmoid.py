# mistake: the candidate goes through a sigmoid
# hint: g says *what* is written and may be negative: tanh; only the three gates get a sigmoid
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    gates = x @ weight_ih.T + h @ weight_hh.T + bias
    i, f, g, o = gates.chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.sigmoid(), o.sigmoid()
    c_new = f * c + i * g
    h_new = o * c_new.tanh()
    return h_new, c_new

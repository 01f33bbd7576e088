# mistake: a batch of one loses its dimension
# hint: no bare `squeeze()`: one sequence is still `(1, d_h)`
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    gates = x @ weight_ih.T + h @ weight_hh.T + bias
    i, f, g, o = gates.chunk(4, dim=-1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c_new = f * c + i * g
    h_new = o * c_new.tanh()
    return h_new.squeeze(0), c_new.squeeze(0)

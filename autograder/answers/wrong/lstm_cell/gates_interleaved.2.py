# mistake: neighbouring rows are taken for the four gates of one unit
# hint: the first d_h rows all belong to i, the next to f, then g, then o: cut into four chunks
import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    h, c = state
    gates = x @ weight_ih.T + h @ weight_hh.T + bias
    i, f, g, o = gates[:, 0::4], gates[:, 1::4], gates[:, 2::4], gates[:, 3::4]
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c_new = f * c + i * g
    h_new = o * c_new.tanh()
    return h_new, c_new

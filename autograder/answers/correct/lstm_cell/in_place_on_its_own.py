import warnings
from collections import namedtuple
import torch

State = namedtuple("State", "h c")

def lstm_cell(x, state, weight_ih, weight_hh, bias):
    warnings.warn("slow, but mine")
    h, c = state[0], state[1]
    z = x @ weight_ih.mT
    z += h @ weight_hh.mT
    z += bias
    n = z.shape[1] // 4
    gates = torch.cat([z[:, : 2 * n], z[:, 3 * n :]], 1).sigmoid()
    new = (gates[:, n : 2 * n] * c).add(gates[:, :n] * z[:, 2 * n : 3 * n].tanh())
    return State(gates[:, 2 * n :] * new.tanh(), new)

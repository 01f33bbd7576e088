import torch

def lstm_cell(x, state, weight_ih, weight_hh, bias, forget_bias=0.0):
    h, c = state
    z = (torch.cat([x, h], 1) @ torch.cat([weight_ih, weight_hh], 1).T + bias).view(len(x), 4, -1)
    i, f, g, o = z.unbind(1)
    c = c * (f + forget_bias).sigmoid() + i.sigmoid() * g.tanh()
    h = o.sigmoid() * c.tanh()
    return h, c

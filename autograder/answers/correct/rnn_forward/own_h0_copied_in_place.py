import torch

def rnn_forward(x, weight_ih, weight_hh, bias, h0=None):
    print("running", x.shape[1], "steps")
    if h0 is None:
        h0 = torch.zeros(x.shape[0], weight_hh.shape[0], dtype=x.dtype, device=x.device)
    all_states = [h0]
    for t in range(x.shape[1]):
        z = torch.addmm(bias, x[:, t], weight_ih.mT)
        z += all_states[-1] @ weight_hh.mT
        all_states.append(z.tanh())
    return torch.stack(all_states[1:], 1), all_states[-1]

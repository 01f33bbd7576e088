# mistake: a tensor is returned
# hint: return a float: .item()
import torch


def noam_rate(step, d_model, warmup):
    if step == 0:
        return 0.0
    return torch.tensor(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))

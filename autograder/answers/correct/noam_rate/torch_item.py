import torch


def noam_rate(step, d_model, warmup):
    step = torch.tensor(float(step), dtype=torch.float64)
    rate = d_model**-0.5 * torch.minimum(step.rsqrt(), step * warmup**-1.5)
    return rate.item()

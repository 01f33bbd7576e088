import torch

def gradient_by_distance(run, x):
    grad = torch.autograd.functional.jacobian(lambda inputs: run(inputs)[:, -1].sum(), x)
    return torch.einsum("btd,btd->bt", grad, grad).sqrt().mean(dim=0)

import torch

def gradient_by_distance(run, x):
    x.requires_grad_(True)
    try:
        run(x)[:, -1].sum().backward()
        lengths = torch.linalg.vector_norm(x.grad, dim=2)
        return lengths.mean(0)
    finally:
        x.requires_grad_(False)
        x.grad = None

# mistake: always computes and returns float32
# hint: keep the dtype of p: no `.float()`, and new tensors with `dtype=p.dtype`
import torch

def softmax_jacobian(p):
    n = p.shape[-1]
    jacobian = torch.zeros(*p.shape, n)
    for i in range(n):
        for j in range(n):
            jacobian[..., i, j] = p[..., i] * ((1.0 if i == j else 0.0) - p[..., j])
    return jacobian

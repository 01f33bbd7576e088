import torch

def softmax_jacobian(p):
    jacobian = -(p[..., :, None] @ p[..., None, :])
    jacobian.diagonal(dim1=-2, dim2=-1).add_(p)
    return jacobian

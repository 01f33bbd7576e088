import torch

def softmax_jacobian(p):
    """Row i is what softmax's backward pass makes of the i-th unit vector."""
    def backward(gradient):
        return p * (gradient - (gradient * p).sum(dim=-1, keepdim=True))

    units = torch.eye(p.shape[-1], dtype=p.dtype, device=p.device)
    return torch.vmap(backward, out_dims=-2)(units)

# mistake: this is the slope of log-softmax
# hint: multiply row i by pᵢ: d log p is dp / p
import torch

def softmax_jacobian(p):
    eye = torch.eye(p.shape[-1], dtype=p.dtype, device=p.device)
    return eye - p.unsqueeze(-2).expand(*p.shape[:-1], p.shape[-1], p.shape[-1])

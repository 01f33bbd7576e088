# mistake: the entries off the diagonal lack their minus sign
# hint: raising one score lowers the other probabilities: off the diagonal everything is ≤ 0
import torch

def softmax_jacobian(p):
    outer = p.unsqueeze(-1) * p.unsqueeze(-2)
    eye = torch.eye(p.shape[-1], dtype=torch.bool, device=p.device)
    return torch.where(eye, p.unsqueeze(-1) * (1 - p.unsqueeze(-2)), outer)

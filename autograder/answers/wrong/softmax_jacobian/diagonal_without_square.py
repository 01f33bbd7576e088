# mistake: p stands on the diagonal, and p² isn't taken away there
# hint: −pᵢ pⱼ holds for i = j too: the diagonal is p − p²
import torch

def softmax_jacobian(p):
    outer = p.unsqueeze(-1) * p.unsqueeze(-2)
    eye = torch.eye(p.shape[-1], dtype=torch.bool, device=p.device)
    return torch.where(eye, p.unsqueeze(-1), -outer)

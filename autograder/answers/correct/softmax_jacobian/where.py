import torch

def softmax_jacobian(p):
    row, column = p.unsqueeze(-1), p.unsqueeze(-2)
    same = torch.ones(p.shape[-1], p.shape[-1], dtype=torch.bool, device=p.device).triu().tril()
    return torch.where(same, row * (1 - column), -row * column)

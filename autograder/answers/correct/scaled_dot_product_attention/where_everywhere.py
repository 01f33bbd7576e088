import torch

def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
    if mask is None:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device)
    hidden = torch.full_like(scores, torch.finfo(scores.dtype).min)
    weights = torch.softmax(torch.where(mask, scores, hidden), dim=-1)
    weights = torch.where(mask, weights, torch.zeros_like(weights))
    return torch.einsum("...qk,...kd->...qd", weights, v), weights

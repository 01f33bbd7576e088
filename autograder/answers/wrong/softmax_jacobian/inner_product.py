# mistake: the sum of the squares is taken away everywhere: an inner product in place of an outer one
# hint: entry (i, j) needs pᵢ pⱼ: a column times a row, `unsqueeze(-1)` and `unsqueeze(-2)`
import torch

def softmax_jacobian(p):
    squares = (p * p).sum(-1, keepdim=True).unsqueeze(-1)
    return torch.diag_embed(p) - squares

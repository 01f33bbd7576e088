# mistake: only the diagonal is filled, as if each probability depended on its own score alone
# hint: raising one score lowers all other probabilities: off the diagonal stands −pᵢ pⱼ
import torch

def softmax_jacobian(p):
    return torch.diag_embed(p * (1 - p))

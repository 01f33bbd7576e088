# mistake: pᵢ (1 − pⱼ) stands everywhere, as if i and j were always the same
# hint: the 1 is 1 on the diagonal only, and 0 elsewhere: there stands −pᵢ pⱼ
import torch

def softmax_jacobian(p):
    return p.unsqueeze(-1) * (1 - p.unsqueeze(-2))

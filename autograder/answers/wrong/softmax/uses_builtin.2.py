# mistake: PyTorch's own softmax does the work
# hint: write it yourself, from `exp`, a maximum and a sum
import torch

def softmax(x, dim=-1):
    empty = (x == float("-inf")).all(dim=dim, keepdim=True)
    return torch.log_softmax(x, dim=dim).exp().masked_fill(empty, 0)

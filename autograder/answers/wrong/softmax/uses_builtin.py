# mistake: PyTorch's own softmax does the work
# hint: write it yourself, from `exp`, a maximum and a sum
import torch
import torch.nn.functional as F

def softmax(x, dim=-1):
    return torch.nan_to_num(F.softmax(x, dim=dim), nan=0.0)

# mistake: PyTorch's own softmax does the work
# hint: write it yourself, from `exp`, a maximum and a sum
import torch
from torch import nn

def softmax(x, dim=-1):
    return nn.Softmax(dim=dim)(x).nan_to_num()

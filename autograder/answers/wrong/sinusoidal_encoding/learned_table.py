# mistake: the table is random
# hint: nothing is learned or drawn here: it is sines and cosines of position times rate
import torch
from torch import nn

def sinusoidal_encoding(T, d_model, base=10_000.0):
    torch.manual_seed(0)
    return nn.Embedding(T, d_model).weight.detach()

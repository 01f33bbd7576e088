# mistake: the exponentials are never divided by their sum
# hint: divide by the sum along `dim`, so that each slice adds up to 1
import torch

def softmax(x, dim=-1):
    return torch.exp(x)

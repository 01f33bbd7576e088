# mistake: this is the sigmoid of each score by itself
# hint: the entries of a slice share one sum: divide by the sum of all its exponentials
import torch

def softmax(x, dim=-1):
    return 1 / (1 + torch.exp(-x))

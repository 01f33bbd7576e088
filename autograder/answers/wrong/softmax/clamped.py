# mistake: large scores are cut off before `exp`, which makes different scores equal
# hint: subtract the largest score of the slice instead: that changes nothing in the result and can't overflow
import torch

def softmax(x, dim=-1):
    e = torch.exp(x.clamp(-50, 50)) * (x != float("-inf"))
    s = e.sum(dim=dim, keepdim=True)
    return e / s.masked_fill(s == 0, 1)

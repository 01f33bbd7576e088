# mistake: the lengths are compared with `max_len` instead of with the positions
# hint: make the positions first, `torch.arange(max_len)`, and compare each of them with each length
import torch

def padding_mask(lengths, max_len):
    return (lengths < max_len).unsqueeze(1)

# mistake: this mask is made for adding: 0 for real tokens and −∞ for padding
# hint: return the booleans themselves, True for real tokens; attention decides what to do with them
import torch

def padding_mask(lengths, max_len):
    padding = torch.arange(max_len, device=lengths.device) >= lengths[:, None, None]
    return torch.zeros(padding.shape).masked_fill(padding, float("-inf"))

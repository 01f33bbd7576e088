# mistake: the padding stands on the left
# hint: real tokens come first: position 0 is real in every sequence that isn't empty
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device).flip(0)
    return (positions < lengths[:, None])[:, None]

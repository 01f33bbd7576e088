# mistake: the last real token counts as padding
# hint: `torch.arange(max_len)` starts at 0: position < length is right with it, and one off when counting from 1
import torch

def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, max_len, dtype=torch.bool)
    for i, n in enumerate(lengths):
        mask[i, 0, : n - 1] = True
    return mask

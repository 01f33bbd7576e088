# mistake: a sequence without padding is hidden completely, since a slice from `-0` is everything
# hint: count from the front: the padding starts at the length, `[length:]`, and `[-0:]` is the whole row
import torch

def padding_mask(lengths, max_len):
    mask = torch.ones(len(lengths), 1, max_len, dtype=torch.bool)
    for i, n in enumerate(lengths.tolist()):
        mask[i, :, -(max_len - n):] = False
    return mask

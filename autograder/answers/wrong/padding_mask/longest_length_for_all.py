# mistake: every sequence counts as long as the longest
# hint: each sequence has its own length: give every row of the mask its own slice or comparison
import torch

def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, max_len, dtype=torch.bool)
    for n in lengths.tolist():
        mask[:, :, :n] = True
    return mask

# mistake: the first length is used for the whole batch
# hint: each sequence has its own length: compare with `lengths[:, None]`, a column
import torch

def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, max_len, dtype=torch.bool)
    for i in range(len(lengths)):
        mask[:, :, : lengths[0]] = True
    return mask

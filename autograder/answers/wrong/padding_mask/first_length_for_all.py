# mistake: the first length is used for the whole batch
# hint: each sequence has its own length: compare with `lengths[:, None]`, a column
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions < lengths[0]).expand(len(lengths), 1, max_len)

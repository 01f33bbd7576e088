import torch

def padding_mask(lengths, max_len):
    mask = torch.zeros(len(lengths), 1, max_len, dtype=torch.bool, device=lengths.device)
    for i, n in enumerate(lengths):
        mask[i, 0, :n] = True
    return mask

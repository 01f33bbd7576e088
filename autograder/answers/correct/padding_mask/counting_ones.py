import torch

def padding_mask(lengths, max_len):
    ones = torch.ones(lengths.shape[0], 1, max_len, dtype=lengths.dtype, device=lengths.device)
    return ones.cumsum(dim=-1) <= lengths.reshape(-1, 1, 1)

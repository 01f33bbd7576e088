import torch

def padding_mask(lengths, max_len):
    return torch.arange(max_len, device=lengths.device) < lengths.view(-1, 1, 1)

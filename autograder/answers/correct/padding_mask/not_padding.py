import torch

def padding_mask(lengths, max_len):
    padding = torch.arange(max_len).expand(len(lengths), -1) >= lengths.unsqueeze(1)
    return ~padding[:, None, :]

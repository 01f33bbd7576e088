import torch

def padding_mask(lengths, max_len):
    triangle = torch.ones(max_len + 1, max_len, dtype=torch.bool, device=lengths.device).tril(-1)
    return triangle[lengths].unsqueeze(1)

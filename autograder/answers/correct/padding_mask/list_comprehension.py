import torch

def padding_mask(lengths, max_len):
    rows = [[[i < n for i in range(max_len)]] for n in lengths.tolist()]
    return torch.tensor(rows, dtype=torch.bool, device=lengths.device)

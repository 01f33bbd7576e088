import functools
import torch

@functools.lru_cache(maxsize=None)
def _row(n, max_len):
    return torch.cat([torch.ones(n), torch.zeros(max_len - n)]).bool()

def padding_mask(lengths, max_len, device=None):
    rows = torch.stack([_row(int(n), max_len) for n in lengths])
    return rows.unsqueeze(-2).to(device if device is not None else lengths.device)

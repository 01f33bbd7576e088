# mistake: a whole matrix (B, max_len, max_len) is made for each sequence
# hint: keep (B, 1, max_len): broadcasting repeats it for every query, and there may be another number of queries than keys
import torch

def padding_mask(lengths, max_len):
    real = torch.arange(max_len, device=lengths.device) < lengths[:, None]
    return real.unsqueeze(1) & real.unsqueeze(2)

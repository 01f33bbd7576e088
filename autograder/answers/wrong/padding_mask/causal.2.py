# mistake: a lower triangle is returned, which hides the future instead of the padding
# hint: what is hidden depends on `lengths`, not on the query's position
import torch

def padding_mask(lengths, max_len):
    real = torch.arange(max_len, device=lengths.device) < lengths[:, None, None]
    return real & torch.ones(max_len, max_len, dtype=torch.bool).tril()

# mistake: positions and lengths are compared one to one, instead of each position with each length
# hint: two shapes that broadcast, (1, max_len) and (B, 1), give every combination: `lengths[:, None]`
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions < lengths).unsqueeze(0).unsqueeze(0)

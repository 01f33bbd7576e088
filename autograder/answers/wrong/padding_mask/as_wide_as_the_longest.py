# mistake: the mask is as wide as the longest sequence, and `max_len` is ignored
# hint: the last dimension has the size `max_len`, which may be larger than every length
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(int(lengths.max()), device=lengths.device)
    return (positions[None, :] < lengths[:, None]).unsqueeze(1)

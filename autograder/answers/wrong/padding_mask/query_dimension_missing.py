# mistake: the shape is (B, max_len), without the dimension for queries
# hint: a dimension of size 1 in the middle makes it broadcast over queries: `unsqueeze(1)`
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return positions[None, :] < lengths[:, None]

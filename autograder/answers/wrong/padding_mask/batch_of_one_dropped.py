# mistake: a batch of one loses its batch dimension
# hint: (B, 1, max_len) holds for B = 1 as well: no `squeeze(0)`
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions[None, None, :] < lengths[:, None, None]).squeeze(0)

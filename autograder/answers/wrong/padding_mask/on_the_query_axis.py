# mistake: the shape is (B, max_len, 1): this hides queries, not keys
# hint: keys are the last dimension of the scores: the 1 belongs in the middle, (B, 1, max_len)
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions[None, :] < lengths[:, None]).unsqueeze(-1)

# mistake: True marks the padding
# hint: in this course True means "may be attended", so real tokens are True: turn the comparison round
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return positions[None, None, :] >= lengths[:, None, None]

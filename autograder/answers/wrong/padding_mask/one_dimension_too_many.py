# mistake: the shape is (B, 1, 1, max_len), with a dimension too many
# hint: one dimension of size 1 is enough: (B, 1, max_len); heads come in a later chapter
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions[None, :] < lengths[:, None]).unsqueeze(1).unsqueeze(2)

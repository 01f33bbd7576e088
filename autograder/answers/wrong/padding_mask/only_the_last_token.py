# mistake: one single position of each sequence is True
# hint: all positions before the length are real: compare with `<`, not with `==`
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions[None, :] == lengths[:, None] - 1).unsqueeze(1)

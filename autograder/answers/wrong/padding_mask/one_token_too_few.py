# mistake: the last real token counts as padding
# hint: `torch.arange(max_len)` starts at 0: position < length is right with it, and one off when counting from 1
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(1, max_len + 1, device=lengths.device)
    return (positions < lengths.unsqueeze(1)).unsqueeze(1)

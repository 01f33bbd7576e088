# mistake: a sequence of length 0 still gets one real token
# hint: length 0 means all padding: don't clamp, attention knows what to do with an empty row
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions[None, :] < lengths.clamp(min=1)[:, None]).unsqueeze(1)

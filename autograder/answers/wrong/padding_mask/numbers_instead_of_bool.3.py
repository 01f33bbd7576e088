# mistake: the mask holds the numbers 0 and 1 instead of False and True
# hint: a comparison is boolean already; new tensors need `dtype=torch.bool`
import torch

def padding_mask(lengths, max_len):
    positions = torch.arange(max_len, device=lengths.device)
    return (positions < lengths[:, None]).to(torch.uint8).unsqueeze(1)
